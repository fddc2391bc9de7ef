"""`ringhil place` and what a cluster file expects: the same verdicts as those of `ringhil verify`."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.command import ringhil
from tests.emulator.view.held import held

from ringhil.emulator.view.fleet import CLUSTER as HELD

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
CLUSTER = """\
until: 100
cluster:
  power: {T4: {idle: 10, task: 70, low: 5}}
  servers: [{name: n, count: 2, gpus: 2, type: T4}]
tasks:
  - {name: long, gpus: 2, at: 0, for: 50}
  - {name: both, gpus: 2, at: 1, for: 30}
  - {name: late, gpus: 1, at: 2, for: 10}
expect:
"""
FILLED = CLUSTER.replace("until: 100\n", "").replace("tasks:", "  saturate: {load: 1.2}\ntasks:")
OVER_TIME = {"energy": 0.006, "unplaced": 0.5, "lost": 0.5, "awake": 3, "wake_ups": 4, "fragments": 99.9}
IN_THE_END = {"unplaced": 3, "fragments": 99.9, "allocated": 150, "power": 0.5}
POLICIES = ("pack-first", "random", "fgd")


def placed(folder: Path, text: str, *words: object) -> tuple[int, dict[str, Any]]:
    """Exit code and document."""
    (folder / "c.yaml").write_text(text)
    done = ringhil("place", "c.yaml", "--fleet", "table", *words, "--json", cwd=folder)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("filled", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_place_and_verify_give_the_same_verdicts(seed: int, filled: bool, tmp_path: Path) -> None:
    """Of random bounds, and with the seed of the file or another one."""
    draw = random.Random(seed)
    bounds = [
        f"  - {{policy: {draw.choice(POLICIES)}, {what}: {draw.uniform(0, most):.3f}}}\n"
        for what, most in (IN_THE_END if filled else OVER_TIME).items()
        for _ in range(2)
    ]
    waiting = [] if filled else ["  - {policy: fgd, waiting: {median: 1, p99: 10}}\n"]
    text = f"seed: {seed}\n{FILLED if filled else CLUSTER}{''.join(bounds + waiting)}"
    words = () if seed == 0 else ("--seed", 40 + seed)
    code, found = placed(tmp_path, text, *words, *(word for name in POLICIES for word in ("--policy", name)))
    verified = ringhil("verify", "c.yaml", "--json", *words, cwd=tmp_path)
    failures = [each for one in json.loads(verified.stdout)["results"] for each in one["failures"]]
    ours = [each for each in found["expect"] if not each["ok"]]
    theirs = {(each["line"], *each["text"].split("; found ")) for each in failures}
    assert theirs == {
        (
            each["line"],
            f"{each['policy']}: expected {each['expected']}",
            f"{each['seeds'][0]['found']:.6g}{each['expected'].partition(format(each['bound'], 'g'))[2]}",
        )
        for each in ours
    }
    assert code == verified.returncode == bool(ours)
    assert len(found["expect"]) == len(bounds) + 2 * len(waiting)


EXPECTED = "  - {policy: pack-first, energy: 0.005, unplaced: 0}\n  - {policy: fgd, waiting: {p99: 10}}\n"


def test_text_page_and_document_say_what_fails_and_what_was_found(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CLUSTER + EXPECTED)
    words = ("place", "c.yaml", "--policy", "pack-first", "--policy", "fgd", "--html", "p.html")
    done = ringhil(*words, cwd=tmp_path)
    assert done.returncode == 1
    told = [
        "ok   pack-first: energy at most 0.005 kWh",
        "ok   pack-first: unplaced at most 0",
        "FAIL fgd: waiting.p99 at most 10 s (found 29 s)",
    ]
    assert done.stdout.splitlines()[-3:] == told
    page = held((tmp_path / "p.html").read_text(), HELD)["said"]
    assert "failed: fgd: waiting.p99 at most 10 s (found 29 s)" in page
    assert "ok: pack-first: unplaced at most 0" in page
    found = json.loads(ringhil(*words, "--json", cwd=tmp_path).stdout)["expect"]
    assert [(each["ok"], each["not_judged"]) for each in found] == [(True, None), (True, None), (False, None)]
    assert found[2]["seeds"] == [{"seed": 0, "ok": False, "found": 29}]


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--load", 2), "not played at the load of the file"),
        (("--no-sleep",), "played with nothing asleep (--no-sleep)"),
        (("--policy", "pwr"), "not played; --policy pack-first plays it"),
    ],
)
def test_an_expectation_whose_run_was_not_played_is_not_judged(
    words: tuple[object, ...], why: str, tmp_path: Path
) -> None:
    """Which is no failure. One load of several that is the file's is enough."""
    text = CLUSTER + "  - {policy: pack-first, energy: 0}\n"
    code, found = placed(tmp_path, text, *words)
    assert (code, [(each["ok"], each["seeds"], each["not_judged"]) for each in found["expect"]]) == (
        0,
        [(None, [], why)],
    )
    shown = ringhil("place", "c.yaml", "--fleet", "table", *words, cwd=tmp_path).stdout
    assert f"not judged: pack-first: energy at most 0 kWh: {why}" in shown
    code, found = placed(tmp_path, text, "--load", 2, "--load", 1)
    assert (code, found["expect"][0]["ok"]) == (1, False)


def test_each_seed_is_judged_and_one_that_fails_is_named(tmp_path: Path) -> None:
    """One that is woken more often is enough."""
    text = (EXAMPLES / "cluster.yaml").read_text() + "expect: [{policy: random, wake_ups: 5}]\n"
    code, found = placed(tmp_path, text, "--policy", "random", "--seeds", 8)
    runs = found["policies"]["random"]["runs"]
    (expected,) = found["expect"]
    assert [(each["seed"], each["found"]) for each in expected["seeds"]] == [(r["seed"], r["wake_ups"]) for r in runs]
    failing = [run for run in runs if run["wake_ups"] > 5]
    assert 1 < len(failing) < 8
    assert [each["seed"] for each in expected["seeds"] if not each["ok"]] == [run["seed"] for run in failing]
    assert (code, expected["ok"]) == (1, False)
    shown = ringhil("place", "c.yaml", "--fleet", "table", "--policy", "random", "--seeds", 8, cwd=tmp_path).stdout
    first, *others = failing
    more = f"(found {first['wake_ups']}, seed {first['seed']} and {len(others)} more of 8 seeds)"
    assert shown.splitlines()[-1] == f"FAIL random: wake_ups at most 5 {more}"
