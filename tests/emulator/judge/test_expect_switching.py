"""`expect: switching`: it holds where it is so, for the policy that is played, and in no other run."""

from unittest import mock

import pytest
from tests.emulator.scenario.samples import refused

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.scenario import SwitchPolicyName, dumps, loads
from ringhil.emulator.scenario.expect.switching import SwitchingIs

from .playing import play

FILE = """
server: {cards: {a: {gpus: 3}}}
switching:
  gpu: a.1
  tasks: {x: {layers: [{name: l, weights: 5000000, operations: 9000000000000}], environment: 5}}
  requests: [{task: x}, {task: x}]
"""


def judged(limits: str) -> Outcome:
    text = f"{FILE}expect: [{{end: true, switching: {limits}}}]\n"
    scenario = loads(text)
    assert loads(dumps(scenario)).expect[0].checks == scenario.expect[0].checks
    return play(scenario, cells_library())


@pytest.mark.rest(but_one_in=2, start=1)
@pytest.mark.parametrize("policy", ["pipelined", "stop_start"])
def test_it_holds_where_it_is_so(policy: str) -> None:
    """Only of the policy that is played."""
    outcome = judged(f"{{{policy}: {{overhead: 0, latency: 0, utilisation: 100, memory: 1, failed: 1}}}}")
    if policy != "pipelined":
        assert outcome.expect == ()
        (said,) = outcome.not_judged
        assert said.startswith("expected at the end: switching by stop_start: overhead at most 0 us")
        assert said.endswith(": another policy is played")
    else:
        (found,) = outcome.expect
        assert not found.ok
        overhead, latency, utilisation, memory, failed = found.found.split(", ")
        names = (overhead.split()[0], latency.split()[0], utilisation.split()[0], failed)
        assert names == ("overhead", "latency", "utilisation", "failed 0")
        limits = [int(text.split()[1].partition(".")[0]) for text in (overhead, latency, utilisation, memory)]
        times = f"overhead: {limits[0] + 1}, latency: {limits[1] + 1}"
        most = f"{times}, utilisation: {limits[2]}, memory: {limits[3] + 1}, failed: 0"
        assert judged(f"{{{policy}: {{{most}}}}}").expect[0].ok
        shorter = (f"overhead: {limits[0] - 1}", f"latency: {limits[1] - 1}")
        for less in (*shorter, f"utilisation: {limits[2] + 1}", f"memory: {limits[3] - 1}"):
            assert not judged(f"{{{policy}: {{{less}}}}}").expect[0].ok


def test_what_is_just_as_much_as_its_limit_is_within_it() -> None:
    check = SwitchingIs(SwitchPolicyName.PIPELINED, 7, 8, 50, 3, 0)
    figures = {"overhead_ms": 0.007, "latency_ms": 0.008, "utilisation": 0.5, "memory": 3 << 20, "refused": 0}

    def said(**more: float) -> str | None:
        outcome = mock.Mock(policy=SwitchPolicyName.PIPELINED, **figures | more)
        return check.differs(mock.Mock(switching=lambda: outcome))

    assert said() is None
    assert said(overhead_ms=0.008) == "overhead 8 us"
    assert said(latency_ms=0.009) == "latency 9 us"
    assert said(utilisation=0.499) == "utilisation 49.9 %"
    assert said(memory=(3 << 20) + (1 << 18)) == "memory 3.25 MiB"


@pytest.mark.rest
def test_what_is_beside_it_is_judged() -> None:
    limits = "{pipelined: {failed: 0}, resident: {failed: 0}}"
    outcome = play(loads(f"{FILE}expect: [{{end: true, count: {{a: 2}}, switching: {limits}}}]"), cells_library())
    assert [(each.ok, each.text) for each in outcome.expect] == [
        (False, "at the end: count of card a is 2; switching by pipelined: failed 0")
    ]
    assert outcome.not_judged == ("expected at the end: switching by resident: failed 0: another policy is played",)


def test_what_is_beyond_a_limit_never_reads_like_it() -> None:
    (found,) = judged("{pipelined: {utilisation: 100}}").expect
    exact = found.found.split()[1]
    assert float(exact) == round(float(exact), 4) != round(float(exact), 2)


def test_before_a_switch_is_over_its_cost_is_not_known() -> None:
    text = (
        FILE + "until: 6000\nexpect: [{end: true, switching: {pipelined: {overhead: 9, latency: 9, utilisation: 1}}}]\n"
    )
    assert (
        play(loads(text), cells_library()).expect[0].found == "overhead unknown, latency unknown, utilisation unknown"
    )


@pytest.mark.parametrize(
    ("file", "check", "says"),
    [
        (
            FILE,
            "switching: {pipelined: §{}}",
            "nothing to check; allowed: overhead, latency, utilisation, memory, failed",
        ),
        (FILE, "switching: {§quick: {failed: 0}}", "unknown key 'quick'"),
        (FILE, "switching: §{}", "nothing to check; allowed: pipelined, pipeswitch, stop_start, resident"),
        (FILE, "switching: {pipelined: {utilisation: §101}}", "101"),
        (FILE.split("switching")[0], "§switching: {pipelined: {failed: 0}}", "there is no 'switching' in the file"),
    ],
)
def test_what_makes_no_sense_is_refused(file: str, check: str, says: str) -> None:
    assert says in str(refused(f"{file}expect: [{{end: true, {check}}}]\n"))
