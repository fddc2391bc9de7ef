"""The reference model: what is true of a server, computed from its description and the faults alone.

Shares no code with firmware, RTL or host; everything that they say is judged against it.
"""

from ringhil.emulator.oracle.breaks import Break, located
from ringhil.emulator.oracle.elections import Role
from ringhil.emulator.oracle.faults import BLOCKED, CUT, LIARS, OK, OUT, CardFaults, Part
from ringhil.emulator.oracle.ring import RingTruth, View
from ringhil.emulator.oracle.server import ServerTruth
from ringhil.emulator.oracle.shares import shares, weight
from ringhil.emulator.oracle.work import digest, digest_of_all

__all__ = [
    "BLOCKED",
    "CUT",
    "LIARS",
    "OK",
    "OUT",
    "Break",
    "CardFaults",
    "Part",
    "RingTruth",
    "Role",
    "ServerTruth",
    "View",
    "digest",
    "digest_of_all",
    "located",
    "shares",
    "weight",
]
