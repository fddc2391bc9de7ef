"""Plays a stimulus to a node and writes down all that it did."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import repeat

import cocotb
from cocotb.triggers import ValueChange

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.link import BIT
from ringhil.emulator.testbench.mailbox import Mail
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.node import NodeBench
from ringhil.emulator.testbench.stimulus import (
    Action,
    Carrier,
    Fault,
    Hold,
    Mark,
    Pause,
    Peek,
    Poke,
    Post,
    Repeat,
    Send,
    Stimulus,
)
from ringhil.protocol import registers, wire

# What a node may not do while it rests, by bits of moved_o.
_MOVES = (
    "the node changed an output of a link, or handed its firmware something",
    "the node changed `mtx_ready_o` or the register that was being read",
    "the node stopped resting, or changed the time at which it will",
)
_LEVELS = BIT["up"] | BIT["fault"]


@dataclass
class Observed:
    """All that a node did in answer to a stimulus.

    | field | |
    |---|---|
    | `arrived`, `left` | by link: frames in both directions, with their cycles |
    | `mail` | frames handed to the firmware |
    | `levels` | by link: (cycle, carrier, remote fault) whenever one of the node's changed |
    | `credits` | by link: cycles in which the node gave a credit |
    | `granted` | by link: cycles in which it was given one |
    | `peeks` | (cycle, register, value) |
    | `done` | (cycle, action): when each action was begun |
    | `status` | (cycle, value) of that register whenever it was seen to change |
    | `registers` | all registers after the last cycle |
    | `breaches` | rules of the link and of its rest that the node broke |
    | `unfinished` | (link, channel) into which a frame was begun and not ended |
    | `rests` | it said after the last cycle that it is quiescent |
    | `leaped` | cycles that were passed over |
    """

    arrived: dict[str, list[RingFrame]] = field(default_factory=lambda: {link: [] for link in wire.LINKS})
    left: dict[str, list[RingFrame]] = field(default_factory=lambda: {link: [] for link in wire.LINKS})
    mail: list[Mail] = field(default_factory=list)
    levels: dict[str, list[tuple[int, bool, bool]]] = field(default_factory=lambda: {link: [] for link in wire.LINKS})
    credits: dict[str, list[int]] = field(default_factory=lambda: {link: [] for link in wire.LINKS})
    granted: dict[str, list[int]] = field(default_factory=lambda: {link: [] for link in wire.LINKS})
    peeks: list[tuple[int, str | int, int]] = field(default_factory=list)
    done: list[tuple[int, Action]] = field(default_factory=list)
    registers: dict[str, int] = field(default_factory=dict)
    breaches: list[Breach] = field(default_factory=list)
    status: list[tuple[int, int]] = field(default_factory=list)
    unfinished: set[tuple[str, str]] = field(default_factory=set)
    rests: bool = False
    leaped: int = 0

    def status_at(self, cycle: int) -> int:
        """The register `status` as it was in a cycle or, if another one was being read or written then, before that."""
        place = bisect_right(self.status, cycle, key=lambda change: change[0])
        return self.status[place - 1][1] if place else 0


class _Watch:
    """Level changes and credits of one link."""

    def __init__(self, observed: Observed, link: str) -> None:
        self._levels, self._credits, self._last = observed.levels[link], observed.credits[link], BIT["up"]

    def __call__(self, bits: int, cycle: int) -> None:
        if bits & BIT["credit"]:
            self._credits.append(cycle)
        if bits & _LEVELS != self._last:
            self._last = bits & _LEVELS
            self._levels.append((cycle, bool(bits & BIT["up"]), bool(bits & BIT["fault"])))


class _Granted:
    """Credits that the node was given by one link."""

    def __init__(self, cycles: list[int]) -> None:
        self._cycles = cycles

    def __call__(self, bits: int, cycle: int) -> None:
        if bits & BIT["credit"]:
            self._cycles.append(cycle)


class StimulusPlayer:
    """Plays stimuli to the node of one bench, one after the other, each from reset.

    With `leap`, cycles in which the node says that nothing happens are passed over (quiescence contract); what is
    observed must be the same.
    """

    def __init__(self, bench: NodeBench) -> None:
        self._bench = bench

    async def play(self, stimulus: Stimulus, *, leap: bool = False) -> Observed:
        """Play it and look."""
        bench, observed = self._bench, Observed()
        await bench.start(card=stimulus.card, node=stimulus.node, size=stimulus.size, now=stimulus.start)
        for link, port in bench.ports.items():
            port.arriving.on_frame.append(observed.arrived[link].append)
            port.arriving.on_bits.append(_Granted(observed.granted[link]))
            port.sink.monitor.on_frame.append(observed.left[link].append)
            port.sink.monitor.on_breach.append(observed.breaches.append)
            port.sink.monitor.on_bits.append(_Watch(observed, link))
        for reader in bench.mailbox.readers:
            reader.on_mail.append(observed.mail.append)
        watches = [cocotb.start_soon(watch(observed)) for watch in (self._watch_status, self._watch_rest)]
        for action in stimulus.actions:
            await self._until(action.at, leap)
            observed.done.append((bench.cycle(), action))
            await self._do(action, observed)
        await self._until(stimulus.cycles, leap)
        for watch in watches:
            watch.cancel()
        observed.rests = bool(bench.quiescent.read())
        for link, port in bench.ports.items():
            observed.unfinished |= {(link, c) for c in ("control", "data") if port.arriving.unfinished(c)}
        for register in registers.ADDRESS:
            observed.registers[register] = await bench.registers.read(register)
        observed.leaped = bench.leaped
        return observed

    async def _until(self, cycle: int, leap: bool) -> None:
        bench = self._bench
        while leap and bench.cycle() + 4 < cycle:
            await bench.leap(cycle)
        await bench.wait(cycle - bench.cycle())

    async def _watch_status(self, observed: Observed) -> None:
        bench, port = self._bench, self._bench.registers
        change, last = ValueChange(port.rdata.handle), -1
        while True:
            await bench.edge
            if not port.watching:
                continue  # it shows what is being read or written
            if (value := port.rdata.read()) != last:
                last = value
                observed.status.append((bench.cycle(), value))
            else:
                await change

    async def _watch_rest(self, observed: Observed) -> None:
        bench, change = self._bench, ValueChange(self._bench.moved.handle)
        while True:
            await change
            moved = bench.moved.read()
            for bit, what in enumerate(_MOVES):
                if moved >> bit & 1:
                    observed.breaches.append(Breach("quiescence.still", bench.cycle(), f"{what}, although it rested"))

    async def _do(self, action: Action, observed: Observed) -> None:
        bench = self._bench
        match action:
            case Send(_, link, frame):
                bench.ports[link].source.send_nowait(frame)
            case Post(_, port, data, finished, begun):
                bench.mailbox.send_nowait(port, data, finished=finished, begun=begun)
            case Fault(_, name, on):
                bench.set_fault(name, on)
            case Poke(_, register, value):
                await bench.registers.write(register, value)
            case Peek(_, register):
                value = await bench.registers.read(register)
                observed.peeks.append((bench.cycle(), register, value))
            case Repeat(_, sends, every, times):
                await bench.repeat(_script(sends, every), times)
            case Carrier(_, link, up):
                bench.ports[link].cut(not up)
            case Mark(_, link, on):
                bench.ports[link].mark(on)
            case Hold(_, link, cycles):
                sink = bench.ports[link].sink
                sink.set_hold_generator(repeat(max(cycles, 0)))
                sink.pause = cycles < 0
                if not sink.pause:
                    sink.resume()
            case Pause(_, link, on):
                source = bench.ports[link].source
                source.pause = on
                source.refresh()


def _script(sends: Iterable[Send], every: int) -> list[int]:
    """Words of the bench's script, by cycle: the flits of each link."""
    words = [0] * every
    for send in sends:
        place = 72 * [str(link) for link in wire.LINKS].index(send.link)
        for number, flit in enumerate(send.frame.flits()):
            bits = BIT["valid"] | BIT["data"] * (send.frame.channel == "data") | BIT["sof"] * flit.sof
            bits |= BIT["eof"] * flit.eof | BIT["err"] * flit.err
            words[(send.at + number) % every] |= (flit.data | bits << 64) << place
    return words
