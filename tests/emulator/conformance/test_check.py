"""`ringhil rtl check`: our node and a third party's keep all rules; seeded bugs are found and named."""

import json
import re
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from tests.command import ringhil, started
from tests.emulator.trace.waves.played import fst
from tests.junit_schema import assert_valid

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.conformance.check import ALWAYS, CheckSettings, check
from ringhil.emulator.conformance.choosing import choose
from ringhil.emulator.conformance.report import RuleVerdict
from ringhil.emulator.conformance.rule import all_rules, cases_of
from ringhil.emulator.conformance.show import junit
from ringhil.emulator.engine.library import RTL
from ringhil.emulator.testbench.build import Simulator
from ringhil.emulator.testbench.stimulus import Fault, Stimulus
from ringhil.protocol import registers, wire

from .bugs import BUGS, Bug

THIRD_PARTY = Path(__file__).parents[3] / "examples" / "third-party" / "rtl"
NODES = {"ours": (RTL, "gpu_node"), "third party": (THIRD_PARTY, "other_node")}


@pytest.mark.parametrize("one_in", [pytest.param(2, marks=pytest.mark.rest), 40])
def test_some_rules_are_kept(one_in: int, tmp_path: Path) -> None:
    """The longest test by far plays all of them: below, in `make soak`."""
    rules = tuple(all_rules())[::one_in]
    told: list[RuleVerdict] = []
    report = check(*NODES["ours"], CheckSettings(rules=rules, out=tmp_path, waves=False), judged=told.append)
    assert told == [report.verdicts[name] for name in ("rtl.lint", *rules)], "in their order, whoever has played them"
    states = {name: v.state for name, v in report.verdicts.items()}
    assert states == dict.fromkeys(ALWAYS, "not judged") | {"rtl.lint": "kept"} | dict.fromkeys(rules, "kept")
    played = sum(report.verdicts[rule].cases for rule in rules)
    assert {report.verdicts[name].cases for name in ALWAYS if name != "rtl.lint"} == {played}
    assert not list(tmp_path.iterdir())


@pytest.mark.slow(part="bugs")
@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_all_rules_are_kept(simulator: Simulator, node: str, tmp_path: Path) -> None:
    if simulator == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog isn't installed: apt-get install iverilog")
    report = check(*NODES[node], CheckSettings(simulator, out=tmp_path, waves=False))
    assert [(v.rule, v.cycle, v.what) for v in report.verdicts.values() if v.state == "broken"] == []
    unjudged = {v.what for v in report.verdicts.values() if v.state == "not judged"}
    lacks = ("contexts", "meter") if node == "third party" else ()
    assert unjudged == {f"the node has no {part}" for part in lacks}
    assert set(report.verdicts) > set(all_rules())
    assert not list(tmp_path.iterdir())


def seeded(bug: Bug) -> object:
    """Each needs a build; every day the one whose stimulus and reports are looked at (below) is enough."""
    return pytest.param(bug, id=bug.name, marks=[pytest.mark.slow(part="bugs")])


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_seeded_bug_has_its_place(bug: Bug) -> None:
    assert (RTL / bug.file).read_text().count(bug.before) == 1, f"{bug.file}: {bug.before}"


@pytest.mark.parametrize("bug", [seeded(bug) for bug in BUGS])
def test_a_seeded_bug_is_named(bug: Bug, tmp_path: Path) -> None:
    rtl = Path(shutil.copytree(RTL, tmp_path / "rtl"))
    (rtl / bug.file).write_text((rtl / bug.file).read_text().replace(bug.before, bug.after))
    report = check(rtl, settings=CheckSettings(out=tmp_path / "out", waves=False))
    broken = {v.rule: v for v in report.verdicts.values() if v.state == "broken"}
    named = [broken[rule] for rule in bug.rules if rule in broken]
    assert named, f"broken: {sorted(broken)}"
    verdict = named[0]
    assert verdict.cycle is not None
    assert verdict.what
    assert verdict.stimulus is not None
    if verdict.rule != "rtl.ends":  # of which the whole case is left
        assert len(Stimulus.read(verdict.stimulus).actions) <= bug.actions


@pytest.mark.slow(part="bugs")
def test_a_result_that_stands_still_when_its_gpu_fails_is_named(tmp_path: Path) -> None:
    """In the third party's node: in ours an assertion inside the RTL would speak first."""
    rtl = Path(shutil.copytree(THIRD_PARTY, tmp_path / "rtl"))
    engine = rtl / "other_engine.sv"
    text = engine.read_text()
    assert text.count("else if (r_take_i) begin") == 1
    engine.write_text(text.replace("else if (r_take_i) begin", "else if (r_take_i && !flush_i) begin"))
    settings = CheckSettings(rules=("compute.bypassed",), out=tmp_path / "out", waves=False)
    # In a case of that rule, but the standing monitor of all cases speaks first: what leaves isn't what its CRC says.
    verdict = check(rtl, "other_node", settings).verdicts["link.e2e"]
    assert verdict.state == "broken"
    assert verdict.stimulus is not None
    assert len(Stimulus.read(verdict.stimulus).actions) <= 12


@pytest.mark.rest
@pytest.mark.parametrize("simulator", [pytest.param("verilator", marks=pytest.mark.slow(part="bugs")), "icarus"])
def test_an_assertion_inside_the_rtl_is_reported(simulator: Simulator, tmp_path: Path) -> None:
    """A sender that doesn't wait for a credit."""
    if simulator == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog isn't installed: apt-get install iverilog")
    rtl = Path(shutil.copytree(RTL, tmp_path / "rtl"))
    counter = rtl / "credit_counter.sv"
    text = counter.read_text()
    assert text.count("transit_ok_o = credits_q != 3'h0;") == 1
    counter.write_text(text.replace("transit_ok_o = credits_q != 3'h0;", "transit_ok_o = 1'b1;"))
    settings = CheckSettings(simulator, rules=("data.credit",), out=tmp_path / "out", waves=False)
    verdict = check(rtl, settings=settings).verdicts["rtl.ends"]
    assert verdict.state == "broken"
    assert "a data frame begins without a credit (" in verdict.what
    assert "credit_counter.sv:" in verdict.what
    assert re.search(r"u_node\.g_rx.*u_credits, cycle \d+", verdict.what)
    assert verdict.stimulus is not None


@pytest.mark.slow(part="bugs")
@pytest.mark.parametrize(
    "rules",
    [
        ("control.traffic", "switch.hang", "mailbox.mute", "data.order", "quiescence.leap"),
        ("data.phases", "data.unharmed", "compute.moment", "compute.bypassed", "switch.half"),
        ("data.turns", "data.held", "crossing.busy", "quiescence.writes"),
    ],
    ids=["some of old", "phases", "turns"],
)
@pytest.mark.parametrize("node", NODES)
def test_a_few_rules_on_icarus(node: str, rules: tuple[str, ...], tmp_path: Path) -> None:
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog isn't installed: apt-get install iverilog")
    report = check(*NODES[node], CheckSettings("icarus", rules=rules, out=tmp_path, waves=False))
    assert [(v.rule, v.what) for v in report.verdicts.values() if v.state not in ("kept", "not judged")] == []


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return ringhil("rtl", *arguments)


@pytest.fixture(scope="module")
def broken_rtl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our RTL with its first seeded bug."""
    bug, folder = BUGS[0], tmp_path_factory.mktemp("broken")
    rtl = Path(shutil.copytree(RTL, folder / "rtl"))
    (rtl / bug.file).write_text((rtl / bug.file).read_text().replace(bug.before, bug.after))
    return rtl


@pytest.mark.slow(part="bugs")
def test_a_broken_rule_leaves_stimulus_waves_and_reports(broken_rtl: Path, tmp_path: Path) -> None:
    out, junit = tmp_path / "out", tmp_path / "node.xml"
    rules = ["--rule", "control.count", "--rule", "control.home"]
    done = run("check", "--rtl", broken_rtl, *rules, "--out", out, "--junit", junit, "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == "fail"
    states = {entry["rule"]: entry for entry in document["rules"]}
    assert states["control.home"]["state"] == "kept"
    broken = states["control.count"]
    assert broken["state"] == "broken"
    assert "left wrong: count is" in broken["found"]
    assert document["causes"] == [{"where": "ring port", "what": broken["found"], "rules": ["control.count"]}]
    stimulus = Stimulus.read(Path(broken["stimulus"]))
    assert (len(stimulus.actions), stimulus.start, stimulus.card) == (1, 0, 0)
    assert stimulus.cycles < 40
    _shown(broken)
    case = next(c for c in assert_valid(junit.read_text()).iter("testcase") if c.get("name") == "count")
    failure = case.find("failure")
    assert failure is not None
    assert "likely cause 1: ring port; broken by it: control.count" in (failure.text or "")
    assert failure.get("message") == f"cycle {broken['cycle']}: {broken['found']}"
    # What it left can be played again, to the broken node and to ours.
    wrong = run("play", broken["stimulus"], "--rtl", broken_rtl, "--json")
    right = run("play", broken["stimulus"], "--json")
    first, second = (json.loads(play.stdout)["left"] for play in (wrong, right))
    assert first != second
    text = run("play", broken["stimulus"]).stdout
    assert "control statistics until" in text
    assert "forwarded 1" in text


def _shown(broken: dict[str, Any]) -> None:
    """The cycle of the message is on the axis of the waves (a cycle is a nanosecond), and marked there; all signals
    that are shown are in the file."""
    waves = fst(Path(broken["waves"]))
    names = {re.sub(r" \[\d+:0\]$", "", name): name for name in waves.changes}
    ends = wire.LinkBit.VALID | wire.LinkBit.EOF
    times = [time for time, value in waves.changes[names["node_bench.p2_tx_ctl_o"]] if int(value, 2) & ends == ends]
    assert times == [1000 * broken["cycle"]]
    saved = Path(broken["gtkwave"]).read_text().splitlines()
    (marks,) = [line.split() for line in saved if line.startswith("*")]
    assert marks[1:3] == [str(times[0])] * 2
    signals = [line.split("[")[0] for line in saved if line.startswith("node_bench.")]
    assert {"node_bench.u_view_p1_rx.c_kind", "node_bench.u_view_p2_tx.c_flags"} < set(signals) <= set(names)
    assert not any("host" in name or "p2_rx" in name for name in signals), "they don't matter for this breach"
    filters = {line.rpartition("/")[2] for line in saved if line.startswith("^1 ")}
    assert filters <= {path.name for path in Path(broken["gtkwave"]).parent.iterdir()}
    assert f"marker_set breach {times[0]}" in Path(broken["surfer"]).read_text()


@pytest.mark.slow(part="bugs")
def test_the_same_check_gives_the_same_report(broken_rtl: Path, tmp_path: Path) -> None:
    arguments = ("check", "--rtl", broken_rtl, "--rule", "control.count", "--no-waves", "--out", tmp_path / "out")
    first, second = (run(*arguments, "--junit", tmp_path / f"{i}.xml") for i in (0, 1))
    assert first.stdout == second.stdout
    assert (tmp_path / "0.xml").read_bytes() == (tmp_path / "1.xml").read_bytes()
    other = run(*arguments, "--seed", "2")
    assert other.stdout != first.stdout


@pytest.mark.rest
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow(part="benches")),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.slow(part="benches")),
    ],
)
def test_an_interrupted_check_judges_nothing(tmp_path: Path, number: signal.Signals, code: int) -> None:
    junit = tmp_path / "node.xml"
    junit.write_text("<testsuites/>")  # of an earlier check
    words = ("-v", "rtl", "check", "--effort", "100", "--json", "--junit", junit, "--out", tmp_path / "out")
    with started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert any(line.endswith("checking: rules\n") for line in iter(process.stderr.readline, ""))
        time.sleep(1)  # the simulation has begun
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert output == ""
    assert errors.strip() == ("ringhil: interrupted" if number == signal.SIGINT else "")
    root = assert_valid(junit.read_text())
    assert (root.attrib["failures"], root.attrib["errors"]) == ("0", "1")
    cases = list(root.iter("testcase"))
    assert [case.attrib["name"] for case in cases if case.find("skipped") is None] == ["all was checked"]
    assert len(cases) > len(all_rules())
    assert [file.name for file in tmp_path.iterdir()] == ["node.xml"]


def test_the_rules_are_listed() -> None:
    listed = run("check", "--list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [*ALWAYS, *all_rules()]


@pytest.mark.rest
def test_what_is_watched_is_not_kept_where_one_rule_was_played(tmp_path: Path) -> None:
    report = check(RTL, settings=CheckSettings(rules=("control.home",), out=tmp_path, waves=False))
    home, spent = (report.verdicts[name] for name in ("control.home", "link.spent"))
    assert (home.state, spent.state) == ("kept", "not judged")
    assert (spent.cases, spent.cycles) == (home.cases, home.cycles)
    assert report.verdict == "pass"
    entry = next(entry for entry in report.to_json()["rules"] if entry["rule"] == "link.spent")
    assert (entry["state"], entry["cases"]) == ("not judged", home.cases)
    case = next(each for each in ElementTree.fromstring(junit(report)).iter("testcase") if each.get("name") == "spent")
    assert [child.attrib["type"] for child in case] == ["not judged"]


@pytest.mark.rest
def test_a_simulator_that_is_none_is_refused(tmp_path: Path) -> None:
    for simulator in ("questa", "Verilator", ""):
        with pytest.raises(
            BuildError, match=re.escape(f"simulator: found {simulator!r}; allowed are verilator, icarus")
        ):
            check(RTL, settings=CheckSettings(simulator=simulator, out=tmp_path))  # type: ignore[arg-type]


def test_rules_are_chosen_by_name_by_group_and_by_what_is_watched_always() -> None:
    rules = ["control.count", "control.home", "link.restart", "data.turns"]
    always = ["rtl.lint", "link.crc", "link.credit"]

    def chosen(*asked: str) -> list[str]:
        return list(choose(asked, rules, always))

    assert chosen() == rules
    assert chosen("data.turns", "control.home") == ["control.home", "data.turns"]
    assert chosen("control") == chosen("control.") == chosen("control.*") == ["control.count", "control.home"]
    assert chosen("link") == ["link.restart"]
    assert chosen("link.crc") == chosen("rtl.lint") == chosen("rtl") == rules, "any of them may show that it is broken"
    for name in (*always, *rules):
        assert chosen(name)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("control.cuont", "no rule 'control.cuont'; did you mean 'control.count'"),
        ("contrl", "did you mean 'control'"),
        ("cont", "no rule 'cont'"),
        ("", "no rule ''"),
        ("*", "no rule '*'"),
    ],
)
def test_a_rule_that_is_none_is_refused_with_the_nearest(asked: str, says: str) -> None:
    with pytest.raises(BuildError, match=re.escape(says)) as refused:
        choose([asked], ["control.count", "link.restart"], ["rtl.lint"])
    assert str(refused.value).endswith("groups: rtl, control, link; --list shows all")


def test_every_fault_of_the_port_has_a_rule_of_its_own() -> None:
    """Beside the one that plays all faults: that is kept by a node that leaves out a fault which its reference model
    leaves out as well."""
    rules = [rule for name, rule in all_rules().items() if name != "everything.forwarding"]
    actions = (a for rule in rules for case in cases_of(rule, 1, 1) for a in case.stimulus.actions)
    assert {a.name for a in actions if isinstance(a, Fault)} == registers.FaultBit.codes().keys()


@pytest.mark.slow(part="bugs")
def test_all_cases_together_may_take_longer_than_one_may(tmp_path: Path) -> None:
    began, patience = time.monotonic(), 10.0
    settings = CheckSettings(rules=("control",), effort=80, out=tmp_path, waves=False, patience=patience, jobs=1)
    report = check(RTL, settings=settings)
    assert time.monotonic() - began > 2 * patience, "take more effort"
    assert [v.what for v in report.verdicts.values() if v.state == "broken"] == []


@pytest.mark.slow(part="bugs")
def test_a_simulation_that_ends_is_a_broken_rule(tmp_path: Path) -> None:
    rtl = Path(shutil.copytree(RTL, tmp_path / "rtl"))
    node = rtl / "gpu_node.sv"
    trap = "  always @(posedge clk_i) if (mtx_valid_i) $finish;\n"
    node.write_text(node.read_text().replace("  logic unused_ok;", f"{trap}  logic unused_ok;"))
    settings = CheckSettings(rules=("control.own", "control.home"), out=tmp_path / "out", waves=False, patience=30)
    report = check(rtl, settings=settings)
    ends = report.verdicts["rtl.ends"]
    assert ends.state == "broken"
    assert ends.what
    assert ends.case.startswith("control.own")
    assert ends.stimulus is not None
    assert report.verdicts["control.home"].state == "kept", "the check goes on with the next rule"
    assert report.causes[0].rules == ("rtl.ends",), "it comes before all others"
