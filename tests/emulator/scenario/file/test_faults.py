"""The table of faults, and the oracle's own sets: two readings of the same faults that must agree."""

from ringhil.emulator.judge.oracle import BLOCKED, CUT, OUT, CardFaults
from ringhil.emulator.scenario import FAULTS, FaultTarget, Trait, having


def settled(kind: str, *also: str) -> str:
    """The state that a part of a card settles to."""
    card, part = CardFaults(8), ("gpu" if FAULTS[kind].target == "gpu" else "link", 3)
    for fault in (kind, *also):
        card.put(part, fault, True)
    return card.state(part)


def test_liars_are_those_of_the_oracle() -> None:
    card = CardFaults(8)
    for name in FAULTS:
        card.put(("gpu", 3), name, True)
    assert {name for _, name in card.liars} == having(Trait.LIES)


def test_what_breaks_the_ring_is_a_cut_to_the_oracle() -> None:
    ring = {name for name, fault in FAULTS.items() if fault.hits in (FaultTarget.RING_LINK, FaultTarget.LINK)}
    assert having(Trait.BREAKS) == {name for name in ring if settled(name) == CUT}


def test_a_gpu_whose_firmware_stops_is_out_and_blocks_the_ring_when_its_switch_is_stuck() -> None:
    assert {settled(name) for name in having(Trait.STOPS)} == {OUT}
    assert {settled(name, "switch_stuck_through") for name in having(Trait.STOPS)} == {BLOCKED}


def test_traits_are_of_faults_that_strike_what_can_have_them() -> None:
    for trait, target in ((Trait.STOPS, "gpu"), (Trait.LIES, "gpu"), (Trait.MUTED, "gpu"), (Trait.BREAKS, "link")):
        assert {FAULTS[name].target for name in having(trait)} == {target}
