"""Checks how somebody's firmware of a GPU keeps its promises, as `rtl check` does for a node."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ringhil.emulator.engine.library import Library
from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.server import FirmwareLost, FirmwareStopped
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop.alone.cases import LonePromise
from ringhil.emulator.loop.alone.servers import Stages
from ringhil.emulator.loop.alone.stage import NotKept
from ringhil.emulator.loop.promises import PROMISES, FirmwarePromise
from ringhil.emulator.scenario import GpuRef, loads
from ringhil.emulator.server.firmware_choice import ALL, Chosen, FirmwareChoice
from ringhil.emulator.server.foreign import FirmwareError, FirmwareMissing
from ringhil.firmware.observations import Deposed, Elected, Granted, Lapsed
from ringhil.protocol.registers import ControlBit
from ringhil.protocol.wire import Role

_BITS = {Role.ENTRY: ControlBit.ENTRY, Role.BOUNDARY: ControlBit.BOUNDARY}


class RegistersKept:
    """Listens to a run; `failures` once it is over, of GPUs whose firmware runs and has said anything of a role."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._holds: dict[tuple[int, Role], bool] = {}
        run.observations.listen(FirmwareSaid, self._said)
        run.observations.listen(FirmwareStopped, self._stopped)

    def _said(self, seen: FirmwareSaid) -> None:
        if isinstance(seen.what, Elected | Granted | Deposed | Lapsed):
            self._holds[seen.cell, seen.what.role] = isinstance(seen.what, Elected | Granted)

    def _stopped(self, seen: FirmwareStopped) -> None:
        self._holds = {place: held for place, held in self._holds.items() if place[0] != seen.cell}

    def failures(self) -> Iterator[str]:
        """Returns each register that says otherwise."""
        for (cell, role), held in sorted(self._holds.items()):
            card, gpu = self._run.server.wiring.place(cell)
            name = GpuRef(self._run.server.wiring.cards[card].name, gpu)
            control = self._run.engine.peek(cell, "control")
            if bool(control & _BITS[role]) != held:
                bit = _BITS[role].word
                yield f"at the end: control of {name} is {ControlBit.show(control)}: {bit} should be {int(held)}"
            if role is Role.BOUNDARY and bool(self._run.engine.peek(cell, "crossings")) != held:
                crossings = self._run.engine.peek(cell, "crossings")
                yield f"at the end: crossings of {name} is {crossings}: should be {'some' if held else 'none'}"


class FirmwareVerdict(StrEnum):
    """Says what became of a promise."""

    KEPT = "kept"
    BROKEN = "broken"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class FirmwareFinding:
    """`failures`: when, what was found and what should be, or what the judge of runs has against it; or why it could
    not be judged."""

    rule: str
    says: str
    judged: FirmwareVerdict
    failures: tuple[str, ...]


def checked(chosen: Chosen, rules: Sequence[str], library: Library) -> Iterator[FirmwareFinding]:
    """Plays these promises, and returns a finding of each. Raises FirmwareMissing when the board has gone, so that the
    rest can't be judged."""
    for rule in rules:
        promise = PROMISES[rule]
        if chosen.board is not None and not isinstance(promise, LonePromise) and promise.where == ALL:
            yield from not_judged([rule], "a board runs the firmware of one GPU")
            continue
        failures = tuple(
            _alone(promise, chosen) if isinstance(promise, LonePromise) else _failures(promise, chosen, library)
        )
        yield FirmwareFinding(
            rule, promise.says, FirmwareVerdict.BROKEN if failures else FirmwareVerdict.KEPT, failures
        )


def not_judged(rules: Sequence[str], why: str) -> list[FirmwareFinding]:
    """Returns findings of promises that can't be played, for this reason."""
    return [FirmwareFinding(rule, PROMISES[rule].says, FirmwareVerdict.NOT_JUDGED, (why,)) for rule in rules]


def _alone(promise: LonePromise, chosen: Chosen) -> list[str]:
    try:
        promise.play(Stages(chosen))
    except FirmwareMissing:
        raise
    except (NotKept, FirmwareError) as broken:
        return [str(broken)]
    return []


def _failures(promise: FirmwarePromise, chosen: Chosen, library: Library) -> list[str]:
    firmware = FirmwareChoice((f"{promise.where}={chosen.text}",), {promise.where: chosen})
    run = Run(loads(promise.scenario), library, firmware=firmware)
    registers = RegistersKept(run)
    lost = list[str]()
    run.observations.listen(FirmwareLost, lambda seen: lost.append(f"it is gone: {seen.why}"))
    try:
        outcome = run.run()
        kept = lost or list(registers.failures())
    except FirmwareMissing:
        raise
    except FirmwareError as error:
        return [str(error)]
    finally:
        run.close()
    if outcome.verdict != "pass" and not outcome.failures:
        return [f"the run was {outcome.verdict}"]
    return [*map(str, outcome.failures), *kept]
