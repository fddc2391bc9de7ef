"""The firmware in C under the sanitizers for addresses and undefined behaviour: whatever it is asked, in any order, in
whatever state, its answers are answers; and a boot after that is a boot as ever."""

import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.protocol.c import library as c

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop import library as loop
from ringhil.emulator.loop.far import Exchange
from ringhil.emulator.scenario import load, loads
from ringhil.protocol.line.firmware_loop import ACTIONS, REQUESTS, LoopType
from ringhil.protocol.line.framing import LONGEST

from . import library
from .requests import Talk, any_requests, at_each_end, is_census

HERE = Path(__file__).parent
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@dataclass
class Asked:
    """What the program is given."""

    dice: random.Random
    data: bytearray = field(default_factory=bytearray)
    requests: int = 0

    def new(self) -> None:
        self.data += b"Z"

    def ask(self, request: bytes, *, both: bool = False) -> None:
        """With room for the answer; or, now and then, less."""
        least = 64 if both else 0  # of 3 bytes it does nothing
        room = LONGEST if self.dice.random() < 0.9 else self.dice.choice((self.dice.randrange(least, 600), 70_000))
        self.data += b"B" if both else b"A"
        self.data += room.to_bytes(4) + len(request).to_bytes(4) + request
        self.requests += 1

    def as_ever(self, talk: Talk) -> None:
        """The same answers as of a state that has never been asked."""
        self.data += b"="
        for request in talk:
            self.ask(request, both=True)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fuzz") / "fuzz"
    actions = "; ".join(f"IS({kind})" for kind in ACTIONS)
    folders = (library.FOLDER, c.INCLUDE)
    sources = [source for folder in folders for source in sorted(folder.glob("*.c"))]
    includes = [f"-I{folder}" for folder in folders]
    strict = [option for option in c.STRICT if option != "-Wconversion"]
    done = c.compile_c(
        *strict, *c.SANITIZED, f"-DALL_ACTIONS={actions}", *includes, HERE / "fuzz.c", *sources, "-o", path
    )
    assert done.returncode == 0, done.stderr
    return path


def played(program: Path, asked: Asked) -> dict[LoopType, int]:
    """How many answers and actions there were of each type."""
    done = subprocess.run([program], input=asked.data, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    pairs = [line.split() for line in done.stdout.decode().splitlines()]
    return {LoopType.of(int(code)): int(number) for code, number in pairs}


# ---------------------------------------------------------------------------------------------------- real ones


FAULTS = """
server:
  cards: {a: {gpus: 5, host_links: [0, 1]}, b: {gpus: 3, host_links: [0]}}
  boundary_links: [{from: [a.2, a.3], to: [b.1, b.2]}]
  settings: {census_period: 3000}
timeline:
  - {at: 2000, fault: boundary_link_cut, link: a.2-b.1}
  - {at: 3000, fault: link_cut, link: a.2-a.3}
  - {at: 6000, clear: link_cut, link: a.2-a.3}
  - {at: 9000, fault: double_count, gpu: a.4}
  - {at: 12000, clear: double_count, gpu: a.4}
  - {at: 13000, fault: dead, gpu: a.0}
  - {at: 16000, clear: dead, gpu: a.0}
  - {at: 24000, fault: link_delay, link: a.3-a.4, delay: 5}
until: 60000
"""


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> list[Talk]:
    """Of each GPU, from each of its boots on: censuses, elections, leases between cards, faults."""
    found, made = list[Talk](), loop._exchange
    maker = loop.firmware_in(library.shared(tmp_path_factory), here=True)

    def recorded(answer: object, size: int) -> Exchange:
        exchange, talk = made(answer, size), Talk()
        found.append(talk)

        def heard(request: bytes) -> bytes:
            talk.append(request)
            return exchange(request)

        return heard

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_exchange", recorded)
        for scenario, cycles in ((load(EXAMPLES / "cut-off-and-back.yaml"), 30_000), (loads(FAULTS), 60_000)):
            run = Run(scenario, cells_library(), firmware=library.everywhere(maker))
            run.start()
            run.run_to(cycles)
            run.close()
    asked = {request[0] for talk in found for request in talk}
    assert asked == {kind.code for kind in REQUESTS if kind is not LoopType.COUNT_NOW}
    found = [talk for talk in found if len(talk) > 1]  # an `attach` alone is none
    counting = [talk for talk in found if any(is_census(request) for request in talk)]
    return found + 3 * counting  # there is most to go wrong


# ---------------------------------------------------------------------------------------------------------- tests


def fuzz(program: Path, talks: list[Talk], requests: int, seed: int) -> dict[LoopType, int]:
    """At least so many requests, none of which does harm; what was answered."""
    seen = dict.fromkeys(LoopType, 0)
    while requests > 0:
        dice = random.Random(seed)
        asked = Asked(dice)
        while asked.requests < min(requests, 50_000):
            if dice.random() < 0.1:
                asked.new()
            for request in any_requests(dice, talks):
                asked.ask(request)
            if dice.random() < 0.1:
                asked.as_ever(dice.choice(talks)[:40])
        for kind, times in played(program, asked).items():
            seen[kind] += times
        requests, seed = requests - asked.requests, seed + 1
    return seen


@pytest.mark.rest
def test_whatever_it_is_asked_it_answers_and_boots_as_ever(program: Path, talks: list[Talk]) -> None:
    seen = fuzz(program, talks, 40_000, 1)
    answers = {LoopType.DONE, LoopType.DECLINED, LoopType.ATTACH_REPLY}
    assert {kind for kind, times in seen.items() if times} == {*ACTIONS, *answers}


@pytest.mark.rest
def test_whoever_it_is_told_to_be_it_answers(program: Path, talks: list[Talk]) -> None:
    """And what follows is of somebody else: of a GPU that counts, and of one that leads to another card."""
    asked = Asked(random.Random(1))
    for talk in (talks[-1], next(talk for talk in talks if LoopType.ROUTES.code in [request[0] for request in talk])):
        for other in at_each_end(talk[:70]):
            for request in other:
                asked.ask(request)
    for talk in talks:  # and all of them as they are
        asked.as_ever(talk)
    assert played(program, asked)[LoopType.DONE] > 10_000


@pytest.mark.slow(part="benches")
def test_nor_does_it_mind_a_million_requests(program: Path, talks: list[Talk]) -> None:
    assert sum(fuzz(program, talks, 1_000_000, 100).values()) > 1_000_000
