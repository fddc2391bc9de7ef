"""The check on a line that is slow, and on one that is cut."""

import json
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from serial import SerialBase
from tests.command import ringhil
from tests.emulator.serial.served import ONE

from ringhil.emulator.pages.verdicts import RuleState
from ringhil.emulator.serial.checks.bench import LineBench, SilentCard
from ringhil.emulator.serial.checks.promise import all_promises
from ringhil.emulator.serial.checks.suite import PromiseFinding, run
from ringhil.emulator.serial.client import opened_port
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.messages import MissedEvent

BAUD = 115_200  # the longest message takes 1.43 s
CUT = "timeline: [{at: 100000, fault: line_cut, card: a}]\n"


@pytest.mark.slow(part="benches")
def test_a_slow_line_is_no_broken_rule(tmp_path: Path) -> None:
    """What is sent takes longer than the card has for its answer."""
    (tmp_path / "server.yaml").write_text(ONE)
    with closing(opened_port(f"emulated://{tmp_path}/server.yaml?baud={BAUD}")) as line:
        found = list(run(LineBench(line, timeout=0.2, baud=BAUD), ["framing.longest", "framing.too_long"]))
    assert [finding.state for finding in found] == [RuleState.KEPT, RuleState.KEPT], found


@pytest.mark.slow(part="benches")
def test_a_line_that_is_full_of_events_answers_requests(tmp_path: Path) -> None:
    """There is more to be told than the line can carry, at every moment."""
    (tmp_path / "server.yaml").write_text(ONE)
    with closing(opened_port(f"emulated://{tmp_path}/server.yaml?baud={BAUD}")) as line:
        bench = LineBench(line, timeout=1.0, baud=BAUD)
        found = list(run(bench, ["events.kinds", "events.ended", "events.forgotten", "frames.census"]))
    assert [finding.state for finding in found] == [
        RuleState.KEPT,
        RuleState.KEPT,
        RuleState.KEPT,
        RuleState.NOT_JUDGED,
    ], found
    assert "the line is too slow" in found[-1].text


@pytest.mark.rest
@pytest.mark.parametrize("baud", [pytest.param(9_600, marks=pytest.mark.slow(part="benches")), 38_400])
def test_a_card_whose_line_is_too_slow_for_its_events_breaks_no_rule(baud: int, tmp_path: Path) -> None:
    """There are more censuses than it can tell of: it leaves some out, and says so."""
    (tmp_path / "server.yaml").write_text(ONE)
    with closing(opened_port(f"emulated://{tmp_path}/server.yaml?baud={baud}")) as line:
        bench = LineBench(line, timeout=1.0, baud=baud)
        found = {each.rule: each for each in run(bench, ["events.counts", "events.unknown", "line.events"])}
    assert found["events.counts"].state is RuleState.NOT_JUDGED
    assert "the line is too slow" in found["events.counts"].text
    assert RuleState.BROKEN not in {each.state for each in found.values()}, found


class Babbling(SerialBase):  # type: ignore[misc]
    """Events come as fast as the line carries them, and no answer ever."""

    in_waiting = 0
    _came = 0

    def read(self, size: int = 1) -> bytes:
        data = wrap(encode(MissedEvent(0, 1))) * 100
        self._came += len(data)
        assert self.monotonic() < 1000, "it is waited for as long as it babbles"
        return data

    def monotonic(self) -> float:
        return 10 * self._came / BAUD

    def _reconfigure_port(self) -> None:
        pass


def test_who_tells_of_events_on_and_on_is_not_waited_for_without_end() -> None:
    card = SimpleNamespace(info=None)
    bench = LineBench(Babbling(), timeout=1.0, baud=BAUD, client=lambda line, timeout: card)  # type: ignore[arg-type, return-value]
    assert not bench.until_answered(7, 1.0)


def test_a_card_that_has_answered_and_is_cut_off_is_not_alive(tmp_path: Path) -> None:
    (tmp_path / "server.yaml").write_text(ONE + CUT)
    with closing(opened_port(f"emulated://{tmp_path}/server.yaml")) as line:
        bench = LineBench(line, timeout=0.02)
        assert bench.alive()
        bench.tap.hear(0.2)
        assert not bench.alive()


def test_a_check_leaves_nothing_behind_on_the_line(tmp_path: Path) -> None:
    """The rule itself ends with a subscription to counts."""
    (tmp_path / "server.yaml").write_text(ONE)
    with closing(opened_port(f"emulated://{tmp_path}/server.yaml")) as line:
        (found,) = run(LineBench(line, timeout=0.02), ["events.unknown"])
        assert found.state is RuleState.KEPT
        line.timeout = 0.1
        assert line.read(1000) == b""


@pytest.mark.parametrize("cycle", [2_000, 30_000, 60_000, 120_000])
def test_a_line_that_is_cut_ends_the_check(cycle: int, tmp_path: Path) -> None:
    """At once: within the patience for a request or two, and that for a client's tries."""
    (tmp_path / "server.yaml").write_text(ONE + CUT.replace("100000", str(cycle)))
    found = list[PromiseFinding]()
    with closing(opened_port(f"emulated://{tmp_path}/server.yaml")) as line:
        bench = LineBench(line, timeout=0.02, faults=True)
        with pytest.raises(SilentCard) as ended:
            found.extend(run(bench))
        assert line.monotonic() - cycle / 1_000_000 < 12 * 0.02
    assert [finding.rule for finding in found] == [*all_promises()]
    ending = next(n for n, finding in enumerate(found) if "went silent" in finding.text)
    assert str(ended.value).startswith(f"the card went silent in rule {found[ending].rule}, ")
    assert {finding.state for finding in found[ending:]} == {RuleState.NOT_JUDGED}
    assert RuleState.BROKEN not in {finding.state for finding in found}


def test_the_command_says_that_the_card_went_silent(tmp_path: Path) -> None:
    (tmp_path / "server.yaml").write_text(ONE + CUT)
    url = f"emulated://{tmp_path}/server.yaml"
    done = ringhil("card", "--timeout", "0.02", url, "check", "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (2, f"ringhil: {url}: {document['ended']}\n")
    assert document["ended"].startswith("the card went silent in rule ")
    assert (document["broken"], document["verdict"]) == (0, "not judged")
    assert document["kept"] > 0
    assert document["not_judged"] + document["kept"] == len(all_promises())
