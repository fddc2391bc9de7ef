"""Every work unit is done, its result accepted once, and right."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant
from ringhil.emulator.judge.oracle import digest_of_all


class WorkOnce(Invariant):
    """Judges by the CPU's own account, and by the digest of all results against the oracle's."""

    name = "work_once"

    def broken(self) -> Iterator[Broken]:
        """Lost, done twice, wrong."""
        work, workload = self.evidence.cpu.work, self.evidence.cpu.workload
        if work.completed != work.units:
            yield f"{work.units - work.completed} of {work.units} work units were not done", None
        if work.duplicated:
            yield f"{work.duplicated} work units were done twice", None
        if workload is not None and work.completed == work.units and not work.duplicated:
            wanted = digest_of_all(work.units, workload.read)
            if work.digest != wanted:
                text = f"wrong results were accepted: the digest of all is {work.digest:016x}, must be {wanted:016x}"
                yield text, None
