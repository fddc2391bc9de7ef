"""Scenario files as tests of pytest, and the fixture `ringhil`: run by a pytest of its own."""

import textwrap
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from ringhil.emulator.debug.replaying import RunReplay
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.trace.recording import Recording

from .files import BAD, GOOD, SWEEP, WRONG

COCOTB = "cocotb_tools._pytest.plugin"
DRIVEN = """
import pytest

SERVER = "server: {cards: {a: {gpus: 8, host_links: [0, 1]}}}"

def test_it_is_driven(ringhil):
    server = ringhil(SERVER)
    server.run_to(8000)
    assert (server.count("a"), server.entry("a"), server.epoch("a")) == (8, "a.0", 1)
    server.strike("dead", "a.3")
    server.strike("link_cut", "a.5-a.6")
    server.run(8000)
    assert server.members("a") == [0, 1, 2, 4, 5, 6, 7]
    assert (server.reachable("a"), server.stranded("a"), server.isolated("a")) == (True, [], [])
    assert server.broken("a") == "a.5-a.6"
    server.clear("dead", "a.3", at=20_000)
    server.finish()
    assert server.count("a") == 8
    assert server.now > 20_000

def test_gpus_are_lent(ringhil):
    server = ringhil(SERVER)
    server.run_to(8000)
    server.lend("a.3")
    server.run(8000)
    assert (server.lent("a"), server.count("a"), server.isolated("a")) == ([3], 7, [])
    with pytest.raises(ValueError, match="a.3 is lent since cycle 8000"):
        server.lend("a.3")
    server.take_back("a.3")
    server.finish()
    assert (server.lent("a"), server.count("a")) == ([], 8)

def test_mistakes_are_refused(ringhil):
    server = ringhil(SERVER + "\\n")
    server.run(100)
    for words, what in {
        ("dead", "a.9"): "unknown GPU 'a.9'; card a has a.0 .. a.7",
        ("deed", "a.1"): "did you mean 'dead'",
        ("dead", "a.1-a.2"): "a.1-a.2",
        ("host_link_cut", "a.5"): "a.5 has no link to the CPU",
    }.items():
        with pytest.raises(ValueError, match=what):
            server.strike(*words)
    with pytest.raises(ValueError, match="is not active"):
        server.clear("dead", "a.1")
    with pytest.raises(ValueError, match="already"):
        server.run_to(5)
    with pytest.raises(ValueError, match="past"):
        server.strike("dead", "a.1", at=5)
    with pytest.raises(ValueError, match="takes no period"):
        server.strike("dead", "a.1", period=300)
    with pytest.raises(ValueError, match="unknown card"):
        server.count("b")

def test_two_at_once(ringhil):
    one, two = ringhil(SERVER), ringhil(SERVER)
    one.strike("dead", "a.1", at=3000)
    one.run_to(9000)
    two.run_to(9000)
    assert (one.count("a"), two.count("a")) == (7, 8)

def test_boundary_gpus(ringhil):
    cards = "{a: {gpus: 4}, b: {gpus: 4}}"
    server = ringhil("server: {cards: %s, boundary_links: [{from: [a.2, a.3], to: [b.2, b.1]}]}" % cards)
    server.run_to(20_000)
    assert (server.boundary("a"), server.boundary("b")) == ({"b": "a.2"}, {"a": "b.2"})
    assert server.broken("a") is None
    server.strike("boundary_link_cut", "a.2-b.2")
    server.finish()
    assert server.boundary("a") == {"b": "a.3"}

def test_a_file_beside_the_test(ringhil):
    server = ringhil("sweep.yaml", variant="gpu=a.3,at=3000")
    server.finish()
    with pytest.raises(LookupError, match="6 variants"):
        ringhil("sweep.yaml")

def test_it_fails(ringhil):
    server = ringhil(SERVER + "\\nexpect: [{end: true, count: {a: 8}}]\\n", seed=9)
    server.run_to(7000)
    server.strike("dead", "a.3")
    server.finish()
"""


def write(pytester: pytest.Pytester, **files: str) -> None:
    for name, text in files.items():
        (pytester.path / f"{name}.yaml").write_text(text)


def outcomes(pytester: pytest.Pytester, *arguments: str) -> tuple[dict[str, int], str]:
    result = pytester.runpytest_subprocess("-n0", *arguments)
    return result.parseoutcomes(), result.stdout.str()


@pytest.mark.rest
def test_files_are_tests_and_failures_name_file_and_line(pytester: pytest.Pytester) -> None:
    write(pytester, test_good=GOOD, bad_test=BAD, test_sweep=SWEEP, test_wrong=WRONG)
    found, text = outcomes(pytester, "--junitxml=out.xml", "--continue-on-collection-errors")
    assert found == {"passed": 3, "failed": 5, "errors": 1}
    assert "bad_test.yaml:5: expected at 3500: count of card a is 3; found card a: count 4" in text
    assert "bad_test.yaml:7: expected at the end: entry GPU of card a is none; found entry a.0" in text
    assert "test_wrong.yaml:3:34: timeline[0].gpu: unknown GPU 'a.9'" in text
    assert "replay: ringhil verify test_sweep.yaml --select '[gpu=a.1,at=3000]'" in text
    assert "Traceback" not in text
    cases = list(ElementTree.parse(pytester.path / "out.xml").iter("testcase"))
    facts = [{p.get("name"): p.get("value") for p in case.iter("property")} for case in cases]
    (good,) = (f for f, case in zip(facts, cases, strict=True) if "test_good" in str(case.get("classname")))
    assert (good["cycles"], good["seed"], good["replay"]) == ("9000", "1", "ringhil verify test_good.yaml")
    assert str(good["rtl"]).startswith("sha256:")


@pytest.mark.slow(part="benches")
def test_one_variant_is_chosen_by_its_node_id(pytester: pytest.Pytester) -> None:
    write(pytester, test_sweep=SWEEP)
    found, text = outcomes(pytester, "-v", "test_sweep.yaml::play[gpu=a.3,at=3000]", "--ringhil-scenario-seed=8")
    assert found == {"passed": 1}
    assert "test_sweep.yaml::play[gpu=a.3,at=3000] PASSED" in text


OTHERS = {
    "test_web": "server: {port: 80}\n",
    "test_api.tavern": "test_name: x\nstages: []\n",
    "test_list": "- server: 1\n",
    "test_broken": "a: [\n",
    "compose": "services: {server: {}}\n",
    "plain": GOOD,  # no test by its name
}


@pytest.mark.slow(part="benches")
def test_other_peoples_files_are_left_alone(pytester: pytest.Pytester) -> None:
    write(pytester, **OTHERS)
    (pytester.path / "test_data.json").write_text('{"server": {"cards": {}}}')
    (pytester.path / "test_ok.py").write_text("def test_ok(): pass\n")
    assert outcomes(pytester)[0] == {"passed": 1}
    assert outcomes(pytester, ".")[0] == {"passed": 1}


@pytest.mark.rest
def test_a_mistake_in_a_scenario_is_no_reason_to_pass_it_over(pytester: pytest.Pytester) -> None:
    write(pytester, test_broken=GOOD + "timeline: [\n")
    found, text = outcomes(pytester)
    assert found == {"errors": 1}
    assert "test_broken.yaml:6" in text


@pytest.mark.rest
@pytest.mark.parametrize(
    "how", ["option", *(pytest.param(how, marks=pytest.mark.slow(part="benches")) for how in ("setting", "named"))]
)
def test_other_names_are_asked_for(pytester: pytest.Pytester, how: str) -> None:
    write(pytester, **OTHERS)
    (pytester.path / "deep").mkdir()
    (pytester.path / "deep" / "x.yaml").write_text(GOOD)
    if how == "option":
        # A server that is none of ours counts, as for `ringhil verify`, and so does what may have been cut off.
        found, text = outcomes(pytester, "--ringhil-scenarios", "--continue-on-collection-errors")
        assert found == {"passed": 2, "errors": 2}
        assert "test_web.yaml" in text
        assert "test_broken.yaml:2:1: invalid YAML" in text
        return
    if how == "setting":
        pytester.makeini("[pytest]\nringhil_scenarios = deep/*.yaml plain.yaml\n")
    found, _ = outcomes(pytester, *(["plain.yaml", "deep/x.yaml"] if how == "named" else []))
    assert found == {"passed": 2}


@pytest.mark.rest
@pytest.mark.parametrize(
    "options", [["-n0"], pytest.param(["-n2", "-p", COCOTB], marks=pytest.mark.slow(part="benches"))]
)
def test_with_xdist_and_cocotb(pytester: pytest.Pytester, options: list[str]) -> None:
    write(pytester, test_good=GOOD, test_sweep=SWEEP, sweep=SWEEP)
    (pytester.path / "test_driven.py").write_text(textwrap.dedent(DRIVEN))
    result = pytester.runpytest_subprocess(*options, "-W", "error::pytest.PytestWarning")
    assert result.parseoutcomes() == {"passed": 3 + 6, "failed": 4 + 1}
    text = result.stdout.str()
    assert "expected at the end: count of card a is 8; found card a: count 7" in text
    (left,) = Path(text.split("replay: ringhil run ")[1].split()[0]).parent.glob("scenario-*.yaml")
    driven = left.read_text()
    assert "seed: 9" in driven
    assert "{at: 7000, fault: dead, gpu: a.3}" in driven


@pytest.mark.rest
def test_nothing_is_loaded_where_nothing_is_a_scenario(pytester: pytest.Pytester) -> None:
    write(pytester, compose="services: {}\n")
    (pytester.path / "test_ok.py").write_text(
        "import sys\ndef test_ok(): assert not [m for m in sys.modules if m.startswith('ringhil.emulator.s')]\n"
    )
    assert outcomes(pytester)[0] == {"passed": 1}


@pytest.mark.rest
def test_ones_own_rtl_is_played(pytester: pytest.Pytester) -> None:
    write(pytester, test_good=GOOD)
    (pytester.path / "none").mkdir()
    found, text = outcomes(pytester, "--ringhil-rtl=none")
    assert found == {"failed": 1}
    assert "no SystemVerilog files" in text


STRUCK = """
def test_it_is_struck(ringhil):
    server = ringhil("server: {cards: {a: {gpus: 4}}}")
    server.run_to(3000)
    server.strike("dead", "a.2")
    server.strike("dead", "a.1", at=90_000)
    server.run(3000)
    assert server.members("a") == [0, 1, 2, 3]

def test_it_goes_well(ringhil):
    ringhil("server: {cards: {a: {gpus: 4}}}").run_to(3000)
"""


@pytest.mark.rest
def test_each_test_that_fails_leaves_a_recording_and_its_page(pytester: pytest.Pytester) -> None:
    write(pytester, test_good=GOOD, test_bad=BAD)
    (pytester.path / "test_struck.py").write_text(STRUCK)
    found, text = outcomes(pytester, "--ringhil-record", "left", "--junitxml=out.xml")
    assert found == {"passed": 2, "failed": 2}
    files = [Path("left/test_bad/run.rec"), Path("left/test_struck.py-test_it_is_struck.rec")]
    suite = (pytester.path / "out.xml").read_text()
    for file in files:
        assert (f"ringhil step {file}" in suite, f"{file.with_suffix('.html')}" in suite) == (True, True)
        assert f"recorded: ringhil step {file}\npage: {file.with_suffix('.html')}\n" in text
        assert (
            '<script type="application/json" id="ringhil">' in (pytester.path / file).with_suffix(".html").read_text()
        )
    assert sorted(each.relative_to(pytester.path) for each in (pytester.path / "left").rglob("*.rec")) == files
    with Recording(pytester.path / files[1]) as recording:
        assert [event.cycle for event in recording.events_of(("Struck",), 1, 9)] == [3000]
        assert max(event.cycle for event in recording.events()) <= 6000
        replayed = RunReplay(recording, cells_library()).run()
    said = "the test failed: assert [0, 1, 3] == [0, 1, 2, 3]"
    assert (replayed.difference, replayed.verdict, replayed.failures) == (None, "fail", (said,))
    assert f'"verdict":"fail","failed":["{said}"]' in (pytester.path / files[1]).with_suffix(".html").read_text()
    refused = pytester.runpytest_subprocess("-n0", "--ringhil-record", "test_struck.py")
    assert "--ringhil-record test_struck.py: it is no folder" in refused.stderr.str()


SLEEPY = """
from ringhil.firmware.boot import our_program

class Sleepy:
    def __init__(self, boot): pass
    def start(self, now): return []
    def on_timer(self, name, now): return []
    def on_frame(self, frame, port, bad, now): return []
    def on_status(self, status): pass
"""


@pytest.mark.rest
def test_ones_own_firmware_is_played_and_recorded(pytester: pytest.Pytester) -> None:
    write(pytester, test_good=GOOD)
    (pytester.path / "sleepy.py").write_text(SLEEPY)
    (pytester.path / "test_driven.py").write_text(
        "def test_it(ringhil): ringhil('server: {cards: {a: {gpus: 4}}}').finish()\n"
    )
    ours = "*=ringhil.firmware.boot:our_program"
    assert outcomes(pytester, "--ringhil-firmware", ours)[0] == {"passed": 2}
    found, text = outcomes(pytester, "--ringhil-firmware", "*=sleepy:Sleepy", "--ringhil-record", "left")
    assert found == {"failed": 2}
    assert text.count("--firmware '*=sleepy:Sleepy'") == 4  # how to play each again, and to step through it
    for file in (pytester.path / "left").rglob("*.rec"):
        with Recording(file) as recording:
            assert recording.about.firmware == ["*=sleepy:Sleepy"]
    for given, said in (("a.0=/dev/ttyACM0", "a board has one run at a time"), ("a.0=", "allowed is GPU=MODULE:CLASS")):
        refused = pytester.runpytest_subprocess("-n0", "--ringhil-firmware", given)
        assert "ERROR: --ringhil-firmware" in refused.stderr.str()
        assert said in refused.stderr.str()
