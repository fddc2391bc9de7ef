"""One client can't take the port from another: it floods, and the other is answered and told as before."""

import itertools
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest
from tests.emulator.serial.served import ONE, Served

from ringhil.emulator.serial.client import CardClient
from ringhil.emulator.serial.server.serving import MOST_CLIENTS
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import LONGEST, wrap
from ringhil.protocol.line.management import EventKind
from ringhil.protocol.line.messages import CensusRequest, CountEvent, LastCensusRequest, SubscribeRequest, TimeRequest

PATIENCE = 30.0  # seconds, of a busy machine
GPUS = 4
REQUESTS = 10
FLOODS: dict[str, Callable[[random.Random, int], bytes]] = {
    "requests": lambda dice, n: b"".join(wrap(encode(TimeRequest(1 + (n * 100 + i) % 0xFFFF))) for i in range(100)),
    "repeated": lambda dice, n: wrap(encode(LastCensusRequest(7))) * 100,
    "events": lambda dice, n: b"".join(
        wrap(encode(SubscribeRequest(1 + (n * 50 + i) % 0xFFFF, EventKind.FRAMES | EventKind.COUNTS)))
        for i in range(50)
    ),
    "garbage": lambda dice, n: dice.randbytes(4096),
    "no zero": lambda dice, n: b"\0" + dice.randbytes(4096).replace(b"\0", b"\1"),
    "typed": lambda dice, n: (b"read 1\r", b"census\r")[n % 2] * 100 if n else b"help\r",
    "censuses": lambda dice, n: b"".join(wrap(encode(CensusRequest(1 + (n * 20 + i) % 0xFFFF))) for i in range(20)),
    "long": lambda dice, n: wrap(b"\x07" + dice.randbytes(min(LONGEST, 16_384) - 1)),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("served"), ONE, "--listen", "tcp://127.0.0.1:0") as served:
        yield served


def address(served: Served) -> tuple[str, int]:
    host, port = served.ports["a"][0].removeprefix("socket://").split(":")
    return host, int(port)


class Flood:
    """Sends as fast as it is taken, until it is ended. `sent`: bytes. Without `reading` it never reads an answer."""

    def __init__(self, served: Served, kind: str, *, reading: bool) -> None:
        self.sent, self._kind, self._reading = 0, kind, reading
        self._ended = threading.Event()
        self._peer = socket.create_connection(address(served))
        self._peer.setblocking(False)
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Flood":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._peer.close()

    def _run(self) -> None:
        dice = random.Random(self._kind)
        for n in itertools.count():
            data = FLOODS[self._kind](dice, n)
            while data and not self._ended.is_set():
                try:
                    taken = self._peer.send(data)
                except BlockingIOError:
                    taken = 0
                    time.sleep(0.001)
                data, self.sent = data[taken:], self.sent + taken
                time.sleep(0.0002)  # or this process would be too busy to ask
                if self._reading:
                    with suppress(BlockingIOError):
                        self._peer.recv(1 << 16)
            if self._ended.is_set():
                return


def serves(card: CardClient) -> None:
    """All that is asked is answered, and rightly; all that was subscribed to comes."""
    asked = card.line().requests
    counted = set[int]()
    for n in range(REQUESTS):
        before = card.now()
        card.write(n % GPUS, "weight", n + 1)
        assert card.read(n % GPUS, "weight") == n + 1
        assert card.now() > before
        if n % 5 == 0:
            census = card.census(timeout=PATIENCE)
            assert (census.count, census.members) == (GPUS, tuple(range(GPUS)))
            counted.add(census.accepted)
    assert card.line().requests == asked + 4 * REQUESTS + REQUESTS // 5 + 1
    told = [event.accepted for event in card.events(0) if isinstance(event, CountEvent)]
    assert counted <= {*told}
    assert told == list(range(told[0], told[-1] + 1)), "none was left out"
    assert card.line().missed == 0


def flooded(served: Served, kind: str, *, reading: bool) -> None:
    with CardClient.open(served.ports["a"][0], timeout=PATIENCE, tries=1) as card:
        card.subscribe(EventKind.COUNTS)
        with Flood(served, kind, reading=reading) as flood:
            serves(card)
        assert flood.sent > 2000
    with CardClient.open(served.ports["a"][0], timeout=PATIENCE, tries=1) as after:
        assert after.census(timeout=PATIENCE).count == GPUS


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("kind", ["garbage", "long", "typed"])
def test_a_flood_of_one_client_leaves_the_others_alone(served: Served, kind: str) -> None:
    flooded(served, kind, reading=False)


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize("reading", [True, False], ids=["reads", "never reads"])
@pytest.mark.parametrize("kind", FLOODS)
def test_so_does_a_flood_of_any_kind(served: Served, kind: str, reading: bool) -> None:
    flooded(served, kind, reading=reading)


def test_a_flood_of_new_clients_leaves_those_alone_that_are_there(served: Served) -> None:
    with CardClient.open(served.ports["a"][0], timeout=PATIENCE, tries=1) as card, ExitStack() as stack:
        card.subscribe(EventKind.COUNTS)
        for _ in range(MOST_CLIENTS + 20):
            stack.enter_context(socket.create_connection(address(served)))
        serves(card)
        turned_away = stack.enter_context(socket.create_connection(address(served)))
        turned_away.settimeout(PATIENCE)
        with suppress(ConnectionResetError):
            assert turned_away.recv(1) == b""
    with CardClient.open(served.ports["a"][0], timeout=PATIENCE, tries=1) as after:
        assert after.now() > 0
