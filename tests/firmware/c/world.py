"""A world of groups, wires and a CPU in which each GPU's firmware runs twice: ours and the one in C, told the same.

Wires lose, delay, double and damage what they carry, GPUs crash and come back, links are cut. Whatever the two say must
be the same; and what is promised of elections is watched besides: one entry GPU at a time, each epoch granted once.
"""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from ringhil.emulator.loop.far import FarFirmware
from ringhil.emulator.server.foreign import Maker
from ringhil.firmware.actions import Action
from ringhil.firmware.boot import Boot, our_program
from ringhil.firmware.census import CensusConfig
from ringhil.firmware.commands import CancelTimer, Remember, Send, SetTimer, Write
from ringhil.firmware.election import GroupConfig
from ringhil.firmware.gpu import CrossingConfig, GpuProgram
from ringhil.firmware.grantor import Grantor
from ringhil.firmware.observations import Deposed, Elected, Granted
from ringhil.protocol import codec, crc, wire
from ringhil.protocol.frames import Election, Keepalive, Record, Statistics
from ringhil.protocol.wire import Port, Role

TIMERS = {"entry.tick": "0", "entry.wake": "1", "boundary.tick": "2", "boundary.wake": "3", "period": "4"}
TIMERS["timeout"] = "5"
_NAMES = {number: name for name, number in TIMERS.items()}
Place = tuple[int, int]


def alike(actions: list[Action]) -> list[Action]:
    """What has to be the same of what both say: timers have other names, and `Remember` is a write."""
    out = list[Action]()
    for action in actions:
        match action:
            case SetTimer(name, delay):
                out.append(SetTimer(TIMERS.get(name, name), delay))
            case CancelTimer(name):
                out.append(CancelTimer(TIMERS.get(name, name)))
            case Remember():
                pass
            case _:
                out.append(action)
    return out


@dataclass
class Times:
    """One group's; drawn so that they are valid."""

    interval: int
    multiplier: int
    jitter: int
    slack: int
    skew: int
    guard: int
    wait_to_restore: int

    @classmethod
    def drawn(cls, dice: random.Random) -> "Times":
        multiplier, interval = dice.randrange(1, 5), dice.randrange(40, 200)
        room = interval - 1  # of slack and jitter together
        jitter = dice.randrange(0, min(interval // 4, room // (multiplier + 1)) + 1)
        slack = dice.randrange(0, max(1, room - (multiplier + 1) * jitter))
        return cls(
            interval,
            multiplier,
            jitter,
            slack,
            dice.randrange(0, 40),
            dice.randrange(0, 60),
            dice.randrange(0, 5 * interval),
        )


class Gpu:
    """One GPU with both programs."""

    def __init__(self, world: "World", place: Place) -> None:
        self.world, self.place = world, place
        self.boots = self.memory = 0
        self.alive = False
        self.ours: GpuProgram
        self.theirs: FarFirmware
        self.timers: dict[str, int] = {}
        self._settings = 0

    def boot(self) -> None:
        self.boots, self.alive = self.boots + 1, True
        boot = self.world.boot(self.place, self.boots, self.memory)
        self.ours, self.theirs = our_program(boot), self.world.made(boot)  # type: ignore[assignment]
        self._do(self.ours.start(self.world.now), self.theirs.start(self.world.now))

    def crash(self) -> None:
        self.alive = False
        self.timers.clear()

    def frame(self, frame: bytes, port: int, bad: bool) -> None:
        if self.alive:
            now = self.world.now
            self._do(self.ours.on_frame(frame, port, bad, now), self.theirs.on_frame(frame, port, bad, now))

    def count_now(self) -> None:
        if self.alive:
            self._do(self.ours.count_now(self.world.now), self.theirs.count_now(self.world.now))

    def _timer(self, name: str, setting: int) -> None:
        if self.timers.get(name) == setting:
            del self.timers[name]
            status, now = self.world.dice.choice((0, 0, 0xFFFFFFFF)), self.world.now
            for program in (self.ours, self.theirs):
                program.on_status(status)
            self._do(self.ours.on_timer(_NAMES[name], now), self.theirs.on_timer(name, now))

    def _do(self, ours: list[Action], theirs: list[Action]) -> None:
        actions = alike(ours)
        assert actions == theirs, f"cycle {self.world.now}, GPU {self.place}"
        for action in actions:
            match action:
                case SetTimer(name, delay):
                    self._settings += 1
                    setting = self.timers[name] = self._settings
                    self.world.after(max(1, delay), lambda name=name, setting=setting: self._timer(name, setting))
                case CancelTimer(name):
                    self.timers.pop(name, None)
                case Write("memory", value):
                    self.memory = value
                case Send(port, frame):
                    self.world.sent(self, port, frame)
                case _:
                    self.world.said(self, action)


class World:
    """Two cards, or one; `seed` says everything. `seen`: how often each kind of thing was said."""

    def __init__(self, made: Maker, seed: int) -> None:
        self.made, self.dice, self.now = made, random.Random(seed), 0
        dice = self.dice
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self.seen: dict[str, int] = {}
        self.gpus = dice.randrange(3, 10)
        self.hosts = tuple(dice.sample(range(self.gpus), dice.randrange(1, min(4, self.gpus))))
        width = dice.randrange(0, min(4, self.gpus))
        self.leaders = tuple(dice.sample(range(self.gpus), width))
        self.wardens = tuple(dice.sample(range(self.gpus), width))
        self.entry, self.crossing = Times.drawn(dice), Times.drawn(dice)
        self.census = (dice.randrange(100, 900), dice.randrange(50, 100), dice.choice((1, 1, 3)), dice.random() < 0.8)
        self.trouble = dice.choice((0, 0.02, 0.1, 0.3))
        self.cut: set[Place] = set()
        self.grantor = Grantor(Role.ENTRY, self._lease(self.entry), self.entry.guard)
        self.holds: tuple[Place, int] | None = None  # the lease of the entry role: who, epoch
        self.granted: set[tuple[str, int]] = set()
        places = {(0, gpu) for gpu in (*self.hosts, *self.leaders)} | {(1, gpu) for gpu in self.wardens}
        self.all = {place: Gpu(self, place) for place in sorted(places)}

    # -------------------------------------------------------------------------------------------------------- time

    def after(self, delay: int, act: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._queue, (self.now + delay, self._order, act))

    def run(self, cycles: int) -> None:
        for gpu in self.all.values():
            self.after(self.dice.choice((0, 0, 0, self.dice.randrange(300))), gpu.boot)
        for _ in range(self.dice.randrange(0, 6) if self.trouble else 0):
            self.after(self.dice.randrange(cycles), self._strike)
        while self._queue and self._queue[0][0] <= cycles:
            self.now, _, act = heapq.heappop(self._queue)
            act()

    def _strike(self) -> None:
        gpu, lasts = self.dice.choice(list(self.all.values())), self.dice.randrange(1, 2500)
        match self.dice.randrange(3):
            case 0 if gpu.alive:
                self._lost(gpu.place)
                gpu.crash()
                self.after(lasts, gpu.boot)
            case 1:
                self.cut.add(gpu.place)
                self.after(lasts, lambda: self.cut.discard(gpu.place))
            case 2:
                gpu.count_now()

    # ------------------------------------------------------------------------------------------------------ configs

    @staticmethod
    def _lease(times: Times) -> int:
        return times.multiplier * times.interval + times.slack

    def boot(self, place: Place, boots: int, memory: int) -> Boot:
        card, gpu = place
        period, timeout, refresh, records = self.census
        config = CensusConfig(card, gpu, self.gpus, 0, period, timeout, records, refresh, 3, gpu + 1, 2)
        config = replace(config, entry_capable=card == 0 and gpu in self.hosts)
        members = self.wardens if card else self.leaders
        entry = self._group(place, boots, Role.ENTRY) if config.entry_capable else None
        boundary = self._group(place, boots, Role.BOUNDARY) if gpu in members else None
        crossing = CrossingConfig(1 - card, 2 - card, bool(card)) if boundary else None
        behind = {1 - card: 2 - card} if members else {}
        return Boot(card, gpu, self.gpus, boots, memory, 77, config, entry, boundary, card == 0, crossing, behind)

    def _group(self, place: Place, boots: int, role: Role) -> GroupConfig:
        card, gpu = place
        times = self.entry if role is Role.ENTRY else self.crossing
        members = self.hosts if role is Role.ENTRY else (self.leaders, self.wardens)[card]
        rank = members.index(gpu)
        far = (0, gpu) if role is Role.ENTRY else (1 - card, (self.wardens, self.leaders)[card][rank])
        return GroupConfig(
            role=role,
            card=card,
            me=gpu,
            rank=rank,
            members=members,
            ring_size=self.gpus,
            uplink=Port.CPU if role is Role.ENTRY else Port.BOUNDARY,
            uplink_card=far[0],
            uplink_home=far[1],
            lease=self._lease(times),
            boots=boots,
            seed=77,
            **vars(times),
        )

    # ------------------------------------------------------------------------------------------------------- wires

    def sent(self, gpu: Gpu, port: Port, frame: bytes) -> None:
        message = codec.decode(frame)
        card, number = gpu.place
        if port is Port.CPU:
            if not isinstance(message, Keepalive | Election):
                self._said("report")
            elif gpu.place not in self.cut:
                self._carry(frame, lambda data, bad: None if bad else self._to_cpu(gpu, data))
        elif port is Port.BOUNDARY:
            rank = (self.leaders, self.wardens)[card].index(number)
            far = self.all[1 - card, (self.wardens, self.leaders)[card][rank]]
            if gpu.place not in self.cut and far.place not in self.cut:
                self._carry(frame, lambda data, bad: far.frame(data, Port.BOUNDARY.code, bad))
        elif isinstance(message, Statistics):
            for home, back in self._home(gpu.place, message, port):
                self._carry(home, lambda data, bad, back=back: gpu.frame(data, back, bad))
        else:
            there = self.all.get((card, message.destination))
            if there is not None:
                self._carry(frame, lambda data, bad: there.frame(data, port.code, bad))

    def _carry(self, frame: bytes, arrives: Callable[[bytes, bool], None]) -> None:
        dice, data, bad = self.dice, frame, False
        for _ in range(2 if dice.random() < self.trouble / 4 else 1):
            if dice.random() < self.trouble:
                match dice.randrange(3):
                    case 0:
                        continue
                    case 1:
                        damaged = bytearray(frame)
                        damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
                        # The link CRC tells the hardware; sometimes only the end-to-end CRC can tell.
                        data, bad = bytes(damaged), dice.random() < 0.7
            slow = dice.random() < self.trouble
            self.after(dice.randrange(5, 300 if slow else 15), lambda data=data, bad=bad: arrives(data, bad))

    def _to_cpu(self, gpu: Gpu, frame: bytes) -> None:
        try:
            message = codec.decode(frame, link=False)
        except codec.FrameError:
            return
        answer: Keepalive | Election | None
        if isinstance(message, Keepalive):
            answer, actions = self.grantor.on_keepalive(self.hosts.index(gpu.place[1]), message, self.now)
        elif isinstance(message, Election):
            answer, actions = self.grantor.on_election(self.hosts.index(gpu.place[1]), message, self.now)
        else:
            return
        for action in alike(actions):
            self.said(gpu, action, by="cpu")
        if answer is not None and gpu.place not in self.cut:
            data = codec.encode(answer)
            self._carry(data, lambda data, bad: gpu.frame(data, Port.CPU.code, bad))

    def _home(self, place: Place, message: Statistics, port: Port) -> list[tuple[bytes, int]]:
        """The message as it comes home, now and then as it mustn't; by which port."""
        dice, size, node, ccw = self.dice, self.gpus, place[1], port is Port.CCW
        sign = -1 if ccw else 1
        wrapped = dice.random() < 0.15
        reach = dice.randrange(1, size) if wrapped else size
        ids = [node] + [(node + sign * step) % size for step in range(1, reach) if dice.random() < 0.9]
        back = port.code ^ (1 if wrapped else 0)
        flags = message.flags | (wire.Flag.WRAPPED if wrapped else 0)
        limit = message.record_limit
        home = replace(message, flags=flags, count=len(ids), records=(), record_limit=limit)
        if message.records:
            records = [self._record(home, message.records[0], gpu, hop, ccw) for hop, gpu in enumerate(ids, 1)]
            home = replace(home, records=(message.records[0], *records[1:]))
        if dice.random() < self.trouble:
            home, back = self._spoilt(home, back)
        twice = [(codec.encode(home), back)] * (2 if dice.random() < self.trouble else 1)
        return [] if dice.random() < self.trouble else twice

    def _record(self, home: Statistics, first: Record, gpu: int, hop: int, ccw: bool) -> Record:
        dice = self.dice
        state = dice.choice((wire.GpuState.WORKING, wire.GpuState.WORKING, wire.GpuState.DEGRADED)).code
        boundary = gpu in self.leaders and dice.random() < 0.5
        flags = (wire.RecordFlag.PORT2 if ccw else 0) | (wire.RecordFlag.BOUNDARY if boundary else 0)
        stamp = (first.stamp + 2 * hop + dice.choice((0, 0, 0, 0, 3, 250))) % 256
        errors = dice.choice((0, 0, 0, 0, 1))
        values = (gpu, hop, state, flags, 0, stamp, dice.choice((1, 1, 4)), errors, 1 if boundary else wire.NO_CARD)
        tag = crc.record_tag(home.epoch, home.sequence, Record.HEAD.pack(*values, 0))
        return Record(*values, tag)

    def _spoilt(self, home: Statistics, back: int) -> tuple[Statistics, int]:
        dice, records = self.dice, list(home.records)
        match dice.randrange(12):
            case 0:
                return home, 1 - back
            case 1:
                return replace(home, flags=home.flags | wire.Flag.CIRCULATING), back
            case 2:
                return replace(home, sequence=home.sequence - 1), back
            case 3:
                return replace(home, origin=(home.origin + 1) % self.gpus), back
            case 4:
                return replace(home, count=max(0, home.count + dice.choice((-1, 1)))), back
            case 5:
                return replace(home, expected=home.expected + 1), back
            case 6:
                return replace(home, flags=home.flags ^ wire.Flag.WRAPPED), back
            case 7:
                return replace(home, epoch=home.epoch + 1), back
            case 8:
                return replace(home, record_limit=home.record_limit | wire.OVERFLOW), back
        if records:
            at = dice.randrange(len(records))
            bits = (wire.RecordFlag.ARRIVED_BAD, wire.RecordFlag.ARRIVED_MARKED)
            change = dice.choice(
                (
                    {"tag": records[at].tag ^ 1},
                    {"hop": records[at].hop + 1},
                    {"id": dice.randrange(self.gpus)},
                    {"flags": records[at].flags | dice.choice(bits)},
                )
            )
            records[at] = replace(records[at], **change)
            home = replace(home, records=tuple(records))
        return home, back

    # ---------------------------------------------------------------------------------------------------- promises

    def said(self, gpu: Gpu, action: Action, by: str = "gpu") -> None:
        self._said(type(action).__name__)
        match action:
            case Elected(Role.ENTRY, epoch):
                assert self.holds is None, f"cycle {self.now}: {gpu.place} and {self.holds} hold it"
                self.holds = (gpu.place, epoch)
            case Deposed(Role.ENTRY, epoch):
                assert self.holds == (gpu.place, epoch)
                self.holds = None
            case Granted(role, epoch):
                name = role if by == "cpu" else f"{role} of {gpu.place}"
                assert (name, epoch) not in self.granted, f"cycle {self.now}: epoch {epoch} of {name} twice"
                self.granted.add((name, epoch))

    def _lost(self, place: Place) -> None:
        """A GPU that crashes holds nothing any more."""
        if self.holds is not None and self.holds[0] == place:
            self.holds = None

    def _said(self, what: str) -> None:
        self.seen[what] = self.seen.get(what, 0) + 1
