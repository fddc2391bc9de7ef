"""Waves of a part of a run: everything is followed, and only what falls into the window is written."""

from collections.abc import Sequence
from pathlib import Path

from ringhil.emulator.engine.engine import Engine
from ringhil.emulator.trace.waves.fst import WaveWriter


class WindowWriter(WaveWriter):
    """A WaveWriter whose file begins at cycle `start`."""

    def __init__(self, path: Path, engine: Engine, cards: Sequence[str], start: int) -> None:
        self._start = start
        self._before: dict[int, tuple[int, int]] | None = {}  # by place: data and control before the window
        super().__init__(path, engine, cards)

    def _time(self, cycle: int) -> None:
        if self._before is None:
            super()._time(cycle)
        elif cycle >= self._start:
            held, self._before = self._before, None
            super()._time(self._start)
            for place, (data, control) in held.items():
                super()._write(place, data, control, first=True)
            if cycle > self._start:
                super()._time(cycle)
        else:
            self._now = cycle

    def _write(self, place: int, data: int, control: int, *, first: bool = False) -> None:
        if self._before is None:
            super()._write(place, data, control, first=first)
        else:
            self._before[place] = data, control
