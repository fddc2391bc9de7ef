"""A recorded session with requests to its groups replays without those who asked; what differs is told."""

import errno
import json
import os
import select
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.debug.replaying import RunReplay
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.groups.desk import GroupDesk
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import Recording

SERVER = """
server: {cards: {a: {gpus: 4, host_links: [0, 1]}}, settings: {device_memory: 1000}}
sharing: {applications: {x: {gpu: a.2, steps: 4000000000, host: 300, compute: 900, memory: 500}}}
"""
PID = "4194305"
_PATIENCE = 30.0  # seconds


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("groups") / "f.rec"
    run = Run(loads(SERVER), cells_library())
    with RunRecorder(path, run, clock=0) as recorder:
        desk = GroupDesk(run, recorder.note)
        run.start()
        run.run_to(8000)
        answers = list[object]()

        def ask(*requests: tuple[str, ...]) -> None:
            for request in requests:
                try:
                    answers.append(desk.ask(*request))  # type: ignore[arg-type]
                except OSError as error:
                    answers.append(error.errno)

        asking = threading.Thread(
            target=ask,
            args=(
                ("mkdir", "/new"),
                ("write", "/new/gpu.slice", "100\n"),
                ("write", "/new/gpu.slice", "0\n"),
                ("write", "/new/cgroup.procs", PID),
                ("read", "/new/gpu.contexts"),
                ("read", "/gpu.stat"),
                ("rmdir", "/x"),
            ),
        )
        asking.start()
        while asking.is_alive():
            run.run_to(run.kernel.now + 100)
            desk.attend()
        waits = threading.Thread(target=ask, args=(("read", "/gpu.stat"),), daemon=True)
        waits.start()
        while not desk._open:
            waits.join(0.001)
            desk.attend()
        desk.close()  # it has begun, and the session ends before it is answered
        waits.join(_PATIENCE)
        assert not waits.is_alive(), "it still waits"
        with pytest.raises(OSError, match="No such device"):
            desk.ask("read", "/gpu.stat")
        recorder.session_ends()
        run.end_at(run.kernel.now)
        recorder.end(run.finish())
    run.close()
    assert (answers[2], answers[-1]) == (errno.ERANGE, errno.ENODEV)
    assert f"{PID} name=x gpu=a.2 context=1" in str(answers[4])
    return path


def replayed(path: Path) -> str | None:
    with Recording(path) as recording:
        found = RunReplay(recording, cells_library()).run()
    return None if found.difference is None else found.difference.text


def changed(path: Path, folder: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Path:
    """A copy in which each row from outside is changed, or left out."""
    copy = folder / "copy.rec"
    shutil.copy(path, copy)
    with closing(sqlite3.connect(copy)) as file, file:
        (column,) = (name for _, name, *_ in file.execute("PRAGMA table_info(outside)") if name != "number")
        for number, text in file.execute(f"SELECT number, {column} FROM outside").fetchall():
            row = change(json.loads(text))
            if row is None:
                file.execute("DELETE FROM outside WHERE number = ?", [number])
            else:
                file.execute(f"UPDATE outside SET {column} = ? WHERE number = ?", [json.dumps(row), number])
    return copy


def test_it_replays_without_those_who_asked(recorded: Path) -> None:
    assert replayed(recorded) is None


def test_a_branch_is_a_session_again(recorded: Path, tmp_path: Path) -> None:
    """In it the GPU dies before anything is asked: the same is asked, and answered otherwise."""
    with DebugSession(recorded, cells_library()) as session:
        session.go(7000)
        session.inject("{fault: dead, gpu: a.2}")
        session.branch(tmp_path / "branch")
    rows = []
    for path in (recorded, tmp_path / "branch"):
        with Recording(path) as recording:
            rows.append([json.loads(text) for _, text in recording.outside()])
    trunk, branch = ([row for row in each if "request" in row] for each in rows)
    assert len(trunk) == 8
    assert branch == trunk
    assert [row for row in rows[0] if "reply" in row] != [row for row in rows[1] if "reply" in row]
    assert replayed(tmp_path / "branch") is None


def test_an_answer_that_is_another_is_told(recorded: Path, tmp_path: Path) -> None:
    def other(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"text": "contexts 7"} if row.get("reply") == 6 else row

    difference = replayed(changed(recorded, tmp_path, other))
    assert difference is not None
    assert difference.startswith("groups, cycle ")
    assert "read /gpu.stat: found 'contexts 1\\nlaunched" in difference
    assert "recorded 'contexts 7' in cycle" in difference


def test_a_request_that_is_missing_is_seen(recorded: Path, tmp_path: Path) -> None:
    """Its commands are: messages differ. So it is when there was none of them, by the answer that nobody waits for."""
    path = changed(recorded, tmp_path, lambda row: None if 4 in (row.get("request"), row.get("reply")) else row)
    assert replayed(path) is not None
    path = changed(recorded, tmp_path, lambda row: None if row.get("request") == 3 else row)
    with pytest.raises(RecordingError, match=r"is damaged: outside \d+: nobody waits for reply 3"):
        replayed(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"request": 1}, "request 1 comes twice"),
        ({"does": "chmod"}, "found {"),
        ({"text": 7}, "found {"),
    ],
)
def test_a_damaged_row_is_named(recorded: Path, tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = changed(recorded, tmp_path, lambda row: row | change if row.get("request") == 2 else row)
    with pytest.raises(RecordingError, match=rf"{path}: is damaged: outside \d+: {words}"):
        replayed(path)


def test_whoever_waits_when_it_ends_is_told_so() -> None:
    """Whether its request has been begun with or not."""
    run = Run(loads(SERVER), cells_library())
    desk = GroupDesk(run)
    run.start()
    run.run_to(8000)
    found = list[int | None]()

    def ask() -> None:
        try:
            desk.ask("read", "/x/gpu.stat")
        except OSError as error:
            found.append(error.errno)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
        assert select.select([desk], [], [], _PATIENCE)[0]
        if thread is threads[0]:
            desk.attend()  # a GPU is asked, and hasn't answered
    desk.close()
    for thread in threads:
        thread.join(_PATIENCE)
    assert found == [errno.ENODEV] * 2
    with pytest.raises(OSError, match=os.strerror(errno.ENODEV)):
        desk.ask("mkdir", "/y")
    run.close()
