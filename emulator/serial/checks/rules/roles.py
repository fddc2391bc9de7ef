"""Elections: the GPU that counts has failed for a moment, one is elected anew, and whoever wants to know is told."""

from ringhil.emulator.serial.checks.bench import PAUSE, LineBench
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.rules.faults import seen, victim, whole
from ringhil.emulator.serial.checks.tap import Heard, all_shown
from ringhil.emulator.serial.words import RingCensus
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import EventKind, LineFault
from ringhil.protocol.wire import Role

_TOLD = "roles.told"


@promise(_TOLD, "Who has subscribed to roles is told which GPU was elected, in which epoch.", needs="faults.done")
def told(bench: LineBench) -> None:
    began, ended, census, heard = _election(bench, EventKind.ROLES)
    events = [each for each in heard if isinstance(each, m.RoleEvent) and each.role == Role.ENTRY.code]
    elected = [(each.gpu, each.epoch) for each in events if each.holds == 1]
    what = f"dead of GPU {census.entry}, and its end"
    if (census.entry, census.epoch) not in elected:
        promised = f"role_event: GPU {census.entry} elected in epoch {census.epoch}, as census_reply says"
        raise bench.broken(promised, all_shown([*events]), sent=what)
    before = began
    for each in events:
        if each.gpu >= bench.info.gpus or each.holds > 1 or not before <= each.cycle <= ended:
            raise bench.broken(
                f"a GPU of the card, 0 or 1, a cycle of {before} .. {ended}", all_shown([each]), sent=what
            )
        before = each.cycle


@promise("roles.unasked", "Who has subscribed to all but roles is told of none.", needs=_TOLD)
def unasked(bench: LineBench) -> None:
    _, _, _, heard = _election(bench, EventKind.COUNTS | EventKind.FAULTS)
    events: list[Heard] = [each for each in heard if isinstance(each, m.RoleEvent)]
    if events:
        raise bench.broken("no role_event", all_shown(events), sent="subscribe to counts and faults")


def _election(bench: LineBench, events: int) -> tuple[int, int, RingCensus, list[Heard]]:
    """The GPU that counts fails for a moment: cycles before and after, the first census of a later epoch, and what has
    come meanwhile."""
    before, _ = victim(bench)
    bench.need("events")
    bench.client.subscribe(events)
    began = bench.client.now()
    bench.tap.forget()
    bench.client.fault(LineFault.DEAD, before.entry)
    bench.tap.hear(PAUSE)
    bench.client.clear(LineFault.DEAD, before.entry)
    what = f"dead of GPU {before.entry}"
    census = seen(bench, "a census of a later epoch", lambda now: now.epoch > before.epoch, what)
    assert census is not None
    ended = bench.client.now()
    heard = [*bench.tap.came]
    bench.client.subscribe(0)
    whole(bench, before, what)
    return began, ended, census, heard
