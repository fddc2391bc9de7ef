"""The card that a run of tests is about, and each test's client of it.

| | its port |
|---|---|
| an emulated card | is opened for each test, so each has a server of its own and is the same in every run |
| any other card | is opened once; each test says hello anew. One that fails a test is opened again for the next |
| that is replayed or recorded | is opened once and never again: a session holds one opening |
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ringhil.emulator.serial.client import CardClient, CardError, RefusedError, opened_port
from ringhil.emulator.serial.session.format import SessionError
from ringhil.emulator.serial.session.recording import RecordedLine
from ringhil.protocol.line.management import LineFault

OURS = Path(__file__).with_name("card.yaml")
_EMULATED, _REPLAYED = "emulated:", "replay:"


def is_emulated(url: str) -> bool:
    """Whether each opening is a new card."""
    return url.lower().startswith(_EMULATED)


@dataclass(frozen=True)
class CardPlace:
    """Where a card is. `asked`: by what option; `called`: what a reader calls it; `baud` of a real port; `timeout`:
    seconds for an answer; `record`: a file for the session."""

    url: str
    asked: str
    called: str
    baud: int
    timeout: float
    record: Path | None = None


def url_of_server(root: Path, written: str | None) -> str:
    """The URL of an emulated card: `PATH[#CARD]`, a relative path from `root`; None: a card of our own."""
    path, _, card = (written or "").partition("#")
    url = f"{_EMULATED}///{quote(os.fsencode(root / (path or OURS)))}"
    return f"{url}#{quote(card)}" if card else url


class BorrowedCard(CardClient):
    """A client whose port is another's. Faults that it has begun end with it."""

    def __init__(self, line: Any, *, timeout: float) -> None:
        self._begun = dict[tuple[LineFault, int], None]()
        super().__init__(line, timeout=timeout)

    def fault(self, fault: LineFault, gpu: int, *, value: int = 0) -> int:
        """As of any client."""
        known = (fault, gpu) in self._begun
        self._begun[fault, gpu] = None  # even where no answer comes
        try:
            return super().fault(fault, gpu, value=value)
        except RefusedError:
            if not known:
                del self._begun[fault, gpu]
            raise

    def clear(self, fault: LineFault, gpu: int) -> int:
        """As of any client."""
        cycle = super().clear(fault, gpu)
        self._begun.pop((fault, gpu), None)
        return cycle

    def close(self) -> None:
        """End the faults that were begun, as far as the card still answers; the port stays open."""
        with suppress(CardError):
            for fault, gpu in list(self._begun):
                with suppress(RefusedError):
                    self.clear(fault, gpu)
        self._begun.clear()


class CardAtHand:
    """The card at a place. Its port is open from `check`, or the first client, on."""

    def __init__(self, place: CardPlace) -> None:
        self.place = place
        self._anew = is_emulated(place.url)
        self._once = place.record is not None or place.url.lower().startswith(_REPLAYED)
        self._line: Any = None

    def check(self) -> None:
        """Whether a ringhil card answers. Raises CardError."""
        with self.client():
            pass

    @contextmanager
    def client(self) -> Iterator[CardClient]:
        """A client that has just said hello. Raises CardError."""
        try:
            card = self._greeted()
            try:
                yield card
            finally:
                card.close()
        finally:
            if self._anew:
                self.close()

    def close(self) -> None:
        """Close the port. Raises CardError when a recorded session isn't whole."""
        line, self._line = self._line, None
        if line is not None:
            try:
                line.close()
            except SessionError as error:
                raise CardError(str(error)) from error

    # ---------------------------------------------------------------------------------------------------------

    def _greeted(self) -> BorrowedCard:
        fresh = self._line is None
        try:
            return self._hello()
        except CardError:
            if self._once:
                raise
            with suppress(OSError):  # it is gone anyway
                self.close()
            if fresh:
                raise
        return self._hello()

    def _hello(self) -> BorrowedCard:
        place = self.place
        try:
            if self._line is None:
                self._line = self._opened()
            return BorrowedCard(self._line, timeout=place.timeout)
        except (CardError, SessionError) as error:
            raise CardError(f"{place.asked}: {str(error).removeprefix(f'{place.url}: ')}") from error

    def _opened(self) -> Any:
        place = self.place
        line = opened_port(place.url, baud=place.baud, timeout=place.timeout)
        if place.record is None:
            return line
        try:
            return RecordedLine.at(line, place.record, place.url)
        except SessionError:
            line.close()
            raise
