"""A serial line to a card: its speeds here; wires, noise and pacing beside it.

Speeds of lines are in baud, speeds of rings in Hz: what is usual, and how low and how high they may be.
"""

BAUD = 115_200  # of a line, unless somebody says another one
BAUDS = (50, 100_000_000)
BITS = 10  # that a byte takes on a line: start, eight of data, stop
CLOCKS = (1, 2**32 - 1)  # Hz: hello_reply has 32 bits for it
