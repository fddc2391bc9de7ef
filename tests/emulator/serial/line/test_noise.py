"""Both clients on a noisy line: no answer is wrong, nothing is done twice, and every request is answered in the end.

The noise is the emulated line's own, set on the timeline. What the clients say is held against the engine behind it.
"""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import serial
from tests.protocol.c import library as c
from tests.protocol.c.card_client import CClient

from ringhil.emulator.scenario import EventAction, LineEvent
from ringhil.emulator.serial.client import CardClient, CardError
from ringhil.emulator.serial.line.noise import LineFaults, Noise

GPUS = 6
SERVER = f"server: {{cards: {{a: {{gpus: {GPUS}}}}}}}\n"
TIMEOUT = 0.002  # seconds of the card's time
COUNTING = 0.05
WRITTEN = ("weight", "compute_setup")
Make = Callable[[Any, int, float], Any]


@pytest.fixture(scope="module", params=["python", "c"])
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A client of a line that asks so many times, and waits so many seconds for an answer."""
    if request.param == "python":
        return lambda line, tries, timeout: CardClient(line, timeout=timeout, tries=tries)
    built = c.shared(tmp_path_factory.mktemp("library"))

    def in_c(line: Any, tries: int, timeout: float) -> CClient:
        client = CClient(built, line, timeout)
        client._client.tries = tries
        return client

    return in_c


class Dice:
    """Always the same."""

    def __init__(self, face: int) -> None:
        self._face = face

    def randrange(self, end: int) -> int:
        return min(self._face, end - 1)


@pytest.mark.parametrize(("face", "left"), [(8, b""), (9, b"abc"), (65_535, b"abc")])
def test_a_rate_is_of_65536(face: int, left: bytes) -> None:
    """9 of them: 0 to 8 strike."""
    faults = LineFaults()
    faults.apply(LineEvent(0, EventAction.FAULT, "line_drop", "a", 0, 9))
    noise = Noise(faults, "")
    noise._random = Dice(face)  # type: ignore[assignment]
    assert noise.strike(b"abc") == left


def noisy(folder: Path, rate: int) -> Any:
    """A line on which so many of 65,536 bytes are changed, as many lost, and as many doubled."""
    faults = (f"{{at: 1, fault: line_{kind}, card: a, rate: {rate}}}" for kind in ("corrupt", "drop", "double"))
    (folder / "server.yaml").write_text(f"{SERVER}timeline: [{', '.join(faults)}]\n")
    return serial.serial_for_url(f"emulated://{folder}/server.yaml", timeout=TIMEOUT)


class Asker:
    """Asks a card of this and that, and checks each answer. `sent`: requests that went out, repeated ones too."""

    def __init__(self, line: Any, make: Make, tries: int, seed: int) -> None:
        self.emulated, self.sent, self.pokes = line.line, 0, Counter[tuple[int, str, int]]()
        self.engine = line.line.run.engine
        self._dice, self._line = random.Random(seed), line
        self._watch()
        self.card = make(line, tries, TIMEOUT)
        self.sent = self.asked = 0
        self._requests: int = self.card.line().requests
        self._now = self._accepted = 0
        self._wanted = {(gpu, name): self.engine.peek(gpu, name) for gpu in range(GPUS) for name in WRITTEN}
        self._written = 0

    def _watch(self) -> None:
        """Count what goes out, and the writes that reach the ring."""
        write, poke = self._line.write, self.engine.poke

        def counted(data: bytes) -> int:
            self.sent += 1
            return int(write(data))

        def poked(cell: int, register: str, value: int) -> None:
            self.pokes[cell, register, value] += register in WRITTEN
            poke(cell, register, value)

        self._line.write, self.engine.poke = counted, poked

    def ask(self) -> None:
        """One request, of one kind or another."""
        kinds = (self._time, self._read, self._count, self._write, self._last_census, self._line_counts, self._census)
        self._dice.choices(kinds, (20, 25, 15, 25, 8, 5, 2))[0]()
        self.asked += 1

    def _time(self) -> None:
        before = max(self._now, self.emulated.now)
        self._now = self.card.now()
        assert before <= self._now <= self.emulated.now

    def _read(self) -> None:
        (gpu, name), wanted = self._dice.choice(list(self._wanted.items()))
        assert self.card.read(gpu, name) == wanted == self.engine.peek(gpu, name)

    def _count(self) -> None:
        """A register that the ring counts up."""
        gpu = self._dice.randrange(GPUS)
        before = self.engine.peek(gpu, "forwarded")
        assert before <= self.card.read(gpu, "forwarded") <= self.engine.peek(gpu, "forwarded")

    def _write(self) -> None:
        """No two writes are of the same value, or of one that stood there."""
        self._written += 1
        gpu, name, value = self._dice.randrange(GPUS), self._dice.choice(WRITTEN), 1000 + self._written % 60_000
        before = self.pokes[gpu, name, value]
        self.card.write(gpu, name, value)
        assert self.pokes[gpu, name, value] == before + 1
        assert sum(self.pokes.values()) == self._written
        assert self.engine.peek(gpu, name) == value
        self._wanted[gpu, name] = value

    def _last_census(self) -> None:
        last = self.card.last_census()
        assert last.accepted >= self._accepted
        self._counted(last)

    def _census(self) -> None:
        before = self.emulated.now
        census = self.card.census(timeout=COUNTING)
        assert census.accepted > self._accepted
        assert before < census.cycle  # it may have been under way
        self._counted(census)

    def _counted(self, census: Any) -> None:
        assert (census.count, census.size, census.members) == (GPUS, GPUS, tuple(range(GPUS)))
        assert census.sent_at < census.cycle <= self.emulated.now
        self._accepted = census.accepted

    def _line_counts(self) -> None:
        """The card has done as many requests as were asked: none twice, none that wasn't."""
        counts = self.card.line()
        assert counts.requests == self._requests + self.asked + 1
        assert counts.refused == 0


def conversation(folder: Path, make: Make, *, rate: int, count: int, tries: int) -> tuple[int, int]:
    """Repeated requests, and what the card has seen damaged."""
    line = noisy(folder, rate)
    asker = Asker(line, make, tries, seed=rate)
    for _ in range(count):
        asker.ask()
    repeated = asker.sent - 1 - asker.asked  # one is of `line`, before the first
    damaged: int = asker.card.line().damaged
    line.close()
    return repeated, damaged


@pytest.mark.rest(but_one_in=2)
def test_noise_makes_no_answer_wrong_or_missing(tmp_path: Path, make: Make) -> None:
    """One byte of 364 is struck, each way."""
    repeated, damaged = conversation(tmp_path, make, rate=60, count=3000, tries=10)
    assert repeated > 100
    assert damaged > 50


@pytest.mark.slow(part="benches")
def test_nor_in_100000_requests(tmp_path: Path, make: Make) -> None:
    """One byte in 10,000 is changed, as many are lost, and as many doubled: four tries are enough."""
    repeated, damaged = conversation(tmp_path, make, rate=7, count=100_000, tries=4)
    print(f"{repeated} requests were repeated, and the card saw {damaged} damaged ones")
    assert repeated > 500
    assert damaged > 200


CUT, CLEARED = 30_000, 50_000  # cycles
SLOW = "clock=100000&baud=9600"  # a write and its answer take 3,500 cycles


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("later", range(0, 3500, 500))
def test_a_line_that_is_cut_in_mid_message_is_one_error_and_serves_again(
    tmp_path: Path, make: Make, later: int
) -> None:
    cut = f"{{at: {CUT + later}, fault: line_cut, card: a}}, {{at: {CLEARED}, clear: line_cut, card: a}}"
    (tmp_path / "server.yaml").write_text(f"{SERVER}timeline: [{cut}]\n")
    line: Any = serial.serial_for_url(f"emulated://{tmp_path}/server.yaml?{SLOW}", timeout=0.1)
    card = make(line, 2, 0.05)
    asked = iter(range(100))

    def until_it_is_cut() -> None:
        for n in asked:
            card.write(n % GPUS, "weight", n + 2)

    with pytest.raises(CardError, match=r"^no answer"):
        until_it_is_cut()
    assert 1 < next(asked) < 99
    assert CUT + later < line.line.now < CLEARED
    line.line.pass_time(CLEARED - line.line.now + 1)
    for gpu in range(GPUS):
        assert card.read(gpu, "weight") == line.line.run.engine.peek(gpu, "weight")
    assert card.census(timeout=0.5).count == GPUS
    line.close()
