"""What a GPU's contexts are known to be set to and to wait for, from the commands to them and their answers.

A command may be carried out at any time between its sending and its answer, so a context may have several settings at
a time. Who has launched something surely waits when the GPU has said that it is started, and as long as it lacks cycles
that nobody has withdrawn.
"""

from dataclasses import dataclass, field

from ringhil.protocol.frames import Result, Work

# As docs/contexts.md has them: the judge shares no tables with what it judges.
_CREATE, _DESTROY, _CONFIGURE, _LAUNCH, _CANCEL = 0x10, 0x11, 0x12, 0x16, 0x17
_DONE, _CANCELLED, _STARTED = 0, 5, 6
SHORTEST = 16  # cycles of a slice, which is cut to whole fours


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
    """`started`: when the GPU had said so; `had`: cycles of the engine at most since it was sent."""

    unit: int
    amount: int
    started: int | None = None
    had: int = 0
    free: int = 0  # from when on it waits again, after a turn


@dataclass(slots=True)
class Orders:
    """Of one context."""

    settings: list[Setting]
    launch: OpenLaunch | None = None

    def within(self, begin: int, end: int) -> list[Setting]:
        """Those that may hold at some time between these cycles. What was before is forgotten."""
        if len(self.settings) > 1:
            self.settings = [each for each in self.settings if each.until is None or each.until >= begin]
        return [each for each in self.settings if each.since <= end]

    def waits_from(self) -> int | None:
        """From which cycle on it surely waits, unless it has the engine; None: nobody knows."""
        launch = self.launch
        if launch is None or launch.started is None or launch.had >= launch.amount:
            return None
        return max(launch.started, launch.free)


@dataclass(slots=True)
class _Command:
    context: int
    compute: int
    amount: int
    setting: Setting


@dataclass(slots=True)
class TurnOrders:
    """Of one GPU. `default`: the slice of who names none."""

    default: int
    contexts: dict[int, Orders] = field(default_factory=dict)
    _asked: dict[int, _Command] = field(default_factory=dict)
    _last: int = 0  # commands are numbered upwards: what comes again has a number that was there

    def forget(self) -> None:
        """Nothing is known any more, until contexts are created anew."""
        self.contexts.clear()
        self._asked.clear()

    def sent(self, unit: int, compute: int, context: int, frame: bytes, now: int) -> None:
        """A command's first segment goes out."""
        if unit <= self._last:
            return
        self._last = unit
        at = Work.HEAD.size
        cycles = int.from_bytes(frame[at + 8 : at + 12])
        amount, state = int.from_bytes(frame[at + 4 : at + 8]), int.from_bytes(frame[at + 13 : at + 16])
        cycles = max(cycles or self.default, SHORTEST) // 4 * 4
        asked = _Command(context, compute, amount, Setting(cycles, frame[at + 12], state, now))
        self._asked[unit] = asked
        if compute == _CREATE:  # what is sent with its answer is told before that
            self.contexts[context] = Orders([asked.setting])
        orders = self.contexts.get(context)
        if orders is None:
            return
        if compute == _CONFIGURE:
            orders.settings.append(asked.setting)
        elif compute in (_CANCEL, _DESTROY):
            orders.launch = None
        elif compute == _LAUNCH and (orders.launch is None or orders.launch.had >= orders.launch.amount):
            orders.launch = OpenLaunch(unit, amount)

    def answered(self, result: Result, now: int) -> None:
        """The CPU has taken a result in."""
        asked = self._asked.get(result.unit)
        if asked is None:
            return
        if result.status != _STARTED:
            del self._asked[result.unit]
        orders = self.contexts.get(asked.context)
        if orders is None:
            return
        if asked.compute == _CREATE and result.status != _DONE:
            del self.contexts[asked.context]
        elif asked.compute == _CONFIGURE:
            self._configured(orders, asked.setting, result.status == _DONE, now)
        elif asked.compute == _LAUNCH and orders.launch is not None and orders.launch.unit == result.unit:
            if result.status != _STARTED:
                orders.launch = None
            elif orders.launch.started is None:
                orders.launch.started = now

    @staticmethod
    def _configured(orders: Orders, setting: Setting, done: bool, now: int) -> None:
        if not done:
            orders.settings = [each for each in orders.settings if each is not setting]
            return
        for each in orders.settings:
            if each is setting:
                return
            each.until = now if each.until is None else each.until
