"""Why: what firmware says of a census that it rejects, and of a lease that ends."""

from ringhil.protocol.enums import Coded


class Rejection(Coded):
    """Why a statistics message, or a whole round, is no count (R4)."""

    # one message
    CRC = "crc", 1, "it is no frame"
    LINK = "link", 2, "it arrived damaged over the last link"
    STALE = "stale", 3, "of an earlier round, or of another epoch"
    TWICE = "twice", 4, "its direction has come home already"
    ORIGIN = "origin", 5, "another GPU's"
    CIRCULATING = "circulating", 6, "a monitor has seen it once already"
    PORT = "port", 7, "home on the wrong side"
    COUNT = "count", 8, "no count that can be, or not that of its records, or `expected` is not the size of the ring"
    HOP = "hop", 9, "a record has the wrong place"
    TAG = "tag", 10, "a record was changed"
    ORDER = "order", 11, "records out of the order of the ring"
    # a round
    LOST = "lost", 12, "neither direction came home"
    HALF = "half", 13, "one came home, turned round at a cut"
    MIXED = "mixed", 14, "one was turned round at a cut, the other was not"
    DISAGREE = "disagree", 15, "the two lists do not make up the count; or, without lists, the two counts differ"
    CHANGED = "changed", 16, "a round without records differs from the last one with them (its count, or two arms)"

    @property
    def ends_round(self) -> bool:
        """Whether it is a round that is no count, not only one of its messages."""
        return self.code >= Rejection.LOST.code


class LeaseEnd(Coded):
    """Why a lease is over, for its holder or for who gave it."""

    LEASE = "lease", 1, "it ran out"
    FENCED = "fenced", 2, "a higher epoch is known"
    HANDOVER = "handover", 3, "given back for the sake of a better member"
    RELEASE = "release", 4, "the grantor was told so"
