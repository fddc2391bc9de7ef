"""The reference model: what is true of a card, computed from the faults alone.

Shares no code with firmware, RTL or host; everything that they say is judged against it.
"""

from ringhil.emulator.oracle.ring import RingTruth, View

__all__ = ["RingTruth", "View"]
