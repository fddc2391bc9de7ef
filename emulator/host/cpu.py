"""The CPU: wires leases, accepting and handing out together.

Of each card only the GPU that holds a running lease is heard and gets work (`leases.py`). Every unit is accepted
exactly once, by the first result that is right (`work/accepting.py`); what is lost goes out again
(`work/handing_out.py`), to the GPU that a policy chooses (`policy/`).
"""

from collections.abc import Callable

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.command import is_command
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.emulator.host.leases import Leases
from ringhil.emulator.host.lending import Lending
from ringhil.emulator.host.policy import POLICIES
from ringhil.emulator.host.tasks.process import TaskPort
from ringhil.emulator.host.work.accepting import Accepting, Judgement, WorkCount
from ringhil.emulator.host.work.handing_out import CpuConfig, HandingOut
from ringhil.emulator.host.work.workload import WorkUnits
from ringhil.firmware.actions import Action
from ringhil.firmware.observations import Granted, Lapsed
from ringhil.protocol import codec
from ringhil.protocol.frames import Acknowledgement, Election, Keepalive, Report, Result


class Cpu:
    """`workload` may be None: then the cards are only counted. Feed it with `mail`."""

    def __init__(
        self,
        port: CardPort,
        cards: list[CardView],
        config: CpuConfig,
        workload: WorkUnits | None = None,
        on_done: Callable[[], None] = lambda: None,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self.cards, self.config, self.workload = cards, config, workload
        self.on_done, self.on_progress = on_done, on_progress
        self.on_grant: Callable[[CardView, Action], None] = lambda card, action: None  # Granted or Lapsed
        self.on_split: Callable[[int, tuple[int, ...]], None] = lambda units, shares: None  # see Policy
        self.work = WorkCount(0 if workload is None else workload.units)
        self.task_port = TaskPort(port)
        self.driver = Driver(self.task_port, cards, config.patience)
        self.on_counted: Callable[[], None] = lambda: None  # the cards have been counted, or those that will be
        self._counted = False
        self._port = port
        self._leases = Leases(port, cards, self._lease_changed)
        self._accepting = Accepting(self.work)
        policy = POLICIES[config.policy](cards)
        policy.on_split = lambda units, shares: self.on_split(units, shares)
        self._out = HandingOut(port, cards, config, policy, workload, self._accepting, self.work)
        self.lending = Lending(self.driver, self._out.dispatch)
        self._out.on_idle = self.lending.look

    def power_up(self) -> None:
        """Begin to watch the cards; work is handed out when all have reported, or those that will."""
        for card in self.cards:
            self._watch(card)
        self._port.after(self.config.silence, self._hand_out)

    @property
    def finished(self) -> bool:
        """All work is done."""
        return self.work.completed == self.work.units

    @property
    def worth_waiting(self) -> int:
        """Cycles after which work that is out, and of which nothing has come back, is lost."""
        return self._out.worth_waiting

    def mail(self, cell: int, frame: bytes, port: int, bad: bool) -> None:
        """A frame has come from a card."""
        if bad or cell not in self._leases:
            return
        try:
            message = codec.decode(frame, link=False)
        except codec.FrameError:
            return
        if isinstance(message, (Keepalive, Election)):
            self._leases.answer(cell, message)
        elif isinstance(message, (Report, Result, Acknowledgement)):
            card = self._leases.holder(cell, message.epoch)
            if card is None:
                self.work.fenced += 1
            elif isinstance(message, Report):
                self._report(card, message)
            elif is_command(message.unit):
                self.driver.mail(message)
            elif isinstance(message, Result):
                self._result(message)
            else:
                self._refusal(message)

    # --------------------------------------------------------------------------------------- who is there, how many

    def _lease_changed(self, card: CardView, action: Granted | Lapsed) -> None:
        if isinstance(action, Lapsed):
            self._lose(card)
        self.on_grant(card, action)

    def _report(self, card: CardView, report: Report) -> None:
        before = card.weight
        self._out.give_up_on(card, card.update(report, self._port.now))
        if card.members:
            self.driver.counted(card)
        if not self._out.begun:
            if all(c.known for c in self.cards):
                self._hand_out()
        elif card.weight != before:
            self._out.recount()
        self._out.dispatch()

    def _watch(self, card: CardView) -> None:
        """Look again and again whether the card still reports."""

        def look() -> None:
            if card.reachable and self._port.now - card.reported_at >= self.config.silence:
                self._lose(card)
            self._watch(card)

        self._port.after(self.config.silence // 2, look)

    def _lose(self, card: CardView) -> None:
        """The card can't be reached any more."""
        self._out.give_up_on(card, card.lost())
        self._out.give_up_on_entry(card)
        self._out.recount()
        self._out.dispatch()

    # --------------------------------------------------------------------------------------------------------- work

    def _hand_out(self) -> None:
        if not self._counted:
            self._counted = True
            self.on_counted()
        if self.workload is None or self._out.begun:
            return
        self._out.begin()
        if not self.workload.units:
            self.on_done()
        self._out.dispatch()

    def _refusal(self, message: Acknowledgement) -> None:
        if self._out.failed(message):
            self.work.refused += 1
            self._out.dispatch()

    def _result(self, result: Result) -> None:
        card = next((c for c in self.cards if c.number == result.source_card), None)
        if card is None or result.unit >= self.work.units:
            return
        judgement = self._accepting.judge(result)
        if judgement is Judgement.LATE:
            return
        if judgement is Judgement.RIGHT:
            self._out.done(result.unit)
            self._accepting.accept(card, result)
            self.on_progress(self.work.completed, self.work.units)
            if self.finished:
                self.on_done()
        else:
            if self._accepting.strike(card, result.source):
                self._out.bar(card, result.source)
            self._out.failed(result)
        self._out.dispatch()
