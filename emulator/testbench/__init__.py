"""A cocotb kit for nodes, cards and servers of rings: sources, sinks, monitors, mailboxes, faults, firmware."""
