"""Faults: an emulated card does them when it is told to, and ends them; a real card refuses."""

from ringhil.emulator.serial.checks.bench import PAUSE, LineBench, NotJudged
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.shown import shown
from ringhil.emulator.serial.client import TRIES
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.management import EventKind, Injection, LineFault, Refusal

_DONE = "faults.done"
_NO_FAULT = 0xEE
_TRIES = 200  # censuses until a GPU is counted again


def _inject(bench: LineBench, injection: int, fault: int, gpu: int) -> m.InjectRequest:
    return m.InjectRequest(bench.next_id(), injection, fault, gpu, 0)


@promise(
    "faults.values", "A fault, a GPU or an injection that there is not is refused; so is the end of what is not set."
)
def values(bench: LineBench) -> None:
    bench.need("faults")
    wrong = (
        (_inject(bench, Injection.SET.code, _NO_FAULT, 0), Refusal.BAD_VALUE),
        (_inject(bench, 7, LineFault.DEAD.code, 0), Refusal.BAD_VALUE),
        (_inject(bench, Injection.SET.code, LineFault.DEAD.code, bench.info.gpus), Refusal.NO_SUCH_GPU),
        (_inject(bench, Injection.CLEAR.code, LineFault.SLOW.code, bench.info.gpus - 1), Refusal.BAD_VALUE),
    )
    for request, why in wrong:
        bench.expect_refusal(wrap(encode(request)), request.id, why, sent=shown(request))


@promise(_DONE, "A GPU that was made dead is left out of the next censuses, and counted again when that is ended.")
def done(bench: LineBench) -> None:
    gpu = _victim(bench)
    card = bench.client
    card.fault(LineFault.DEAD, gpu)
    try:
        _until(bench, gpu, False)
        with bench.refused(Refusal.BAD_VALUE):
            card.fault(LineFault.DEAD, gpu)
    finally:
        card.clear(LineFault.DEAD, gpu)
    _until(bench, gpu, True)


@promise("faults.told", "Who has subscribed to faults is told when one is set and when it is ended.", needs=_DONE)
def told(bench: LineBench) -> None:
    gpu = _victim(bench)
    card = bench.client
    card.subscribe(EventKind.FAULTS)
    wanted = []
    for injection, act in ((Injection.SET, card.fault), (Injection.CLEAR, card.clear)):
        act(LineFault.DEAD, gpu)
        wanted.append((injection.code, LineFault.DEAD.code, gpu))
    heard: list[m.FaultEvent] = []
    for each in card.events(bench.timeout):
        if isinstance(each, m.FaultEvent):
            heard.append(each)
        if len(heard) == len(wanted):
            break
    card.subscribe(0)
    found = [(each.injection, each.fault, each.gpu) for each in heard]
    if found != wanted:
        raise bench.broken(f"dead of GPU {gpu} set, and ended", ", ".join(map(shown, heard)) or "nothing")
    _until(bench, gpu, True)


def _victim(bench: LineBench) -> int:
    """A GPU that is counted, and has not counted."""
    bench.need("faults")
    if not bench.faults:
        raise NotJudged("faults are injected only when asked for")
    bench.need("census")
    with bench.possible():
        census = bench.client.census(timeout=bench.counting / TRIES)
    others = [gpu for gpu in census.members or () if gpu != census.entry]
    if not others:
        raise NotJudged("no GPU can be spared")
    return others[-1]


def _until(bench: LineBench, gpu: int, counted: bool) -> None:
    census = bench.client.census(timeout=bench.counting / TRIES)
    for _ in range(_TRIES):
        if (gpu in (census.members or ())) is counted:
            return
        bench.tap.hear(PAUSE)
        census = bench.client.census(timeout=bench.counting / TRIES)
    what = f"{'' if counted else 'not '}counted"
    raise bench.broken(f"GPU {gpu} is {what} in the end", f"members {census.members}", sent=f"dead of GPU {gpu}")
