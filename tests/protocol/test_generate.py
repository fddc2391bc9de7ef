"""The generated files: up to date, and computing what Python computes."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.protocol import registers, wire
from ringhil.protocol.generate import c_header, crc_equations, outputs, systemverilog

from .strategies import crc32_autosar, quick

flits = st.lists(st.integers(0, 2**64 - 1), max_size=8)
both_widths = pytest.mark.parametrize("bits", [32, 64])


@pytest.mark.parametrize("path", outputs(), ids=lambda path: path.name)
def test_the_file_in_the_tree_is_what_the_generator_writes(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == outputs()[path], "run `make generate`"


# -- the CRC a word at a time ----------------------------------------------------------------------------


def next_state(masks: list[int], x: int) -> int:
    return sum(((mask & x).bit_count() & 1) << i for i, mask in enumerate(masks))


def split(words: list[int], bits: int) -> list[int]:
    """64-bit words as words of `bits`, first on the wire first."""
    return [w >> shift & (1 << bits) - 1 for w in words for shift in range(64 - bits, -1, -bits)]


def on_the_wire(words: list[int]) -> bytes:
    return b"".join(word.to_bytes(8, "big") for word in words)


@both_widths
@quick
@given(words=flits)
def test_the_equations_are_the_crc(bits: int, words: list[int]) -> None:
    masks = crc_equations.masks(bits)
    state = 0xFFFFFFFF
    for word in split(words, bits):
        state = next_state(masks, word ^ crc_equations.byte_swap(state) << bits - 32)
    assert state ^ 0xFFFFFFFF == crc32_autosar(on_the_wire(words))


class SystemVerilogCrc:
    """Evaluates a CRC function of the generated package: `swapped`, `x`, then one parity for each bit."""

    def __init__(self, name: str) -> None:
        text = systemverilog.render()
        body = re.search(rf"function automatic logic \[31:0\] {name}\((.*?)endfunction", text, re.DOTALL)
        assert body is not None
        statements = [s.strip() for s in body[1].split(");", 1)[1].split(";")]
        assigned = dict(s.split(" = ", 1) for s in statements if " = " in s)
        self.swapped, self.x = assigned.pop("swapped"), assigned.pop("x")
        self.masks = [self._mask(assigned.pop(f"{name}[{i}]")) for i in range(32)]
        assert not assigned

    @staticmethod
    def _mask(expression: str) -> int:
        match = re.fullmatch(r"\^\(x & \d+'h([0-9A-F]+)\)", expression)
        assert match is not None
        return int(match[1], 16)

    def step(self, state: int, data: int) -> int:
        slices = re.fullmatch(r"\{(.*)\}", self.swapped)
        assert slices is not None
        swapped = 0
        for part in slices[1].split(", "):
            match = re.fullmatch(r"state\[(\d+):(\d+)\]", part)
            assert match is not None
            high, low = int(match[1]), int(match[2])
            width = high - low + 1
            swapped = swapped << width | (state >> low & (1 << width) - 1)
        lies_over = {"data ^ {swapped, 32'h0}": swapped << 32, "data ^ swapped": swapped}[self.x]
        return next_state(self.masks, data ^ lies_over)


@pytest.mark.parametrize(("name", "bits"), [("crc_flit", 64), ("crc_half", 32)])
def test_the_systemverilog_functions_are_the_crc(name: str, bits: int) -> None:
    function = SystemVerilogCrc(name)

    @quick
    @given(words=flits)
    def holds(words: list[int]) -> None:
        state = 0xFFFFFFFF
        for word in split(words, bits):
            state = function.step(state, word)
        assert state ^ 0xFFFFFFFF == crc32_autosar(on_the_wire(words))

    holds()


def test_the_c_table_is_the_crc() -> None:
    block = re.search(r"RINGHIL_CRC_TABLE\[256\] = \{(.*?)\};", c_header.render(), re.DOTALL)
    assert block is not None
    table = [int(value, 16) for value in re.findall(r"0x([0-9A-F]{8})u", block[1])]
    assert len(table) == 256
    state = 0xFFFFFFFF
    for byte in b"123456789":
        state = state >> 8 ^ table[(state ^ byte) & 0xFF]
    assert state ^ 0xFFFFFFFF == 0x1697D06A


# -- constants ----------------------------------------------------------------------------------------------


def sv_constants() -> dict[str, int]:
    found = re.findall(
        r"localparam (?:logic \[\d+:0\]|int) (\w+) = (?:\d+'h([0-9A-F]+)|(\d+));", systemverilog.render()
    )
    assert len({name for name, *_ in found}) == len(found), "a name is defined twice"
    return {name: int(hexadecimal, 16) if hexadecimal else int(decimal) for name, hexadecimal, decimal in found}


def test_the_package_knows_every_kind_flag_register_and_bit() -> None:
    constants = sv_constants()
    for name, value in wire.KINDS.items():
        assert constants[f"KIND_{name.upper()}"] == value
    for name, value in wire.FLAGS.items():
        assert 1 << constants[f"FLAG_{name.upper()}"] == value
    for name, value in wire.RECORD_FLAGS.items():
        assert 1 << constants[f"RECORD_{name.upper()}"] == value
    for register in registers.REGISTERS:
        assert constants[f"REG_{register.name.upper()}"] == register.address
        if register.access == "rw":
            assert constants[f"RESET_{register.name.upper()}"] == register.reset
    named_bits = {
        "CONTROL": registers.CONTROL_BITS,
        "FAULT": registers.FAULT_BITS,
        "LINK_FAULT": registers.LINK_FAULT_BITS,
        "LINK": wire.LINK_BITS,
    }
    for prefix, bits in named_bits.items():
        for name, bit in bits.items():
            assert constants[f"{prefix}_{name.upper()}"] == bit


def test_the_packages_mask_of_the_first_flit_clears_what_a_hop_may_change() -> None:
    mutable = wire.MUTABLE["*"]
    cleared = mutable["flags"] << 32 | mutable["ttl"] << 16
    assert sv_constants()["E2E_FLIT0"] == cleared ^ 0xFFFFFFFFFFFFFFFF
