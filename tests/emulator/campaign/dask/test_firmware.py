"""Somebody else's firmware on workers: what is found is what is found here, and who has other files plays nothing. No
code is sent, and none is run before its file is known to be the same."""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command import ringhil
from tests.emulator.campaign.dask.commands import rows
from tests.emulator.campaign.dask.dask_processes import machines
from tests.emulator.campaign.explore.servers import RING, library
from tests.firmware.c.library import built

from ringhil.emulator.campaign.dask.order import Facts, NamedFirmware, Order, Refused, SentRtl
from ringhil.emulator.campaign.dask.station import ordered

TOUCHY = """
from ringhil.firmware.boot import our_program
class Touchy:
    def __init__(self, boot):
        self.ours = our_program(boot)
    def start(self, now):
        return self.ours.start(now)
    def on_timer(self, name, now):
        return self.ours.on_timer(name, now)
    def on_status(self, status):
        self.ours.on_status(status)
    def on_frame(self, frame, port, bad, now):
        assert not bad, "damaged"
        return self.ours.on_frame(frame, port, bad, now)
"""
CLASS = ("--firmware", "a.0=touchy:Touchy")
HURT = ("explore", "s.yaml", "--faults", "corrupt", "--places", "a.2", "--phases", "2")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "touchy.py").write_text(TOUCHY)
    (tmp_path / "here" / "s.yaml").write_text(RING)
    return tmp_path / "here"


@pytest.mark.rest
def test_a_local_cluster_finds_the_same_with_it(here: Path) -> None:
    for store, more in (("plain", ("--jobs", 2)), ("local", ("--cluster", "local", "--jobs", 1))):
        done = ringhil(*HURT, *CLASS, *more, "--store", store, cwd=here)
        assert (done.returncode, done.stderr) == (1, "")
    assert rows(here / "local") == rows(here / "plain")
    assert any("AssertionError: damaged" in str(row) for row in rows(here / "local"))


# ----------------------------------------------------------------------------------- what a worker does before it plays


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A worker's folder. Whatever of it is run is told in the file `ran`."""
    folder, before = tmp_path / "there", list(sys.path)
    (folder / "package").mkdir(parents=True)
    for file in ("other.py", "package/__init__.py", "package/other.py"):
        (folder / file).write_text(f"open({str(folder / 'ran')!r}, 'w')\nclass Mine: ...\n")
    (folder / "liba.so").write_text("no library")
    monkeypatch.chdir(folder)
    yield folder
    sys.path[:] = before


def refused(folder: Path, given: str, source: str) -> str:
    firmware = NamedFirmware((given,), {given: source} if source else {})
    order = Order(Facts.here(), SentRtl.of(library(), None), firmware, "explore", "{}")
    with pytest.raises(Refused) as why:
        ordered(order.to_json(), folder)
    assert not (folder / "ran").exists()
    return str(why.value).removeprefix(f"--firmware {given}: ")


@pytest.mark.parametrize(
    ("what", "file"),
    [("other:Mine", "other.py"), ("package.other:Mine", "package/other.py"), ("./liba.so", "liba.so")],
)
def test_another_file_is_named_and_not_run(what: str, file: str, there: Path) -> None:
    found = hashlib.sha256((there / file).read_bytes()).hexdigest()
    says = f"{file if file.endswith('.so') else there / file} has sha256 {found[:12]}; allowed is {'7' * 12}, as here"
    assert refused(there, f"a.0={what}", "7" * 64) == says
    # Nor is what was named and not described.
    assert "; allowed is " in refused(there, f"*={what}", "")


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("none:Mine", "module none"),
        ("package.none:Mine", "module package.none"),
        ("other.none:Mine", "module other.none"),
        ("./none.so", "./none.so"),
        ("/dev/ttyACM0", "/dev/ttyACM0"),
    ],
)
def test_a_file_that_is_not_there_is_named(what: str, name: str, there: Path) -> None:
    assert refused(there, f"a.0={what}", "7" * 64) == f"there is no {name}; looked for from {there} on"


# ------------------------------------------------------------------------------------------------- on several machines


@pytest.mark.slow(part="benches")
def test_workers_with_the_same_files_play_and_others_are_named(here: Path, tmp_path: Path) -> None:
    (here / "deaf.py").write_text(TOUCHY.replace('assert not bad, "damaged"', "if bad or port == 1: return []"))
    same, other = built(here), tmp_path / "other" / "libringhil_gpu.so"
    other.parent.mkdir()
    other.write_bytes(same.read_bytes() + b"\0")
    given = ("--firmware", "a.0=deaf:Touchy", "--firmware", f"a.1=./{same.name}")
    with machines(tmp_path) as workers:
        for name, files in {"one": [same], "two": [same], "another": [other], "none": []}.items():
            workers.worker(name, files=[here / "deaf.py", *files])
        found = []
        for store, more in (("plain", ()), ("cluster", ("--cluster", workers.address))):
            done = ringhil(*HURT, *given, *more, "--store", store, cwd=here)
            verified = ringhil("verify", "s.yaml", *given, *more, "--json", cwd=here)
            verdicts = json.loads(verified.stdout)["results"]
            for verdict in verdicts:
                del verdict["seconds"]
            found.append(((done.returncode, rows(here / store), verdicts), done.stderr, verified.stderr))
    assert found[0][0] == found[1][0]
    assert ringhil(*HURT, "--store", "ours", cwd=here).returncode == 0
    assert rows(here / "ours")[1:] != rows(here / "plain")[1:]
    assert found[0][1:] == ("", "")
    for said in found[1][1:]:
        another, none = sorted(line for line in said.splitlines() if "left out: worker tcp://127.0.0.1:" in line)
        if "(none)" in another:
            another, none = none, another
        hashes = [hashlib.sha256(file.read_bytes()).hexdigest()[:12] for file in (other, same)]
        why = f"{same.name} has sha256 {hashes[0]}; allowed is {hashes[1]}, as here"
        assert another.endswith(f"(another): --firmware a.1=./{same.name}: {why}")
        folder = tmp_path / "none"
        assert none.endswith(
            f"(none): --firmware a.1=./{same.name}: there is no ./{same.name}; looked for from {folder} on"
        )
