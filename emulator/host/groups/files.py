"""The files of a group: what is read from them, and what a write does.

What a GPU knows is asked of it, over the ring, each time that a file is read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ringhil.emulator.host.contexts.command import Reply
from ringhil.emulator.host.groups.amounts import DEFAULT, MAX, priority
from ringhil.emulator.host.groups.governor import Context
from ringhil.emulator.host.groups.group import ProcessGroup, Used
from ringhil.protocol.wire import Query

if TYPE_CHECKING:
    from ringhil.emulator.host.groups.tree import GroupTree

Read = Callable[["GroupTree", ProcessGroup, Callable[[str], None]], None]
Write = Callable[["GroupTree", ProcessGroup, str], None]


@dataclass(frozen=True)
class GroupFile:
    """`write`: None: it is only read; it raises OSError. `root`: the root has it, too."""

    doc: str
    read: Read
    write: Write | None = None
    root: bool = False

    def has(self, group: ProcessGroup) -> bool:
        """Whether this group has it."""
        return self.root or group.parent is not None


# ------------------------------------------------------------------------------------------------------ what was given


def _given(text: Callable[["GroupTree", ProcessGroup], str]) -> Read:
    def read(tree: "GroupTree", group: ProcessGroup, then: Callable[[str], None]) -> None:
        then(f"{text(tree, group)}\n")

    return read


def _memory(tree: "GroupTree", group: ProcessGroup) -> str:
    return MAX if group.memory is None else str(tree.units.bytes_of(group.memory))


def _slice(tree: "GroupTree", group: ProcessGroup) -> str:
    return DEFAULT if group.slice is None else tree.units.microseconds(group.slice)


def _priority(tree: "GroupTree", group: ProcessGroup) -> str:
    return DEFAULT if group.priority is None else str(group.priority)


def _set_memory(tree: "GroupTree", group: ProcessGroup, text: str) -> None:
    group.memory = tree.units.pages(text)


def _set_slice(tree: "GroupTree", group: ProcessGroup, text: str) -> None:
    group.slice = tree.units.cycles(text)


def _set_priority(tree: "GroupTree", group: ProcessGroup, text: str) -> None:
    group.priority = priority(text)


def _processes(tree: "GroupTree", group: ProcessGroup, then: Callable[[str], None]) -> None:
    then("".join(f"{pid}\n" for pid in tree.pids(group)))


def _move(tree: "GroupTree", group: ProcessGroup, text: str) -> None:
    tree.move(text, group)


# ------------------------------------------------------------------------------------------------- what GPUs are asked


def _asked(
    tree: "GroupTree",
    group: ProcessGroup,
    queries: tuple[Query, ...],
    heard: Callable[[Context, list[Reply]], None],
    then: Callable[[], None],
) -> None:
    """Ask about each context of a group that is there; one that is lost meanwhile is left out."""
    contexts = [context for context in tree.governor.within(group) if context.there]
    left = len(contexts)
    if not contexts:
        then()

    def answered(context: Context, answers: list[Reply]) -> None:
        nonlocal left
        left -= 1
        if all(answer.done for answer in answers):
            heard(context, answers)
        if not left:
            then()

    for context in contexts:
        tree.governor.query([context], queries, partial(answered, context))


def _held(tree: "GroupTree", group: ProcessGroup, then: Callable[[str], None]) -> None:
    pages = 0 if group.parent is not None else tree.held_outside()

    def heard(context: Context, answers: list[Reply]) -> None:
        nonlocal pages
        pages += answers[0].high

    _asked(tree, group, (Query.MEMORY,), heard, lambda: then(f"{tree.units.bytes_of(pages)}\n"))


def _stat(tree: "GroupTree", group: ProcessGroup, then: Callable[[str], None]) -> None:
    contexts, launched = 0, 0

    def heard(context: Context, answers: list[Reply]) -> None:
        nonlocal contexts, launched
        run, counts, launch = answers
        tree.governor.used(context, run, counts)
        contexts += 1
        launched += launch.high

    def told() -> None:
        # All at this moment: one that has gone since it was heard is among those of the past.
        there = (context.uncounted for context in tree.governor.within(group))
        used = sum((*there, *(each.past for each in group.inwards())), start=Used())
        run = used.run * tree.units.cycle // 1000
        rows = {"contexts": contexts, "launched": launched, "run_usec": run}
        rows |= {"switches": used.switches, "refused": used.refused}
        then("".join(f"{name} {value}\n" for name, value in rows.items()))

    _asked(tree, group, (Query.RUN_TIME, Query.COUNTS, Query.LAUNCH), heard, told)


def _contexts(tree: "GroupTree", group: ProcessGroup, then: Callable[[str], None]) -> None:
    rows = dict[tuple[int, ...], str]()

    def heard(context: Context, answers: list[Reply]) -> None:
        memory, place, terms, member = answers[0], context.place, context.terms, context.member
        assert terms is not None
        unlimited = member.group.memory_there is None
        words = {
            "name": member.name,
            "gpu": tree.gpu_name(place.card, place.gpu),
            "context": place.context,
            "memory.current": tree.units.bytes_of(memory.high),
            "memory.max": MAX if unlimited else tree.units.bytes_of(memory.low),
            "slice": tree.units.microseconds(terms.slice) if terms.slice else DEFAULT,
            "priority": terms.priority,
        }
        text = " ".join(f"{name}={value}" for name, value in words.items())
        rows[member.pid, place.card, place.gpu, place.context] = f"{member.pid} {text}\n"

    _asked(tree, group, (Query.MEMORY,), heard, lambda: then("".join(rows[key] for key in sorted(rows))))


FILES = {
    "cgroup.procs": GroupFile("process ids, a line each; written: this process comes", _processes, _move, root=True),
    "gpu.memory.max": GroupFile("bytes of each GPU that it may hold; `max`", _given(_memory), _set_memory),
    "gpu.memory.current": GroupFile(
        "bytes that it holds, of all GPUs; the root: programs outside, too", _held, root=True
    ),
    "gpu.slice": GroupFile("microseconds in a row while others wait; `default`", _given(_slice), _set_slice),
    "gpu.priority": GroupFile("0 to 255, the highest is served first; `default`", _given(_priority), _set_priority),
    "gpu.stat": GroupFile("what its contexts have had of the GPUs", _stat, root=True),
    "gpu.contexts": GroupFile("its contexts, a line each", _contexts, root=True),
}
