"""What a GPU's contexts are known to be set to and to wait for, from the commands to them and their answers.

A command may be carried out at any time between its sending and its answer, so a context may have several settings at
a time. Who has launched something surely waits when the GPU has said that it is started, and as long as it lacks cycles
that nobody has withdrawn.
"""

from dataclasses import dataclass, field

from ringhil.emulator.judge.contexts.commands_seen import SeenCommand
from ringhil.protocol.frames import Result
from ringhil.protocol.wire import Compute, ResultStatus

SHORTEST = 16  # cycles of a slice, which is cut to whole fours
SLOWER = 4  # times as many cycles does a launch take on a slow GPU


@dataclass(slots=True)
class Setting:
    """What a command has set: from when on it may hold, and until when."""

    slice: int
    priority: int
    state: int
    since: int
    until: int | None = None


@dataclass(slots=True)
class OpenLaunch:
    """`asked`: cycles that it asks for, `takes`: those that it takes at least. `started`: when the GPU had said so;
    `had`: cycles of the engine at most since it was sent; `again`: when it was asked for the last times."""

    unit: int
    asked: int
    takes: int
    started: int | None = None
    had: int = 0
    free: int = 0  # from when on it waits again, after a turn
    again: tuple[int, int] = (0, 0)

    def is_under_way(self) -> None:
        """Its GPU says so: unless that may be an old answer, it still lacks cycles."""
        if self.had >= self.takes and self.again[0] > self.free:
            self.takes = self.had + 1


@dataclass(slots=True)
class Orders:
    """Of one context, which nobody has asked for before cycle `since`."""

    settings: list[Setting]
    since: int = 0
    launch: OpenLaunch | None = None

    def within(self, begin: int, end: int) -> list[Setting]:
        """Those that may hold at some time between these cycles. What was before is forgotten."""
        if len(self.settings) > 1:
            self.settings = [each for each in self.settings if each.until is None or each.until >= begin]
        return [each for each in self.settings if each.since <= end]

    def waits_from(self) -> int | None:
        """From which cycle on it surely waits, unless it has the engine; None: nobody knows."""
        launch = self.launch
        if launch is None or launch.started is None or launch.had >= launch.takes:
            return None
        return max(launch.started, launch.free)


@dataclass(slots=True)
class _Asked:
    command: SeenCommand
    setting: Setting


@dataclass(slots=True)
class TurnOrders:
    """Of one GPU. `default`: the slice of who names none."""

    default: int
    slow: bool = False
    contexts: dict[int, Orders] = field(default_factory=dict)
    _asked: dict[int, _Asked] = field(default_factory=dict)
    _last: int = 0  # commands are numbered upwards: what comes again has a number that was there

    def forget(self, *, coming: bool) -> None:
        """Nothing is known any more, until contexts are created anew. `coming`: but of those that are being created."""
        self._asked = {
            unit: asked
            for unit, asked in self._asked.items()
            if coming and asked.command.compute is Compute.CREATE and asked.command.context in self.contexts
        }
        created = {asked.command.context for asked in self._asked.values()}
        self.contexts = {number: orders for number, orders in self.contexts.items() if number in created}

    def slowed(self, *, slow: bool) -> None:
        """From now on the GPU is slow, or isn't any more: what it had begun may take less."""
        self.slow = slow
        for orders in self.contexts.values():
            if orders.launch is not None:
                orders.launch.takes = orders.launch.asked

    def sent(self, command: SeenCommand, now: int) -> None:
        """A command goes out."""
        unit, compute = command.unit, command.compute
        if unit <= self._last:
            orders = self.contexts.get(command.context)
            if orders is not None and orders.launch is not None and orders.launch.unit == unit:
                orders.launch.again = (orders.launch.again[1], now)
            return
        self._last = unit
        cycles = max(command.slice or self.default, SHORTEST) // 4 * 4
        setting = Setting(cycles, command.priority, command.state, now)
        self._asked[unit] = _Asked(command, setting)
        if compute is Compute.CREATE:  # what is sent with its answer is told before that
            self.contexts[command.context] = Orders([setting], now)
        orders = self.contexts.get(command.context)
        if orders is None:
            return
        if compute is Compute.CONFIGURE:
            orders.settings.append(setting)
        elif compute in (Compute.CANCEL, Compute.DESTROY):
            orders.launch = None
        elif compute is Compute.LAUNCH and (orders.launch is None or orders.launch.had >= orders.launch.takes):
            takes = command.amount * (SLOWER if self.slow else 1)
            orders.launch = OpenLaunch(unit, command.amount, takes)

    def answered(self, result: Result, now: int) -> None:
        """The CPU has taken a result in."""
        asked = self._asked.get(result.unit)
        if asked is None:
            return
        started, done = result.status == ResultStatus.STARTED.code, result.status == ResultStatus.DONE.code
        if not started:
            del self._asked[result.unit]
        compute, context = asked.command.compute, asked.command.context
        orders = self.contexts.get(context)
        if orders is None:
            return
        if compute is Compute.CREATE and not done:
            del self.contexts[context]
        elif compute is Compute.CONFIGURE:
            self._configured(orders, asked.setting, done, now)
        elif compute is Compute.LAUNCH and orders.launch is not None and orders.launch.unit == result.unit:
            if not started:
                orders.launch = None
            elif orders.launch.started is None:
                orders.launch.started = now
            else:
                orders.launch.is_under_way()

    @staticmethod
    def _configured(orders: Orders, setting: Setting, done: bool, now: int) -> None:
        if not done:
            orders.settings = [each for each in orders.settings if each is not setting]
            return
        for each in orders.settings:
            if each is setting:
                return
            each.until = now if each.until is None else each.until
