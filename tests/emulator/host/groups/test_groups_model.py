"""Whatever is made, moved, written and allocated in whatever order: no group has more of a GPU than it may, what is
refused changes nothing, and nothing that was used is forgotten."""

import errno
from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ringhil.emulator.host.contexts.command import Command, ContextRef
from ringhil.emulator.host.groups.group import GroupMember, ProcessGroup
from ringhil.protocol.wire import Compute

from .pretended import UNLIMITED, Gpus, Held, Port, settle, tree_of

GPUS, CONTEXTS = 2, 3
NAMES = st.sampled_from("ab")
PATHS = st.lists(NAMES, min_size=0, max_size=3).map("/".join)
VALUES = {
    "gpu.memory.max": {"max": None, "0": 0, "12K": 12, "40960": 40, "70K": 70, "71700": 70},
    "gpu.slice": {"default": None, "16": 16, "27": 24, "400": 400, "1000.0": 1000},
    "gpu.priority": {"default": None, "0": 0, "3": 3, "255": 255},
}
WRONG = {
    "gpu.memory.max": {"-1": errno.ERANGE, "a": errno.EINVAL, "9999999999999": errno.ERANGE},
    "gpu.slice": {
        "0": errno.ERANGE,
        "": errno.EINVAL,
        "15.0": errno.ERANGE,
        "3.5": errno.EINVAL,
        "400.5": errno.EINVAL,
    },
    "gpu.priority": {"256": errno.ERANGE, "1 1": errno.EINVAL},
    "gpu.stat": {"1": errno.EACCES},
    "none": {"1": errno.ENOENT},
}


class Groups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.gpus, self.port = Gpus(), Port()
        self.tree = tree_of(self.gpus, self.port)
        # The model: groups by path with their values, processes with their group's path.
        self.groups: dict[str, dict[str, int | None]] = {"": {}}
        self.where: dict[GroupMember, str] = {}
        self.changing = 0
        self.told = dict[tuple[ProcessGroup, str], int]()

    # ------------------------------------------------------------------------------------------------------ the tree

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        """Something for the others to work with."""
        for path in ("a", "a/a", "a/b", "b"):
            self._make(path)
            for name in VALUES:
                self._give(path, name, data)
        self._start("a/a")

    @rule(path=PATHS, name=NAMES, what=st.sampled_from(["make", "remove", "wrong"]), data=st.data())
    def shape(self, path: str, name: str, what: str, data: st.DataObject) -> None:
        match what:
            case "make":
                self._make(f"{path}/{name}".strip("/"))
            case "remove":
                self._remove(path)
            case _ if path in self.groups and path:
                name = data.draw(st.sampled_from([*WRONG]))
                text, number = data.draw(st.sampled_from([*WRONG[name].items()]))
                self._tried(number, lambda: self.tree.write(f"{path}/{name}", text, lambda: None))

    def _make(self, path: str) -> None:
        above, number = path.rpartition("/")[0], None
        if above not in self.groups:
            number = errno.ENOENT
        elif path in self.groups:
            number = errno.EEXIST
        elif above and above in self.where.values():
            number = errno.EBUSY
        self._tried(number, lambda: self.tree.mkdir(path))
        if number is None:
            self.groups[path] = dict.fromkeys(VALUES)

    def _remove(self, path: str) -> None:
        number = None
        if path not in self.groups:
            number = errno.ENOENT
        elif any(other.rpartition("/")[0] == path for other in self.groups if other):
            number = errno.ENOTEMPTY
        elif path == "" or path in self.where.values():
            number = errno.EBUSY
        self._tried(number, lambda: self.tree.rmdir(path))
        if number is None:
            del self.groups[path]

    @rule(name=st.sampled_from([*VALUES, "gpu.memory.max"]), data=st.data())
    def write(self, name: str, data: st.DataObject) -> None:
        """To a group that is there, as a rule."""
        self._give(data.draw(st.sampled_from([*sorted(self.groups), "none"])), name, data)

    def _give(self, path: str, name: str, data: st.DataObject) -> None:
        text = data.draw(st.sampled_from([*VALUES[name]]))
        number = None if path in self.groups and path else errno.ENOENT
        self._tried(number, lambda: self.tree.write(f"{path}/{name}", text, self._begun()))
        if number is None:
            self.groups[path][name] = VALUES[name][text]

    @precondition(lambda self: len(self.where) < CONTEXTS)
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        self._start(data.draw(st.sampled_from(self._leaves())))

    def _start(self, path: str) -> None:
        member = self.tree.join("process", path)
        self.where[member] = path
        for gpu in range(GPUS):
            self._ask(member, gpu, Compute.CREATE, UNLIMITED)

    @rule(path=PATHS, data=st.data())
    def move(self, path: str, data: st.DataObject) -> None:
        member = self._some(data)
        number = None
        if path not in self.groups:
            number = errno.ENOENT
        elif path and any(other.startswith(f"{path}/") for other in self.groups):
            number = errno.EBUSY
        self._tried(number, lambda: self.tree.write(f"{path}/cgroup.procs", f"{member.pid}\n", self._begun()))
        if number is None:
            self.where[member] = path

    # --------------------------------------------------------------------------------------------- processes and GPUs

    @rule(
        gpu=st.integers(0, GPUS - 1),
        compute=st.sampled_from([Compute.CREATE, *[Compute.ALLOCATE] * 4, Compute.FREE, Compute.DESTROY]),
        amounts=st.lists(st.sampled_from([1, 5, 20, 60]), min_size=1, max_size=4),
        data=st.data(),
    )
    def ask(self, gpu: int, compute: Compute, amounts: list[int], data: st.DataObject) -> None:
        member = self._some(data)
        for amount in amounts:
            self._ask(member, gpu, compute, amount)

    def _ask(self, member: GroupMember, gpu: int, compute: Compute, amount: int) -> None:
        place = ContextRef(0, gpu, member.pid % CONTEXTS)
        self.tree.ask(member, place, Command(compute, member.pid, amount, 7, 7), lambda reply: None)

    @precondition(lambda self: self.gpus.waiting)
    @rule(number=st.integers(1, 8), data=st.data())
    def carry_out(self, number: int, data: st.DataObject) -> None:
        for _ in range(number):
            if self.gpus.waiting:
                self.gpus.carry_out(data.draw(st.sampled_from(self.gpus.waiting)))
                self.no_group_has_more_than_it_may()

    @rule(gpu=st.integers(0, GPUS - 1))
    def lose(self, gpu: int) -> None:
        if len(self.gpus.contexts) > 4:  # else there would never be many
            self.gpus.lose(gpu)

    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        if len(self.where) == CONTEXTS:
            member = self._some(data)
            self.tree.leave(member)
            settle(self.gpus, self.port)
            del self.where[member]

    @rule()
    def settle(self) -> None:
        settle(self.gpus, self.port)
        assert self.changing == 0
        held = sum(context.held for context in self.gpus.contexts.values())
        assert self._read("gpu.memory.current") == f"{held * 1024}\n"
        stat = self._told(self.tree.root, self._read("gpu.stat"))
        assert self.gpus.run - self.gpus.lost_run <= stat["run_usec"] <= self.gpus.run
        assert self.gpus.refused - self.gpus.lost_refused <= stat["refused"] <= self.gpus.refused
        for member, path in self.where.items():
            around = self._around(path)
            for place in member.places:
                context = self.gpus.contexts[place]
                slices = [group["gpu.slice"] for group in around if group["gpu.slice"] is not None]
                priorities = [group["gpu.priority"] for group in around if group["gpu.priority"] is not None]
                memory = [group["gpu.memory.max"] for group in around if group["gpu.memory.max"] is not None]
                assert context.slice == min(slices, default=0)
                assert context.priority == min(priorities, default=0)
                if sum(1 for other in self.gpus.contexts if other.gpu == place.gpu) == 1 or not memory:
                    assert context.limit == min(memory, default=UNLIMITED)

    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        """The answer comes when it comes; much can happen before."""
        path = data.draw(st.sampled_from(sorted(self.groups)))
        group = self.tree.group(path)
        self.tree.read(f"{path}/gpu.stat", lambda text: self._told(group, text))

    def _told(self, group: ProcessGroup, text: str) -> dict[str, int]:
        """What was used is never less than it was."""
        stat = {name: int(value) for name, value in (line.split() for line in text.splitlines())}
        for name in ("run_usec", "switches", "refused"):
            assert stat[name] >= self.told.get((group, name), 0), (group.name, name)
            self.told[group, name] = stat[name]
        assert stat["run_usec"] <= self.gpus.run
        assert stat["switches"] * 1000 == stat["run_usec"]
        assert stat["refused"] <= self.gpus.refused
        return stat

    # ------------------------------------------------------------------------------------------------ what always holds

    @invariant()
    def no_group_has_more_than_it_may(self) -> None:
        if self.changing:
            return
        for path, values in self.groups.items():
            if path and values["gpu.memory.max"] is not None:
                for gpu in range(GPUS):
                    inside = self._contexts(path, gpu)
                    held = sum(context.held for context in inside)
                    may = sum(max(context.held, context.limit) for context in inside)
                    assert may <= max(held, values["gpu.memory.max"]), (path, gpu, inside)

    @invariant()
    def the_tree_is_that_of_the_model(self) -> None:
        def walk(path: str) -> list[str]:
            names = [name for name in self.tree.names(path) if "." not in name]
            found = [f"{path}/{name}".strip("/") for name in names]
            return [path, *(each for child in found for each in walk(child))]

        assert sorted(walk("")) == sorted(self.groups)
        for path, values in self.groups.items():
            group = self.tree.group(path)
            if path:
                given = [group.memory, group.slice, group.priority]
                assert given == [values[name] for name in VALUES], path
            assert set(group.members) == {member.pid for member, at in self.where.items() if at == path}

    # ---------------------------------------------------------------------------------------------------------- helpers

    def _tried(self, number: int | None, act: Callable[[], object]) -> None:
        changing, found = self.changing, None
        try:
            act()
        except OSError as error:
            self.changing, found = changing, error.errno
        assert found == number

    def _begun(self) -> Callable[[], None]:
        """A change has begun; what is given back ends it. Of one that is refused it is never called."""

        def ended() -> None:
            self.changing -= 1

        self.changing += 1
        return ended

    def _read(self, path: str) -> str:
        found = list[str]()
        self.tree.read(path, found.append)
        settle(self.gpus, self.port)
        return found[0]

    def _some(self, data: st.DataObject) -> GroupMember:
        pid = data.draw(st.sampled_from([member.pid for member in self.where]))
        return next(member for member in self.where if member.pid == pid)

    def _leaves(self) -> list[str]:
        return [path for path in self.groups if not any(other.startswith(f"{path}/") for other in self.groups)]

    def _around(self, path: str) -> list[dict[str, int | None]]:
        names = path.split("/") if path else []
        return [self.groups["/".join(names[: n + 1])] for n in range(len(names))]

    def _contexts(self, path: str, gpu: int) -> list[Held]:
        return [
            self.gpus.contexts[place]
            for member, at in self.where.items()
            if f"{at}/".startswith(f"{path}/")
            for place in member.places
            if place.gpu == gpu and place in self.gpus.contexts
        ]


TestGroups = Groups.TestCase
TestGroups.settings = settings(stateful_step_count=40, deadline=None)
