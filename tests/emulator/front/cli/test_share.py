"""`ringhil share`: the three rows of S4 by one set of parameters, and what is said when something is wrong."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from tests.command import refusal, ringhil

from .charts import names, shown

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
GOOD = """server: {cards: {a: {gpus: 3}}}
sharing: {applications: {x: {gpu: a.1, steps: 2, compute: 50}}}
"""
NEAR = 0.05  # of what is published


def document(name: str) -> dict[str, dict[str, object]]:
    done = ringhil("share", EXAMPLES / f"sharing-{name}.yaml", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] == "pass"
    applications = found["applications"]
    assert list(applications) == ["test1", "test2", "test3", "test4"]
    return dict(applications)


def test_without_isolation_all_fail_at_their_start() -> None:
    for application in document("none").values():
        assert application["failed"]
        assert str(application["why"]).startswith("out of memory at initialisation")
        assert application["step_ms"] is application["total_s"] is None


@pytest.mark.rest
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("memory", {"test1": (71, 56), "test2": (71, 56), "test3": (71, 56), "test4": (71, 56)}),
        ("slices", {"test1": (35, 27), "test2": (200, 160), "test3": (200, 160), "test4": (200, 160)}),
    ],
)
def test_the_published_figures_come_out(name: str, rows: dict[str, tuple[float, float]]) -> None:
    """S4: milliseconds a step, seconds a training."""
    applications = document(name)
    for each, (step, total) in rows.items():
        found = applications[each]
        assert found["failed"] is False
        assert found["step_ms"] == pytest.approx(step, rel=NEAR)
        assert found["total_s"] == pytest.approx(total, rel=NEAR)
        assert found["memory"] == 5299 << 20


def test_one_set_of_parameters_serves_all_rows() -> None:
    """Memory and slices are what the rows are about; all else is the same."""
    texts = [(EXAMPLES / f"sharing-{name}.yaml").read_text() for name in ("none", "memory", "slices")]
    given = re.compile(r", (memory|slice): \d+")
    assert len({given.sub("", text).split("expect:")[0] for text in texts}) == 1


def test_people_get_a_table(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(GOOD.replace("steps: 2", "steps: 2, memory: 100, slice: 20"))
    done = ringhil("share", tmp_path / "s.yaml")
    assert done.returncode == 0
    header, row = (line.split() for line in done.stdout.splitlines()[1:3])
    assert header[:2] == ["application", "GPU"]
    assert row[:6] == ["x", "a.1", "100", "MiB", "90", "MiB"]
    assert done.stdout.splitlines()[-1] == "verdict: pass"


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize(
    ("change", "at", "words"),
    [
        (("gpu: a.1", "gpu: a.3"), "a.3", "unknown GPU 'a.3'"),
        (("steps: 2", "steps: 0"), "0, compute", "found 0; allowed is"),
        (("steps: 2, ", ""), "x: {gpu", "key 'steps' is missing"),
        (("compute: 50", "compute: 50, slice: 5"), "5}", "found 5; allowed are 16 cycles or more"),
        (("compute: 50", "compute: 50, slice: -1"), "-1", "found -1"),
        (("compute: 50", "compute: 50, memory: 65537"), "65537", "the GPU has 65536 pages"),
        (("compute: 50", "compute: 50, memory: 0"), "0}", "found 0"),
        (("compute: 50", "compute: 50, input: 9, wants: 0"), "9, wants", "has no room for data"),
        (("compute: 50", "compute: 50, input: 65001"), "65001", "found 65001"),
        (("compute: 50", "compute: 50, stepps: 1"), "stepps", "unknown key 'stepps'; did you mean 'steps'"),
        (("x: {gpu", "'x y': {gpu"), "'x y'", "allowed is a name (a letter"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, change: tuple[str, str], at: str, words: str) -> None:
    text = GOOD.replace(*change)
    (tmp_path / "s.yaml").write_text(text)
    line = refusal("share", "s.yaml", cwd=tmp_path)
    row = text.splitlines()[1]
    column = row.rindex(at) + 1
    if words.startswith("key"):
        column = row.index("{gpu") + 1
    assert line.startswith(f"ringhil: s.yaml:2:{column}: ")
    assert words in line


def test_sixteen_on_one_gpu_are_one_too_many(tmp_path: Path) -> None:
    each = "{gpu: a.1, steps: 1, compute: 9, wants: 1}"
    for number, refused in ((15, False), (16, True)):
        names = ", ".join(f"x{n}: {each}" for n in range(number))
        (tmp_path / "s.yaml").write_text(
            f"server: {{cards: {{a: {{gpus: 3}}}}}}\nsharing: {{applications: {{{names}}}}}\n"
        )
        if refused:
            assert "a.1 has 15 applications already" in refusal("share", "s.yaml", cwd=tmp_path)
        else:
            assert ringhil("share", "s.yaml", cwd=tmp_path).returncode == 0


def test_a_file_without_applications_is_refused() -> None:
    assert "there is no 'sharing'" in refusal("share", EXAMPLES / "one-card.yaml")


PAGE = """server: {cards: {a: {gpus: 3}}, settings: {device_memory: 400, context_switch: 20, default_slice: 100}}
workload: {units: 9, size: 64}
sharing:
  applications:
    x: {gpu: a.1, steps: 9, compute: 400, memory: 100}
    y: {gpu: a.1, steps: 9, compute: 400, memory: 200}
    z: {gpu: a.2, steps: 1, compute: 400}
"""


def test_its_page_has_all_that_the_registers_showed(tmp_path: Path) -> None:
    """Use and memory of each GPU, turns with their switches; the same file is the same page."""
    (tmp_path / "s.yaml").write_text(PAGE)
    for name in ("p.html", "q.html"):
        done = ringhil("share", "s.yaml", "--html", name, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "p.html").read_text()
    assert text == (tmp_path / "q.html").read_text()
    use, close, other, alone = shown(text)  # of each GPU: all of it, and some turns
    assert names(use.lanes) == ["plain work", "x", "y"]
    assert names(other.lanes) == ["plain work", "z"]
    (memory,) = use.curves
    assert max(y or 0 for y in memory.ys) == (90 + 180) << 20  # nine tenths of 300 pages of 400
    assert use.bounds[0].at == 400 << 20
    bars = [bar for lane in close.lanes for bar in lane.bars]
    assert {"turn of x", "turn of y", "switch to x", "switch to y"} <= {bar.title for bar in bars}
    assert close.x.begin is not None
    assert close.x.end is not None
    assert all(close.x.begin <= bar.begin < bar.end <= close.x.end + 1e-9 for bar in bars)
    assert "switch to z" in {bar.title for lane in alone.lanes for bar in lane.bars}


def test_its_page_says_what_the_terminal_says(tmp_path: Path) -> None:
    """Also of what failed, and of what could not be judged."""
    trouble = "timeline: [{at: 0, fault: dead, gpu: a.0}]\nexpect: [{end: true, count: {a: 2}}]\n"
    (tmp_path / "s.yaml").write_text(PAGE.replace("gpus: 3}", "gpus: 3, host_links: [0]}") + trouble)
    done = ringhil("share", "s.yaml", "--html", "p.html", cwd=tmp_path)
    *said, last = done.stdout.splitlines()[5:]
    words = {"x failed", "y failed", "z failed", "not judged", "failed"}
    assert {line.partition(": ")[0] for line in said} == words
    text = (tmp_path / "p.html").read_text()
    lines = list(map(unescape, re.findall(r"^<p>(.*)</p>$", text, re.M)))
    assert '<span class="pill bad">fail</span>' in text
    assert last == "verdict: fail"
    assert lines[: len(said)] == said


def test_what_is_not_as_expected_is_told_with_the_seed_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(f"{PAGE}expect: [{{end: true, applications: {{x: {{steps: 8}}}}}}]\n")
    done = ringhil("share", "s.yaml", "--seed", "5", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, found["verdict"], found["seed"]) == (1, "fail", 5)
    (failure,) = found["failures"]
    assert failure.startswith("line 8: expected at the end: ")
    assert ringhil("share", "s.yaml", cwd=tmp_path).returncode == 1


def test_what_is_told_is_in_the_units_of_the_file(tmp_path: Path) -> None:
    """A cycle of half a microsecond, pages of 2 MiB; a slice is the shortest of those around it."""
    text = PAGE.replace(
        "sharing:", "sharing:\n  cycle: 500\n  page: 2048\n  groups: {te: {slice: 20}, team: {slice: 40}}"
    )
    (tmp_path / "s.yaml").write_text(text.replace("memory: 100", "memory: 100, group: team, slice: 60"))
    x, y, z = json.loads(ringhil("share", "s.yaml", "--json", cwd=tmp_path).stdout)["applications"].values()
    assert [(each["told"] >> 20, each["memory"] >> 20) for each in (x, y, z)] == [(200, 180), (400, 360), (800, 720)]
    assert [each["slice_ms"] for each in (x, y, z)] == [0.02, 0.05, 0.05]
    assert [each["gpu_s"] for each in (x, y, z)] == [0.0018, 0.0018, 0.0002]
    assert 0.2 < z["step_ms"] < 0.3


def test_who_has_not_ended_says_so(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(PAGE + "until: 2000\n")
    lines = ringhil("share", "s.yaml", cwd=tmp_path).stdout.splitlines()
    assert lines[2].split()[-2:] == ["-", "-"]
    assert "x failed: the run ended before its steps were done" in lines


def test_its_page_is_in_the_units_of_the_file(tmp_path: Path) -> None:
    """A cycle of half a microsecond, pages of 2 MiB."""
    (tmp_path / "s.yaml").write_text(PAGE.replace("sharing:", "sharing:\n  cycle: 500\n  page: 2048"))
    done = ringhil("share", "s.yaml", "--html", "p.html", "--json", cwd=tmp_path)
    use, _, _, alone = shown((tmp_path / "p.html").read_text())
    assert use.bounds[0].at == 800 << 20
    (turn,) = [bar for lane in alone.lanes for bar in lane.bars if bar.title == "turn of z"]
    assert json.loads(done.stdout)["applications"]["z"]["gpu_s"] == pytest.approx(0.0002)
    assert turn.end - turn.begin == pytest.approx(0.0002)


def test_a_page_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(GOOD)
    assert "s.yaml: cannot be written" in refusal("share", "s.yaml", "--html", "s.yaml/p.html", cwd=tmp_path)
    assert "both write to standard output" in refusal("share", "s.yaml", "--json", "--html", "-", cwd=tmp_path)


@pytest.mark.rest
def test_a_run_shows_them_too_and_small_ones_are_seen_whole() -> None:
    """In units that fit. Of who does its steps again the GPU is lost: it has failed, though its own were done."""
    example = EXAMPLES / "sharing-lost-gpu.yaml"
    shown, run = ringhil("share", example), ringhil("run", example)
    assert (shown.returncode, run.returncode) == (0, 0)
    lines = shown.stdout.splitlines()[1:8]
    assert lines == [line for line in run.stdout.splitlines() if line in lines]
    assert [line.split()[2:6] for line in lines[1:5]] == [
        ["500", "MiB", "450", "MiB"],
        ["300", "MiB", "270", "MiB"],
        ["1,000", "MiB", "600", "MiB"],
        ["300", "MiB", "300", "MiB"],
    ]
    assert [line.split()[-5:-1] for line in lines[3:5]] == [["37.29", "ms", "18", "ms"], ["36.01", "ms", "14", "ms"]]
    assert [line.split()[-2:] for line in lines[1:3]] == [["-", "-"]] * 2  # what they had of the GPU went with it
    assert [line.partition(": ")[0] for line in lines[5:]] == ["left failed", "again failed"]
    for command in ("share", "run"):
        applications = json.loads(ringhil(command, example, "--json").stdout)["applications"]
        known = [(each["gpu_s"] is not None, each["switches"] is not None) for each in applications.values()]
        assert known == [(False, False)] * 2 + [(True, True)] * 2


def test_what_cannot_be_judged_is_said(tmp_path: Path) -> None:
    """Nobody can count the card: what its applications say of their steps can't be judged."""
    text = GOOD.replace("gpus: 3", "gpus: 3, host_links: [0]").replace("gpu: a.1", "gpu: b.1").replace("a: {", "b: {")
    (tmp_path / "s.yaml").write_text(text + "timeline: [{at: 0, fault: dead, gpu: b.0}]\n")
    done = ringhil("share", tmp_path / "s.yaml")
    (said,) = [line for line in done.stdout.splitlines() if line.startswith("not judged: ")]
    found = json.loads(ringhil("share", tmp_path / "s.yaml", "--json").stdout)
    assert [f"not judged: {text}" for text in found["not_judged"]] == [said]


@pytest.mark.rest
def test_what_gpus_take_is_in_json_and_text_of_both_commands(tmp_path: Path) -> None:
    """Until the work was done, and until the end; nothing where the file says nothing of it."""
    file = tmp_path / "s.yaml"
    file.write_text(GOOD.replace("gpus: 3}}", "gpus: 3}}, power: {default: {run_power: 7, idle_power: 3}}"))
    found = [json.loads(ringhil(command, file, "--json").stdout)["power"] for command in ("share", "run")]
    assert found[0] == found[1]
    totals = [[sum(gpu[key] for gpu in found[0].values()) for key in ("energy", "busy")]]
    totals.append([sum(gpu["until_done"][key] for gpu in found[0].values()) for key in ("energy", "busy")])
    for command in ("share", "run"):
        shown = ringhil(command, file).stdout.splitlines()
        rows = [line.split() for line in shown if "end of run" in line or "work done" in line]
        assert [next(word for word in row if word[0].isdigit()) for row in rows[-2:]] == [
            f"{energy:,}" for energy, _ in reversed(totals)
        ]
    file.write_text(GOOD)
    assert "power" not in json.loads(ringhil("share", file, "--json").stdout)
