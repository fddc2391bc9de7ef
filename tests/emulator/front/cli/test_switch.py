"""`ringhil switch`: one policy beside the other, as a table, a document and a page."""

import json
import re
from html import unescape
from pathlib import Path
from statistics import median

import pytest
from tests.command import refusal, ringhil

from ringhil.emulator.pages.units import milliseconds

from .charts import shown

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
POLICIES = ["pipelined", "pipeswitch", "stop_start", "resident"]
SMALL = """server: {cards: {a: {gpus: 3}}, settings: {device_memory: 200}}
switching:
  gpu: a.1
  rate: 1000
  second_preset: 100
  tasks:
    x: {start: 9000, clean: 900, layers: [{name: l, weights: 50000000, operations: 5000000000},
      {name: m, weights: 50000000, operations: 5000000000}]}
    y: {start: 9000, clean: 900, layers: [{name: l, weights: 120000000, operations: 5000000000}]}
  requests: [{task: x}, {task: x}, {task: y}, {task: x}]
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SMALL)
    return tmp_path / "s.yaml"


@pytest.mark.rest
def test_the_example_shows_all_policies_in_their_order() -> None:
    """W7: a training task, then inference."""
    done = ringhil("switch", EXAMPLES / "switching.yaml", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert (found["verdict"], list(found["policies"])) == ("pass", POLICIES)
    overhead = {name: policy["overhead_ms"] for name, policy in found["policies"].items()}
    assert overhead["resident"] < overhead["pipelined"] < overhead["pipeswitch"] < overhead["stop_start"] / 100
    used = {name: policy["utilisation"] for name, policy in found["policies"].items()}
    assert used["stop_start"] < 0.6 < 0.99 < used["pipeswitch"] < used["pipelined"] < used["resident"] < 1
    for policy in found["policies"].values():
        (switch,) = policy["switches"]
        assert (switch["before"], switch["after"]) == ("training", "bert")
        assert switch["overhead_ms"] == policy["overhead_ms"] >= switch["startup_ms"]
        ran = [request["ran_ms"] for request in policy["requests"]]
        assert ran == [pytest.approx(8127.3, rel=1e-3), pytest.approx(52.9, rel=1e-2)]


@pytest.mark.rest
def test_the_example_of_interrupted_training_shows_who_waits_how_long(tmp_path: Path) -> None:
    done = ringhil("switch", EXAMPLES / "switching-interrupt.yaml", "--json", "--html", tmp_path / "page.html")
    assert done.returncode == 0, done.stdout + done.stderr
    policies = json.loads(done.stdout)["policies"]
    stops = {name: [request["stops"] for request in policy["requests"]] for name, policy in policies.items()}
    assert stops == {name: [3 * (name == "pipeswitch") + (name == "stop_start"), 0, 0, 0] for name in POLICIES}
    asked = policies["pipeswitch"]["requests"][1:]
    waited = [request["ended_ms"] - request["wanted_ms"] for request in asked]
    assert policies["pipeswitch"]["latency_ms"] == pytest.approx(sum(waited) / 3, abs=1e-3)
    assert policies["pipeswitch"]["latency_ms"] < policies["pipelined"]["latency_ms"] / 50
    switches = [f"from {each['before']} to {each['after']}" for each in policies["pipeswitch"]["switches"]]
    names = ("resnet", "inception", "bert")
    assert switches == [way for name in names for way in (f"from training to {name}", f"from {name} to training")]
    titles = [chart.title for chart in shown((tmp_path / "page.html").read_text())]
    assert [titles.count(f"pipeswitch: {each}") for each in switches] == [1] * 6
    assert len(titles) == 4 + sum(len(policy["switches"]) for policy in policies.values())


@pytest.mark.rest
def test_each_switch_is_reported_and_what_most_of_them_take(tmp_path: Path) -> None:
    """By terminal and document alike: the wait of who asks, or was stopped; figures are of these very values."""
    example = EXAMPLES / "switching-interrupt.yaml"
    options = ("switch", example, "--policy", "pipeswitch")
    found = json.loads(ringhil(*options, "--json").stdout)["policies"]["pipeswitch"]
    shown = ringhil(*options).stdout.splitlines()
    requests, switches = found["requests"], found["switches"]
    asked = {request["task"]: request for request in requests}
    for each in switches:
        since = each["since_ms"] if each["resumed"] else asked[each["after"]]["wanted_ms"]
        if not each["resumed"]:
            assert each["waited_ms"] == pytest.approx(each["began_ms"] - since, abs=1e-3)
        assert each["waited_ms"] >= each["startup_ms"]
        times = f".* {milliseconds(each['waited_ms'])} .* {milliseconds(each['overhead_ms'])}"
        row = f"{each['before']} +{each['after']} {times}"
        assert any(re.search(row, line) for line in shown)
    assert [each["resumed"] for each in switches] == [False, True] * 3
    for request in requests:
        took = request["ended_ms"] - request["wanted_ms"]
        assert request["slowdown"] == pytest.approx(took / request["ran_ms"], rel=1e-5)
    for name, values in {
        "overhead_ms": [each["overhead_ms"] for each in switches],
        "asking_waits_ms": [each["waited_ms"] for each in switches if not each["resumed"]],
        "stopped_waits_ms": [each["waited_ms"] for each in switches if each["resumed"]],
        "slowdown": [request["slowdown"] for request in requests[1:]],
    }.items():
        figures = found["figures"][name]
        assert figures["count"] == len(values)
        assert figures["median"] == pytest.approx(median(values))
        assert figures["p95"] == figures["most"] == max(values)
        texts = [
            milliseconds(figures[of]) if name.endswith("_ms") else f"{figures[of]:.2f}" for of in ("median", "most")
        ]
        assert any(all(text in line for text in texts) for line in shown)


def test_people_get_a_table_and_what_failed(small: Path) -> None:
    """x and y together have no room on the GPU."""
    done = ringhil("switch", small)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["policy", "overhead", "start-up", "latency", "GPU", "used", "memory", "failed"]
    assert [line.split()[0] for line in lines[2:6]] == POLICIES
    assert [line.split("MiB")[1].strip() for line in lines[2:6]] == ["0 of 4", "0 of 4", "0 of 4", "1 of 4"]
    assert lines[6] == "resident: request 2 (y) failed: the GPU has no room for it"
    assert lines[-1] == "verdict: pass"
    one = ringhil("switch", small, "--policy", "resident", "--policy", "pipelined")
    assert [line.split()[0] for line in one.stdout.splitlines()[2:4]] == ["resident", "pipelined"]


def test_its_page_says_what_the_terminal_says(small: Path) -> None:
    """What failed, and what could not be judged."""
    small.write_text(
        f"{SMALL}expect: [{{end: true, switching: {{resident: {{failed: 0}}, pipelined: {{failed: 0}}}}}}]\n"
    )
    done = ringhil("switch", small, "--policy", "resident", "--html", small.parent / "s.html")
    words = ("resident:", "not judged:", "failed:", "verdict")
    *said, last = [line for line in done.stdout.splitlines() if line.startswith(words)]
    assert [line.partition(": ")[0] for line in said] == ["resident", "not judged", "failed"]
    text = (small.parent / "s.html").read_text()
    assert [unescape(line) for line in re.findall(r"^<p>(.*)</p>$", text, re.M)][: len(said)] == said
    assert re.findall(r'class="pill[a-z ]*">(\w+)<', text) == [last.removeprefix("verdict: ")]


@pytest.mark.rest
def test_failures_are_listed_by_policy_with_the_seed_that_was_asked_for(small: Path) -> None:
    """A policy that is named twice is played once."""
    small.write_text(f"{SMALL}expect: [{{end: true, switching: {{resident: {{failed: 0}}}}}}]\n")
    wanted = ("--policy", "pipelined", "--policy", "resident", "--policy", "pipelined")
    done = ringhil("switch", small, *wanted, "--seed", "5", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["verdict"], found["seed"]) == (1, "fail", 5)
    (failure,) = found["failures"]
    assert failure.startswith("resident: line 11: expected at the end: ")
    shown = ringhil("switch", small, *wanted)
    assert shown.returncode == 1
    assert [line.split()[0] for line in shown.stdout.splitlines()[2:4]] == ["pipelined", "resident"]


def test_its_page_is_in_the_units_of_the_file(small: Path) -> None:
    small.write_text(SMALL.replace("gpu: a.1", "gpu: a.1\n  link: 2500\n  first_preset: 190"))
    ringhil("switch", small, "--policy", "pipelined", "--html", small.parent / "s.html")
    page = (small.parent / "s.html").read_text()
    assert "on a.1: x, x, y, x. Link: 2.5 GB/s. Seed 1." in page
    assert shown(page)[0].bounds[0].at == 190 << 20


def test_the_page_shows_what_was_done_when_and_the_memory(small: Path) -> None:
    page = small.parent / "s.html"
    done = ringhil("switch", small, "--policy", "pipelined", "--html", page, "--json")
    phases = json.loads(done.stdout)["policies"]["pipelined"]["phases"]
    whole, *switches = shown(page.read_text())
    assert len(switches) == 3
    bars = [bar for lane in whole.lanes for bar in lane.bars]
    runs = [bar.title for bar in bars if whole.kinds[bar.kind].name == "run"]
    assert len(runs) == sum(phase["phase"] == "run" for phase in phases)
    assert len(whole.curves[0].xs) > 5


def test_a_run_of_the_file_is_judged_too(small: Path) -> None:
    """`ringhil run` plays the policy of the file."""
    done = ringhil("run", small, "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)["switching"]
    assert (found["policy"], [request["failed"] for request in found["requests"]]) == ("pipelined", [False] * 4)
    assert found["memory"] == max(held for _, held in found["held"]["a.1"])


def test_wrong_input_is_refused_and_nothing_is_written(small: Path) -> None:
    page = small / "s.html"
    assert f"{small}: cannot be written" in refusal("switch", small, "--html", page)
    assert "there is no 'switching'" in refusal("switch", EXAMPLES / "one-card.yaml")
    assert "'fastest' is not one of" in refusal("switch", small, "--policy", "fastest")
    assert "missing.yaml: cannot be read" in refusal("switch", small.parent / "missing.yaml")
    assert "both write to standard output" in refusal("switch", small, "--json", "--html", "-")
    small.write_text(SMALL.replace("gpu: a.1", "gpu: a.1\n  policy: fastest"))
    html = small.parent / "s.html"
    assert "s.yaml:4:11: switching.policy: found 'fastest'" in refusal("switch", small, "--html", html)
    assert not html.exists()


def test_a_run_shows_each_request_and_its_policy(small: Path) -> None:
    done = ringhil("run", small)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("request "))
    assert [line.split()[:3] for line in lines[at + 1 : at + 5]] == [
        [str(number), task, "a.1"] for number, task in enumerate("xxyx")
    ]
    document = json.loads(ringhil("run", small, "--json").stdout)["switching"]
    for line, request in zip(lines[at + 1 : at + 5], document["requests"], strict=True):
        times = [float(word.replace(",", "")) for word in line.split()[3:11:2]]
        wanted = [request[name] for name in ("wanted_ms", "began_ms", "ended_ms", "ran_ms")]
        assert times == [pytest.approx(value, abs=0.006) for value in wanted]
    shown = ringhil("switch", small, "--policy", "pipelined").stdout.splitlines()
    assert lines[at + 5 : at + 7] == shown[1:3]


@pytest.mark.rest
def test_what_is_expected_of_a_policy_that_is_not_played_is_not_judged(small: Path) -> None:
    text = "expect: [{end: true, switching: {resident: {failed: 1}, pipelined: {failed: 0}}}]\n"
    small.write_text(SMALL + text)
    for policies, not_judged in (
        (["resident", "pipelined"], []),
        (["resident"], ["pipelined"]),
        (["pipeswitch"], ["pipelined", "resident"]),
    ):
        options = [word for policy in policies for word in ("--policy", policy)]
        done = ringhil("switch", small, *options, "--json")
        assert done.returncode == 0, done.stdout
        found = json.loads(done.stdout)["not_judged"]
        assert [re.findall(r"switching by (\w+)", line) for line in found] == [[name] for name in not_judged]
        lines = ringhil("switch", small, *options).stdout.splitlines()
        assert [line for line in lines if line.startswith("not judged")] == [f"not judged: {line}" for line in found]
