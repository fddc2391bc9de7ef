"""Speeds of lines and of rings: what is usual, and how low and how high they may be."""

BAUD = 115_200  # of a line, unless somebody says another one
BAUDS = (50, 100_000_000)
BITS = 10  # that a byte takes on a line: start, eight of data, stop
CLOCKS = (1, 2**32 - 1)  # Hz: hello_reply has 32 bits for it
