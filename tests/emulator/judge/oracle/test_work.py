"""The digest of all work, against sums by hand, and as the judge of a CPU that believes whatever it is told."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.work.accepting import Accepting, Judgement
from ringhil.emulator.judge.oracle import digest, turned
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.protocol.frames import Result

CORRUPT = """
server: {cards: {a: {gpus: 4}}, settings: {census_period: 600}}
workload: {units: 60, size: 64}
timeline: [{at: 300, fault: corrupt, gpu: a.2}, {at: 9000, clear: corrupt, gpu: a.2}]
"""


def by_hand(data: bytes) -> int:
    crc, total = 0xFFFFFFFF, 0
    padded = data + bytes(-len(data) % 8)
    for byte in padded:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xC8DF352F if crc & 1 else 0)  # 0xF4ACFB13 backwards
    for at in range(0, len(padded), 4):
        total += int.from_bytes(padded[at : at + 4], "big")
    return (crc ^ 0xFFFFFFFF) << 32 | total & 0xFFFFFFFF


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=70))
def test_each_goes_into_that_of_all_turned_by_its_number(units: list[bytes]) -> None:
    for number, data in enumerate(units):
        assert digest(data) == by_hand(data)
        bits = f"{by_hand(data):064b}"
        turn = number % 64
        assert turned(digest(data), number) == int(bits[turn:] + bits[:turn], 2)


def test_a_cpu_that_believes_any_result_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Run(loads(CORRUPT), cells_library()).run().verdict == "pass"

    judge = Accepting.judge

    def gullible(self: Accepting, result: Result) -> Judgement:
        found = judge(self, result)
        return Judgement.RIGHT if found is Judgement.WRONG else found

    monkeypatch.setattr(Accepting, "judge", gullible)
    outcome = Run(loads(CORRUPT), cells_library()).run()
    assert {v.promise for v in outcome.violations} == {"work_once", "rightly_counted"}
    (books,) = [v.text for v in outcome.violations if v.promise == "rightly_counted"]
    assert re.fullmatch(r"the CPU's books say \d+ wrong; it was 0", books)
    first, *_, last = (v for v in outcome.violations if v.promise == "work_once")
    assert re.fullmatch(
        r"a wrong result of unit \d+ was accepted at cycle \d+: [0-9a-f]{16}, not [0-9a-f]{16}", first.text
    )
    assert re.fullmatch(r"and \d+ more results that should not have counted", last.text)
