"""Seeded trouble for engines, and the comparison of engines that were given the same of it.

An action is a cycle and something done to an engine before that cycle. The same list of actions is played to
several engines side by side; `differing` looks at every wire after every cycle.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ringhil.emulator.engine.engine import TO_CPU, Engine, Events
from ringhil.emulator.host.work import segments
from ringhil.protocol import codec, crc, frames, registers, wire
from ringhil.protocol.wire import Port

PORT_NAMES = ("port 1", "port 2", "CPU port", "boundary port")
NODE_FAULTS = tuple(registers.FaultBit.codes())

Do = Callable[[Engine], None]
Told = tuple[int, int, int, int, int, bytes]


@dataclass(frozen=True)
class Action:
    """`do` is applied when the engine's next cycle is `cycle`; `what` names it in a failure."""

    cycle: int
    what: str
    do: Do


# ---------------------------------------------------------------------------------------------------- frames


def statistics(
    gpus: int,
    origin: int,
    sequence: int,
    *,
    ccw: bool = False,
    records: bool = True,
    flags: int = 0,
    ttl: int = 0,
    card: int = 0,
) -> bytes:
    """A census as the firmware of GPU `origin` sends it; TTL as for one time round unless given."""
    bits = flags | wire.Flag.CCW * ccw | wire.Flag.WITH_RECORDS * records
    fields = (card, bits, ttl or gpus + 1, origin, 1, sequence, 1, gpus, wire.MAX_RING, 0)
    return codec.encode(frames.Statistics(*fields, (own_record(origin, sequence),) if records else ()))


def own_record(gpu: int, sequence: int) -> frames.Record:
    """The record with which the origin of a census begins."""
    head = (gpu, 1, wire.GpuState.WORKING.code, 0, 0, 0, 1, 0, wire.NO_CARD)
    tag = crc.record_tag(1, sequence, frames.Record.HEAD.pack(*head, 0))
    return frames.Record(*head, tag)


def unit(
    gpus: int,
    home: int,
    number: int,
    size: int,
    content: bytes,
    *,
    ccw: bool = False,
    kind: int = 0,
    card: int = 0,
    source_card: int = 0,
) -> list[bytes]:
    """A work unit of `size` bytes for GPU `home` of `card`, cut into its frames; results go to `source_card`."""
    parts = [content[i : min(i + wire.SEGMENT_BYTES, size)] for i in range(0, size, wire.SEGMENT_BYTES)]
    answer = []
    for segment, part in enumerate(parts):
        last = segment == len(parts) - 1
        flags = wire.Flag.LAST * last | wire.Flag.CCW * ccw
        head = (card, flags, gpus + 1, home, 1, number, 0, 0, segment, len(part), size, kind, source_card, 0)
        answer.append(codec.encode(frames.Work(*head, part + bytes(-len(part) % wire.FLIT_BYTES))))
    return answer


# -------------------------------------------------------------------------------------------------- stimulus


class Trouble:
    """Random actions on `cards` cards of `gpus` GPUs: messages, work, garbage, register writes and faults.

    GPU 0 of each card is the entry throughout. Faults come with their end, so that a card keeps coming back to
    life. `crossings`: the wired boundary ports, as in Topology; they are open, now and then to nowhere.
    """

    def __init__(self, seed: int, gpus: int, cards: int = 1, crossings: tuple[tuple[int, int], ...] = ()) -> None:
        self.random = random.Random(f"{seed} {gpus}")
        self.gpus, self.cards = gpus, cards
        self.sequence = 0
        self.actions: list[Action] = []
        for card in range(cards):
            self.add(0, f"GPU 0 of card {card} is the entry", poking(card * gpus, "control", 0b0111))
            self.add(0, f"card {card} has exits", poking(card * gpus, "exits", 2**cards - 1))
        self.ports = [cell for pair in crossings for cell in pair]
        for a, b in crossings:
            for cell, peer in ((a, b // gpus), (b, a // gpus)):
                self.add(0, f"GPU {cell} speaks to card {peer}", poking(cell, "control", 0b1000))
                self.add(0, f"GPU {cell} speaks to card {peer}", poking(cell, "crossings", 1 << peer))

    def __call__(self, cycles: int, pause: int) -> list[Action]:
        """Actions for `cycles` cycles, on average `pause` cycles apart, in order."""
        kinds = [self.census, self.stale, self.garbage, self.work, self.register, self.fault, self.cut, self.noise]
        kinds += [self.delay, self.command]
        weights = [8, 2, 2, 8, 2, 4, 2, 1, 1, 8]
        cycle = 0
        while (cycle := cycle + 1 + int(self.random.expovariate(1 / pause))) < cycles:
            self.random.choices(kinds, weights)[0](cycle)
        return sorted(self.actions, key=lambda a: a.cycle)

    def add(self, cycle: int, what: str, do: Do) -> None:
        self.actions.append(Action(cycle, what, do))

    def gpu(self) -> int:
        return self.random.randrange(self.gpus)

    def cell(self) -> int:
        return self.random.randrange(self.gpus * self.cards)

    def for_a_while(self, cycle: int, what: str, switch: Callable[[Engine, bool], None]) -> None:
        """Switches something on, and off again."""
        until = cycle + self.random.choice([1, 7, 40, 200, 900])
        self.add(cycle, f"{what} on", lambda e: switch(e, True))
        self.add(until, f"{what} off", lambda e: switch(e, False))

    def census(self, cycle: int) -> None:
        self.sequence += 1
        cell, records = self.cell(), self.random.random() < 0.7
        card, origin = divmod(cell, self.gpus)
        both = self.random.random() < 0.7
        for ccw in (False, True) if both else (self.random.random() < 0.5,):
            frame = statistics(self.gpus, origin, self.sequence, ccw=ccw, records=records, card=card)
            self.mail(cycle, cell, int(ccw), frame)

    def mail(self, cycle: int, gpu: int, port: int, frame: bytes) -> None:
        at = cycle + self.random.choice([0, 0, 3, 30])
        self.add(cycle, f"mail of GPU {gpu}", lambda e: e.send_mail(gpu, port, frame, at=at))

    def stale(self, cycle: int) -> None:
        """What an earlier entry left behind: circulating, wrapped, short-lived, of nobody, for the CPU."""
        flags = self.random.choice([0, wire.Flag.CIRCULATING, wire.Flag.WRAPPED])
        ttl = self.random.choice([1, 2, self.gpus, 3 * self.gpus])
        origin, port = self.random.choice([self.gpu(), self.gpus + 5]), self.random.choice(list(Port.codes().values()))
        frame = statistics(self.gpus, origin, 0, ccw=port == 1, flags=flags, ttl=ttl)
        self.mail(cycle, self.cell(), port, frame)

    def garbage(self, cycle: int) -> None:
        """Flits without sense, from a mailbox or from the CPU; long ones overrun every buffer."""
        flits = self.random.choice([1, 2, 3, 5, 9, 30, 60, 200])
        # With any TTL it would go round for a quarter of a million cycles and drown the rest.
        head = self.random.randbytes(4) + self.random.randrange(3 * self.gpus).to_bytes(2, "big")
        frame = head + self.random.randbytes(flits * wire.FLIT_BYTES - len(head))
        gpu = self.cell()
        if self.random.random() < 0.6 and flits <= 30:
            self.mail(cycle, gpu, self.random.choice(list(Port.codes().values())), frame)
        else:
            self.add(cycle, f"garbage for GPU {gpu}", lambda e: e.send_from_cpu(gpu, [frame], at=cycle))

    def work(self, cycle: int) -> None:
        self.sequence += 1
        size = self.random.randint(1, 700)
        kind = self.random.choice([0] * 9 + [7])
        ccw = self.random.random() < 0.5
        card, via = self.random.randrange(self.cards), self.random.randrange(self.cards)
        where = {"card": card, "source_card": via}
        parts = unit(
            self.gpus, self.gpu(), self.sequence, size, self.random.randbytes(size), ccw=ccw, kind=kind, **where
        )
        if self.random.random() < 0.1:
            parts.pop(self.random.randrange(len(parts)))
        if self.random.random() < 0.1 and parts:
            parts[0] = damaged(parts[0], self.random)
        into = via * self.gpus if self.random.random() < 0.9 else self.cell()
        self.add(cycle, f"work through GPU {into}", lambda e: e.send_from_cpu(into, parts, at=cycle))

    def command(self, cycle: int) -> None:
        """To a few contexts of any GPU, created now and then; some come twice, by two ways."""
        self.sequence += 1
        kinds = [*wire.Compute][1:]
        kind = self.random.choice([*kinds, wire.Compute.CREATE, wire.Compute.LAUNCH, wire.Compute.LAUNCH])
        size = self.random.choice([0, 0, 0, 8, 500]) if kind is wire.Compute.COPY else 0
        key, amount = self.random.choice([5, 5, 5, 0, 6]), self.random.choice([0, 3, 20, 100, 700])
        settings = {"slice": self.random.choice([0, 16, 90]), "priority": self.random.randrange(3), "state": 0}
        head = wire.Command.build({"key": key, "amount": amount, **settings})
        card, via = self.random.randrange(self.cards), self.random.randrange(self.cards)
        gpu, context = self.gpu(), self.random.choice([1, 1, 2, 15])
        for ccw in self.random.choice([(False,), (True,), (False, True)]):
            route = segments.Route(card, via, 0, gpu, ccw, self.gpus + 1, 1)
            parts = segments.segments(self.sequence, 0, head + bytes(size), route, kind, context)
            self.send(cycle, via * self.gpus, parts)

    def send(self, cycle: int, cell: int, parts: list[bytes]) -> None:
        self.add(cycle, f"a command through GPU {cell}", lambda e: e.send_from_cpu(cell, parts, at=cycle))

    def register(self, cycle: int) -> None:
        name, values = self.random.choice(
            [
                ("weight", [1, 5, 65535]),
                ("gpu_type", [0, 3]),
                ("watchdog", [8, 64, 300]),
                ("heartbeat", [0, 50, 700, 16384]),
                ("allowance", [0, 1, 16]),
                ("allowance_period", [10, 200, 1024]),
                ("link_restore", [130, 131, 200, 500]),  # more than a round trip on the longest link
                ("compute_setup", [0, 1, 32, 900]),
                ("compute_per_flit", [0, 1, 9]),
                ("gpu_restore", [0, 1, 64, 300]),
                ("exits", [0, 2**self.cards - 1]),
                ("crossings", [0, 1, 2, 2**self.cards - 1]),
                ("boundary_peer", [0, 1, 255]),
                ("memory", [0, 77]),
                ("device_memory", [0, 40, 65536]),
                ("context_switch", [0, 1, 150]),
                ("default_slice", [0, 50, 2000]),
                ("control", [0b0001, 0b0011, 0b1101]),
            ]
        )
        gpu = self.cell()
        value = self.random.choice(values)
        if name == "control" and gpu % self.gpus:
            value = self.random.choice([0, 2, 6, 8, 8, 24])
        self.add(cycle, f"{name} of GPU {gpu} = {value}", poking(gpu, name, value))

    def fault(self, cycle: int) -> None:
        gpu, name = self.cell(), self.random.choice(NODE_FAULTS)
        self.for_a_while(cycle, f"{name} of GPU {gpu}", lambda e, on: e.set_fault(gpu, name, on))

    def cut(self, cycle: int) -> None:
        gpu = self.cell()
        after = gpu + 1 if (gpu + 1) % self.gpus else gpu + 1 - self.gpus
        one_way = self.random.choice([*registers.LinkFaultBit.codes()])
        if self.random.random() < 0.6:
            self.for_a_while(cycle, f"cut {gpu}-{after}", lambda e, on: e.cut_link(gpu, after, on))
        else:
            self.for_a_while(cycle, f"{one_way} of GPU {gpu}", lambda e, on: e.set_link_fault(gpu, one_way, on))

    def noise(self, cycle: int) -> None:
        gpu, port, share = self.cell(), self.random.randrange(4), self.random.choice([30, 700, 9000, 65535])
        self.for_a_while(
            cycle, f"bit errors at GPU {gpu}", lambda e, on: e.set_bit_errors(gpu, port, share if on else 0)
        )

    def delay(self, cycle: int) -> None:
        gpu, port, late = self.cell(), self.random.randrange(4), self.random.choice([1, 2, 7, 40, 63])
        self.for_a_while(cycle, f"delay at GPU {gpu}", lambda e, on: e.set_delay(gpu, port, late if on else 0))


def poking(gpu: int, register: str, value: int) -> Do:
    """Writes a register."""
    return lambda e: e.poke(gpu, register, value)


def damaged(frame: bytes, rng: random.Random) -> bytes:
    """One bit of `frame` flipped."""
    bit = 1 << rng.randrange(8 * len(frame))
    return (int.from_bytes(frame, "big") ^ bit).to_bytes(len(frame), "big")


# ------------------------------------------------------------------------------------------------ comparison


def told(events: Events) -> list[Told]:
    """Events with their frames, to keep and to compare."""
    return [
        (*(int(row[name]) for name in ("cycle", "cell", "kind", "port", "bad")), events.frame(row))  # type: ignore[misc]
        for row in events.table
    ]


@dataclass
class Seen:
    """What a comparison went over, so that a test can tell that something happened at all."""

    node_cycles: int = 0
    flits: int = 0
    events: int = 0


def differing(engines: Sequence[Engine], actions: Iterable[Action], cycles: int, seen: Seen | None = None) -> str:
    """Run all engines `cycles` cycles, the same done to each; where the first wire or event differs, or ""."""
    seen = seen or Seen()
    first = engines[0]
    end = first.now + cycles
    pending = [a for a in actions if first.now <= a.cycle < end]
    done: list[Action] = []
    while first.now < end:
        while pending and pending[0].cycle <= first.now:
            done.append(pending.pop(0))
            for engine in engines:
                done[-1].do(engine)
        until = min(end, pending[0].cycle if pending else end, first.now + 4096)
        if where := _differing_trace(engines, until - first.now, seen):
            return f"{where}; before that: " + ", ".join(f"{a.what} at {a.cycle}" for a in done[-5:])
    return ""


def _differing_trace(engines: Sequence[Engine], cycles: int, seen: Seen) -> str:
    start = engines[0].now
    data, ctl = engines[0].trace(cycles)
    events = told(engines[0].events())
    seen.node_cycles += ctl.shape[0] * ctl.shape[1]
    seen.flits += int(np.count_nonzero(ctl & wire.LinkBit.VALID))
    seen.events += len(events)
    for which, engine in enumerate(engines[1:], 1):
        other_data, other_ctl = engine.trace(cycles)
        if not (np.array_equal(data, other_data) and np.array_equal(ctl, other_ctl)):
            cycle, cell, port = np.argwhere((data != other_data) | (ctl != other_ctl))[0]
            at = (cycle, cell, port)
            values = f"{data[at]:016x}/{ctl[at]:02x} and {other_data[at]:016x}/{other_ctl[at]:02x}"
            return f"engine {which}: cycle {start + cycle}, GPU {cell}, {PORT_NAMES[port]}: {values}"
        others = told(engine.events())
        if events != others:
            pairs = zip([*events, None], [*others, None], strict=False)
            return f"engine {which}: events differ: {next(p for p in pairs if p[0] != p[1])}"
    return ""


def differing_registers(engines: Sequence[Engine]) -> str:
    """The first register that doesn't read the same in every engine, or ""."""
    for cell in range(engines[0].topology.cells):
        for name in registers.ADDRESS:
            values = [engine.peek(cell, name) for engine in engines]
            if len(set(values)) > 1:
                return f"{name} of GPU {cell} reads {values}"
    return ""


# ---------------------------------------------------------------------------------------------------- looking


def status(engine: Engine, cell: int) -> set[str]:
    """The bits that are set in a GPU's status register."""
    value = engine.peek(cell, "status")
    return {bit.word for bit in registers.StatusBit if value & bit}


def run_for(engine: Engine, cycles: int) -> list[Told]:
    """Run so many cycles, whatever happens in them."""
    return told(engine.run(engine.now + cycles, lookahead=cycles))


def results(events: Iterable[Told]) -> list[tuple[int, frames.Result]]:
    """Undamaged results that reached the CPU, in order, each with its cycle."""
    arrived = [(e[0], codec.decode(e[-1], link=False)) for e in events if e[2] == TO_CPU and not e[4]]
    return [(cycle, frame) for cycle, frame in arrived if isinstance(frame, frames.Result)]


def digest(content: bytes) -> int:
    """What a work unit's result must hold: CRC 32 and sum of 32-bit words of the content, padded to whole flits."""
    padded = content + bytes(-len(content) % wire.FLIT_BYTES)
    words = (int.from_bytes(padded[i : i + 4], "big") for i in range(0, len(padded), 4))
    return crc.crc32(padded) << 32 | sum(words) & 0xFFFFFFFF


def reset_value(register: str) -> int:
    """Of a register, at power-up."""
    return next(r.reset for r in registers.REGISTERS if r.name == register)
