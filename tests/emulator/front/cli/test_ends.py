"""Every end of the program is one of those that the pages promise: no traceback, no exit code 1 without a verdict."""

import errno
import html
import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from asyncio import CancelledError
from pathlib import Path

import pytest
from tests import command

from ringhil.emulator.build.cache import cache_dir
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.front.cli import main, run
from ringhil.emulator.terminated import Terminated

RING = "server: {cards: {a: {gpus: 4}}, settings: {census_period: 600}}\nuntil: 4000\n"


class _Gone(Exception):
    """Of some library."""


def ended(
    patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, *words: str
) -> tuple[object, str]:
    """Exit code and stderr of a run in which `error` comes up."""

    def load(path: Path) -> None:
        raise error

    patch.setattr(run, "load", load)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    with pytest.raises(SystemExit) as exit_:
        main([*words, "run", "x.yaml"])
    for number, handler in before.items():
        signal.signal(number, handler)
    return exit_.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [
        IndexError("list index\nout of range"),
        AssertionError(),
        KeyError("x" * 5000),
        _Gone("\x1b[31m"),
        RecursionError("too deep"),
        MemoryError(),
        OSError(errno.EINVAL, "Invalid argument", "f"),
        UnicodeEncodeError("ascii", "é", 0, 1, "ordinal not in range"),
        SystemExit(0),  # nobody but a signal ends the program so
        GeneratorExit(),
        CancelledError("of a loop"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_nobody_foresaw_is_one_line_and_code_2(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = ended(monkeypatch, capsys, error)
    (line,) = said.splitlines()
    assert code == 2
    assert line.startswith(f"ringhil: unforeseen {type(error).__name__}")
    assert "(ringhil.emulator.front.cli.run:" in line
    assert "please report what `ringhil -vv ...` prints of it" in line
    assert line.isprintable()
    assert len(line) < 600
    code, said = ended(monkeypatch, capsys, error, "-vv")
    assert code == 2
    assert "Traceback (most recent call last)" in said
    assert said.splitlines()[-1] == line


@pytest.mark.parametrize(
    ("package", "text"),
    [
        ("cocotb", ""),  # another one of that name
        ("cocotb", "import nothing_here"),
        ("cocotb", "raise SystemExit(0)"),
        ("numpy", "raise RuntimeError('half\\ninstalled')"),
        ("construct", "def"),
    ],
)
def test_a_package_that_cannot_be_imported_is_no_defect_of_ours(package: str, text: str, tmp_path: Path) -> None:
    (tmp_path / package).mkdir()
    (file := tmp_path / package / "__init__.py").write_text(text + "\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    words = [*command.RINGHIL, "rtl", "check", "--rule", "keepalive.echo"]
    done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"ringhil: {file}: cannot be imported: ")
    assert line.endswith(f"; PYTHONPATH is {tmp_path}")
    assert not done.stdout


@pytest.mark.parametrize(
    ("word", "says"), [("walk", "there are bench, card, "), ("watch", "it is part of `ringhil card URL watch`\n")]
)
def test_an_unknown_command_is_told_without_packages_of_extras(word: str, says: str) -> None:
    hidden = "sys.modules.update(dict.fromkeys(('sqlalchemy', 'starlette', 'uvicorn', 'cryptography')))"
    code = f"import sys; {hidden}; from ringhil.emulator.front.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code, word], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"ringhil: unknown command '{word}'; {says}")


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (RinghilError("x: wrong"), 2, "ringhil: x: wrong\n"),
        (OSError(errno.ENOSPC, "No space left on device", "/full/x"), 2, "ringhil: /full/x: No space left on device\n"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            2,
            "or a cache cannot be written: No space left on device\n",
        ),
        (PermissionError(errno.EACCES, "Permission denied", "x"), 2, "ringhil: x: Permission denied\n"),
        (OSError(errno.EMFILE, "Too many open files", "x"), 2, "ringhil: x: Too many open files\n"),
        (KeyboardInterrupt(), 130, "ringhil: interrupted\n"),
        (Terminated(143), 143, ""),
        (Terminated(129), 129, ""),
    ],
    ids=str,
)
def test_other_ends_keep_their_code(
    error: BaseException, code: int, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found, said = ended(monkeypatch, capsys, error)
    assert found == code
    assert said.endswith(says)
    assert len(said.split("\n")) <= 3


def alone(*words: str, folder: Path, **env: str) -> tuple[int, bytes, bytes]:
    """A command in a process that is started anew."""
    done = subprocess.run(
        [*command.RINGHIL, *words], cwd=folder, env={**os.environ, **env}, capture_output=True, check=False, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_rings_and_names_are_shown_in_any_locale(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "é→.yaml").write_text(RING)
    code, said, errors = alone("run", "é→.yaml", folder=tmp_path, PYTHONIOENCODING=encoding)
    assert (code, errors) == (0, b"")
    assert ("+-[0*]-[1]-" in said.decode(encoding)) == (encoding != "utf-8")
    code, said, errors = alone("verify", ".", "--list", folder=tmp_path, PYTHONIOENCODING=encoding)
    assert (code, errors) == (0, b"")
    letters = {"latin-1": "é\\u2192".encode("latin-1")}.get(encoding, "é→".encode())  # click takes ASCII for a mistake
    assert said == letters + b".yaml\n"


def test_names_that_are_no_utf8_are_names(tmp_path: Path) -> None:
    place, name = tmp_path / os.fsdecode(b"caf\xe9"), os.fsdecode(b"n\xe9")
    place.mkdir()
    (place / f"{name}.yaml").write_text(RING)
    for words in (
        f"run {name}.yaml --record {name}.rec --waves {name}.fst",
        f"replay {name}.rec",
        *(f"export {name}.rec --format {kind} --out {name}.{kind}" for kind in ("pcapng", "perfetto", "jsonl", "fst")),
        f"view {name}.rec --html {name}.html",
        f"verify . --record --out {name} --junit {name}.xml --keep {name}.keep --codequality {name}.json",
        f"explore {name}.yaml --faults dead --depth 1 --number 2 --store {name}.db --report {name}.page --out {name}",
    ):
        done = command.ringhil(*words.split(), cwd=place, env={**os.environ, "TMPDIR": str(place)})
        assert done.returncode == 0, (words, done.stderr)
        made = [word for word in words.split() if word.startswith(f"{name}.")]
        assert made
        assert all((place / file).stat().st_size for file in made)


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("words", ["run x.yaml", "verify .", "schema", "verify . --out x"])
def test_a_folder_that_is_gone_is_told(words: str, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    shell = ["sh", "-c", 'rmdir ../gone && exec "$@"', "sh", *command.RINGHIL, *words.split()]
    done = subprocess.run(shell, cwd=tmp_path / "gone", capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == (0 if words == "schema" else 2)
    assert len(done.stderr.splitlines()) == done.returncode // 2
    assert "unforeseen" not in done.stderr


def test_without_a_home_it_runs_where_a_cache_is_named_and_says_so_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "RINGHIL_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)  # KeyError: nobody
    with pytest.raises(BuildError, match="no home folder for the cache"):
        cache_dir()
    monkeypatch.setenv("RINGHIL_CACHE", str(tmp_path))
    assert cache_dir() == tmp_path


@pytest.mark.parametrize(
    ("words", "before"),
    [
        ("verify nowhere --junit out/of/x.xml", None),
        ("verify nowhere --junit=out/of/x.xml", "<testsuites tests='9'/>"),
        ("verify --junit=out/of/x.xml --bogus .", ""),
        ("verify --junit out/of/x.xml", "<?xml version='1.0'?>"),
        ("rtl check --rule nosuch --junit out/of/x.xml", "<testsuites tests='9'/>"),
        ("rtl check --junit out/of/x.xml --effort no", None),
    ],
)
def test_of_what_was_refused_no_earlier_report_speaks(words: str, before: str | None, tmp_path: Path) -> None:
    report = tmp_path / "out" / "of" / "x.xml"
    if before is not None:
        report.parent.mkdir(parents=True)
        report.write_text(before)
    said = command.refusal(*words.split(), cwd=tmp_path)
    root = ElementTree.parse(report).getroot()
    assert (root.attrib["tests"], root.attrib["errors"]) == ("1", "1")
    (error,) = root.iter("error")
    assert error.attrib["message"] == said


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(
    ("words", "before"),
    [
        ("verify nowhere --codequality report", "[]"),
        ("explore nowhere.yaml --report report", "<!DOCTYPE html><p>all passed"),
        ("share nowhere.yaml --html=report", "<!doctype html><p>all passed"),
        ("place --bogus --html report", "<!doctype html><p>all passed"),
    ],
)
def test_no_earlier_page_or_list_speaks_either(words: str, before: str, tmp_path: Path) -> None:
    report = tmp_path / "report"
    said = command.refusal(*words.split(), cwd=tmp_path)
    assert not report.exists()
    report.write_text(before)
    assert command.refusal(*words.split(), cwd=tmp_path) == said
    now = report.read_text()
    assert html.escape(said) in now or json.loads(now)[0]["description"] == said
    report.write_text("server: mine")
    command.refusal(*words.split(), cwd=tmp_path)
    assert report.read_text() == "server: mine"


ENDED = """
import os, sys
def look(event, given):
    if event == "open" and str(given[0]).endswith(("input.yaml", "gpu_node.sv")):
        os.kill(os.getpid(), {number})
sys.addaudithook(look)
from ringhil.emulator.front.cli import main
main(sys.argv[1:])
"""


@pytest.mark.rest(but_one_in=12)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "words",
    [
        "explore input.yaml --junit report.xml --report page",
        "explore input.yaml --junit=report.xml --report=page --out store",
        "verify input.yaml --junit report.xml --codequality list",
        "rtl check --junit report.xml",
        "share input.yaml --html page",
        "switch input.yaml --html page",
        "place input.yaml --html=page",
        "view input.yaml --html page",
    ],
)
def test_of_what_was_interrupted_no_earlier_report_speaks(words: str, number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "input.yaml").write_text(RING)
    before = {"report.xml": "<testsuites tests='9'/>", "page": "<!doctype html><p>all passed", "list": "[]"}
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    code = ENDED.format(number=int(number))
    done = subprocess.run(
        [sys.executable, "-c", code, *words.split()], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 128 + number, done.stderr
    now = {name: (tmp_path / name).read_text() for name in before}
    assert {name for name in before if now[name] != before[name]} == {name for name in before if name in words}
    if "report.xml" in words:
        assert int(ElementTree.fromstring(now["report.xml"]).attrib["errors"]) > 0


@pytest.mark.parametrize("words", ["--junit x.yaml --bogus .", "--junit ./x.yaml .", ". --junit=x.yaml", "--junit . ."])
def test_a_scenario_that_is_named_by_mistake_stays(words: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(RING)
    command.refusal("verify", *words.split(), cwd=tmp_path)
    assert (tmp_path / "x.yaml").read_text() == RING


def test_a_closed_input_has_no_commands(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(RING)
    shell = ["sh", "-c", 'exec "$@" <&-', "sh", *command.RINGHIL, "step", "x.yaml"]
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_while_it_is_loaded_is_two_lines() -> None:
    """Before that Python itself is starting, which is not ours."""
    interrupt = """
import runpy, sys
class Interrupt:
    def find_spec(self, name, *where):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
runpy.run_module("ringhil.emulator", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", interrupt], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (130, "\nringhil: interrupted\n")


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("asked", ["nosuch", "bash_complete", "tcsh_source", "x" * 5000])
def test_completion_for_no_shell_is_told(asked: str, tmp_path: Path) -> None:
    code, said, errors = alone("--help", folder=tmp_path, _RINGHIL_COMPLETE=asked)
    assert (code, said) == (2, b"")
    assert errors.startswith(b"ringhil: _RINGHIL_COMPLETE: found ")
    assert len(errors.splitlines()) == 1
    code, said, errors = alone("--help", folder=tmp_path, _RINGHIL_COMPLETE="bash_source")
    assert (code, errors) == (0, b"")
    assert b"_RINGHIL_COMPLETE=bash_complete" in said


def test_where_ends_of_children_are_ignored_verify_hears_them(tmp_path: Path) -> None:
    """Some services start what they run so."""
    (tmp_path / "x.yaml").write_text(RING)
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    words = [sys.executable, "-c", ignoring, *command.RINGHIL, "verify", "x.yaml"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
