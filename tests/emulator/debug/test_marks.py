"""What is on the time line, of a recording that has more of it than is read at a time."""

from pathlib import Path

from ringhil.emulator.debug.marks import TimeMarks
from ringhil.emulator.trace.recording import About, Recording, RecordingWriter

ABOUT = About(ringhil="1", rtl="0", name="n", scenario="server: {}\n", firmware=[], nodes=[])


def test_each_mark_is_there_once_and_holds_from_its_own_event_on(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "r", ABOUT, ["a.0"]) as writer:
        for number in range(1, 2501):
            kind = "Deposed" if number % 2 == 0 else "Elected"
            writer.event(number, 0, kind, {"role": "entry"})
    with Recording(tmp_path / "r") as recording:
        marks = TimeMarks(recording)
        assert [marks.read(recording) for _ in range(4)] == [True, True, False, False]
    assert [mark.number for mark in marks.all] == list(range(1, 2501))
    assert [set(marks.known(number).roles.get("a.0", ())) for number in (0, 1, 2, 999, 1000)] == [
        set(),
        {"entry"},
        set(),
        {"entry"},
        set(),
    ]
    last = marks.last(1000)
    assert last is not None
    assert last.text == "lost role entry a.0"
