"""The generated files: up to date, and computing what Python computes."""

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import reduce
from operator import xor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.protocol import reasons, registers, wire
from ringhil.protocol.enums import Bits, Coded
from ringhil.protocol.generate import c_header, crc_equations, outputs, systemverilog
from ringhil.protocol.generate.words import FIRMWARE_LOOP, FRAMES, MANAGEMENT, NODE_LOOP, REGISTERS
from ringhil.protocol.line import firmware_loop, management, node_loop

from .strategies import crc32_autosar, quick

flits = st.lists(st.integers(0, 2**64 - 1), max_size=8)
both_widths = pytest.mark.parametrize("bits", [32, 64])


@pytest.mark.parametrize("path", outputs(), ids=lambda path: path.name)
def test_the_file_in_the_tree_is_what_the_generator_writes(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == outputs()[path], "run `make generate`"


def _definitions() -> Iterator[tuple[str, Any]]:
    yield from {**wire.FRAMES, "record": wire.Record, "command": wire.Command}.items()
    for module in (management, firmware_loop, node_loop):
        yield from ((str(kind), definition) for kind, definition in module.MESSAGES.items())
    yield from ((str(kind), definition) for kind, definition in firmware_loop.ACTIONS.items())


def test_pages_say_what_every_field_and_every_code_means() -> None:
    heads = {"type", "id", "sequence"}  # of a message: the page's introduction has them
    assert [
        f"{name}.{field.name}"
        for name, definition in _definitions()
        for field in definition.subcons
        if not field.docs and field.name not in heads
    ] == []
    named = {words for tables in (FRAMES, REGISTERS, MANAGEMENT, FIRMWARE_LOOP, NODE_LOOP) for words in tables.values()}
    kinds = {management.Type, firmware_loop.LoopType, node_loop.NodeMessage}  # headings have their codes
    models = {wire.GpuType}
    defined = {
        each
        for module in (wire, registers, reasons, management, firmware_loop, node_loop)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Coded | Bits) and each not in (Coded, Bits)
    }
    assert defined - kinds == named
    assert [f"{words.__name__}.{word}" for words in named - models for word in words if not word.doc] == []


def test_the_page_names_the_ports_that_the_bridge_wires_to_each_place() -> None:
    """In `rtl/hil_bridge.sv`: `.reg_we_i (in_q[8*HIL_IN_REG_WE])`, say."""
    bridge = (Path(__file__).resolve().parents[2] / "rtl" / "hil_bridge.sv").read_text().split("ring_cell u_cell")[1]
    wired = re.findall(r"\.(\w+)\s*\((?:in_q|out)\[8\*HIL_(IN|OUT)_(\w+)\b", bridge)
    named = {(title, port.name): port.doc.split("`")[1] for title, row in node_loop.ROWS.items() for port in row}
    assert {(way.lower(), place.lower()) for _, way, place in wired} == {*named}
    wrong = [(port, place) for port, way, place in wired if not fnmatch(port, named[way.lower(), place.lower()])]
    assert wrong == []


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
    """Evaluates a CRC function of the generated package: a list of sums of shifted words."""

    def __init__(self, name: str, bits: int) -> None:
        self.name, self.bits = name, bits
        body = re.search(
            rf"function automatic logic \[31:0\] {name}\((.*?)endfunction", systemverilog.render(), re.DOTALL
        )
        assert body is not None
        statements = [" ".join(s.split()) for s in body[1].split(");", 1)[1].split(";")]
        assigned = [tuple(s.split(" = ", 1)) for s in statements if " = " in s]
        order = re.fullmatch(rf"\{{(.*)\}} \^ {bits}'\(state\)", assigned[0][1])
        assert assigned[0][0] == "w"
        assert order is not None
        slices = [re.fullmatch(r"data\[(\d+):(\d+)\]", part) for part in order[1].split(", ")]
        self.bytes = [(int(s[1]), int(s[2])) for s in slices if s is not None]
        assert [high - low for high, low in self.bytes] == [7] * (bits // 8)
        self.sums = [(target, *self._sum(target, text)) for target, text in assigned[1:]]

    def _sum(self, target: str, text: str) -> tuple[int, list[tuple[str, int]]]:
        """How far the whole is shifted right, and each term: its word and shift, to the left where positive."""
        top = re.fullmatch(r"32'\(\((.*)\) >> 32\)", text)
        assert (top is not None) == (target == "q" and self.bits == 64)
        terms = [re.fullmatch(r"\(?([wq]\d*)(?: (<<|>>) (\d+)\))?", s) for s in (top[1] if top else text).split(" ^ ")]
        assert all(terms)
        shifts = [(t[1], int(t[3] or 0) * (1 if t[2] == "<<" else -1)) for t in terms if t is not None]
        return 32 if top else 0, shifts

    def step(self, state: int, data: int) -> int:
        w = 0
        for _, low in self.bytes:
            w = w << 8 | (data >> low & 0xFF)
        words = {"w": w ^ state}
        for target, down, terms in self.sums:
            bits = self.bits if target[0] == "w" or down else 32
            total = reduce(xor, (words[word] << by if by > 0 else words[word] >> -by for word, by in terms))
            words[target] = (total & (1 << bits) - 1) >> down
        return words[self.name]


@pytest.mark.parametrize(("name", "bits"), [("crc_flit", 64), ("crc_half", 32)])
def test_the_systemverilog_functions_are_the_crc(name: str, bits: int) -> None:
    """Made of shifts and exclusive ors alone, they are linear: equal for each single bit means equal always."""
    function, masks = SystemVerilogCrc(name, bits), crc_equations.masks(bits)
    assert function.step(0, 0) == 0
    for bit in range(32):
        assert function.step(1 << bit, 0) == next_state(masks, crc_equations.byte_swap(1 << bit) << bits - 32)
    for bit in range(bits):
        assert function.step(0, 1 << bit) == next_state(masks, 1 << bit)


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
    for name, value in wire.Kind.codes().items():
        assert constants[f"KIND_{name.upper()}"] == value
    for name, value in wire.Flag.codes().items():
        assert 1 << constants[f"FLAG_{name.upper()}"] == value
    for name, value in wire.RecordFlag.codes().items():
        assert 1 << constants[f"RECORD_{name.upper()}"] == value
    for register in registers.REGISTERS:
        assert constants[f"REG_{register.name.upper()}"] == register.address
        if register.access == "rw":
            assert constants[f"RESET_{register.name.upper()}"] == register.reset
    for name, value in wire.GpuState.codes().items():
        assert constants[f"STATE_{name.upper()}"] == value
    assert constants["NO_CARD"] == wire.NO_CARD
    assert (constants["CROSSINGS"], constants["MAX_CROSSINGS"]) == (wire.CROSSINGS_SHIFT, wire.MAX_CROSSINGS)
    named_bits = {
        "CONTROL": registers.ControlBit.places(),
        "STATUS": registers.StatusBit.places(),
        "FAULT": registers.FaultBit.places(),
        "LINK_FAULT": registers.LinkFaultBit.places(),
        "LINK": wire.LinkBit.places(),
    }
    for prefix, bits in named_bits.items():
        for name, bit in bits.items():
            assert constants[f"{prefix}_{name.upper()}"] == bit


def test_the_packages_mask_of_the_first_flit_clears_what_a_hop_may_change() -> None:
    mutable = wire.MUTABLE["*"]
    cleared = mutable["flags"] << 32 | mutable["ttl"] << 16
    assert sv_constants()["E2E_FLIT0"] == cleared ^ 0xFFFFFFFFFFFFFFFF
