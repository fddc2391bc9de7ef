"""Frames on a link as texts, whatever it carries; and in the files that are written."""

from pathlib import Path

import pylibfst
from hypothesis import given, settings
from hypothesis import strategies as st

from ringhil.emulator.trace.waves.transactions import CHANNELS, LinkTransactions
from ringhil.protocol import wire

from .played import traffic
from .test_fst import run

BIT = wire.LinkBit.codes()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_a_link_is_told_by_its_changes_alone(seed: int) -> None:
    """A text is there from a frame's beginning to its end, and in no other cycle of a link that is used."""
    always, changes = LinkTransactions(), LinkTransactions()
    texts, told = ["", ""], ["", ""]
    opened = [False, False]
    last = (0, 0)
    for cycle, (data, control) in enumerate(traffic(seed, 300)):
        for place, text in always.step(cycle, data, control):
            texts[place] = text
        if (data, control) != last or not cycle:
            for place, text in changes.step(cycle, data, control):
                told[place] = text
        last = (data, control)
        used, place = control & BIT["up"] and not control & BIT["fault"], bool(control & BIT["data"])
        carries = [bool(used and control & BIT["valid"] and place == channel) for channel in (0, 1)]
        for channel in (0, 1):
            opened[channel] = bool(used) and opened[channel]
            assert bool(texts[channel]) == (opened[channel] or carries[channel])
            assert bool(told[channel]) == bool(texts[channel])
            if carries[channel]:
                opened[channel] = not control & BIT["eof"]


def test_a_run_has_its_frames_as_texts_and_a_file_that_shows_them(tmp_path: Path) -> None:
    run(tmp_path / "w.fst")
    reader = pylibfst.lib.fstReaderOpen(str(tmp_path / "w.fst").encode())
    _, signals = pylibfst.get_scopes_signals2(reader)
    names = {signal.handle: name for name, signal in signals.by_name.items()}
    texts: dict[str, list[str]] = {}

    def note(_: object, _time: int, handle: int, value: object, length: int) -> None:
        text = bytes(pylibfst.ffi.buffer(value, length)).decode()
        if text:
            texts.setdefault(names[handle], []).append(text)

    pylibfst.lib.fstReaderSetFacProcessMaskAll(reader)
    pylibfst.fstReaderIterBlocks2(reader, lambda *_: None, note)
    pylibfst.lib.fstReaderClose(reader)
    assert texts["a.gpu1.p2_tx.control_frame"][:2] == [
        "statistics from GPU 0 of card 0",
        "statistics from GPU 0 of card 0, sequence 1",
    ]
    assert any(text.startswith("work for GPU ") for text in texts["a.gpu0.p2_tx.data_frame"])
    shown = (tmp_path / "w.gtkw").read_text()
    assert {path for path in texts if f" {path}\n" in shown} == set(texts)
    assert len([line for line in shown.splitlines() if line.startswith("+{")]) == len(texts)
    assert all(path.endswith(tuple(f"{channel}_frame" for channel in CHANNELS)) for path in texts)
