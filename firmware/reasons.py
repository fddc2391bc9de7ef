"""Why: what firmware says of a census that it rejects, and of a lease that ends."""

from enum import StrEnum


class Rejection(StrEnum):
    """Why a statistics message, or a whole round, is no count (R4)."""

    # one message
    CRC = "crc"  # it is no frame
    LINK = "link"  # it arrived damaged over the last link
    STALE = "stale"  # of an earlier round, or of another epoch
    TWICE = "twice"  # its direction has come home already
    ORIGIN = "origin"  # another GPU's
    CIRCULATING = "circulating"
    PORT = "port"  # home on the wrong side
    COUNT = "count"  # as many as there can't be, or not as many as there are records
    HOP = "hop"  # a record has the wrong place
    TAG = "tag"  # a record was changed
    ORDER = "order"  # records out of the order of the ring
    # a round
    LOST = "lost"  # neither direction came home
    HALF = "half"  # one came home, turned round at a cut
    MIXED = "mixed"  # one was turned round at a cut, the other was not
    DISAGREE = "disagree"  # the directions counted differently
    CHANGED = "changed"  # a round without records differs from the last one with them


class LeaseEnd(StrEnum):
    """Why a lease is over, for its holder or for who gave it."""

    LEASE = "lease"  # it ran out
    FENCED = "fenced"  # a higher epoch is known
    HANDOVER = "handover"  # given back for the sake of a better member
    RELEASE = "release"  # the grantor was told so
