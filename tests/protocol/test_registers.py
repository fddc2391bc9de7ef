"""The register map: nothing overlaps, everything fits."""

import pytest

from ringhil.protocol.enums import Bits
from ringhil.protocol.registers import (
    ADDRESS,
    FAULT_PORT_WIDTH,
    REGISTERS,
    ControlBit,
    FaultBit,
    LinkFaultBit,
    StatusBit,
)


def test_every_address_is_one_registers() -> None:
    assert len({r.address for r in REGISTERS}) == len(REGISTERS)


def test_every_name_is_one_registers() -> None:
    assert len({r.name for r in REGISTERS}) == len(REGISTERS)
    assert {r.name: r.address for r in REGISTERS} == ADDRESS


def test_addresses_fit_in_8_bits_and_reset_values_in_32() -> None:
    for r in REGISTERS:
        assert 0 <= r.address < 1 << 8, r
        assert 0 <= r.reset < 1 << 32, r


def test_only_what_can_be_written_has_a_reset_value() -> None:
    assert {r.access for r in REGISTERS} == {"rw", "ro"}
    assert all(r.reset == 0 for r in REGISTERS if r.access == "ro")


@pytest.mark.parametrize(
    ("bits", "width"),
    [
        (ControlBit, 32),
        (StatusBit, 32),
        (FaultBit, FAULT_PORT_WIDTH),
        (LinkFaultBit, FAULT_PORT_WIDTH),
    ],
    ids=["control", "status", "fault", "link fault"],
)
def test_every_bit_lies_in_its_word(bits: type[Bits], width: int) -> None:
    assert all(0 <= place < width for place in bits.places().values())
