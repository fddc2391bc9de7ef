"""Checks how somebody's firmware of a GPU keeps its promises, as `rtl check` does for a node."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from ringhil.emulator.engine.library import Library
from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.hardware import FromFirmware
from ringhil.emulator.events.server import FirmwareLost, FirmwareStopped
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop.alone.cases import LonePromise
from ringhil.emulator.loop.alone.servers import FirmwareRole, OtherRole, Stages, named
from ringhil.emulator.loop.alone.stage import NotKept, NotShown
from ringhil.emulator.loop.promises import PROMISES, FirmwarePromise
from ringhil.emulator.pages.verdicts import RuleState
from ringhil.emulator.scenario import GpuRef, loads
from ringhil.emulator.server.firmware_choice import ALL, Chosen, FirmwareChoice
from ringhil.emulator.server.foreign import FirmwareError, FirmwareMissing
from ringhil.firmware.observations import Deposed, Elected, Granted, Lapsed
from ringhil.protocol.registers import ControlBit
from ringhil.protocol.wire import Role

SILENT = "the firmware has sent nothing"
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


@dataclass(frozen=True)
class FirmwareFinding:
    """`failures`: when, what was found and what should be, or what the judge of runs has against it; or why it could
    not be judged. `unplayed`: the roles whose part of the promise was left out."""

    rule: str
    demands: str
    state: RuleState
    failures: tuple[str, ...]
    unplayed: str = ""


def checked(
    chosen: Chosen, rules: Sequence[str], library: Library, roles: Set[FirmwareRole] = frozenset(FirmwareRole)
) -> Iterator[FirmwareFinding]:
    """Plays these promises, as far as they are about these roles, and returns a finding of each. Raises FirmwareMissing
    when the board has gone, so that the rest can't be judged."""
    for rule in rules:
        promise = PROMISES[rule]
        if isinstance(promise, LonePromise):
            yield _alone(rule, promise, chosen, roles)
        elif chosen.board is not None and promise.where == ALL:
            yield from not_judged([rule], "a board runs the firmware of one GPU")
        elif promise.roles - roles:
            yield from not_judged([rule], f"it is about the role {named(promise.roles - roles)}")
        else:
            yield _in_a_server(rule, promise, chosen, library)


def not_judged(rules: Sequence[str], why: str) -> list[FirmwareFinding]:
    """Returns findings of promises that can't be played, for this reason."""
    return [FirmwareFinding(rule, PROMISES[rule].says, RuleState.NOT_JUDGED, (why,)) for rule in rules]


def _alone(rule: str, promise: LonePromise, chosen: Chosen, roles: Set[FirmwareRole]) -> FirmwareFinding:
    """A firmware that has sent nothing has kept nothing."""
    stages, plays = Stages(chosen, roles), (promise.play, *promise.others)
    left, others = 0, set[FirmwareRole]()
    try:
        if promise.counts and FirmwareRole.ENTRY not in roles:
            raise OtherRole({FirmwareRole.ENTRY})
        for play in plays:
            try:
                play(stages)
            except OtherRole as other:
                left, others = left + 1, others | other.roles
    except FirmwareMissing:
        raise
    except OtherRole as other:
        left, others = len(plays), {*other.roles}
    except NotShown as why:
        return not_judged([rule], str(why))[0]
    except (NotKept, FirmwareError) as broken:
        return FirmwareFinding(rule, promise.says, RuleState.BROKEN, (str(broken),))
    unplayed = named(others)
    if left == len(plays):
        return not_judged([rule], f"it is about the role {unplayed}")[0]
    if stages.silent:
        return not_judged([rule], SILENT)[0]
    return FirmwareFinding(rule, promise.says, RuleState.KEPT, (), unplayed)


def _in_a_server(rule: str, promise: FirmwarePromise, chosen: Chosen, library: Library) -> FirmwareFinding:
    failures, silent = _played(promise, chosen, library)
    if silent and not failures:
        return not_judged([rule], SILENT)[0]
    return FirmwareFinding(rule, promise.says, RuleState.BROKEN if failures else RuleState.KEPT, tuple(failures))


def _played(promise: FirmwarePromise, chosen: Chosen, library: Library) -> tuple[list[str], bool]:
    """Returns what is wrong, and whether the firmware has sent nothing."""
    firmware = FirmwareChoice((f"{promise.where}={chosen.text}",), {promise.where: chosen})
    run = Run(loads(promise.scenario), library, firmware=firmware)
    registers = RegistersKept(run)
    lost, heard = list[str](), set[int]()
    run.observations.listen(FromFirmware, lambda seen: heard.add(seen.cell))
    run.observations.listen(FirmwareLost, lambda seen: lost.append(f"it is gone: {seen.why}"))
    try:
        outcome = run.run()
        kept = [] if lost else list(registers.failures())  # of a GPU without firmware they say nothing
    except FirmwareMissing:
        raise
    except FirmwareError as error:
        return [str(error)], False
    finally:
        run.close()
    wiring = run.server.wiring
    silent = promise.where != ALL and wiring.cell_of(GpuRef.parse(promise.where)) not in heard
    if outcome.verdict != "pass" and not outcome.failures and not lost:
        return [f"the run was {outcome.verdict}"], silent
    return [*lost, *map(str, outcome.failures), *kept], silent
