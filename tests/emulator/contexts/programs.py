"""Random programs of commands to the contexts of one GPU, by all ways in, with plain work and faults between them."""

import random
from dataclasses import dataclass, replace

from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Work
from ringhil.protocol.wire import Compute, Port, Query

from .ring import ENTRY, GPU, RING, START, Change, Program, Sent

WAYS = (Port.CW, Port.CCW, Port.CPU)
FAULTS = ("none", "slow", "hang", "dead")
_WORD = 2**32
_MANAGER = 0
_COMMANDS = {
    Compute.CREATE: 3,
    Compute.CONFIGURE: 4,
    Compute.DESTROY: 1,
    Compute.ALLOCATE: 6,
    Compute.FREE: 4,
    Compute.COPY: 4,
    Compute.LAUNCH: 14,
    Compute.CANCEL: 6,
    Compute.QUERY: 8,
}
# Registers, and what is written into them, before a program and in its course.
WRITTEN = {
    "device_memory": (64, 200),
    "context_switch": (0, 0, 1, 7, 150),
    "default_slice": (0, 19, 64, 300),
    "compute_setup": (0, 1, 32, 200),
    "compute_per_flit": (0, 1, 3),
    "run_power": (0, 1, 300, 0xFFFF),
    "idle_power": (0, 1, 50, 0xFFFF),
    "low_power": (0, 1, 7),
    "off_power": (0, 1),
    "low_after": (0, 0, 1, 20, 150),
    "off_after": (0, 0, 1, 20, 100, 500),
    "low_wake": (0, 1, 16, 100),
    "off_wake": (0, 1, 30, 700),
}

# What often comes next to the same context.
_AFTER = {
    Compute.LAUNCH: (Compute.CANCEL, Compute.CANCEL, Compute.CANCEL, Compute.LAUNCH, Compute.QUERY),
    Compute.DESTROY: (Compute.CREATE, Compute.CREATE, Compute.LAUNCH),
    Compute.CREATE: (Compute.ALLOCATE, Compute.LAUNCH, Compute.QUERY),
}


@dataclass(frozen=True)
class Order:
    """A command as it is sent, to be sent again."""

    compute: Compute
    context: int
    unit: int
    data: bytes


def payload(key: int, amount: int, cycles: int = 0, priority: int = 0, state: int = 0) -> bytes:
    """The first 16 bytes of a command."""
    fields = {"key": key, "amount": amount, "slice": cycles, "priority": priority, "state": state}
    return bytes(wire.Command.build(fields))


def frames(way: Port, order: Order, epoch: int = 1, attempt: int = 0, sizes: tuple[int, ...] = ()) -> list[bytes]:
    """Segments of a unit, of `sizes` bytes the first ones, the rest as long as may be."""
    left, answer = order.data, []
    home = GPU if way is Port.CPU else ENTRY
    cuts = [*sizes]
    while left or not answer:
        size = cuts.pop(0) if cuts else wire.SEGMENT_BYTES
        part, left = left[:size], left[size:]
        flags = (0 if left else wire.Flag.LAST) | (wire.Flag.CCW if way is Port.CCW else 0)
        head = (0, flags, RING + 1, GPU, epoch, order.unit, home, attempt, len(answer), len(part), len(order.data))
        work = Work(*head, order.compute.code, 0, order.context, part + bytes(-len(part) % wire.FLIT_BYTES))
        answer.append(codec.encode(work))
    return answer


class Author:
    """Writes a program of `length` units; the same for the same seed."""

    def __init__(self, seed: int, length: int = 50, fault: str | None = None) -> None:
        self.random = random.Random(f"contexts {seed}")
        self.fault = fault or self.random.choice(("none", "none", "none", *FAULTS[1:]))
        self.contexts = self.random.sample(range(1, wire.CONTEXTS), self.random.choice([1, 2, 3, 5]))
        self.keys = {c: self.random.choice([5, 6, 0xDEADBEEF]) for c in self.contexts}
        base = self.random.choice([1, 1000, _WORD - 20])  # the numbers begin again in the middle of some
        self.unit = base
        self.orders: list[Order] = []
        self.program = Program(
            {
                **{name: self.random.choice(values) for name, values in WRITTEN.items()},
                "heartbeat": 0,
                "gpu_restore": self.random.choice([8, 64]),
            },
            delay=self.random.choice([0, 0, 0, 30, 63]),
        )
        self.pace = self.random.choice([1, 1, 8, 40, 200])  # cycles between units
        self.plain = self.random.choice([0, 0.1, 0.3, 0.6])
        self.longest = self.random.choice([20, 400, 3000])  # of a launch
        self.free = dict.fromkeys(WAYS, START)
        self.write(length)

    def write(self, length: int) -> None:
        """Contexts first, mostly; then anything."""
        cycle = START
        for context in self.contexts:
            self.send(cycle, self.order(Compute.CREATE, context, self.keys[context]))
            cycle += 20
        for _ in range(length):
            cycle += int(self.random.expovariate(1 / self.pace)) + self.random.choice([0, 0, 0, 0, 300, 1500])
            self.send(cycle, self.anything())
        self.troubles(cycle)

    def anything(self) -> Order:
        """A new command, an earlier one, or plain work."""
        draw = self.random.random()
        if draw < self.plain:
            self.unit = (self.unit + 1) % _WORD
            plain = self.random.choice([Compute.DIGEST] * 9 + [Compute.CREATE])
            data = self.random.randbytes(self.random.choice([1, 8, 15, 100, 300]))
            return Order(plain, self.random.choice([0, 3]), self.unit, data)
        if draw < self.plain + 0.12 and self.orders:
            again = self.random.choice(self.orders[-6:] if self.random.random() < 0.8 else self.orders)
            if self.random.random() < 0.2:  # by somebody else
                key = self.random.choice([_MANAGER, 6, 9])
                again = replace(again, data=key.to_bytes(4, "big") + again.data[4:])
            return again
        if self.last.context in self.keys and self.random.random() < 0.5 and (after := _AFTER.get(self.last.compute)):
            return self.order(self.random.choice(after), self.last.context, self.keys[self.last.context])
        compute = self.random.choices([*_COMMANDS], [*_COMMANDS.values()])[0]
        context = self.random.choice(self.contexts if self.random.random() < 0.95 else [0, 15, 16, 300])
        own = self.keys.get(context, 5)
        key = self.random.choice([own] * 10 + [_MANAGER, 7])
        if compute is Compute.CONFIGURE and key == own and self.unit % 4:  # others may not
            key = _MANAGER
        if compute is Compute.CREATE and self.random.random() < 0.1:
            key = self.keys[context] = self.random.choice([6, 9])
        return self.order(compute, context, key)

    def order(self, compute: Compute, context: int, key: int) -> Order:
        """A new command, with the next number or one of a few after it; some have the last one's, or another's."""
        draw = self.random.random()
        step = self.random.choice([0, -1, 2**31, 2**31 - 1]) if draw < 0.03 else self.random.choice([1, 1, 1, 5])
        unit = (self.unit + step) % _WORD
        if draw >= 0.03:
            self.unit = unit
        extra = b""
        if compute is Compute.COPY:
            extra = self.random.randbytes(self.random.choice([0, 8, 100, 240, 241, 700]))
        cycles = self.random.choice([0, 0, 5, 16, 18, 20, 33, 150, 1000])
        more = (cycles, self.random.choice([0, 0, 1, 200]), self.random.choice([0, 0, 1, 50]))
        order = Order(compute, context, unit, payload(key, self.amount(compute), *more) + extra)
        if compute is not Compute.COPY and self.random.random() < 0.05:
            order = Order(compute, context, unit, order.data[: self.random.choice([8, 15, 16])] + bytes(8))
        self.orders.append(order)
        self.last = order
        return order

    def amount(self, compute: Compute) -> int:
        """Pages, cycles, or what is asked for."""
        if compute is Compute.LAUNCH:
            return min(self.random.choice([0, 1, 15, 16, 17, 40, 100, 333, 1000, 3000]), self.longest)
        if compute is Compute.QUERY:
            return self.random.choice([*Query.codes().values(), 9])
        return self.random.choice([0, 1, 5, 20, 50, 64, 150, _WORD - 1 if self.random.random() < 0.3 else 10])

    def send(self, cycle: int, order: Order) -> None:
        """By one of the ways; now and then damaged, or without one of its segments."""
        way = self.random.choice(WAYS)
        sizes = tuple(self.random.choice([8, 16, 24, 200]) for _ in range(self.random.choice([0, 0, 1, 2])))
        epoch, attempt = self.random.choice([1, 1, 2]), self.random.choice([0, 0, 1])
        parts = frames(way, order, epoch, attempt, sizes if len(order.data) > 16 else ())
        if self.random.random() < 0.03:
            parts.pop(self.random.randrange(len(parts)))
        if parts and self.random.random() < 0.03:
            broken = bytearray(parts[0])
            broken[self.random.randrange(8, len(broken) - 8)] ^= 1 << self.random.randrange(8)
            parts[0] = bytes(broken)
        if not parts:
            return
        if way is Port.CPU:  # no more than the buffer of its link has room for
            cycle = max(cycle, self.free[way])
            self.free[way] = cycle + 45 * len(parts) + 200
            if len(parts) > 3:
                return
        self.program.sent.append(Sent(cycle, way, tuple(parts)))

    def troubles(self, end: int) -> None:
        """The fault comes and goes; registers are written; somebody looks at the meter."""
        self.program.looks += self.random.sample(range(START, end + 1), 40)
        for _ in range(self.random.choice([0, 0, 10, 30])):
            name = self.random.choice([*WRITTEN])
            value = self.random.choice(WRITTEN[name])
            self.program.changes.append(Change(self.random.randrange(START, end + 1), name, value, register=True))
        if self.fault == "none":
            return
        cycle = START + self.random.randrange(100, 600)
        while cycle < end:
            until = cycle + self.random.choice([1, 2, 3, 40, 500])
            self.program.changes += [Change(cycle, self.fault, 1), Change(until, self.fault, 0)]
            cycle = until + self.random.randrange(50, 1500)
