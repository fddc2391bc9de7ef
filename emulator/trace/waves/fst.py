"""Writes the wires of all links as an FST file: one time unit is one cycle.

Scopes: card, GPU, port (p1_tx, p2_tx, host_tx, boundary_tx); in each the 64 data bits, every control bit of the link by
its name, and a text for each channel that says which frame is passing. The same run gives the same file, byte for byte.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pylibfst import lib

from ringhil.emulator.engine.engine import Engine
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.files import AtomicFile, is_stream, reason_of, write_whole
from ringhil.emulator.trace.waves.disk import check_room, check_whole
from ringhil.emulator.trace.waves.transactions import (
    CHANNELS,
    LinkTransactions,
    ShownText,
    emit_text,
    gtkwave,
    text_variable,
)
from ringhil.protocol import wire

_PORTS = tuple(f"{link}_tx" for link in wire.Link)
_BITS = tuple(wire.LinkBit.codes())
BESIDE = (".hier",)  # the library keeps the hierarchy beside the file while it works


class WaveError(RinghilError, ValueError):
    """The waveform can't be written; the message says why."""


class WaveWriter:
    """Call `drain` after every run of the engine, and `commit` at the end. Beside the file comes one that has GTKWave
    show the frames, `*.gtkw`, with its marker at the cycle `marked`."""

    marked: int | None = None

    def __init__(self, path: Path, engine: Engine, cards: Sequence[str]) -> None:
        self._path, self._engine = path, engine
        try:
            self._file = AtomicFile(path, binary=True, beside=BESIDE)
        except OSError as error:
            raise WaveError(f"{path}: cannot be written: {reason_of(error)}") from None
        self._context: Any = lib.fstWriterCreate(os.fsencode(self._file.partial), 1)
        if not self._context or not self._file.partial.exists():
            raise WaveError(f"{path}: cannot be written")
        lib.fstWriterSetDate(self._context, b"")
        lib.fstWriterSetVersion(self._context, b"ringhil")
        lib.fstWriterSetTimescaleFromString(self._context, b"1ns")
        self._data: list[int] = []
        self._control: list[list[int]] = []
        self._last: list[int] = []  # control bits as they were written last
        self._gpus: list[tuple[str, int]] = []  # card and number
        self._frames: list[LinkTransactions] = []
        self._texts: list[list[int]] = []
        for card, size in zip(cards, engine.topology.rings, strict=True):
            self._scope(card)
            for gpu in range(size):
                self._scope(f"gpu{gpu}")
                self._ports()
                self._gpus.append((card, gpu))
                lib.fstWriterSetUpscope(self._context)
            lib.fstWriterSetUpscope(self._context)
        try:
            check_room(len(self._data) * (1 + len(_BITS) + len(CHANNELS)), len(self._data) * (64 + len(_BITS)))
        except OSError as error:
            raise WaveError(f"{path}: cannot be written: {reason_of(error)}") from None
        self._time(0)
        for place in range(len(self._data)):
            self._write(place, 0, wire.LinkBit.UP, first=True)
        engine.watch()

    def _scope(self, name: str) -> None:
        lib.fstWriterSetScope(self._context, lib.FST_ST_VCD_MODULE, name.encode(), b"")

    def _ports(self) -> None:
        for port in _PORTS:
            self._scope(port)
            self._data.append(self._variable("data_flit", 64))
            self._control.append([self._variable(name, 1) for name in _BITS])
            self._last.append(0)
            self._frames.append(LinkTransactions())
            self._texts.append([text_variable(self._context, f"{channel}_frame") for channel in CHANNELS])
            lib.fstWriterSetUpscope(self._context)

    def _variable(self, name: str, bits: int) -> int:
        return int(
            lib.fstWriterCreateVar(self._context, lib.FST_VT_VCD_WIRE, lib.FST_VD_OUTPUT, bits, name.encode(), 0)
        )

    def _time(self, cycle: int) -> None:
        self._now = cycle
        lib.fstWriterEmitTimeChange(self._context, cycle)

    def _write(self, place: int, data: int, control: int, *, first: bool = False) -> None:
        lib.fstWriterEmitValueChange64(self._context, self._data[place], 64, data)
        for variable in self._texts[place] if first else ():
            emit_text(self._context, variable, "")
        for channel, text in self._frames[place].step(self._now, data, control):
            emit_text(self._context, self._texts[place][channel], text)
        changed = 0xFF if first else control ^ self._last[place]
        for bit, variable in enumerate(self._control[place]):
            if changed >> bit & 1:
                lib.fstWriterEmitValueChange32(self._context, variable, 1, control >> bit & 1)
        self._last[place] = control

    def drain(self) -> None:
        """Write down what changed in the engine's last run."""
        for cycle, data, cell, port, control, _ in self._engine.changes().tolist():
            if cycle != self._now:
                self._time(cycle)
            self._write(len(_PORTS) * cell + port, data, control)

    def commit(self) -> None:
        """The run is over: the file appears."""
        self._time(max(self._now, self._engine.now))
        self._close()
        try:
            check_whole(self._file.partial)
            self._file.commit()
            if not is_stream(self._path):
                write_whole(self._path.with_suffix(".gtkw"), gtkwave(self._shown(), 1, end=False, marked=self.marked))
        except OSError as error:
            raise WaveError(f"{self._path}: cannot be written: {reason_of(error)}") from None

    def _shown(self) -> list[tuple[str, list[ShownText]]]:
        """The texts of each GPU, of links that have carried a frame."""
        found = []
        for cell, (card, gpu) in enumerate(self._gpus):
            texts = [
                ShownText(f"{card}.gpu{gpu}.{port}.{CHANNELS[channel]}_frame", f"{port} {CHANNELS[channel]}", *span)
                for place, port in enumerate(_PORTS)
                for channel, *span in self._frames[len(_PORTS) * cell + place].spans()
            ]
            found += [(f"{card}.{gpu}", texts)] if texts else []
        return found

    def _close(self) -> None:
        if self._context:
            lib.fstWriterClose(self._context)
            self._context = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._close()
        self._file.__exit__(kind, error, tb)


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
