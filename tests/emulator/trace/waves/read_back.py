"""What stands in an FST file, read with the library's reader."""

from pathlib import Path

import pylibfst

from ringhil.emulator.trace.waves.transactions import CHANNELS


def changes_in(path: Path) -> dict[str, list[tuple[int, int]]]:
    """Signal name -> (cycle, value), without those that are texts."""
    reader = pylibfst.lib.fstReaderOpen(str(path).encode())
    assert reader != pylibfst.ffi.NULL
    _, signals = pylibfst.get_scopes_signals2(reader)
    texts = tuple(f".{channel}_frame" for channel in CHANNELS)
    names = {signal.handle: name for name, signal in signals.by_name.items() if not name.endswith(texts)}
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in names.values()}

    def note(_: object, time: int, handle: int, value: object) -> None:
        found[names[handle]].append((time, int(pylibfst.string(value), 2)))

    pylibfst.lib.fstReaderSetFacProcessMaskAll(reader)
    pylibfst.fstReaderIterBlocks(reader, note)
    pylibfst.lib.fstReaderClose(reader)
    return found
