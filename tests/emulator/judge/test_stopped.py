"""Training that is stopped otherwise than docs/howto/switching.md says, or goes on otherwise, is told."""

from collections import deque
from collections.abc import Callable, Sequence

import pytest

from ringhil.emulator.campaign.verify.judge import failures
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.switching.pipeswitch import PipeSwitch, _Coming
from ringhil.emulator.host.switching.plan import WantedTask
from ringhil.emulator.host.switching.policy import RequestQueue, SwitchPolicy
from ringhil.emulator.host.switching.strands import Strand
from ringhil.emulator.scenario import loads

from .playing import play

TEXT = """
server: {cards: {a: {gpus: 4}}, settings: {device_memory: 400, context_switch: 50}}
switching:
  gpu: [a.2, a.1]
  rate: 1000
  policy: POLICY
  interrupt: true
  recycle: 100
  tasks:
    train: {kind: training, steps: 6, layers: LAYERS}
    infer: {layers: LAYERS}
  requests:
    - {task: train}
    - {task: train}
    - {task: infer, after: 20000}
    - {task: infer, after: 20500}
    - {task: infer, after: 90000}
"""
LAYERS = ", ".join(f"{{name: l{n}, weights: 20000000, operations: 1000000000}}" for n in range(4))
PIPESWITCH, STOP_START = (
    TEXT.replace("POLICY", policy).replace("LAYERS", f"[{LAYERS}]") for policy in ("pipeswitch", "stop_start")
)
Mistake = Callable[[pytest.MonkeyPatch], None]


def told(text: str) -> Sequence[str]:
    """What is wrong; `ringhil verify` fails for it as `run` does."""
    scenario = loads(text)
    outcome = play(scenario, cells_library())
    assert outcome.switching is not None
    assert any(request.stops for request in outcome.switching.requests) or outcome.switching.broken
    broken = outcome.switching.broken
    assert (outcome.verdict == "fail") == bool(broken)
    assert [each.kind for each in failures(scenario, outcome)] == ["rightly_switched"] * min(len(broken), 4)
    return broken


def never(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SwitchPolicy, "must_stop", lambda self, wanted: False)


def late(patch: pytest.MonkeyPatch) -> None:
    """A launch too late."""
    asked = dict[int, int]()

    def must(self: SwitchPolicy, wanted: WantedTask) -> bool:
        if not stops(self, wanted):
            return False
        now = self.serving.port.now
        return asked.setdefault(wanted.number, now) < now

    stops = SwitchPolicy.must_stop
    patch.setattr(SwitchPolicy, "must_stop", must)


def early(patch: pytest.MonkeyPatch) -> None:
    """For who comes only soon."""

    def must(self: SwitchPolicy, wanted: WantedTask) -> bool:
        return self.may_stop(wanted) and self.queue.has_come(self.serving.port.now + 12_000)

    patch.setattr(SwitchPolicy, "must_stop", must)


def any_kind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SwitchPolicy, "may_stop", lambda self, wanted: wanted.number < 4)


def counts(patch: pytest.MonkeyPatch) -> None:
    """A step that was stopped counts."""

    def stopped(self: RequestQueue, wanted: WantedTask) -> None:
        if self.left(wanted) > 1:
            self.stepped(wanted)
        put_back(self, wanted)

    put_back = RequestQueue.stopped
    patch.setattr(RequestQueue, "stopped", stopped)


def again(patch: pytest.MonkeyPatch) -> None:
    """A step that is over counts only when nobody was stopped since."""
    queued = RequestQueue.stopped

    def stopped(self: RequestQueue, wanted: WantedTask) -> None:
        self._left[wanted.number] += 1
        queued(self, wanted)

    patch.setattr(RequestQueue, "stopped", stopped)


def stopped_first(patch: pytest.MonkeyPatch) -> None:
    """Once, when two new ones have come."""

    def following(self: RequestQueue, now: int) -> WantedTask | None:
        if self._stopped and len(self._new) == 2 and self.has_come(now) and not done:
            done.append(now)
            return self._stopped.popleft()
        return chosen(self, now)

    chosen, done = RequestQueue.next, list[int]()
    patch.setattr(RequestQueue, "next", following)


def last_stopped_first(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RequestQueue, "stopped", lambda self, wanted: self._stopped.appendleft(wanted))


def waits_for_new_ones(patch: pytest.MonkeyPatch) -> None:
    def following(self: RequestQueue, now: int) -> WantedTask | None:
        from_here: deque[WantedTask] = self._new or self._stopped
        return from_here.popleft() if from_here else None

    patch.setattr(RequestQueue, "next", following)


def not_again(patch: pytest.MonkeyPatch) -> None:
    """What was there before it was stopped is taken to be there still."""
    brought, bring = set[int](), PipeSwitch._bring

    def only_once(self: PipeSwitch, request: int, sizes: list[int], coming: _Coming) -> Strand:
        if request in brought:
            coming.arrived = len(sizes)
            return
        brought.add(request)
        yield from bring(self, request, sizes, coming)

    patch.setattr(PipeSwitch, "_bring", only_once)


@pytest.mark.rest(but_one_in=9)
@pytest.mark.parametrize(
    ("mistake", "text", "says"),
    [
        (never, PIPESWITCH, "(train) goes on, and request 1 (train) waits"),
        (never, STOP_START, "(train) goes on, and request 1 (train) waits"),
        (late, PIPESWITCH, "(train) goes on, and request 1 (train) waits"),
        (late, STOP_START, "(train) goes on, and request 1 (train) waits"),
        (early, PIPESWITCH, "(train) is stopped for nobody"),
        (any_kind, PIPESWITCH, "(infer) was stopped, and may not be"),
        (counts, PIPESWITCH, "whole steps"),
        (counts, STOP_START, "whole steps"),
        (again, STOP_START, "had 7 whole steps"),
        (stopped_first, PIPESWITCH, "has a turn that is request"),
        (stopped_first, STOP_START, "has a turn that is request"),
        (last_stopped_first, PIPESWITCH, "has a turn that is request"),
        (waits_for_new_ones, PIPESWITCH, "has a turn that is request"),
        (waits_for_new_ones, STOP_START, "has a turn that is request"),
        (not_again, PIPESWITCH, "is computed before it is there"),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_it_is_told(monkeypatch: pytest.MonkeyPatch, mistake: Mistake, text: str, says: str) -> None:
    mistake(monkeypatch)
    found = told(text)
    assert any(says in each for each in found), found


@pytest.mark.parametrize("text", [PIPESWITCH, STOP_START])
def test_what_is_right_is_not(text: str) -> None:
    assert told(text) == ()


@pytest.mark.parametrize("policy", ["pipelined", "resident", "pipeswitch"])
def test_who_may_not_be_stopped(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `interrupt`, or by a policy that stops nobody."""
    text = PIPESWITCH.replace("policy: pipeswitch", f"policy: {policy}")
    text = text.replace("interrupt: true", "interrupt: false") if policy == "pipeswitch" else text
    outcome = play(loads(text), cells_library())
    assert outcome.switching is not None
    assert outcome.switching.broken == ()
    assert not any(request.stops for request in outcome.switching.requests)


@pytest.mark.parametrize("at", [21500, 22500])
def test_a_stop_is_for_somebody_whose_gpu_is_lost_before_its_turn(at: int) -> None:
    """No other GPU is left: the request fails, without a phase of its own."""
    text = STOP_START.replace("gpu: [a.2, a.1]", "gpu: a.2").replace("train: {", "train: {clean: 9000, ")
    assert told(text + f"timeline: [{{at: {at}, fault: dead, gpu: a.2}}]\n") == ()
