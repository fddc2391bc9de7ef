"""No run of a valid file fails, whatever its server, settings and faults are."""

import pytest

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.scenario import loads

from .any_server import ALL_SETTINGS, text
from .playing import play

FEW, MANY, BLOCKS = 60, 1000, 100  # files: every day, and in each block of `make soak`


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


def assert_all_pass(library: Library, seeds: range) -> None:
    for seed in seeds:
        outcome = play(loads(text(seed)), library)
        assert outcome.failures == (), f"seed {seed}\n{text(seed)}"


@pytest.mark.slow(part="alarms")
def test_some_files(library: Library) -> None:
    assert_all_pass(library, range(FEW // 2))
    assert_all_pass(library, range(ALL_SETTINGS, ALL_SETTINGS + FEW // 2))


# Each was an alarm once, or lost a unit.
FAILED_ONCE = (
    78,
    81,
    154,
    534,
    623,
    1328,
    1632,
    1902,
    2197,
    61120,
    64750,
    73661,
    90206,
    90983,
    98307,
    201464,
    202299,
    202687,
    203284,
    205231,
    205570,
    206490,
    206805,
    207011,
    207447,
    207460,
    209951,
    1055835,
    1072834,
    1075067,
    1090437,
    1099617,
)


@pytest.mark.rest(but_one_in=7)
@pytest.mark.parametrize("seed", FAILED_ONCE)
def test_what_has_failed_once(library: Library, seed: int) -> None:
    assert_all_pass(library, range(seed, seed + 1))


@pytest.mark.parametrize("policy", ["proportional", "round_robin"])
def test_where_leases_end_before_what_is_queued_is_done_it_is_done_one_by_one(library: Library, policy: str) -> None:
    """The only GPU of card a with a link to the CPU isn't heard from cycle 3,000 on: its lease ends every 5,400."""
    server = f"""server:
  cards: {{a: {{gpus: 6, host_links: [0]}}, b: {{gpus: 2, host_links: [0]}}}}
  settings: {{keepalive_interval: 2400, keepalive_multiplier: 2, compute_setup: 4361, policy: {policy}}}
workload: {{units: 60, size: 171}}
timeline: [{{at: 3000, fault: keepalive_loss, gpu: a.0}}]
"""
    assert play(loads(server), library).failures == ()


@pytest.mark.slow(part="alarms")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_hundred_thousand_files(library: Library, block: int) -> None:
    """Half of them with the settings that were drawn at first, half with all."""
    first = block * MANY if block < BLOCKS // 2 else ALL_SETTINGS + block * MANY
    assert_all_pass(library, range(first, first + MANY))
