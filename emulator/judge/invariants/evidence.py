"""What invariants are judged by when a run is over."""

from dataclasses import dataclass

from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.judge.acceptance import Acceptance
from ringhil.emulator.judge.conduct import Conduct
from ringhil.emulator.judge.names import Names
from ringhil.emulator.judge.orphans import Orphans
from ringhil.emulator.judge.watch import Watch
from ringhil.emulator.server.wiring import Wiring


@dataclass(frozen=True)
class RunEvidence:
    """`now`: the cycle at which it ended."""

    now: int
    wiring: Wiring
    cpu: Cpu
    watch: Watch
    orphans: Orphans
    acceptance: Acceptance
    names: Names
    conduct: Conduct
