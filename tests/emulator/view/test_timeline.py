"""The time line keeps what a bucket has been through."""

import random
from pathlib import Path

from ringhil.emulator.trace.recording import Recording, RecordingWriter
from ringhil.emulator.view.timeline import ViewTime


def test_a_bucket_has_the_lowest_count_and_the_last(recorded: Path, tmp_path: Path) -> None:
    """Also of a dip that is over before it ends."""
    chance = random.Random(1)
    counts = [(cycle, chance.randrange(9)) for cycle in range(200)]
    with Recording(recorded) as model, RecordingWriter(tmp_path / "r", model.about, model.gpus) as writer:
        for cycle, count in counts:
            writer.event(cycle, 0, "Counted", {"count": count})
        writer.end({})
    with Recording(tmp_path / "r") as recording:
        time = ViewTime(recording)
        while time.read(recording):
            pass
        buckets = time.marks(recording, 10, []).buckets
    assert len(buckets) == 10
    for bucket in buckets:
        inside = [count for cycle, count in counts if bucket.first <= cycle <= bucket.last]
        assert bucket.counts == {"a": (min(inside), inside[-1])}
