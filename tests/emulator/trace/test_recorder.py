"""A recording holds every message of a run, and appears whole or not at all."""

import json
from pathlib import Path

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.hardware import ToCpu
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.trace import Recorder, RecordingError
from ringhil.protocol import codec
from ringhil.protocol.frames import Report, Result, Statistics, Work

TEXT = "server: {cards: {a: {gpus: 3}}}\nworkload: {units: 5, size: 600}\n"


def record(path: Path) -> list[dict[str, object]]:
    server = Run(loads(TEXT), cells_library())
    gpus = ["a.0", "a.1", "a.2"]
    with Recorder(path, name="r", seed=1, rtl="sha256:0", gpus=gpus) as recorder:
        server.observations.listen_to_frames(recorder.frame)
        server.run()
        assert not path.exists()
        recorder.commit()
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_message_is_there_and_decodes(tmp_path: Path) -> None:
    header, *rows = record(tmp_path / "r.jsonl")
    assert header["format"] == "ringhil recording"
    kinds: dict[tuple[object, type], int] = {}
    for row in rows:
        frame = codec.decode(bytes.fromhex(str(row["frame"])), link=False)
        key = (row["way"], type(frame))
        kinds[key] = kinds.get(key, 0) + 1
    assert kinds["from_cpu", Work] == 5 * 3  # 600 bytes are three segments
    assert kinds["to_cpu", Result] == 5
    # The last round may be on its way when the run ends.
    assert 0 <= kinds["from_firmware", Statistics] - kinds["to_firmware", Statistics] <= 2
    assert 0 <= kinds["from_firmware", Report] - kinds["to_cpu", Report] <= 1


def test_two_runs_give_the_same_file_byte_for_byte(tmp_path: Path) -> None:
    record(tmp_path / "one")
    record(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_run_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def failing_run() -> None:
        with Recorder(tmp_path / "r", name="r", seed=1, rtl="", gpus=["a.0"]) as recorder:
            recorder.frame(ToCpu(1, 0, 0, bytes(8), False))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing_run()
    assert not list(tmp_path.iterdir())


def test_a_file_that_stood_there_is_kept_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_text("old")
    with Recorder(path, name="r", seed=1, rtl="", gpus=["a.0"]):
        pass
    assert path.read_text() == "old"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot be written"):
        Recorder(tmp_path / "no" / "r", name="r", seed=1, rtl="", gpus=[])
