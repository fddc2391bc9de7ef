"""The order in which contexts are told of what their groups may have, whoever is quicker than another."""

import pytest

from ringhil.emulator.host.contexts.command import Command, ContextRef, Reply
from ringhil.emulator.host.groups.group import GroupMember, Used
from ringhil.emulator.host.groups.tree import GroupTree
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

from .pretended import UNLIMITED, Gpus, Port, settle, tree_of


class Host:
    """Two processes in `team/a` and `team/b`, with a context each on one GPU."""

    def __init__(self, **memory: str) -> None:
        self.gpus, self.port = Gpus(), Port()
        self.tree: GroupTree = tree_of(self.gpus, self.port)
        self.replies = list[Reply]()
        for path in ("team", "team/a", "team/b"):
            self.tree.mkdir(path)
            self.write(f"{path}/gpu.memory.max", memory.get(path.rpartition("/")[2], "max"))
        self.a, self.b = (self.tree.join(name, f"team/{name}") for name in "ab")
        self.places = {self.a: ContextRef(0, 0, 1), self.b: ContextRef(0, 0, 2)}

    def write(self, path: str, text: str) -> None:
        self.tree.write(path, text, lambda: None)

    def ask(self, who: GroupMember, compute: Compute, amount: int = UNLIMITED) -> None:
        self.tree.ask(who, self.places[who], Command(compute, who.pid, amount), self.replies.append)

    def carry_out(self, who: GroupMember) -> None:
        self.gpus.carry_out(self.places[who])

    def settle(self) -> None:
        settle(self.gpus, self.port)

    def read(self, path: str) -> list[str]:
        """Where its text will be."""
        found = list[str]()
        self.tree.read(path, found.append)
        return found

    def limits(self) -> list[int]:
        return [self.gpus.contexts[self.places[who]].limit for who in (self.a, self.b)]

    def stat(self, path: str) -> str:
        found = self.read(f"{path}/gpu.stat")
        self.settle()
        return found[0]


@pytest.fixture
def host() -> Host:
    """`team` may have 90 pages."""
    return Host(team="90K")


def begun(host: Host) -> Host:
    for who in (host.a, host.b):
        host.ask(who, Compute.CREATE)
    host.settle()
    return host


def test_one_is_raised_when_the_other_is_lowered() -> None:
    host = begun(Host(team="90K", a="60K", b="30K"))
    assert host.limits() == [60, 30]
    host.write("team/a/gpu.memory.max", "30K")
    host.write("team/b/gpu.memory.max", "60K")
    assert host.gpus.waiting == [host.places[host.a]]  # nothing has gone to the other
    host.ask(host.a, Compute.ALLOCATE, 60)
    host.settle()
    assert host.replies[-1].status is ResultStatus.OVER_LIMIT
    assert host.limits() == [30, 60]


def test_memory_that_was_taken_on_the_way_is_not_given_twice() -> None:
    host = begun(Host(team="90K", a="60K", b="30K"))
    host.ask(host.a, Compute.ALLOCATE, 50)  # goes out before it is lowered
    host.write("team/a/gpu.memory.max", "30K")
    host.write("team/b/gpu.memory.max", "60K")
    host.settle()
    assert host.limits() == [30, 40]
    host.ask(host.a, Compute.FREE, 45)  # and what is free again is for the other
    host.settle()
    assert host.limits() == [30, 60]


def test_a_new_context_waits_until_there_is_room_and_is_told_of_all_of_it(host: Host) -> None:
    host.ask(host.a, Compute.CREATE)
    host.settle()
    assert host.gpus.contexts[host.places[host.a]].limit == 90
    host.ask(host.b, Compute.CREATE)
    host.ask(host.b, Compute.ALLOCATE, 45)  # a program that doesn't wait
    assert host.gpus.waiting == [host.places[host.a]]
    host.carry_out(host.a)
    host.carry_out(host.b)
    assert host.limits() == [45, 45]
    host.settle()
    assert [reply.done for reply in host.replies] == [True] * 3


def test_contexts_are_counted_that_the_gpu_has(host: Host) -> None:
    """Not one that waits for room, nor one that goes; and no launch that there isn't."""
    host.ask(host.a, Compute.CREATE)
    host.settle()
    host.ask(host.b, Compute.CREATE)
    text = host.read("team/gpu.stat")
    while not text:
        host.carry_out(host.a)
    assert text[0].startswith("contexts 1\nlaunched 0\n")
    host.settle()
    assert host.stat("team").startswith("contexts 2\nlaunched 0\n")
    host.ask(host.b, Compute.DESTROY)
    text = host.read("team/gpu.stat")
    while not text:
        host.carry_out(host.a)
    assert text[0].startswith("contexts 1\n")


def test_a_context_that_is_lost_in_the_midst_of_its_answers_is_not_counted(host: Host) -> None:
    begun(host)
    text = host.read("team/gpu.stat")
    host.carry_out(host.a)
    host.gpus.lose(0)
    assert text[0].startswith("contexts 0\n")


def test_memory_of_one_that_goes_is_given_on_when_it_has_gone() -> None:
    host = begun(Host(team="90K", a="60K", b="30K"))
    host.ask(host.a, Compute.ALLOCATE, 60)  # on its way before the end
    host.ask(host.a, Compute.DESTROY)
    host.write("team/a/gpu.memory.max", "10K")
    host.write("team/b/gpu.memory.max", "80K")
    assert host.places[host.b] not in host.gpus.waiting
    host.settle()
    assert host.gpus.contexts[host.places[host.b]].limit == 80


def test_a_process_is_told_of_the_least_that_it_was_given_anywhere() -> None:
    """Before it has a context, of what its groups may have."""
    host = Host(team="90K", a="60K")
    assert host.tree.governor.limit(host.a) == 60
    begun(host)
    assert host.tree.governor.limit(host.a) == host.limits()[0]
    host.write("team/gpu.memory.max", "20K")
    host.settle()
    assert host.tree.governor.limit(host.a) == host.limits()[0] == 10
    assert Host().tree.governor.limit(Host().a) is None


def test_a_process_on_two_gpus_is_told_of_the_least_of_both(host: Host) -> None:
    """On the first there is another one."""
    for gpu in (1, 0):
        command = Command(Compute.CREATE, host.a.pid, UNLIMITED)
        host.tree.ask(host.a, ContextRef(0, gpu, 1), command, host.replies.append)
    host.ask(host.b, Compute.CREATE)
    host.settle()
    assert host.gpus.contexts[ContextRef(0, 1, 1)].limit == 90
    assert host.tree.governor.limit(host.a) == 45


def test_one_that_goes_keeps_nobody_waiting_for_whom_there_is_room() -> None:
    """Its group may have less than it held: that is no limit that is still to be lowered."""
    host = Host(team="90K", a="60K")
    host.ask(host.a, Compute.CREATE)
    host.settle()
    host.ask(host.a, Compute.DESTROY)
    host.write("team/a/gpu.memory.max", "10K")
    host.ask(host.b, Compute.CREATE)
    assert host.places[host.b] in host.gpus.waiting
    host.carry_out(host.b)
    assert host.gpus.contexts[host.places[host.b]].limit == 30


def test_what_is_found_to_be_held_counts() -> None:
    """A driver of somebody else's has taken it."""
    host = begun(Host(team="90K"))
    assert host.limits() == [45, 45]
    host.gpus.contexts[host.places[host.a]].held = 40
    host.read("gpu.memory.current")
    host.settle()
    host.write("team/gpu.memory.max", "60K")
    host.settle()
    assert host.limits() == [40, 20]


def test_what_a_context_saves_stays_what_it_was_when_it_is_configured(host: Host) -> None:
    create = Command(Compute.CREATE, host.a.pid, UNLIMITED, state=33)
    host.tree.ask(host.a, host.places[host.a], create, host.replies.append)
    host.settle()
    host.write("team/a/gpu.slice", "400")
    ((command, _),) = host.gpus.lines[host.places[host.a]]
    assert (command.compute, command.slice, command.state) == (Compute.CONFIGURE, 400, 33)


def test_what_follows_an_end_waits_for_it(host: Host) -> None:
    begun(host)
    host.ask(host.a, Compute.DESTROY)
    host.ask(host.a, Compute.CREATE)
    host.ask(host.a, Compute.ALLOCATE, 45)
    host.settle()
    assert [reply.done for reply in host.replies] == [True] * 5
    assert host.limits() == [45, 45]
    host.ask(host.a, Compute.CREATE)
    host.ask(host.a, Compute.FREE, 45)
    host.settle()
    assert [reply.status for reply in host.replies[-2:]] == [AckStatus.EXISTS, ResultStatus.DONE]


def test_a_context_that_its_gpu_has_lost_unnoticed_is_created_on_its_terms(host: Host) -> None:
    begun(host)
    host.gpus.lose(0)
    host.ask(host.a, Compute.CREATE)
    host.settle()
    assert host.replies[-1].done
    host.ask(host.b, Compute.CREATE)
    host.settle()
    assert host.limits() == [45, 45]


def test_a_context_that_its_gpu_refuses_keeps_nothing_from_others(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(host.gpus, "_reply", lambda place, command: Reply(AckStatus.BUSY))
        host.ask(host.a, Compute.CREATE)
        host.settle()
    assert not host.replies[-1].done
    host.ask(host.b, Compute.CREATE)
    host.settle()
    assert host.gpus.contexts[host.places[host.b]].limit == 90


def test_a_context_that_its_gpu_does_not_destroy_stays(host: Host) -> None:
    """Another one's key is no reason; what was asked meanwhile is carried out."""
    begun(host)
    host.tree.ask(host.a, host.places[host.a], Command(Compute.DESTROY, 999), host.replies.append)
    host.ask(host.a, Compute.ALLOCATE, 5)
    host.settle()
    assert [reply.status for reply in host.replies[-2:]] == [AckStatus.FOREIGN, ResultStatus.DONE]
    assert host.limits() == [45, 45]
    host.tree.leave(host.a)
    host.settle()
    assert host.gpus.contexts[host.places[host.b]].limit == 90


def test_one_that_is_being_raised_may_have_all_of_that_already(host: Host) -> None:
    begun(host)
    host.ask(host.b, Compute.DESTROY)
    while host.places[host.b] in host.gpus.waiting:
        host.carry_out(host.b)
    assert host.gpus.waiting == [host.places[host.a]]  # it is told that it may have all
    host.ask(host.b, Compute.CREATE)
    assert host.gpus.waiting == [host.places[host.a]]
    host.settle()
    assert host.limits() == [45, 45]


def test_a_process_that_ends_without_a_word_gives_everything_back(host: Host) -> None:
    begun(host)
    host.ask(host.a, Compute.ALLOCATE, 45)
    host.settle()
    host.ask(host.a, Compute.CREATE)  # it ends while this is looked at
    host.tree.leave(host.a)
    assert host.tree.group("team/a").members == {host.a.pid: host.a}
    host.settle()
    assert [*host.gpus.contexts] == [host.places[host.b]]
    assert host.tree.group("team/a").members == {}
    host.tree.rmdir("team/a")


@pytest.mark.parametrize("at_once", [True, False])
def test_what_a_removed_group_used_is_known_to_the_one_around_it(host: Host, at_once: bool) -> None:
    """At once: the GPU says so only after it was removed."""
    begun(host)
    host.ask(host.a, Compute.ALLOCATE, 1)
    host.write("cgroup.procs", str(host.a.pid))
    if not at_once:
        host.settle()
    host.tree.rmdir("team/a")
    assert "run_usec 1000\n" in host.stat("team")


def test_a_process_has_no_key_but_its_own_and_no_context_but_its_own(host: Host) -> None:
    begun(host)
    host.tree.ask(host.a, host.places[host.a], Command(Compute.CONFIGURE, 0, UNLIMITED), host.replies.append)
    host.tree.ask(host.a, host.places[host.b], Command(Compute.FREE, host.b.pid, 1), host.replies.append)
    host.settle()
    assert [reply.status for reply in host.replies[-2:]] == [AckStatus.FOREIGN] * 2


def test_what_it_may_have_is_not_its_own_to_say(host: Host) -> None:
    """Also while its group is given less: what the GPU refuses isn't taken for the answer to that."""
    begun(host)
    host.ask(host.a, Compute.CONFIGURE)
    host.write("team/gpu.memory.max", "60K")
    host.ask(host.a, Compute.ALLOCATE, 31)
    host.carry_out(host.a)
    assert len(host.gpus.lines[host.places[host.a]]) == 2
    host.settle()
    assert [reply.status for reply in host.replies[-2:]] == [ResultStatus.INVALID, ResultStatus.OVER_LIMIT]
    assert host.limits() == [30, 30]


def test_what_a_group_was_told_is_not_lost_with_the_gpu_and_stays_where_it_was_used(host: Host) -> None:
    """Its process has moved, and the GPU goes before it says what was used until then."""
    begun(host)
    host.ask(host.a, Compute.ALLOCATE, 10)
    host.settle()
    assert "run_usec 1000\n" in host.stat("team/a")
    host.write("team/b/cgroup.procs", str(host.a.pid))
    assert host.gpus.waiting
    host.gpus.lose(0)
    host.settle()
    assert [host.stat(path).split()[5] for path in ("team/a", "team/b", "team")] == ["1000", "0", "1000"]


def test_answers_that_come_late_take_nothing_back(host: Host) -> None:
    context = next(iter(begun(host).tree.governor.within(host.tree.root)))
    done, lost = Reply(ResultStatus.DONE, 5), Reply(None)
    for run, counts in ((done, done), (Reply(ResultStatus.DONE, 3), done), (lost, done), (done, lost)):
        host.tree.governor.used(context, run, counts)
        assert context.used == Used(5, 0, 5)
