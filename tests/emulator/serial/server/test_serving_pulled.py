"""A client's line is pulled at any byte: it is told, the server forgets it, and the ring loses nothing."""

import time
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.client import LINE_GONE, CardClient, CardError, opened_port
from ringhil.emulator.serial.server.lines import TcpListener
from ringhil.emulator.serial.server.serving import Serving
from ringhil.protocol.line.management import EventKind

GPUS = 4
PATIENCE = 20.0  # seconds, of a busy machine
ASKED: dict[str, Callable[[CardClient], object]] = {
    "time": lambda card: card.now(),
    "read": lambda card: card.read(1, "status"),
    "write": lambda card: card.write(2, "weight", 3),
    "census": lambda card: card.census(timeout=PATIENCE),
    "last_census": lambda card: card.last_census(),
    "line": lambda card: card.line(),
    "subscribe": lambda card: card.subscribe(EventKind.COUNTS | EventKind.FRAMES),
}


class Live:
    """A server that is being served in a thread. `accepted`: censuses that a client has heard of."""

    def __init__(self) -> None:
        self._run = Run(loads(f"server: {{cards: {{a: {{gpus: {GPUS}}}}}}}\n"), cells_library())
        self._run.start()
        self.serving, listener = Serving(self._run), TcpListener("127.0.0.1", 0)
        self.serving.listen(0, listener)
        self.url, self.accepted = listener.name, 0
        self._ended = Event()
        self._thread = Thread(target=self.serving.serve, args=(self._ended.is_set,))
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self.serving.close()
        self._run.close()

    @property
    def held(self) -> int:
        """Clients, and those who follow the card's events."""
        return len(self.serving._clients) + len(self.serving._cards[0].followers)


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    live = Live()
    yield live
    live.close()


class Pulled:
    """A line that is pulled when so many bytes have gone out, or come in."""

    def __init__(self, url: str, out: int, into: int) -> None:
        self._line: Any = opened_port(url, timeout=PATIENCE)
        self._out, self._into = out, into

    def __getattr__(self, name: str) -> Any:
        return getattr(self._line, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name == "timeout":
            self._line.timeout = value
        else:
            super().__setattr__(name, value)

    def write(self, data: bytes) -> int:
        if self._out:
            self._line.write(data[: self._out])
        self._out = max(0, self._out - len(data))
        self._pull(self._out)
        return len(data)

    def read(self, size: int) -> bytes:
        data = bytes(self._line.read(size))
        self._into = max(0, self._into - len(data))
        self._pull(self._into)
        return data

    def _pull(self, left: int) -> None:
        if left == 0:
            self._line.close()


def until_none_is_held(live: Live) -> None:
    end = time.monotonic() + PATIENCE
    while live.held and time.monotonic() < end:
        time.sleep(0.002)
    assert live.held == 0


@pytest.mark.rest
@settings(max_examples=10)
@given(
    asked=st.lists(st.sampled_from(sorted(ASKED)), min_size=1, max_size=8),
    out=st.integers(1, 150),
    into=st.integers(1, 400),
)
@example(asked=["census"], out=30, into=400)  # in the middle of the request, or of the answer
@example(asked=["subscribe", "census"], out=150, into=80)
def test_who_comes_after_finds_all_as_it_was(live: Live, asked: list[str], out: int, into: int) -> None:
    line, told = Pulled(live.url, out, into), list[CardError]()
    try:
        card = CardClient(line, timeout=PATIENCE)  # type: ignore[arg-type]
        for name in asked:
            ASKED[name](card)
    except CardError as error:
        told.append(error)
    assert all(str(error).startswith(f"{LINE_GONE}: ") for error in told)
    if not told and not line._line.is_open:  # it was pulled behind the last byte
        with pytest.raises(CardError):
            card.now()
    line.close()
    with CardClient.open(live.url, timeout=PATIENCE) as after:
        assert after.info.gpus == GPUS
        assert after.line().events == 0  # what was subscribed to is forgotten
        last, census = after.last_census(), after.census(timeout=PATIENCE)
        assert live.accepted <= last.accepted < census.accepted
        assert (census.count, census.members) == (GPUS, tuple(range(GPUS)))
        live.accepted = census.accepted
    until_none_is_held(live)
