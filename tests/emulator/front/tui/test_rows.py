"""Rows of a recording that grows while it is looked at."""

from pathlib import Path

import pytest

from ringhil.emulator.front.tui.rows import KEPT, PAGE, Rows
from ringhil.emulator.trace.recording import About, RecordingWriter

ABOUT = About(ringhil="1", rtl="0", name="n", scenario="server: {}\n", firmware=[], nodes=[])


@pytest.mark.rest
def test_all_that_is_there_can_be_seen_whatever_was_seen_before(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "r", ABOUT, ["a.0"], batch=1) as writer:
        writer.event(1, 0, "FirmwareStopped", {})
        rows, last = Rows(tmp_path / "r"), 1
        for count in (2, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE - 2, (KEPT + 3) * PAGE):
            for number in range(last + 1, count + 1):
                writer.event(number, 0, "FirmwareStopped", {})
            assert rows.get(last) is not None
            assert rows.get(last + 1) is None, "it hasn't looked yet"
            rows.grown()
            assert rows.count == count
            assert [getattr(rows.get(number), "cycle", None) for number in range(count + 2)] == [
                None,
                *range(1, count + 1),
                None,
            ]
            assert rows.kept <= KEPT * PAGE
            last = count
        rows.close()
