"""cocotb bench of `hil_bridge` with a real GPU, beside another one that is driven at its pins: each output, each time.

Run by test_cocotb_bridge.py. Everything is drawn from cocotb's seed; RINGHIL_BENCH_ROUNDS says how much of it.
"""

import os
import random
from typing import Any

import cocotb
from bridge_bench import IN_BYTES, OUT_BYTES, PATIENCE, Client, Pins, Row, changed
from cocotb.triggers import Timer

from ringhil.protocol import codec, registers, wire
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.line.framing import Unwrapper
from ringhil.protocol.line.node_loop import INPUTS, OUTPUTS, REPLY, NodeMessage

ROUNDS = int(os.environ.get("RINGHIL_BENCH_ROUNDS", "1"))
HELLO, RESET, STEP, LOOK = NodeMessage.HELLO, NodeMessage.RESET, NodeMessage.STEP, NodeMessage.LOOK
# The pin of each port; those of mailboxes are several.
IN_PINS = {port.name: port.doc.split("`")[1] for port in INPUTS if port.name != "mtx_ctl"}
OUT_PINS = {port.name: port.doc.split("`")[1] for port in OUTPUTS if port.name != "mrx_ctl"}
UP, VALID, DATA, SOF, EOF = (wire.LinkBit[name].value for name in ("UP", "VALID", "DATA", "SOF", "EOF"))
CARD, NODE = 2, 3
ADDRESSES = [register.address for register in registers.REGISTERS]
LINKS = ("p1", "p2", "host", "boundary")


class Beside(Pins):
    """The bridge, and the GPU beside it."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut, random.Random(random.randrange(2**32)))
        self.client, self.sent = Client(self.dice), bytearray()
        self._row = bytes(OUT_BYTES)

    async def begin(self, row: bytes) -> None:
        self.dut.cell_clk_i.value = self.dut.cell_rst_i.value = 0
        await self.start()
        assert await self.ask(self.client.hello())
        await self.do(RESET, row)

    async def do(self, kind: NodeMessage, row: bytes | None = None) -> Row:
        """Asked of both; the outputs of both."""
        request = self.client.request(kind, row)
        (answer,) = Unwrapper().feed(await self.ask(request))
        assert isinstance(answer, bytes)
        assert answer[:2] == bytes([kind.code | REPLY, request[1]]), answer.hex()
        before = bytes(OUT_BYTES) if kind is RESET else self._row
        self._row = changed(before, answer[2:]) or b""
        await self._beside(Row(INPUTS, self.client.row), {RESET: 2, STEP: 1}.get(kind, 0), reset=kind is RESET)
        said, there = Row(OUTPUTS, self._row), self._outputs()
        assert {port.name: said[port.name] for port in OUTPUTS} == {port.name: there[port.name] for port in OUTPUTS}
        return said

    async def _beside(self, inputs: Row, clocks: int, *, reset: bool) -> None:
        d, flit = self.dut, inputs["mtx_ctl"]
        for name, pin in IN_PINS.items():
            getattr(d, pin).value = inputs[name] & (1 if name == "reg_we" else -1)
        for place, name in enumerate(("valid", "sof", "eof")):
            getattr(d, f"mtx_{name}_i").value = flit >> place & 1
        d.mtx_port_i.value, d.cell_rst_i.value = flit >> 3 & 3, int(reset)
        for _ in range(clocks):
            for level in (0, 1):
                await Timer(1, "ns")
                d.cell_clk_i.value = level
        await Timer(1, "ns")
        d.cell_clk_i.value = d.cell_rst_i.value = 0
        await Timer(1, "ns")

    def _outputs(self) -> Row:
        there = Row(OUTPUTS, bytes(OUT_BYTES))
        for name, pin in OUT_PINS.items():
            there[name] = int(getattr(self.dut, pin).value)
        there["mrx_ctl"] = sum(int(getattr(self.dut, f"mrx{box}_ctl_o").value) << 4 * box for box in range(4))
        return there

    def inputs(self) -> Row:
        """As they are; a step adds one to `now`."""
        return Row(INPUTS, self.client.row)

    async def links_are_used(self) -> Row:
        """They need not wait for long."""
        row = self.inputs()
        row["reg_we"], row["reg_addr"], row["reg_wdata"] = 1, registers.ADDRESS["link_restore"], 4
        await self.step(row)
        for _ in range(20):
            row = self.inputs()
            row["reg_we"] = 0
            found = await self.step(row)
        assert not any(found[f"{link}_ctl"] & wire.LinkBit.FAULT for link in LINKS)
        return found

    async def step(self, row: Row) -> Row:
        row["now"] += 1
        return await self.do(STEP, bytes(row.data))


def powered_up() -> bytes:
    """Carrier on all sides."""
    row = Row(INPUTS, bytes(IN_BYTES))
    for link in LINKS:
        row[f"{link}_ctl"] = UP
    row["ring_size"], row["node_id"], row["card_id"] = 5, NODE, CARD
    return bytes(row.data)


class Trouble:
    """What comes to the GPU in each cycle: frames to it, nonsense, settings and faults."""

    def __init__(self, dice: random.Random) -> None:
        self._dice, self._flits = dice, {link: list[tuple[int, int]]() for link in LINKS}

    def put(self, row: Row) -> None:
        dice = self._dice
        for link in LINKS:
            row[f"{link}_data"], row[f"{link}_ctl"] = self._flit(link)
        row["mtx_ctl"], row["mtx_data"] = 0, 0
        if dice.random() < 0.3:
            row["mtx_ctl"], row["mtx_data"] = VALID | dice.getrandbits(5), dice.getrandbits(64)
        row["reg_we"] = int(dice.random() < 0.05)
        row["reg_addr"], row["reg_wdata"] = dice.choice(ADDRESSES), dice.getrandbits(dice.choice((2, 8, 32)))
        if dice.random() < 0.02:
            row["fault"] = 1 << dice.randrange(11) if dice.random() < 0.5 else 0
            row["link_fault"] = 1 << dice.randrange(4) if dice.random() < 0.2 else 0
            row["link_delay"] = dice.getrandbits(32) if dice.random() < 0.2 else 0
            for link in ("port1", "port2", "host", "boundary"):
                row[f"ber_{link}"] = dice.choice((0, 0, 0, 0x4000, 0xFFFF))

    def _flit(self, link: str) -> tuple[int, int]:
        """Data, control bits."""
        dice, waiting = self._dice, self._flits[link]
        if not waiting and dice.random() < 0.1:
            frame = codec.encode(Keepalive(CARD, 0, 4, NODE, 1, dice.getrandbits(32), *[0] * 10))
            words = [int.from_bytes(frame[at : at + 8], "big") for at in range(0, len(frame), 8)]
            last = len(words) - 1
            waiting += [(word, VALID | (i == 0) * SOF | (i == last) * EOF) for i, word in enumerate(words)]
        data, bits = 0, 0
        if waiting:
            data, bits = waiting.pop(0)
        elif dice.random() < 0.02:
            data, bits = dice.getrandbits(64), dice.getrandbits(6)
        return data, UP | bits


@cocotb.test(**PATIENCE)
async def a_gpu_behind_the_bridge_does_what_one_beside_it_does(dut: Any) -> None:
    """Whatever comes in by its ports, mailbox and registers, with faults and without. Each of its outputs has been
    something else than zero."""
    both, seen = Beside(dut), set[str]()
    await both.begin(powered_up())
    dice = both.dice
    for _ in range(ROUNDS):
        trouble = Trouble(dice)
        await both.links_are_used()
        for _ in range(200):
            row = both.inputs()
            trouble.put(row)
            if dice.random() < 0.05:
                row["reg_addr"] = dice.choice(ADDRESSES)
                await both.do(LOOK, bytes(row.data))
                row = both.inputs()
            found = await both.step(row)
            seen |= {port.name for port in OUTPUTS if found[port.name]}
        await both.do(RESET, powered_up())
    assert {port.name for port in OUTPUTS} - seen == set()


@cocotb.test(**PATIENCE)
async def a_frame_of_the_firmware_leaves_by_each_port(dut: Any) -> None:
    """And a register that is written is read back: by name, as docs/reference/protocol.md has it."""
    both = Beside(dut)
    await both.begin(powered_up())
    said = await both.links_are_used()
    header = Keepalive.KIND << 56 | CARD << 48 | 9 << 16 | NODE + 1
    for port, link in ((0, "p2"), (1, "p1"), (2, "host"), (3, "boundary")):
        flits, found = [header, *(0x0101010101010101 * i for i in range(1, 8))], list[int]()
        while flits or len(found) < 8:
            row = both.inputs()
            ready = bool(said["mtx_ready"])
            row["mtx_data"] = flits[0] if flits and ready else 0
            row["mtx_ctl"] = (1 | (len(flits) == 8) << 1 | (len(flits) == 1) << 2 | port << 3) if flits and ready else 0
            said = await both.step(row)
            flits = flits[1:] if ready else flits
            if said[f"{link}_ctl"] & (VALID | DATA) == VALID:
                found.append(said[f"{link}_data"])
        assert found[1:6] == [0x0101010101010101 * i for i in range(1, 6)], link
    address = registers.ADDRESS["weight"]
    row = both.inputs()
    row["reg_we"], row["reg_addr"], row["reg_wdata"] = 1, address, 0x1234
    await both.step(row)
    assert (await both.do(LOOK))["reg_rdata"] == 0x1234
