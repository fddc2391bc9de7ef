"""Expectations on a cluster: judged by verify and by pytest, each policy on its own."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from ringhil.emulator.cluster.read import load_cluster
from ringhil.emulator.scenario import ScenarioError

from .files import ringhil, write

CLUSTER = """\
name: two servers
until: 100
cluster:
  power: {T4: {idle: 10, task: 70, low: 5}}
  servers: [{name: n, count: 2, gpus: 2, type: T4}]
tasks:
  - {name: long, gpus: 2, at: 0, for: 50}
  - {name: both, gpus: 2, at: 1, for: 30}
  - {name: late, gpus: 1, at: 2, for: 10}
expect:
  - {policy: pack-first, energy: 0.005, waiting: {median: 0, p99: 29}, unplaced: 0}
  - policy: fgd
    energy: 0.003
    waiting: {p99: 10}
    wake_ups: 2
    awake: 2
    fragments: 99.9
"""
FILLED = """\
cluster:
  power: {T4: {idle: 10, task: 70, low: 5}}
  servers: [{name: n, count: 2, gpus: 2, type: T4}]
  saturate: {load: 1.2}
tasks: [{name: one, gpus: 1, at: 0, for: 1}]
expect:
  - {policy: random, allocated: 100, unplaced: 1, power: 0.28}
  - {policy: fgd, allocated: 100.5, power: 0.27}
"""


def test_each_policy_is_judged_and_a_failure_says_what_is_allowed(tmp_path: Path) -> None:
    """Energy by hand; the second policy is allowed less than it takes."""
    write(tmp_path, c=CLUSTER, unjudged=CLUSTER.partition("expect:")[0])
    done = ringhil(tmp_path, "verify", ".", "--json", "--junit", "report.xml")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert [(each["id"], each["verdict"]) for each in found["results"]] == [
        ("c.yaml[policy=pack-first]", "pass"),
        ("c.yaml[policy=fgd]", "fail"),
    ]
    assert found["passed_over"] == ["unjudged.yaml"]
    energy, waiting = found["results"][1]["failures"]
    taken = 70 * (2 * 50 + 2 * 30 + 10) + 5 * (400 - 170)
    assert energy["text"] == f"fgd: expected energy at most 0.003 kWh; found {taken / 3.6e6:.6g} kWh"
    assert waiting["text"] == "fgd: expected waiting.p99 at most 10 s; found 29 s"
    assert (energy["line"], waiting["line"]) == (13, 14)
    root = ElementTree.parse(tmp_path / "report.xml").getroot()
    assert (root.attrib["tests"], root.attrib["failures"]) == ("2", "1")
    (failure,) = root.iter("failure")
    assert f"c.yaml:13: {energy['text']}" in (failure.text or "")
    again = ringhil(tmp_path, "verify", "c.yaml", "--select", "[policy=pack-first]")
    assert again.returncode == 0


def test_a_filled_cluster_is_judged_by_its_end(tmp_path: Path) -> None:
    write(tmp_path, full=FILLED)
    found = json.loads(ringhil(tmp_path, "verify", "full.yaml", "--json", "--seed", "3").stdout)
    assert [(each["verdict"], each["seed"]) for each in found["results"]] == [("pass", 3), ("fail", 3)]
    assert [failure["text"] for failure in found["results"][1]["failures"]] == [
        "fgd: expected allocated at least 100.5 %; found 100 %",
        "fgd: expected power at most 0.27 kW; found 0.28 kW",
    ]


def test_a_cluster_without_expectations_is_refused_when_it_is_named(tmp_path: Path) -> None:
    write(tmp_path, c=CLUSTER.partition("expect:")[0])
    done = ringhil(tmp_path, "verify", "c.yaml")
    assert done.returncode == 2
    assert "c.yaml: there is no 'expect'; needed is what is expected of a policy" in done.stderr


def test_a_mistake_in_a_list_is_told_with_the_place_in_the_list(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nx,1000,1000,2,T5\n")
    servers = "servers: [{name: n, count: 2, gpus: 2, type: T4}]"
    write(tmp_path, c=CLUSTER.replace(servers, "nodes: {list: nodes.csv}"))
    done = ringhil(tmp_path, "verify", "c.yaml")
    assert done.returncode == 2
    said = "ringhil: c.yaml: nodes.csv:2:1: model: unknown type of GPU 'T5'; allowed: T4"
    assert done.stderr.splitlines()[-1] == said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("policy: fgd", "policy: fdg", "expect[1].policy: unknown policy 'fdg'; did you mean 'fgd'?"),
        ("policy: fgd", "policy: os:system", "expect[1].policy: unknown policy 'os:system'; allowed: pack-first"),
        ("waiting: {p99: 10}", "waiting: {}", "expect[1].waiting: nothing in it; needed is 'median' or 'p99'"),
        ("energy: 0.003", "energy: -1", "expect[1].energy: found -1; allowed is a number, 0 .. 1000000000000"),
        (
            "energy: 0.003",
            "cost: 1",
            "expect[1]: unknown key 'cost'; did you mean 'lost'? allowed: policy, energy, waiting, unplaced, lost",
        ),
        ("energy: 0.003", "power: 1", "expect[1]: 'power' is not known of a run over time; allowed: energy, wait"),
        ("until: 100\n", "", "expect[0]: 'energy' without 'until'; needed is the moment to which it is counted"),
        (
            "  - {policy: pack",
            "  - {policy: pwr}\n  - {policy: pack",
            "expect[0]: nothing beside 'policy'; needed",
        ),
    ],
)
def test_what_is_wrong_with_an_expectation_is_one_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    """A file names policies of ours only: no code is run for it."""
    write(tmp_path, c=CLUSTER.replace(old, new, 1))
    with pytest.raises(ScenarioError) as refused:
        load_cluster(tmp_path / "c.yaml")
    assert str(refused.value).partition(" ")[2].startswith(said)
    assert "\n" not in str(refused.value)


@pytest.mark.rest
def test_pytest_plays_the_policies_of_a_cluster(pytester: pytest.Pytester) -> None:
    write(pytester.path, test_c=CLUSTER, test_other=CLUSTER.partition("expect:")[0])
    result = pytester.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_c.yaml:13: fgd: expected energy at most 0.003 kWh; found*"])
