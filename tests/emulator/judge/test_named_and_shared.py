"""Expectations about suspects, named links, shares and fencing: each holds in a run where it is so, and in no other."""

import pytest
from tests.emulator.judge.mistakes import holds_on
from tests.emulator.judge.playing import play

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.scenario import loads

RING = "server: {cards: {a: {gpus: 8, host_links: [0, 1]}, b: {gpus: 4}}}\n"
WORK = RING + "workload: {units: 120, size: 1000}\n"
LIAR = RING + "timeline: [{at: 10300, fault: skip_count, gpu: a.3}, {at: 40000, clear: skip_count, gpu: a.3}]\n"
LATE = RING + "timeline: [{at: 10300, fault: link_delay, link: a.2-a.3, delay: 20}]\n"
NOISY = RING + "timeline: [{at: 10300, fault: link_bit_errors, link: b.1-b.2, rate: 2000}]\n"
SLOW = WORK.replace("units: 120", "units: 4000") + "timeline: [{at: 5300, fault: slow, gpu: a.3}]\n"

CASES = [
    (LIAR, "by: 25000, suspects: {a: [3]}", True, ""),
    (LIAR, "by: 25000, suspects: {a: [3], b: []}", True, ""),
    (LIAR, "by: 25000, suspects: {a: [2]}", False, "suspects [3]"),
    (LIAR, "at: 39000, suspects: {a: []}", False, "suspects [3]"),
    (LIAR, "always: true, from: 60000, suspects: {a: []}", True, ""),
    (LIAR, "always: true, from: 30000, until: 60000, suspects: {a: [3]}", False, "suspects [] at cycle 4"),
    (LATE, "by: 50000, links: {slow: {a: a.2-a.3, b: null}}", True, ""),
    (LATE, "end: true, links: {slow: {a: a.3-a.2}, noisy: {a: null}}", True, ""),
    (LATE, "end: true, links: {slow: {a: a.3-a.4}}", False, "slow link a.2-a.3"),
    (LATE, "end: true, links: {slow: {a: null}}", False, "slow link a.2-a.3"),
    (LATE, "end: true, links: {noisy: {a: a.2-a.3}}", False, "noisy link none"),
    (NOISY, "by: 60000, links: {noisy: {b: b.1-b.2}}", True, ""),
    (NOISY, "by: 60000, links: {noisy: {b: b.2-b.3}}", False, "noisy link"),
    (WORK, "end: true, shares: {a: 80, b: 40}", True, ""),
    (WORK, "end: true, shares: {a: [78, 82]}", True, ""),
    (WORK, "end: true, shares: {a: 81}", False, "share of card a 80"),
    (WORK, "end: true, shares: {a: [81, 90], b: [0, 39]}", False, "share of card a 80; share of card b 40"),
    (WORK, "end: true, shares: {a.0: [9, 11], b.3: [9, 11]}", True, ""),
    (WORK, "end: true, shares: {b.3: [11, 40]}", False, "share of b.3 10"),
    (SLOW, "by: 20000, shares: {a.3: [1, 300], a.2: [1, 4000]}", True, ""),
    (SLOW, "end: true, shares: {a.3: [400, 4000]}", False, "share of a.3 "),
    (WORK, "always: true, fencing: {most: 0}", True, ""),
    (WORK, "end: true, fencing: {least: 1}", False, "fenced off 0"),
]


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


@pytest.mark.rest(but_one_in=6)
@pytest.mark.parametrize(("server", "expect", "ok", "found"), CASES)
def test_it_holds_where_it_is_so(library: Library, server: str, expect: str, ok: bool, found: str) -> None:
    outcome = play(loads(server + f"expect: [{{{expect}}}]\n"), library)
    assert outcome.violations == ()
    (item,) = outcome.expect
    assert (item.ok, item.found.removeprefix("card a: ").startswith(found)) == (ok, True), item


@pytest.mark.rest
def test_what_was_fenced_off_is_counted(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member goes on when its lease is over, with a mistake: what it sends then is refused, and counted."""
    server = WORK.replace("units: 120", "units: 2000") + (
        "timeline: [{at: 9000, fault: keepalive_loss, gpu: a.0}]\nuntil: 40000\n"
        "invariants: {lease_terms: false, work_once: false}\n"
    )
    assert play(loads(server + "expect: [{end: true, fencing: {most: 0}}]\n"), library).expect[0].ok
    holds_on(monkeypatch)
    fenced = play(loads(server), library).work["fenced"]
    assert fenced > 0
    limits = [f"least: {fenced}", f"most: {fenced}", f"least: {fenced + 1}", f"most: {fenced - 1}"]
    limits.append(f"least: {fenced}, most: {fenced}")
    expect = "".join(f"  - {{end: true, fencing: {{{limit}}}}}\n" for limit in limits)
    outcome = play(loads(f"{server}expect:\n{expect}"), library)
    assert [item.ok for item in outcome.expect] == [True, True, False, False, True]
    assert outcome.expect[2].found == f"fenced off {fenced}"
