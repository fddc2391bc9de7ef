"""Boards by the clock: `--clock` of `run` and `serve`, and what is told of boards that are too slow for it."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ringhil.emulator.front.cli.options import WholeNumber
from ringhil.emulator.front.cli.terminal import print_json
from ringhil.emulator.pages import units
from ringhil.emulator.serial.line import CLOCKS
from ringhil.emulator.serial.line.pacing import Pacing
from ringhil.emulator.server.firmware_choice import FirmwareChoice

if TYPE_CHECKING:
    from ringhil.emulator.loop.punctual import Punctuality

Boards = Mapping[str, "Punctuality"]  # by GPU
_LATE = 1.0  # seconds behind the clock that are told of
_log = logging.getLogger(__name__)

option = click.option(
    "--clock",
    type=WholeNumber(*CLOCKS),
    metavar="HZ",
    help="Run this many cycles a second, and report which answers of boards (--firmware) are late.",
)


def paced(choice: FirmwareChoice, clock: int | None, latency: int) -> tuple[FirmwareChoice, Boards]:
    """For a run: boards are asked in real time. Raises UsageError when there is none."""
    if clock is None:
        return choice, {}
    if not choice.boards:
        raise click.UsageError("--clock: paces boards, and there is none; wanted is --firmware GPU=URL")
    from ringhil.emulator.loop.punctual import timed

    return timed(choice, clock, latency, pacing=Pacing(clock))


def served(choice: FirmwareChoice, clock: int | None, latency: int) -> tuple[FirmwareChoice, Boards]:
    """For a session, which is paced as a whole. The first late answer of each board is told at once."""
    if clock is None:
        return choice, {}
    from ringhil.emulator.loop.punctual import timed

    return timed(choice, clock, latency, on_late=_first)


def tell(boards: Boards) -> None:
    """In the end, a line for each board that was late."""
    for where, found in boards.items():
        if found.late:
            click.echo(f"ringhil: {where}: {found}", err=True)
        else:
            _log.info("%s: %s", where, found)


def document(boards: Boards) -> dict[str, object]:
    """What is added to a document: nothing without a clock."""
    return {"boards": {where: found.to_json() for where, found in boards.items()}} if boards else {}


class Lag:
    """Tells that a ring is behind its `clock`, in Hz: from a second on, and each time that it has doubled. None: it has
    no clock."""

    def __init__(self, clock: int | None, schema: str = "") -> None:
        self._clock, self._schema, self._next = clock, schema, _LATE

    def tell(self, behind: float) -> None:
        """`behind`: seconds."""
        if self._clock is None or behind < self._next:
            return
        self._next = 2 * behind
        if self._schema:
            print_json(self._schema, {"behind": round(behind, 3), "clock": self._clock})
        else:
            click.echo(f"ringhil: {behind:.1f} s behind its clock of {self._clock:,} Hz", err=True)


def _first(where: str, cycle: int, seconds: float) -> None:
    click.echo(f"ringhil: {where}: cycle {cycle}: the answer took {units.seconds(seconds)}, which is late", err=True)
