"""How long a census takes, by the figures of docs/howto/firmware.md."""

import pytest

from ringhil.firmware import timing

WATCHDOG, FIRMWARE_LATENCY = 64, 32  # cycles, the default settings


@pytest.mark.parametrize(
    ("gpus", "records", "cycles"),
    [(8, True, 50), (8, False, 34), (64, True, 274), (64, False, 146), (1024, True, 4114), (1024, False, 2066)],
)
def test_a_message_is_home_after_so_long(gpus: int, records: bool, cycles: int) -> None:
    assert timing.ring_time(gpus, records=records) == cycles


def test_a_bypassed_gpu_takes_one_cycle_and_adds_no_record() -> None:
    assert timing.ring_time(8, records=True, working=6) == 50 - 2 * (1 + 2)
    assert timing.ring_time(8, records=False, working=0) == 34 - 8


@pytest.mark.parametrize(("gpus", "cycles"), [(8, 388), (64, 836), (1024, 8516)])
def test_a_round_is_given_up_after_so_long(gpus: int, cycles: int) -> None:
    assert timing.round_timeout(gpus, WATCHDOG, records=True) + FIRMWARE_LATENCY == cycles


def test_a_message_without_records_is_given_up_sooner() -> None:
    with_records = timing.round_timeout(8, WATCHDOG, records=True)
    assert with_records - timing.round_timeout(8, WATCHDOG, records=False) == 2 * 8 * 2


def test_the_switch_takes_over_in_three_cycles() -> None:
    assert timing.SWITCH_OVER == 3
