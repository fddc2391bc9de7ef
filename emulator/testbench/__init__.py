"""A cocotb kit for nodes, cards and servers of rings: sources, sinks, monitors, mailboxes, faults, firmware."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
