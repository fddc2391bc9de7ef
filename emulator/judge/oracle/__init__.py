"""The reference model: what is true of a server, computed from its description and the faults alone.

Shares no code with firmware, RTL or host; everything that they say is judged against it.
"""

from ringhil.emulator.judge.oracle.breaks import Break, located
from ringhil.emulator.judge.oracle.elections import RoleTruth
from ringhil.emulator.judge.oracle.faults import BLOCKED, CUT, OK, OUT, CardFaults, Part, PartState
from ringhil.emulator.judge.oracle.lending import Loan, LoanTruth
from ringhil.emulator.judge.oracle.ring import RingTruth, View
from ringhil.emulator.judge.oracle.server import ServerTruth
from ringhil.emulator.judge.oracle.shares import shares, weight
from ringhil.emulator.judge.oracle.work import crosses, digest, turned

__all__ = [
    "BLOCKED",
    "CUT",
    "OK",
    "OUT",
    "Break",
    "CardFaults",
    "Loan",
    "LoanTruth",
    "Part",
    "PartState",
    "RingTruth",
    "RoleTruth",
    "ServerTruth",
    "View",
    "crosses",
    "digest",
    "located",
    "shares",
    "turned",
    "weight",
]
