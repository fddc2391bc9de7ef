"""Which firmware, RTL and scenario it was stands in all that is written of a run, and changes with them alone."""

import hashlib
import json
import sqlite3
import xml.etree.ElementTree as ElementTree
from contextlib import closing
from pathlib import Path

import pytest
from tests.command import ringhil

from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.hashes import hashes

PROGRAM = """\
from ringhil.firmware.boot import Boot, our_program
from ringhil.firmware.gpu import GpuProgram
{imports}

class Program(GpuProgram):
    def __init__(self, boot: Boot) -> None:
        ours = our_program(boot)
        super().__init__(ours.census_config, ours.entry_capable, ours.electors, ours.crossing, ours.behind)
"""
SCENARIO = "server: {cards: {a: {gpus: 3}}}\nuntil: 4000\nexpect: [{end: true, count: {a: 2}}]\n"


def test_the_hash_is_that_of_all_files_that_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However deep a change is: in the module, beside it, in a package, in what that imports from its own folder."""
    monkeypatch.chdir(tmp_path)
    imports = "import hashed_helper\nfrom hashed_parts import more\n"
    files = {
        "hashed_program.py": PROGRAM.format(imports=imports),
        "hashed_helper.py": "import json\n",
        "hashed_parts/__init__.py": "",
        "hashed_parts/more.py": "def later():\n    from . import deep\n    return deep\n",
        "hashed_parts/deep.py": "X = 1\n",
    }
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    Path("hashed_other.py").write_text("nobody imports it\n")

    def now() -> dict[str, str]:
        return hashes(loads(SCENARIO), "sha256:1", firmware_of(["*=hashed_program:Program"]))

    before = now()
    assert set(before) == {"scenario", "rtl", "firmware", "firmware.*"}
    Path("hashed_other.py").write_text("not now either\n")
    assert now() == before
    for name, text in files.items():
        Path(name).write_text(text + "# changed\n")
        assert {key for key, value in now().items() if value != before[key]} == {"firmware.*"}, name
        Path(name).write_text(text)
    assert now() == before
    assert hashes(loads(SCENARIO + "seed: 2\n"), "sha256:1") != hashes(loads(SCENARIO), "sha256:1")


def test_a_file_alone_has_the_hash_that_sha256sum_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hashed_alone.py").write_text(PROGRAM.format(imports=""))
    digest = hashlib.sha256(Path("hashed_alone.py").read_bytes()).hexdigest()
    found = hashes(None, None, firmware_of(["a.1=hashed_alone:Program"]))
    assert found["firmware.a.1"] == f"sha256:{digest}"


def test_all_that_is_written_says_which_it_was(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PROGRAM.format(imports=""))
    (tmp_path / "s.yaml").write_text(SCENARIO)
    given = ("--firmware", "*=mine:Program")
    run = ringhil("run", "s.yaml", *given, "--json", "--record", "r.rec", cwd=tmp_path)
    known = json.loads(run.stdout)["hashes"]
    assert set(known) == {"scenario", "rtl", "firmware", "firmware.*"}
    assert all(value.startswith("sha256:") and len(value) == 71 for value in known.values())
    with closing(sqlite3.connect(tmp_path / "r.rec")) as db:
        assert json.loads(db.execute("SELECT header FROM about").fetchone()[0])["hashes"] == known
    text = ringhil("run", "s.yaml", *given, "--record", "r.jsonl", cwd=tmp_path).stdout
    assert ", ".join(f"{name} {value[7:19]}" for name, value in known.items()) in text
    assert json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0])["hashes"] == known
    verify = ringhil("verify", "s.yaml", *given, "--json", "--junit", "out/x.xml", cwd=tmp_path)
    document = json.loads(verify.stdout)
    assert {**document["hashes"], "scenario": document["results"][0]["scenario"]} == known
    assert json.loads((tmp_path / "ringhil-verify" / "s" / "replay.json").read_text())["hashes"] == known
    suite = ElementTree.parse(tmp_path / "out" / "x.xml").getroot()[0]
    properties = {each.attrib["name"]: each.attrib["value"] for each in suite.iter("property")}
    assert {name: properties[name] for name in document["hashes"]} == document["hashes"]
    assert f"scenario: {known['scenario']}" in (suite.findtext("testcase/system-out") or "")


def test_a_campaign_and_its_cases_say_which_it_was(tmp_path: Path) -> None:
    """Records are never carried: who doesn't count himself is believed, so that some cases fail."""
    settings = "{records: never, census_period: 600, firmware_latency: 8, host_latency: 8, keepalive_interval: 400}"
    (tmp_path / "s.yaml").write_text(f"server: {{cards: {{a: {{gpus: 3}}}}, settings: {settings}}}\n")
    arguments = ("s.yaml", "--faults", "skip_count", "--phases", "1", "--lasts", "left", "--out", "out", "--json")
    document = json.loads(ringhil("explore", *arguments, cwd=tmp_path).stdout)
    known = document["hashes"]
    assert set(known) == {"scenario", "rtl", "firmware"}
    assert document["scenario"] == known["scenario"]
    (sort, *_) = document["sorts"]
    for file in (sort["shrunk"], document["failing"][0]["file"]):
        lines = (tmp_path / file).read_text().splitlines()
        assert {f"# {name}: {known[name]}" for name in ("rtl", "firmware")} <= set(lines)
