"""What a lost GPU was asked last says nothing of the limits of those that come when it is found again."""

from types import SimpleNamespace

import pytest

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.contexts.command import Command, unit_of
from ringhil.emulator.host.work import segments
from ringhil.emulator.judge.contexts.commands_seen import seen_command
from ringhil.emulator.judge.contexts.terms_watch import TermsWatch
from ringhil.emulator.scenario import loads
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

FILE = """
server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}
sharing:
  groups: {team: {memory: 600}}
  applications:
    x: {gpu: a.2, group: team, steps: 1, compute: 900}
    y: {gpu: a.2, group: team, steps: 1, compute: 900}
"""
GPU, OTHER = 2, 1
CREATE, CONFIGURE, DESTROY = Compute.CREATE, Compute.CONFIGURE, Compute.DESTROY


class Team:
    """x and y by their contexts, 1 and 2."""

    def __init__(self, *works: str) -> None:
        self.card = SimpleNamespace(number=0, members=(OTHER, GPU))
        gpus = {"x": (0, GPU), "y": (0, GPU)}
        places = {"x": (0, GPU, 1), "y": (0, GPU, 2)}
        sharing, self.tree = loads(FILE).sharing, SimpleNamespace()
        self.judge = TermsWatch(Stream(), [], sharing, self.tree, places, gpus, lambda name: name in works)  # type: ignore[arg-type]

    def send(self, number: int, compute: Compute, now: int, context: int, limit: int = 0) -> None:
        route = segments.Route(0, 0, 0, GPU, False, 9, 1)
        body = Command(compute, 0 if compute is CONFIGURE else context, limit).payload()
        command = seen_command(segments.segments(unit_of(number), 1, body, route, compute, context)[0])
        assert command is not None
        self.judge.sent(command, now)

    def answer(self, number: int, now: int, held: int = 0) -> None:
        digest = held << 32
        self.judge.heard(
            Result(0, 0, 9, 0, 1, unit_of(number), GPU, 1, ResultStatus.DONE.code, 0, 0, digest, 16, 0), now
        )

    def refuse(self, number: int, now: int, reason: AckStatus) -> None:
        self.judge.heard(Acknowledgement(0, 0, 9, 0, 1, unit_of(number), GPU, 1, reason.code, 0, 0), now)

    def count(self, *members: int, card: int = 0) -> None:
        self.judge.counted(SimpleNamespace(number=card, members=members))  # type: ignore[arg-type]

    def write(self, memory: int) -> None:
        """To their group."""
        root = SimpleNamespace(parent=None)
        team = SimpleNamespace(parent=root, memory=memory, slice=None, priority=None)
        own = (SimpleNamespace(parent=team, memory=None, slice=None, priority=None) for _ in "xy")
        members = [SimpleNamespace(name=name, group=group) for name, group in zip("xy", own, strict=True)]
        self.tree.members = lambda: members
        self.tree.on_changed()

    def told(self) -> list[str]:
        self.judge.finish(1000)
        return [str(each) for each in (*self.judge.terms, *self.judge.memory)]


@pytest.fixture
def lost() -> Team:
    """x was there with all that the group has; room for y was being made, when their GPU was lost."""
    team = Team()
    team.send(0, CREATE, 5, 1, 600)
    team.answer(0, 20)
    team.send(1, CONFIGURE, 40, 1, 300)
    team.count(OTHER)
    return team


def test_who_comes_then_gets_all(lost: Team) -> None:
    lost.send(2, DESTROY, 60, 1)
    lost.answer(2, 70)
    lost.send(3, CREATE, 80, 2, 600)
    lost.answer(3, 90)
    assert lost.told() == []


def test_what_was_sent_in_the_very_cycle_counts_no_more_either() -> None:
    team = Team()
    team.send(0, CREATE, 5, 1, 600)
    team.answer(0, 20)
    team.send(1, CREATE, 40, 2, 600)
    team.count(OTHER)
    assert team.told() == []


def test_a_wrong_limit_is_told_then(lost: Team) -> None:
    """What was asked of the lost one is no reason to wait."""
    lost.send(2, DESTROY, 60, 1)
    lost.answer(2, 70)
    lost.send(3, CREATE, 80, 2, 500)
    lost.answer(3, 90)
    assert lost.told() == ["y has a limit of 500 pages; its part is 600"]


def test_before_it_is_found_nothing_is_wrong(lost: Team) -> None:
    assert lost.told() == []


@pytest.mark.parametrize(("card", "members"), [(1, (OTHER,)), (0, ()), (0, (OTHER, GPU))])
def test_who_is_not_lost_is_judged(card: int, members: tuple[int, ...]) -> None:
    team = Team()
    team.send(0, CREATE, 5, 1, 600)
    team.answer(0, 20)
    team.count(*members, card=card)
    team.send(1, CREATE, 80, 2, 600)
    team.answer(1, 90)
    assert "y was given 600 pages while its group may come to hold 1200, and may have 600" in team.told()


@pytest.mark.parametrize("works", [(), ("x",), ("x", "y")])
def test_who_has_begun_and_has_no_context_may_have_its_part(works: tuple[str, ...]) -> None:
    """The command that creates it has nowhere to go, while nobody reaches the card."""
    team = Team(*works)
    team.send(0, CREATE, 5, 1, 300)
    team.answer(0, 20)
    assert team.told() == ["x has a limit of 300 pages; its part is 600"] * ("y" not in works)


@pytest.mark.parametrize("reason", [AckStatus.NO_CONTEXT, AckStatus.FOREIGN, AckStatus.BUSY])
def test_what_a_gpu_says_it_has_lost_takes_no_part(reason: AckStatus) -> None:
    """It was out of the ring, and nobody has counted it out; what x was still to be given is sent in that cycle."""
    team = Team()
    team.send(0, CREATE, 5, 1, 600)
    team.answer(0, 20)
    team.send(1, Compute.ALLOCATE, 40, 1, 90)
    team.send(2, CREATE, 60, 2, 600)
    team.send(3, CONFIGURE, 60, 1, 300)
    team.refuse(1, 60, reason)
    team.refuse(3, 80, reason)
    team.answer(2, 80)
    gone = reason is AckStatus.NO_CONTEXT
    assert (team.told() == []) == gone


def test_a_context_that_is_being_created_may_be_given_another_limit() -> None:
    team = Team()
    team.send(0, CREATE, 5, 1, 600)
    team.send(1, CONFIGURE, 6, 1, 300)
    team.answer(0, 20)
    team.answer(1, 21)
    assert team.told() == ["x has a limit of 300 pages; its part is 600"]


@pytest.mark.parametrize(("context", "judged"), [(9, True), (1, False)])
def test_where_a_driver_outside_has_spoken_to_one_of_them_nothing_is_wrong_for_sure(context: int, judged: bool) -> None:
    team = Team()
    team.judge.passed_on((0, GPU, context))
    team.send(0, CREATE, 5, 1, 500)
    team.answer(0, 20)
    wrong = "x has a limit of 500 pages; its part is 600"
    assert team.told() == [wrong] * judged
    assert [*team.judge.doubts] == [f"{wrong}: a driver outside has spoken to a context of its tasks"] * (not judged)


def test_a_launch_that_is_gone_says_so_though_another_command_is_out() -> None:
    """It is asked for again; what y gets in that cycle is told before the answer."""
    team = Team()
    team.send(0, CREATE, 5, 1, 600)
    team.answer(0, 20)
    team.send(1, Compute.LAUNCH, 30, 1, 900)
    team.answer(1, 40)
    team.send(2, CONFIGURE, 50, 1, 300)
    team.send(1, Compute.LAUNCH, 60, 1, 900)
    team.send(3, CREATE, 90, 2, 600)
    team.refuse(1, 90, AckStatus.NO_CONTEXT)
    team.refuse(2, 95, AckStatus.NO_CONTEXT)
    team.answer(3, 99)
    assert team.told() == []


def test_a_launch_that_was_given_up_is_no_reason_to_wait() -> None:
    team = Team()
    team.send(0, CREATE, 5, 1, 600)
    team.answer(0, 20)
    team.send(1, Compute.LAUNCH, 30, 1, 900)
    team.send(2, DESTROY, 50, 1)
    team.answer(2, 60)
    team.send(3, CREATE, 90, 2, 500)
    team.answer(3, 99)
    assert team.told() == ["y has a limit of 500 pages; its part is 600"]


@pytest.mark.parametrize("busy", [False, True])
def test_what_was_allowed_before_a_write_is_allowed_until_its_gpu_has_nothing_to_do(busy: bool) -> None:
    """Something may have been decided, and wait behind what the GPU is asked for."""
    team = Team()
    team.send(0, CREATE, 5, 1, 600)
    team.answer(0, 20)
    if busy:
        team.send(1, Compute.COPY, 25, 1)
    team.write(300)
    team.write(200)
    if not busy:
        team.send(1, Compute.COPY, 25, 1)
    team.send(2, CREATE, 35, 2, 600)
    team.answer(1, 40)
    wrong = ["y was given 600 pages; it may have 200"]
    team.answer(2, 50)
    assert [str(each) for each in team.judge.memory][:1] == ([] if busy else wrong)


def test_what_was_wrong_before_a_write_is_wrong() -> None:
    team = Team()
    team.send(0, CREATE, 5, 1, 600)
    team.answer(0, 20)
    team.send(1, CREATE, 35, 2, 600)
    team.write(2000)
    team.answer(1, 50)
    assert team.told()[:1] == ["y was given 600 pages while its group may come to hold 1200, and may have 600"]
