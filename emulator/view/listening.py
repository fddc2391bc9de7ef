"""Listens to a card at its management port, real or emulated, in a thread of its own, for as long as the page is open.

A line that is lost is opened again, each second, until it is there. Only reading is done: registers are read, events
are subscribed to, nothing is written or injected.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any

from ringhil.emulator.events.recorded import STRUCK
from ringhil.emulator.serial.client import CardClient, CardError
from ringhil.emulator.serial.client.client import RefusedError
from ringhil.emulator.serial.words import RingCensus, event_document
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.emulator.view.heard import LINE_BACK, LINE_LOST, MISSED, REGISTERS, HeardRows, registers_said
from ringhil.emulator.view.messages import CardAbout
from ringhil.firmware.observations import Counted, Deposed, Elected
from ringhil.protocol.line import messages as m
from ringhil.protocol.registers import ControlBit

_TURN = 0.1  # seconds for events, before others have their turn
_LOOKS = 1.0  # seconds between two looks at the registers; on a slow line as much as a look takes
_AGAIN = 1.0  # seconds before a line that is lost is tried again
_ENDS = 5.0  # seconds that its thread may take to end
_MOST_ASKED = 64
_UNTIL_HEARD = 0.3  # seconds without events, after which none of before is on its way

Ask = Callable[[CardClient], Any]


class CardListener:
    """The card at a URL of pyserial's. `kinds`: of `EventKind`. Opens it at once: raises CardError."""

    def __init__(self, url: str, *, baud: int, timeout: float, kinds: int) -> None:
        self.url, self._baud, self._timeout, self._kinds = url, baud, timeout, kinds
        self.failed: str | None = None  # why it isn't heard at present
        self.begun = 0  # how often it was another card, or powered up anew
        self._asked = Queue[tuple[Ask, "Future[Any]"]](_MOST_ASKED)
        self._ended = Event()
        self._seen: dict[int, dict[str, Any]] = {}  # what registers of each GPU said last
        self._looked = list[tuple[int, int, dict[str, Any]]]()  # cycle, GPU, what they say: not in rows yet
        self._census: RingCensus | None = None
        client = self._open()
        try:
            self.info = client.info
            self.rows = HeardRows(_card(client))
        except BaseException:
            client.close()
            raise
        self._thread = Thread(target=self._listen, args=(client,), daemon=True, name="card")
        self._thread.start()

    def _open(self) -> CardClient:
        return CardClient.open(self.url, baud=self._baud, timeout=self._timeout)

    def close(self) -> None:
        """Close the port."""
        self._ended.set()
        self._thread.join(_ENDS)
        self._refuse("the page ends")

    def ask(self, what: Ask) -> "Future[Any]":
        """Has something asked of the card, between its events. The future raises CardError."""
        future = Future[Any]()
        try:
            if self.failed is not None:
                raise CardError(self.failed)
            self._asked.put_nowait((what, future))
        except Full:
            future.set_exception(CardError(f"{_MOST_ASKED} requests wait already; ask again later"))
        except CardError as error:
            future.set_exception(error)
        return future

    # ----------------------------------------------------------------------------------------------- its thread

    def _listen(self, client: CardClient | None) -> None:
        while client is not None:
            try:
                self._hear(client)
            except CardError as error:
                self._lose(str(error))
            with suppress(CardError):
                client.close()
            client = self._again()

    def _again(self) -> CardClient | None:
        """The card, when it is there again; None: it is over."""
        while not self._ended.wait(_AGAIN if self.failed else 0):
            client: CardClient | None = None
            try:
                client = self._open()
                self._resume(client)
                return client
            except CardError as error:
                self.failed = f"{error}; tried again each second"
                if client is not None:
                    with suppress(CardError):
                        client.close()
        return None

    def _lose(self, why: str) -> None:
        self.failed = f"{why}; tried again each second"
        self.rows.event(self.rows.reach[2], None, LINE_LOST, {"why": why})
        self._refuse(why)

    def _refuse(self, why: str) -> None:
        with suppress(Empty):
            while True:
                self._asked.get_nowait()[1].set_exception(CardError(why))

    def _resume(self, client: CardClient) -> None:
        """The line is back: it is the same card, which went on meanwhile, or everything begins anew."""
        now, card = client.info, _card(client)
        same = (now.name, now.gpus, now.serial) == (self.info.name, self.info.gpus, self.info.serial)
        self._seen.clear()
        self._looked.clear()
        self._census, self.info = None, now
        if same and now.now >= self.rows.reach[2]:
            self.rows.event(now.now, None, LINE_BACK, {})
        else:
            self.rows = HeardRows(card)
            self.begun += 1
        self.failed = None

    def _hear(self, client: CardClient) -> None:
        told = "events" in client.info.capabilities
        if told:
            client.subscribe(self._kinds)
        with suppress(RefusedError):  # nobody has counted yet
            self._counted(client.last_census())
        look, heard = 0.0, time.monotonic()
        while not self._ended.is_set():
            began = time.monotonic()
            if began >= look:
                self._look(client)
                if not told:
                    with suppress(RefusedError):
                        self._counted(client.last_census())
                look = time.monotonic() + max(_LOOKS, time.monotonic() - began)
            for event in client.events(_TURN):
                heard = time.monotonic()
                self._take(event)
            if time.monotonic() - heard >= _UNTIL_HEARD:
                self._put_looks(None)
            self._answer(client)

    def _answer(self, client: CardClient) -> None:
        try:
            what, future = self._asked.get_nowait()
        except Empty:
            return
        try:
            future.set_result(what(client))
        except RefusedError as error:
            future.set_exception(error)
        except CardError as error:
            future.set_exception(error)
            raise

    # ------------------------------------------------------------------------------------------ what becomes a row

    def _look(self, client: CardClient) -> None:
        """Roles, and who works and is bypassed, as registers say: what no event tells."""
        cycle = 0
        for gpu in range(self.info.gpus):
            control, reply = client.read(gpu, "control"), client.read_at(gpu, "status")
            cycle, said = reply.now, registers_said(control, reply.value)
            telling = {name: value for name, value in said.items() if name != "status"}
            if self._seen.get(gpu) != telling:
                self._seen[gpu] = telling
                self._looked.append((cycle, gpu, said))
        if not self._looked:
            self.rows.passed(cycle)

    def _put_looks(self, until: int | None) -> None:
        """What was read up to a cycle becomes rows, once nothing of before can come any more."""
        while self._looked and (until is None or self._looked[0][0] <= until):
            cycle, gpu, said = self._looked.pop(0)
            self.rows.event(cycle, gpu, REGISTERS, said)

    def _counted(self, census: RingCensus) -> None:
        if census != self._census and (self._census is None or census.cycle > self._census.cycle):
            self._census = census
            cell = census.entry if census.entry < self.info.gpus else None
            self.rows.event(census.cycle, cell, Counted.__name__, asdict(census))

    def _take(self, event: m.Message) -> None:
        cycle = getattr(event, "cycle", None) or getattr(event, "counted_at", None)
        if cycle is not None:
            self._put_looks(cycle)
        gpu = getattr(event, "gpu", None)
        if gpu is not None and gpu >= self.info.gpus:
            return  # no GPU of this card
        match event:
            case m.CountEvent():
                with suppress(ValueError):  # of a verdict that we don't know
                    self._counted(RingCensus.of(event))
            case m.FrameEvent() if event.way < len(WAYS):
                self.rows.frame(event.cycle, event.gpu, event.way, event.port, event.bad, event.frame)
            case m.RoleEvent():
                said = event_document(event)
                kind = Elected if event.holds else Deposed
                self.rows.event(event.cycle, event.gpu, kind.__name__, {"role": said["role"], "epoch": event.epoch})
            case m.FaultEvent():
                self.rows.event(event.cycle, None, STRUCK, self._struck(event_document(event), event.gpu))
            case m.MissedEvent():
                self.rows.event(self.rows.reach[2], None, MISSED, {"count": event.events})

    def _struck(self, said: dict[str, Any], gpu: int) -> dict[str, Any]:
        """As a file's timeline has it."""
        fault, gpus = str(said["fault"]), self.rows.gpus
        link = fault.startswith("link_")
        place = f"{gpus[gpu]}-{gpus[(gpu + 1) % len(gpus)]}" if link else gpus[gpu]
        value = {"value": said["value"]} if said["value"] else {}
        return {"fault" if said["injection"] == "set" else "clear": fault, "link" if link else "gpu": place, **value}


def _card(client: CardClient) -> CardAbout:
    """Its ring; those that may be entry GPUs, as their registers say, are those with a link to the CPU."""
    name, gpus = client.info.name, range(client.info.gpus)
    host = [f"{name}.{gpu}" for gpu in gpus if client.read(gpu, "control") & ControlBit.ENTRY_CAPABLE]
    return CardAbout(name=name, gpus=[f"{name}.{gpu}" for gpu in gpus], host=host)
