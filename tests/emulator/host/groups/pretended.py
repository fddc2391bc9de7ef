"""GPUs that carry commands out when they are told to, in any order; written from docs/reference/contexts.md."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.contexts.command import LOST, Command, ContextRef, Reply
from ringhil.emulator.host.contexts.driver import Driver, Then
from ringhil.emulator.host.groups.amounts import Units
from ringhil.emulator.host.groups.tree import GroupTree
from ringhil.protocol.wire import AckStatus, Compute, Query, ResultStatus

MEMORY, UNLIMITED = 100, (1 << 32) - 1  # pages


@dataclass
class Held:
    """A context in a GPU."""

    key: int
    limit: int
    slice: int
    priority: int
    held: int = 0
    run: int = 0
    refused: int = 0


class Gpus:
    """Carries commands out, those of a context one by one, when it is told to."""

    def __init__(self) -> None:
        self.contexts: dict[ContextRef, Held] = {}
        self.lines: dict[ContextRef, deque[tuple[Command, Then]]] = {}
        self.run = self.refused = 0  # of all contexts that there have been
        self.lost_run = self.lost_refused = 0  # of those that were lost; their groups may know some of it

    def ask(self, place: ContextRef, command: Command, then: Then) -> None:
        self.lines.setdefault(place, deque()).append((command, then))

    @property
    def waiting(self) -> list[ContextRef]:
        return [place for place, line in self.lines.items() if line]

    def carry_out(self, place: ContextRef) -> None:
        command, then = self.lines[place].popleft()
        then(self._reply(place, command))

    def lose(self, gpu: int) -> None:
        for place in [place for place in self.contexts if place.gpu == gpu]:
            lost = self.contexts.pop(place)
            self.lost_run, self.lost_refused = self.lost_run + lost.run, self.lost_refused + lost.refused
        for place in self.waiting:
            while place.gpu == gpu and self.lines[place]:
                self.lines[place].popleft()[1](LOST)

    def _reply(self, place: ContextRef, command: Command) -> Reply:
        context = self.contexts.get(place)
        given = {"limit": command.amount, "slice": command.slice, "priority": command.priority}
        if command.compute is Compute.CREATE:
            if context is not None:
                return Reply(AckStatus.EXISTS)
            self.contexts[place] = Held(command.key, **given)
            return Reply(ResultStatus.DONE, command.amount)
        if context is None:
            return Reply(AckStatus.NO_CONTEXT)
        if command.key not in (0, context.key):
            return Reply(AckStatus.FOREIGN)
        status = ResultStatus.DONE
        match command.compute:
            case Compute.DESTROY:
                del self.contexts[place]
                return Reply(status)
            case Compute.CONFIGURE if command.key != 0:
                status = ResultStatus.INVALID
            case Compute.CONFIGURE:
                context.limit, context.slice, context.priority = command.amount, command.slice, command.priority
            case Compute.ALLOCATE:
                context.run, self.run = context.run + 1000, self.run + 1000
                if context.held + command.amount > context.limit:
                    status = ResultStatus.OVER_LIMIT
                elif command.amount > MEMORY - sum(c.held for p, c in self.contexts.items() if p.gpu == place.gpu):
                    status = ResultStatus.NO_MEMORY
                else:
                    context.held += command.amount
            case Compute.FREE if command.amount > context.held:
                status = ResultStatus.INVALID
            case Compute.FREE:
                context.held -= command.amount
            case Compute.QUERY if command.amount == Query.RUN_TIME.code:
                return Reply(status, context.run)
            case Compute.QUERY if command.amount == Query.COUNTS.code:
                return Reply(status, context.run // 1000 << 32 | context.refused)  # a switch for each
            case Compute.QUERY if command.amount == Query.LAUNCH.code:
                return Reply(status)
        if status is not ResultStatus.DONE:
            context.refused, self.refused = context.refused + 1, self.refused + 1
        return Reply(status, context.held << 32 | context.limit)


class Port:
    """Time passes when somebody looks at what was planned."""

    now = 0

    def __init__(self) -> None:
        self.planned: deque[Callable[[], None]] = deque()

    def after(self, delay: int, act: Callable[[], None]) -> None:
        self.planned.append(act)


def tree_of(gpus: Gpus, port: Port) -> GroupTree:
    """Of such GPUs; a page is 1 KiB, a cycle 1 microsecond."""
    units = Units(cycle=1000, page=1)
    return GroupTree(cast(CardPort, port), cast(Driver, gpus), units, lambda card, gpu: f"a.{gpu}")


def settle(gpus: Gpus, port: Port) -> None:
    """Until nobody waits for anything."""
    while gpus.waiting or port.planned:
        while port.planned:
            port.planned.popleft()()
        for place in gpus.waiting:
            gpus.carry_out(place)
