"""What the cocotb benches of the bridge share: what it has to answer, written without a look at it or at the engine,
and its pins."""

import random
from collections.abc import Iterable
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from cocotb.utils import get_sim_time

from ringhil.protocol.line import framing, node_loop
from ringhil.protocol.line.framing import Unwrapper, wrap
from ringhil.protocol.line.node_loop import INPUTS, LONGEST_REQUEST, OUTPUTS, NodeMessage, NodePort, Why

PERIOD = 10  # ns
PATIENCE: Any = {"timeout_time": 50, "timeout_unit": "ms"}  # simulated, for a test
DAMAGED = bytes([NodeMessage.DAMAGED.code])
ROOM = LONGEST_REQUEST - framing.CRC_BYTES
NOTHING = b"\0\0"  # of a row differs
IN_PORTS = sum(port.size for port in INPUTS)  # bytes
IN_BYTES, OUT_BYTES = (node_loop.GROUP * node_loop.groups(row) for row in (INPUTS, OUTPUTS))
REQUESTS = (NodeMessage.RESET, NodeMessage.STEP, NodeMessage.LOOK)


def changes(old: bytes, new: bytes) -> bytes:
    """What differs, as it travels."""
    groups, out = 0, b""
    for place in range(0, len(new), 8):
        here = [i for i in range(8) if old[place + i] != new[place + i]]
        if here:
            groups |= 1 << place // 8
            out += bytes([sum(1 << i for i in here), *(new[place + i] for i in here)])
    return groups.to_bytes(2, "big") + out


def changed(row: bytes, body: bytes) -> bytes | None:
    """A row with what differs put in; None: this is no such thing."""
    new, rest = bytearray(row), list(body[::-1])
    try:
        groups = rest.pop() << 8 | rest.pop()
        for group in range(16):
            bits = rest.pop() if groups >> group & 1 else 0
            for i in range(8):
                if bits >> i & 1:
                    new[8 * group + i] = rest.pop()
        return None if rest or groups >> len(row) // 8 else bytes(new)
    except IndexError:
        return None


class Row:
    """Ports in a row of bytes, by name."""

    def __init__(self, ports: tuple[NodePort, ...], data: bytes) -> None:
        self._places, self.data = node_loop.places(ports), bytearray(data)
        self._sizes = {port.name: port.size for port in ports}

    def __getitem__(self, name: str) -> int:
        return int.from_bytes(self.data[self._places[name] :][: self._sizes[name]], "little")

    def __setitem__(self, name: str, value: int) -> None:
        at = self._places[name]
        self.data[at : at + self._sizes[name]] = value.to_bytes(self._sizes[name], "little")


class EchoCell:
    """`echo_cell.sv`."""

    def __init__(self) -> None:
        self.given, self.clocks, self.resets, self.was_reset = Row(INPUTS, bytes(IN_BYTES)), 0, 0, False

    def clock(self, inputs: bytes, *, reset: bool = False) -> None:
        begins = reset and not self.was_reset
        self.given, self.was_reset = Row(INPUTS, inputs), reset
        self.clocks = 1 if begins else self.clocks + 1
        self.resets = 1 if begins else self.resets + reset

    def outputs(self, inputs: bytes) -> bytes:
        given, out = self.given, Row(OUTPUTS, bytes(OUT_BYTES))
        for name in ("p1", "p2", "host", "boundary"):
            out[f"{name}_data"], out[f"{name}_ctl"] = given[f"{name}_data"], given[f"{name}_ctl"]
        out["mrx0_data"], out["mrx1_data"] = given["mtx_data"], given["now"]
        for name in ("ber_boundary", "ber_host", "ber_port2", "ber_port1"):
            out["mrx2_data"] = out["mrx2_data"] << 16 & 2**64 - 1 | given[name]
        out["mrx3_data"] = given["link_delay"] << 32 | given["reg_wdata"]
        out["wake_at"] = self.clocks % 2**16 << 48 | given["node_id"] << 32 | given["ring_size"] << 16 | given["fault"]
        out["mrx_ctl"] = given["link_fault"] << 8 | (given["reg_we"] & 1) << 5 | given["mtx_ctl"] & 0x1F
        out["quiescent"] = self.clocks & 1
        addr = Row(INPUTS, inputs)["reg_addr"] ^ 0xFF
        out["reg_rdata"] = self.resets % 2**8 << 24 | given["card_id"] << 16 | given["reg_addr"] << 8 | addr
        return bytes(out.data)


class Oracle:
    """What a bridge with an `EchoCell` answers."""

    def __init__(self) -> None:
        self.cell = EchoCell()
        self.sequence, self.alive, self._unwrapper = 0, False, Unwrapper()
        self._kept: bytes | None = None  # what it has just answered, when it may be asked for that again
        self.inputs, self._sent = bytes(IN_BYTES), bytes(OUT_BYTES)

    def hear(self, stream: bytes) -> list[bytes]:
        """The messages it sends for those that end in these bytes, and for what is none."""
        return [
            self.answer(found) if isinstance(found, bytes) and len(found) <= ROOM else DAMAGED
            for found in self._unwrapper.feed(stream)
        ]

    def answer(self, message: bytes) -> bytes:
        kind, number, body = message[0], message[1], message[2:]
        if kind == NodeMessage.HELLO.code:
            self.sequence, self._kept = number, None
            fields = {"sequence": number, "major": node_loop.MAJOR, "minor": node_loop.MINOR}
            fields |= {"layout": node_loop.LAYOUT, "slots": node_loop.SLOTS, "longest": node_loop.LONGEST_FRAME}
            return bytes(node_loop.MESSAGES[NodeMessage.HELLO_REPLY].build(fields))
        if self._kept is not None and number == self.sequence:
            return self._kept
        self._kept = None
        found = self._done(kind, number, body)
        if isinstance(found, Why):
            return bytes([NodeMessage.REFUSED.code, number, found.code])
        self._kept = bytes([kind | node_loop.REPLY, number]) + found
        return self._kept

    def _done(self, kind: int, number: int, body: bytes) -> bytes | Why:
        if number != (self.sequence + 1) % 256:
            return Why.OUT_OF_ORDER
        if kind not in [request.code for request in REQUESTS]:
            return Why.UNKNOWN_TYPE
        reset, step = kind == NodeMessage.RESET.code, kind == NodeMessage.STEP.code
        if not (reset or self.alive):
            return Why.NOT_RESET
        self.sequence = number
        if reset:
            self.inputs, self._sent = bytes(IN_BYTES), bytes(OUT_BYTES)
        if step:
            row = Row(INPUTS, self.inputs)
            row["now"] = (row["now"] + 1) % 2**64
            self.inputs = bytes(row.data)
        inputs = changed(self.inputs, body)
        self.alive = inputs is not None
        if inputs is None:
            return Why.BAD_LENGTH
        self.inputs = inputs
        for _ in range(2 if reset else 1 if step else 0):
            self.cell.clock(inputs, reset=reset)
        before, self._sent = self._sent, self.cell.outputs(inputs)
        return changes(before, self._sent)


class Client:
    """Makes requests: it keeps count of their numbers, and of the row."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.sequence, self.row = dice, 0, bytes(IN_BYTES)

    def hello(self, number: int | None = None) -> bytes:
        self.sequence = self.dice.randrange(256) if number is None else number
        return bytes([NodeMessage.HELLO.code, self.sequence])

    def request(self, kind: NodeMessage, row: bytes | None = None) -> bytes:
        """The next one, which makes the row this one, or leaves it as it is."""
        self.sequence = (self.sequence + 1) % 256
        before = bytearray(bytes(IN_BYTES) if kind is NodeMessage.RESET else self.row)
        if kind is NodeMessage.STEP:
            before[:8] = ((int.from_bytes(before[:8], "little") + 1) % 2**64).to_bytes(8, "little")
        self.row = bytes(before) if row is None else row
        return bytes([kind.code, self.sequence]) + changes(bytes(before), self.row)

    def any_row(self, share: float) -> bytes:
        """This share of the bytes is another than now."""
        return bytes(
            byte ^ self.dice.randrange(1, 256) if place < IN_PORTS and self.dice.random() < share else byte
            for place, byte in enumerate(self.row)
        )


class Pins:
    """Bytes in and out of a `hil_bridge`, or of a `hil_line`. `sent`: what has come out. Inputs change between rising
    edges. `gap`, `wait`: the chances, in each clock, that no byte is given, and that none is taken."""

    def __init__(self, dut: Any, dice: random.Random) -> None:
        self.dut, self.dice, self.sent = dut, dice, bytearray()
        self.gap = self.wait = 0.0

    async def start(self) -> None:
        """Powered up. The cell behind it keeps what it has counted in an earlier test; its last clock was no reset."""
        self.dut.rx_data_i.value = self.dut.tx_ready_i.value = 0
        Clock(self.dut.clk_i, PERIOD, unit="ns").start()
        await self.power_up(2)
        await self.ask(b"\1\0", b"\2\1\0\0", b"\3\2\0\0")
        await self.power_up(1)

    async def power_up(self, clocks: int) -> None:
        """A reset, in whatever it is doing."""
        d = self.dut
        d.rx_valid_i.value, d.rst_i.value = 0, 1
        await self.clocks(clocks)
        assert d.tx_valid_o.value == 0
        d.rst_i.value = 0
        await self.rest()

    async def clocks(self, number: int) -> None:
        for _ in range(number):
            await FallingEdge(self.dut.clk_i)

    async def clock(self, byte: int | None = None) -> bool:
        """One clock, with this byte at its input; whether it was taken. What comes out is taken, or waits."""
        d, dice = self.dut, self.dice
        d.rx_valid_i.value, d.rx_data_i.value = int(byte is not None), byte or 0
        ready = self.wait == 0 or dice.random() >= self.wait
        d.tx_ready_i.value = int(ready)
        if ready and d.tx_valid_o.value:
            self.sent.append(int(d.tx_data_o.value))
        taken = byte is not None and bool(d.rx_ready_o.value)
        await FallingEdge(d.clk_i)
        return taken

    async def give(self, data: Iterable[int]) -> None:
        for byte in data:
            while self.gap and self.dice.random() < self.gap:
                await self.clock()
            while not await self.clock(byte):
                pass

    async def rest(self) -> bytes:
        """Until nothing goes on; what has come out since the last time."""
        while not self.dut.idle_o.value:
            await self.clock()
        await self.clock()
        assert self.dut.idle_o.value
        found, self.sent = bytes(self.sent), bytearray()
        return found

    async def ask(self, *messages: bytes) -> bytes:
        """These, wrapped, one behind the other; what it sends."""
        await self.give(b"".join(map(wrap, messages)))
        return await self.rest()


def same(found: bytes, wanted: list[bytes]) -> None:
    """These messages, wrapped, and no other byte. What says "damaged" may stand for several behind each other."""
    messages = [message for message in Unwrapper().feed(found) if isinstance(message, bytes)]
    assert b"".join(map(wrap, messages)) == found, f"{found.hex()} at {get_sim_time('ns')} ns"
    assert [m.hex() for m in messages if m != DAMAGED] == [m.hex() for m in wanted if m != DAMAGED]
    for many, most in zip(_runs(messages), _runs(wanted), strict=True):
        assert bool(most) <= many <= most, f"{many} times damaged, of {most}"


def _runs(messages: list[bytes]) -> list[int]:
    """How often "damaged" comes before each other message, and behind the last."""
    runs = [0]
    for message in messages:
        if message == DAMAGED:
            runs[-1] += 1
        else:
            runs.append(0)
    return runs
