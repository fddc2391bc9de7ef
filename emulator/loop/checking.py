"""Plays the promises of a GPU's firmware against somebody's, as `rtl check` does for a node."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop.alone.cases import LonePromise
from ringhil.emulator.loop.alone.servers import Stages
from ringhil.emulator.loop.alone.stage import NotKept
from ringhil.emulator.loop.promises import PROMISES, FirmwarePromise
from ringhil.emulator.loop.registers import RegistersKept
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.firmware_choice import ALL, Chosen, FirmwareChoice
from ringhil.emulator.server.foreign import FirmwareError, FirmwareMissing
from ringhil.emulator.server.observations import FirmwareLost


class FirmwareVerdict(StrEnum):
    """What became of a promise."""

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
    """Each of these promises, played. Raises FirmwareMissing when there is no board any more: of those that are left
    nobody can tell."""
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
    """The same of promises that can't be played."""
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
