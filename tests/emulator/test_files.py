"""Files appear whole or not at all, whenever the program ends."""

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from ringhil.emulator.files import AtomicFile, open_input, open_stream, reason_of, write_whole


def test_a_committed_file_is_there_and_nothing_beside_it(tmp_path: Path) -> None:
    with AtomicFile(tmp_path / "f") as file:
        assert file.file is not None
        file.file.write("whole\n")
        file.commit()
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_text() == "whole\n"


def test_without_commit_nothing_is_left(tmp_path: Path) -> None:
    with AtomicFile(tmp_path / "f"):
        assert any(tmp_path.iterdir())
    assert not any(tmp_path.iterdir())


def test_an_interrupt_right_after_the_file_is_created_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path, *args: str, **kwargs: str) -> IO[str]:
        path.touch(exist_ok=False)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "open", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        AtomicFile(tmp_path / "f")
    del caught  # its traceback holds the object
    assert not any(tmp_path.iterdir())


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "whole\n")
    assert os.read(reading, 100) == b"whole\n"
    os.close(reading)
    assert pipe.is_fifo()
    with pytest.raises(OSError, match="it is no file"):
        AtomicFile(pipe, binary=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]


def test_a_link_stays_one_and_its_file_is_replaced(tmp_path: Path) -> None:
    link, file = tmp_path / "link", tmp_path / "deep" / "file"
    file.parent.mkdir()
    link.symlink_to(file)
    for text in ("first\n", "second\n"):
        write_whole(link, text)
        assert link.is_symlink()
        assert file.read_text() == text
    assert [entry.name for entry in file.parent.iterdir()] == ["file"]


def test_a_forked_process_that_ends_leaves_its_parents_file_alone(tmp_path: Path) -> None:
    file = AtomicFile(tmp_path / "f")
    child = os.fork()
    if child == 0:
        file.__exit__()
        os._exit(0)
    os.waitpid(child, 0)
    assert file.partial.exists()
    file.commit()
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "error"), [("file/f", OSError), ("missing/f", OSError), ("nul\0", ValueError)])
def test_where_no_file_can_be_nothing_else_goes_wrong(tmp_path: Path, name: str, error: type[Exception]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(error):
        AtomicFile(tmp_path / name)
    gc.collect()  # what goes wrong at the end of an object's life is a warning
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_what_is_no_file_is_not_read_and_not_waited_for(tmp_path: Path) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    file.write_bytes(b"whole")
    for path, why in (
        (pipe, "it is no file"),
        (Path("/dev/zero"), "it is no file"),
        (tmp_path, "it is a folder; name a file"),
    ):
        with pytest.raises(OSError) as caught:  # noqa: PT011
            open_input(path)
        assert reason_of(caught.value) == why
        assert caught.value.filename == str(path)
    with open_input(file) as content:
        assert content.read() == b"whole"


def gone() -> int:
    """The number of a process that has ended."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


def test_drafts_of_processes_that_are_gone_are_removed_and_no_others(tmp_path: Path) -> None:
    dead, living = gone(), os.getppid()
    abandoned = [f".f.{dead}.partial", f".f.{dead}.partial.hier", f".f.{os.getpid()}.partial"]
    others = [f".f.{living}.partial", f".g.{dead}.partial", f".f.{dead}.partial.txt", ".f.x.partial", "f.partial"]
    for name in (*abandoned, *others):
        (tmp_path / name).write_text("half")
    with AtomicFile(tmp_path / "f", binary=True, beside=(".hier",)):
        assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(others)
    write_whole(tmp_path / "f", "whole")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([*others, "f"])


def test_two_that_write_the_same_file_at_once_do_not_take_it_from_each_other(tmp_path: Path) -> None:
    with AtomicFile(tmp_path / "f") as first:
        with pytest.raises(FileExistsError):
            AtomicFile(tmp_path / "f")
        first.commit()
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


def test_a_report_after_a_kill_leaves_no_draft(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from ringhil.emulator.files import AtomicFile\n"
        "file = AtomicFile(Path(sys.argv[1])); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "f")], check=False, timeout=60)
    assert len(list(tmp_path.iterdir())) == 1
    write_whole(tmp_path / "f", "whole")
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


def test_an_empty_name_is_that_of_no_file() -> None:
    with pytest.raises(IsADirectoryError):
        AtomicFile(Path(""))  # noqa: PTH201


def test_a_descriptor_of_ours_is_nobody_elses(tmp_path: Path) -> None:
    """What was not handed to us is none that anybody can mean."""
    own = os.open(tmp_path / "own", os.O_WRONLY | os.O_CREAT)
    try:
        with pytest.raises(OSError, match="Bad file descriptor"):
            open_stream(Path(f"/dev/fd/{own}"))
        os.set_inheritable(own, True)
        os.close(open_stream(Path(f"/dev/fd/{own}")))
    finally:
        os.close(own)
