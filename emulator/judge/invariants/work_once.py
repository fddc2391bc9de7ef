"""Every work unit is done, its result accepted once, and right; so is every launch of an application."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant, first


class WorkOnce(Invariant):
    """Judges each result when it is accepted, the CPU's own account at the end, and its digest of all results."""

    name = "work_once"

    def broken(self) -> Iterator[Broken]:
        """Lost, done twice, wrong."""
        work, acceptance = self.evidence.cpu.work, self.evidence.acceptance
        yield from first(acceptance.wrong, "results that should not have counted")
        yield from first(self.evidence.tasks.isolation.launches, "launches that didn't have what they asked for")
        yield from first(self.evidence.tasks.one_by_one.wrong, "commands that were not asked for until answered")
        yield from first(self.evidence.tasks.attempts.wrong, "commands that were asked for again in another way")
        yield from first(self.evidence.tasks.steps.wrong, "things that an application doesn't do as its file says")
        for name, why in self.evidence.unreasonable():
            yield f"{name} has failed ({why}), and no GPU has given it a reason", None
        for name, said, happened in self.evidence.launched():
            yield f"{name} says that it has done {said} steps; {happened} of its launches were done", None
        for name, told, happened in self.evidence.miscounted():
            yield f"{name} says that it had the GPU for {told} cycles; its launches had {happened}", None
        if work.completed != work.units and self.evidence.watch.undoable() is None:
            yield f"{work.units - work.completed} of {work.units} work units were not done", None
        if work.duplicated:
            yield f"{work.duplicated} work units were done twice", None
        if not acceptance.wrong and not work.duplicated and work.digest != acceptance.digest:
            yield f"the digest of all results is {work.digest:016x}, must be {acceptance.digest:016x}", None
