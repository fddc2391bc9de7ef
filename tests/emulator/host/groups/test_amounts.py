"""What is written to a group's files, in bytes and microseconds, and what the hardware is told, in pages and cycles."""

import errno
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.host.groups.amounts import Units, priority
from ringhil.emulator.scenario import loads

from .grouped import SERVER, number

LARGEST = 2**32 - 1  # pages: a field of 32 bits


def test_without_a_word_they_are_those_of_a_file() -> None:
    sharing = loads(SERVER + "sharing: {applications: {x: {gpu: a.1, steps: 1, compute: 50}}}\n").sharing
    assert sharing is not None
    assert Units() == Units(sharing.cycle, sharing.page)


def test_sizes_are_whole_pages_of_what_fits_their_field() -> None:
    units = Units(page=1024)
    assert [units.pages(text) for text in ("0", "1M", "3145727", "2G", f"{LARGEST}M", "max")] == [
        0,
        1,
        2,
        2048,
        LARGEST,
        None,
    ]
    assert [units.pages(text) for text in ("1048576k", "3m", "2g", "1t", "1p")] == [1024, 3, 2048, 1 << 20, 1 << 30]
    assert number(units.pages, f"{LARGEST + 1}M") == number(units.pages, "-1") == errno.ERANGE
    assert units.bytes_of(3) == 3 << 20


def test_slices_are_whole_fours_of_cycles() -> None:
    units = Units(cycle=100)
    assert [units.cycles(text) for text in ("1.6", "2.4", "2.7", "7.0", "default")] == [16, 24, 24, 68, None]
    assert number(units.cycles, "1.5") == errno.ERANGE
    assert [units.microseconds(cycles) for cycles in (16, 24, 100, 1000)] == ["1.6", "2.4", "10", "100"]


@given(st.sampled_from((1, 40, 100, 500, 1000, 2000)), st.decimals(0, 5000, places=3))
def test_a_fraction_is_taken_if_it_is_whole_cycles_however_large(cycle: int, time: Decimal) -> None:
    """One rule: not whole, too short, or taken."""
    cycles, text = time * 1000 / cycle, str(time)
    if cycles != int(cycles):
        assert number(Units(cycle=cycle).cycles, text) == errno.EINVAL
    elif cycles < 16:
        assert number(Units(cycle=cycle).cycles, text) == errno.ERANGE
    else:
        assert Units(cycle=cycle).cycles(text) == int(cycles) // 4 * 4


@pytest.mark.parametrize("text", ["", "1.5M", "1 M", "M", "1X", "0x10", "\u0661"])
def test_what_is_no_size_is_refused(text: str) -> None:
    assert number(Units().pages, text) == errno.EINVAL


def test_a_priority_is_a_small_number_or_the_default() -> None:
    assert [priority(text) for text in ("0", "7", "255", "default")] == [0, 7, 255, None]
    assert [number(priority, text) for text in ("256", "-1", "max", "")] == [
        errno.ERANGE,
        errno.ERANGE,
        errno.EINVAL,
        errno.EINVAL,
    ]
