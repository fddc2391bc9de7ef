"""Signals and words for wave viewers, made from the protocol: what 0x4d on a link means needn't be looked up."""

from pathlib import Path

from ringhil.emulator.files import reason_of, write_whole
from ringhil.emulator.trace.waves.fst import WaveError
from ringhil.emulator.trace.waves.vcd import ValueNames
from ringhil.emulator.trace.waves.viewers import gtkwave, surfer
from ringhil.emulator.trace.waves.viewers.signals import WaveView
from ringhil.emulator.trace.waves.viewers.texts import controls, events, faults, flags, kinds, register_names

__all__ = [
    "WaveError",
    "WaveView",
    "controls",
    "events",
    "faults",
    "files",
    "flags",
    "kinds",
    "register_names",
    "value_names",
    "write",
]


def files(view: WaveView | None = None, name: str = "ringhil") -> dict[str, str]:
    """Name, below one directory -> text, for GTKWave and Surfer; the same for the same protocol and view (all of the
    bench, if None). `name`: of the save file and the command file, without their suffixes."""
    return {**gtkwave.files(view, f"{name}.gtkw"), **surfer.files(view, f"{name}.sucl")}


def write(directory: Path, view: WaveView | None = None, name: str = "ringhil") -> list[Path]:
    """Write them; each file appears whole. Raises WaveError."""
    written = []
    for relative, text in files(view, name).items():
        path = directory / relative
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
        except OSError as error:
            raise WaveError(f"{path}: cannot be written: {reason_of(error)}") from None
        written.append(path)
    return written


def value_names() -> list[ValueNames]:
    """The enumerations, for `convert`, of `ring_view`, which VCD files don't hold."""
    return [
        ValueNames("u_view_*", "link_event", events()),
        ValueNames("u_view_*", "c_kind", kinds()),
        ValueNames("u_view_*", "d_kind", kinds()),
    ]
