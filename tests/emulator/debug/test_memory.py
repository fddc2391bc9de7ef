"""All that firmware has in its memory is shown, whatever its class is made of, and each change of it is found."""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.emulator.debug.test_replaying import record

from ringhil.emulator.debug.commands import Commands
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.server.firmware_choice import Chosen, FirmwareChoice
from ringhil.firmware.actions import Action
from ringhil.firmware.boot import Boot, our_program
from ringhil.firmware.gpu import GpuProgram

SERVER = "server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}\nuntil: 9000\n"
NAMES = {"heard", "log", "tally", "variables", "slot", "last", "rest"}


class Slotted:
    """Has a place of its own for one attribute."""

    __slots__ = ("slot",)
    slot: int


class Kept(Slotted):
    """Also by names that ringhil has for its own."""

    def keep(self) -> None:
        """At first there is nothing."""
        self.heard, self.log, self.variables = Counter[int](), list[int](), dict[str, int]()
        self.slot, self.last, self._rest = 0, deque[int](maxlen=3), {"n": 0}
        self._tally = self.tally = 0

    def note(self, port: int, now: int) -> None:
        """Of each frame."""
        self.heard[port] += 1
        self.log.append(now)
        self.last.append(now)
        self.variables["n"] = self._rest["n"] = self.slot = self.tally = len(self.log)


class Program(Kept, GpuProgram):
    """Ours, and more."""

    def __init__(self, boot: Boot) -> None:
        ours = our_program(boot)
        super().__init__(ours.census_config, ours.entry_capable, ours.electors, ours.crossing, ours.behind)
        self.keep()

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        self.note(port, now)
        return super().on_frame(frame, port, bad, now)


class Around(Kept):
    """Has ours."""

    def __init__(self, boot: Boot) -> None:
        self.ours = our_program(boot)
        self.keep()

    def start(self, now: int) -> list[Action]:
        return self.ours.start(now)

    def on_timer(self, name: str, now: int) -> list[Action]:
        return self.ours.on_timer(name, now)

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        self.note(port, now)
        return self.ours.on_frame(frame, port, bad, now)

    def on_status(self, status: int) -> None:
        self.ours.on_status(status)


@dataclass(init=False)
class Described(Around):
    """The same, of which some fields are told."""

    tally: int
    ours: GpuProgram
    unset: list[int] = field(init=False)


@pytest.fixture(params=[Program, Around, Described])
def commands(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Commands]:
    choice = FirmwareChoice(("a.1=mine:It",), {"a.1": Chosen("mine:It", request.param, "")})
    with DebugSession(record(tmp_path / "r", SERVER, choice), cells_library(), firmware=choice) as session:
        yield Commands(session)


@pytest.mark.rest(but_one_in=3)
def test_all_that_it_has_is_shown_watched_and_compared(commands: Commands) -> None:
    early = commands.do("go 4000")["message"]["number"]
    before = commands.do("state a.1")["firmware"]["made"]
    assert before.keys() >= NAMES
    assert before["last"] == before["log"][-3:] != []
    assert before["heard"].keys() <= {"0", "1", "2"}
    heard = commands.do("watch a.1 made.log")["changed"]["cycle"]
    for name in ("heard", "last", "log", "rest.n", "slot", "tally", "variables.n"):
        commands.do("go 4000")
        changed = commands.do(f"watch a.1 made.{name}")["changed"]
        assert changed["cycle"] == heard, name
    differs = [each["where"] for each in commands.do(f"diff {early}")["differs"]]
    for name in NAMES:
        assert any(f"firmware.made.{name}" in where for where in differs), (name, differs)


@pytest.mark.rest(but_one_in=3)
def test_names_to_watch_are_those_that_state_shows(commands: Commands) -> None:
    for gpu in ("a.0", "a.1"):
        commands.do("go 4000")
        for name in commands.do(f"state {gpu}")["firmware"]:
            commands.do(f"watch {gpu} {name} 1")
    with pytest.raises(
        DebugError, match=r"^found 'speed'; in the memory of its firmware are name, .*made.*; registers"
    ):
        commands.do("watch a.1 speed")
    commands.do("go 4000")
    with pytest.raises(DebugError, match=r"^found 'made.log'; no firmware runs there now; registers are control"):
        commands.do("watch a.2 made.log")
