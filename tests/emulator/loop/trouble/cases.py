"""Which cases are played where."""

PATIENCES = 4  # so often is asked who doesn't answer, at least
ALL, EACH = 10_000, 50
SAMPLE = range(0, 60, 5)  # of `make test`: two of a server
SLICES = [range(first, first + EACH) for first in range(0, ALL, EACH)]
PTYS = [range(first, first + 20) for first in range(0, 200, 20)]
