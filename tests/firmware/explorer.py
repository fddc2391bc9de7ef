"""Exhaustive exploration of elections, in discrete time, with the very classes that ship.

A world is members, their grantor(s), the timers they have set, and messages under way. From each state two kinds of
transition lead on: time passes by one cycle (deterministic: what is due happens), or a fault happens, which takes no
time and uses up some of a budget. States that differ only by a shift in time or in sequence numbers are one state,
so without faults a world soon runs in a circle, and the breadth-first search ends.

Of the two copies of each keepalive on the ring only the clockwise one is modelled: "lost" means both.
"""

import marshal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any

from ringhil.firmware.actions import Action
from ringhil.firmware.commands import CancelTimer, Remember, SetTimer, Tell
from ringhil.firmware.election import NO_HOLDER, Group, GroupConfig, Peer
from ringhil.firmware.grantor import Grantor
from ringhil.firmware.liveness import FORGIVEN_AFTER, Liveness
from ringhil.firmware.member import Member
from ringhil.firmware.observations import Deposed, Elected, Granted, Lapsed
from ringhil.firmware.warden import Warden
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.wire import Port, Role

Node = tuple[str, int]  # ("member", rank), ("warden", rank), ("cpu", 0)
CPU: Node = ("cpu", 0)
_WARDEN_GPU = 10
DELAY = 1
_NEWS = 2 * DELAY  # cycles in which a warden's grant has become known to the others
_LONG_AGO = 8  # sequence numbers: nothing under way is as old as this
# ("up", "to" or "from", rank); ("keepalives", "to", rank): of "up", keepalives only; ("ring", "member" or "warden", 0)
Link = tuple[str, str, int]


@dataclass(frozen=True)
class Setup:
    """What is explored. Times in cycles; `budget` faults of the `faults` kinds may happen on each path."""

    role: Role = Role.ENTRY
    members: int = 2
    budget: int = 1
    faults: tuple[str, ...] = ("lose", "delay", "copy", "crash", "cut", "swap")
    dead: tuple[Node, ...] = ()  # from the beginning
    restarts: tuple[int, ...] = ()  # a machine may come back after being down for so long; none: at any time
    interval: int = 4
    multiplier: int = 2
    slack: int = 3
    skew: int = 3
    guard: int = 1
    wait_to_restore: int = 2
    member: type[Member] = Member
    warden: type[Warden] = Warden
    grantor: type[Grantor] = Grantor

    @property
    def detection(self) -> int:
        return self.multiplier * self.interval + self.slack

    @property
    def recovery(self) -> int:
        """Most cycles from the last fault to one holder for good.

        At worst a leader and its warden have just been restarted: it listens for a detection time, the grantor
        keeps quiet, or another's lease runs, for a lease and the guard, twice if two are lost one after the
        other; then candidates are staggered, learn the epoch by a refusal, and ask again at their next tick.
        """
        lease = self.detection
        return self.detection + 2 * (lease + self.guard) + self.members * self.skew + 3 * self.interval + 4 * DELAY


class Violation(Exception):
    """An invariant does not hold. `trace`: the transitions that led there."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.trace: list[str] = []


@dataclass(frozen=True, slots=True)
class Packet:
    due: int
    source: Node
    target: Node
    port: str
    message: Keepalive | Election


@dataclass
class World:
    """One state. Machines are shared among worlds, and copied by the one that changes them."""

    setup: Setup
    now: int = 0
    budget: int = 0
    machines: dict[Node, Any] = field(default_factory=dict)  # None: down
    boots: dict[Node, int] = field(default_factory=dict)
    memory: dict[Node, int] = field(default_factory=dict)  # of wardens, survives a crash
    timers: dict[tuple[Node, str], int] = field(default_factory=dict)
    packets: list[Packet] = field(default_factory=list)
    cuts: frozenset[Link] = frozenset()
    # What the checks keep
    down: dict[Node, int] = field(default_factory=dict)  # for how long, as far as it matters for `Setup.restarts`
    granted: frozenset[int] = frozenset()
    last_grant: dict[Node, int] = field(default_factory=dict)
    excused: bool = False  # wardens' gossip has been tampered with
    broken_off: frozenset[int] = frozenset()  # ranks whose warden revoked or forgot the lease that its leader holds
    double: int = 0  # cycles for which two wardens' leases have been running
    tampered: bool = False  # with keepalives on either ring
    rivals: int = 0  # cycles for which two leaders have believed that they hold the lease
    age: dict[int, int] = field(default_factory=dict)  # cycles since a warden granted, as far as it matters
    owned: set[Node] = field(default_factory=set)
    log: list[str] | None = None

    def copy(self) -> "World":
        self.owned = set()
        return World(
            self.setup,
            self.now,
            self.budget,
            dict(self.machines),
            dict(self.boots),
            dict(self.memory),
            dict(self.timers),
            list(self.packets),
            self.cuts,
            dict(self.down),
            self.granted,
            dict(self.last_grant),
            self.excused,
            self.broken_off,
            self.double,
            self.tampered,
            self.rivals,
            dict(self.age),
        )

    # ---------------------------------------------------------------------------------------------- what happens

    def machine(self, node: Node) -> Any:
        """A machine that may be changed; None when it is down."""
        machine = self.machines[node]
        if machine is not None and node not in self.owned:
            machine = self.machines[node] = clone(machine)
            self.owned.add(node)
        return machine

    def boot(self, node: Node) -> None:
        self.boots[node] += 1
        self.down.pop(node, None)
        config = group_config(self.setup, node, self.boots[node])
        if node[0] == "member":
            self.machines[node] = self.setup.member(config)
        else:
            self.machines[node] = self.setup.warden(config, self.memory[node])
        self.owned.add(node)
        self.carry_out(node, self.machines[node].start(self.now))

    def crash(self, node: Node) -> None:
        self.machines[node] = None
        if self.setup.restarts:
            self.down[node] = 0
        self.timers = {key: due for key, due in self.timers.items() if key[0] != node}
        if node[0] == "warden":
            self.broken_off |= {node[1]}

    def carry_out(self, node: Node, actions: Iterable[Action]) -> None:
        for action in actions:
            if self.log is not None and isinstance(action, Elected | Deposed | Granted | Lapsed):
                self.log.append(f"{self.now:4}      {name(node)}: {action}")
            match action:
                case SetTimer(timer, delay):
                    if delay <= 0:
                        raise Violation(f"{name(node)} sets a timer for {delay} cycles")
                    self.timers[node, timer] = self.now + delay
                case CancelTimer(timer):
                    self.timers.pop((node, timer), None)
                case Tell(port, message):
                    if port != "ccw":
                        self.send(node, port, message)
                case Granted(_, epoch, rank, _):
                    self.check_grant(node, epoch)
                    self.broken_off -= {rank}
                case Remember(epoch):
                    self.memory[node] = epoch
                case Lapsed(_, _, rank, LeaseEnd.FENCED):
                    self.broken_off |= {rank}

    def send(self, node: Node, port: str, message: Keepalive | Election) -> None:
        kind, rank = node
        if port == "cw":
            target = (kind, message.destination % _WARDEN_GPU)
            link: Link = ("ring", kind, 0)
        elif kind == "member":
            target, link = (CPU if port == "cpu" else ("warden", rank)), ("up", "to", rank)
        else:
            target, link = ("member", message.destination if kind == "cpu" else rank), ("up", "from", rank)
            if kind == "cpu":
                link = ("up", "from", message.destination)
        if self.log is not None:
            self.log.append(f"{self.now:4}      {name(node)} -> {name(target)}: {brief(message)}")
        muted = ("keepalives", "to", rank) in self.cuts and link[:2] == ("up", "to") and isinstance(message, Keepalive)
        if link not in self.cuts and not muted and self.machines[target] is not None:
            self.packets.append(Packet(self.now + DELAY, node, target, str(port), message))

    def deliver(self, packet: Packet) -> None:
        target = packet.target
        machine = self.machine(target)
        if machine is None:
            return
        message, port = packet.message, packet.port
        if target == CPU:
            rank = packet.source[1]
            take = machine.on_keepalive if isinstance(message, Keepalive) else machine.on_election
            answer, actions = take(rank, message, self.now)
            self.carry_out(CPU, actions)
            if answer is not None:
                self.send(CPU, "cpu", answer)
            due = machine.next_expiry
            self.timers.pop((CPU, "expiry"), None)
            if due is not None:
                self.timers[CPU, "expiry"] = due
        elif isinstance(message, Keepalive):
            self.carry_out(target, machine.on_keepalive(message, port, self.now))
        else:
            self.carry_out(target, machine.on_election(message, port, self.now))

    def fire(self, node: Node, timer: str) -> None:
        machine = self.machine(node)
        if self.timers.get((node, timer)) != self.now:
            return  # something before it in this cycle has set it anew
        del self.timers[node, timer]
        self.carry_out(node, machine.on_expire(self.now) if node == CPU else machine.on_timer(timer, self.now))

    def due(self) -> list[int]:
        return [index for index, packet in enumerate(self.packets) if packet.due == self.now]

    def pass_time(self, timers_first: bool = False) -> None:
        """Everything that is due now; then the next cycle."""
        due = sorted((p for p in self.packets if p.due == self.now), key=lambda p: (p.target, p.source, p.port))
        if timers_first:
            due.reverse()
        self.packets = [packet for packet in self.packets if packet.due != self.now]
        late = sorted(key for key, at in self.timers.items() if at == self.now)
        if timers_first:
            for key in late:
                self.fire(*key)
        for packet in due:
            self.deliver(packet)
        if not timers_first:
            for key in late:
                self.fire(*key)
        self.check()
        self.now += 1
        for node, cycles in self.down.items():
            self.down[node] = min(cycles + 1, max(self.setup.restarts) + 1)

    # ---------------------------------------------------------------------------------------------- faults

    def options(self) -> Iterator[tuple[str, Callable[["World"], None]]]:
        """The faults that may happen now; and repairs, which are free."""
        kinds = self.setup.faults
        for node, machine in self.machines.items():
            ready = not self.setup.restarts or self.down.get(node) in self.setup.restarts
            if machine is None and node not in self.setup.dead and ready:
                yield f"restart {name(node)}", partial(_restart, node)
        for cut in self.cuts:
            yield f"mend {cut}", partial(_mend, cut)
        if self.budget == 0:
            return
        for index in self.due():
            packet = self.packets[index]
            what = f"{name(packet.source)} -> {name(packet.target)} {brief(packet.message)}"
            for kind, fault in (("lose", _lose), ("delay", _delay), ("copy", _copy)):
                if kind in kinds:
                    yield f"{kind} {what}", partial(fault, index)
        if "crash" in kinds:
            for node, machine in self.machines.items():
                if machine is not None and node != CPU:
                    yield f"crash {name(node)}", partial(_crash, node)
        cuttable = links(self.setup) if "cut" in kinds else []
        if "part" in kinds:
            cuttable += [link for link in links(self.setup) if link[0] == "ring"]
        if "mute" in kinds:
            cuttable += [("keepalives", "to", rank) for rank in range(self.setup.members)]
        for link in cuttable:
            if link not in self.cuts:
                yield f"cut {link}", partial(_cut, link)
        if "reluctant" in kinds:
            for node, machine in self.machines.items():
                if machine is not None and node != CPU:
                    yield f"reluctance of {name(node)}", partial(_reluctance, node)

    # ---------------------------------------------------------------------------------------------- invariants

    def believers(self) -> dict[int, Member]:
        """Members that take themselves for the holder, by rank."""
        return {
            node[1]: machine
            for node, machine in self.machines.items()
            if node[0] == "member" and machine is not None and machine.held_epoch is not None
        }

    def grantor_of(self, rank: int) -> Grantor | None:
        if self.setup.role is Role.ENTRY:
            grantor: Grantor = self.machines[CPU]
            return grantor
        warden = self.machines["warden", rank]
        return None if warden is None else warden.grantor

    def running(self) -> list[int]:
        """Ranks of the wardens whose leases run."""
        wardens = ((node[1], m) for node, m in self.machines.items() if node[0] == "warden" and m is not None)
        return [rank for rank, warden in wardens if warden.held_epoch is not None]

    def agreed(self, rank: int, member: Member) -> bool:
        """The grantor's lease is the member's, and does not end before it."""
        grantor = self.grantor_of(rank)
        if grantor is None or grantor.holder != rank or grantor.epoch != member.held_epoch:
            return False
        return grantor.until >= member.lease_until

    def check_grant(self, node: Node, epoch: int) -> None:
        if epoch in self.granted:
            raise Violation(f"epoch {epoch} granted twice")
        if epoch <= self.last_grant.get(node, 0):
            raise Violation(f"epoch {epoch} granted after {self.last_grant[node]}")
        self.granted |= {epoch}
        self.last_grant[node] = epoch
        if self.setup.role is Role.BOUNDARY:
            for rank, until in self.machines[node].grantor._elsewhere.items():
                if until > self.now:
                    raise Violation(f"granted although warden {rank} is known to have a lease running")
            for rank in self.running():
                if rank != node[1] and self.age[rank] > _NEWS and not self.excused:
                    raise Violation(f"granted although the lease of warden {rank} has been running for long")
            self.age[node[1]] = 0

    def check(self) -> None:
        believers = self.believers()
        for rank, member in believers.items():
            if member.lease_until <= self.now:
                raise Violation(f"member {rank} still holds a lease that is over")
            if rank not in self.broken_off and not self.agreed(rank, member):
                raise Violation(f"member {rank} believes in a lease that its grantor does not know")
        if self.setup.role is Role.ENTRY:
            if len(believers) > 1:
                raise Violation(f"members {sorted(believers)} all hold the lease")
            return
        running = self.running()
        self.age = {rank: min(age + 1, _NEWS + 1) for rank, age in self.age.items() if rank in running}
        self.double = self.double + 1 if len(running) > 1 and ("ring", "warden", 0) not in self.cuts else 0
        # Granted in the same moment: until the news has gone round. With news lost: until some gets through.
        if self.double > (self.setup.detection + _NEWS if self.excused else _NEWS):
            raise Violation(f"leases of wardens {running} run side by side")
        self.rivals = self.rivals + 1 if len(believers) > 1 and not self.cuts else 0
        if self.rivals > (self.setup.detection + _NEWS if self.tampered else 2 * _NEWS):
            raise Violation(f"leaders {sorted(believers)} all hold the lease for long")

    def good(self) -> bool:
        """Exactly one holder, and every grantor agrees."""
        believers = self.believers()
        if len(believers) != 1:
            return False
        (rank, member), *_ = believers.items()
        if not self.agreed(rank, member):
            return False
        return self.setup.role is Role.ENTRY or self.running() == [rank]

    def possible(self) -> bool:
        """Somebody can be elected, and nobody can fail to hear of it."""
        if {("ring", "member", 0), ("ring", "warden", 0)} <= self.cuts:
            return False
        return any(
            self.machines["member", rank] is not None
            and self.grantor_of(rank) is not None
            and not {("up", "to", rank), ("up", "from", rank), ("keepalives", "to", rank)} & self.cuts
            for rank in range(self.setup.members)
        )

    # ---------------------------------------------------------------------------------------------- identity

    def key(self) -> bytes:
        """The same for states that cannot be told apart by what they do from now on."""
        now = self.now
        machines = tuple(
            None if machine is None else machine_key(self, node, machine) for node, machine in self.machines.items()
        )
        parts: Any = (
            self.budget,
            machines,
            tuple(self.boots.values()),
            tuple(self.memory.values()),
            tuple(sorted((node, timer, due - now) for (node, timer), due in self.timers.items())),
            tuple(sorted((packet_key(self, packet) for packet in self.packets), key=repr)),
            tuple(sorted(self.cuts)),
            tuple(sorted(self.down.items())),
            tuple(sorted(self.granted)),
            tuple(sorted(self.last_grant.items())),
            self.excused,
            tuple(sorted(self.broken_off)),
            self.double,
            self.tampered,
            self.rivals,
            tuple(sorted(self.age.items())),
        )
        return blake2b(marshal.dumps(parts, 2), digest_size=12).digest()


def _restart(node: Node, world: World) -> None:
    world.boot(node)


def _mend(link: Link, world: World) -> None:
    world.cuts -= {link}


def _lose(index: int, world: World) -> None:
    _spend(world, world.packets.pop(index))


def _delay(index: int, world: World) -> None:
    packet = world.packets[index]
    world.packets[index] = Packet(packet.due + 1, packet.source, packet.target, packet.port, packet.message)
    _spend(world, packet)


def _copy(index: int, world: World) -> None:
    packet = world.packets[index]
    world.packets.append(Packet(packet.due + 2, packet.source, packet.target, packet.port, packet.message))
    _spend(world, packet)


def _spend(world: World, packet: Packet) -> None:
    world.budget -= 1
    world.excused |= packet.source[0] == packet.target[0] == "warden"
    world.tampered |= packet.source[0] == packet.target[0]


def _crash(node: Node, world: World) -> None:
    world.budget -= 1
    world.crash(node)


def _cut(link: Link, world: World) -> None:
    world.budget -= 1
    world.cuts |= {link}
    world.excused |= link[:2] == ("ring", "warden")
    world.tampered |= link[0] == "ring"


def _reluctance(node: Node, world: World) -> None:
    world.budget -= 1
    machine = world.machine(node)
    world.carry_out(node, machine.set_reluctant(not machine._reluctant, world.now))


def links(setup: Setup) -> list[Link]:
    ways: list[Link] = [("up", way, rank) for way in ("to", "from") for rank in range(setup.members)]
    rings: list[Link] = [("ring", "member", 0)]
    return ways + rings + ([("ring", "warden", 0)] if setup.role is Role.BOUNDARY else [])


def name(node: Node) -> str:
    return node[0] if node == CPU else f"{node[0]} {node[1]}"


def brief(message: Keepalive | Election) -> str:
    if isinstance(message, Election):
        return f"election {message.operation} epoch {message.epoch} lease {message.lease}"
    holder = "" if message.holder == NO_HOLDER else f" holder {message.holder}"
    return f"keepalive {message.sequence} echo {message.echo} state {message.state:#x} epoch {message.epoch}{holder}"


def group_config(setup: Setup, node: Node, boots: int) -> GroupConfig:
    kind, rank = node
    first = _WARDEN_GPU if kind == "warden" else 0
    return GroupConfig(
        role=setup.role,
        card=int(kind == "warden"),
        me=first + rank,
        rank=rank,
        members=tuple(first + other for other in range(setup.members)),
        ring_size=8,
        uplink=Port.CPU if setup.role is Role.ENTRY else Port.BOUNDARY,
        uplink_card=int(kind == "member"),
        uplink_home=rank if kind == "warden" or setup.role is Role.ENTRY else _WARDEN_GPU + rank,
        interval=setup.interval,
        multiplier=setup.multiplier,
        jitter=0,
        slack=setup.slack,
        lease=setup.detection,
        skew=setup.skew,
        guard=setup.guard,
        wait_to_restore=setup.wait_to_restore,
        boots=boots,
        seed=0,
    )


def power_up(setup: Setup) -> World:
    world = World(setup, budget=setup.budget)
    members: list[Node] = [("member", rank) for rank in range(setup.members)]
    wardens: list[Node] = [("warden", rank) for rank in range(setup.members)] if setup.role is Role.BOUNDARY else []
    world.machines = dict.fromkeys([*members, *wardens])
    world.boots = dict.fromkeys(world.machines, 0)
    world.memory = dict.fromkeys(wardens, 0)
    if setup.role is Role.ENTRY:
        lease, guard = setup.detection, setup.guard
        world.machines[CPU] = setup.grantor(setup.role, lease, guard)
        world.memory[CPU] = 0
    for node in [*wardens, *members]:
        if node not in setup.dead:
            world.machines[node] = False  # neither down nor running yet: messages to it are not lost
    for node in [*wardens, *members]:
        if node not in setup.dead:
            world.boot(node)
    return world


# ------------------------------------------------------------------------------------------------ copies and keys


def clone(thing: Any) -> Any:
    """A copy that shares nothing that can change."""
    new = object.__new__(type(thing))
    for attribute, value in thing.__dict__.items():
        if isinstance(value, dict):
            value = {k: clone(v) if isinstance(v, Peer) else v for k, v in value.items()}
        elif isinstance(value, Peer | Liveness | Grantor):
            value = clone(value)
        new.__dict__[attribute] = value
    return new


# What the keys are made of, or may leave out because nothing depends on it. A machine that has grown an attribute
# must have it added to its key, or states that differ would be taken for one.
_ATTRIBUTES = {
    Peer: "liveness discriminator sequence state uplink reluctant granting epoch",
    Liveness: "detection wait_to_restore up wait doublings heard_at since_at up_at",
    Grantor: "role lease guard highest quiet_until discriminator holder epoch until _last _free_at _elsewhere",
    Warden: "config sequence peers _uplink_discriminator grantor leader _reluctant _granting",
    Member: "config sequence peers _uplink_discriminator epoch held_epoch lease_until _reluctant _grantor_reluctant"
    " _started_at _listen_until _sent _answered_at _echo _told_holder _told_epoch _wanted_at _asked _claims"
    " _claim_epoch _claims_at _hold_off_until _held_since _losses _announced_at",
}


def all_known(machine: Any) -> bool:
    """Whether the keys take account of every attribute of the machine, and of what it is made of."""
    names = next(names for kind, names in _ATTRIBUTES.items() if isinstance(machine, kind))
    parts = [value for value in machine.__dict__.values() if isinstance(value, Grantor | Liveness)]
    parts += machine.__dict__.get("peers", {}).values()
    return set(machine.__dict__) == set(names.split()) and all(map(all_known, parts))


def machine_key(world: World, node: Node, machine: Any) -> object:
    if isinstance(machine, Grantor):
        return grantor_key(machine, world.now)
    peers = tuple(peer_key(world, node[0], rank, peer) for rank, peer in machine.peers.items())
    if isinstance(machine, Warden):
        leader = liveness_key(machine.leader, world.now)
        told = tuple((r, b, until - world.now) for r, (b, until) in machine._granting.items() if until > world.now)
        return (peers, grantor_key(machine.grantor, world.now), leader, machine._reluctant, told, *other(machine))
    return (peers, *member_key(machine, world.now), *other(machine))


def other(machine: Group) -> tuple[object, ...]:
    return (machine._uplink_discriminator,)


def member_key(m: Member, now: int) -> tuple[object, ...]:
    c = m.config
    silent = -c.detection - 1
    return (
        m.epoch,
        m.held_epoch,
        None if m.held_epoch is None else m.lease_until - now,
        m._reluctant,
        m._grantor_reluctant,
        max(silent, m._started_at - now),
        max(0, m._listen_until - now),
        tuple((m.sequence - seq, max(-c.lease, at - now), epoch) for seq, (at, epoch) in m._sent.items()),
        None if m._answered_at is None else max(silent, m._answered_at - now),
        min(_LONG_AGO, m.sequence - m._echo) if m._echo else None,
        m._told_holder,
        None if m._told_holder is None else m._told_epoch,
        None if m._wanted_at is None else max(-c.skew * len(c.members), m._wanted_at - now),
        m._asked,
        m._claim_epoch,
        tuple((m._claims - (seq & 0xFFFF), max(-c.lease, at - now)) for seq, at in m._claims_at.items()),
        max(0, m._hold_off_until - now),
        max(-8 * c.wait_to_restore, m._held_since - now) if m._losses or m.held_epoch is not None else None,
        m._losses,
        None if m._announced_at is None else max(-c.skew, m._announced_at - now),
    )


def peer_key(world: World, kind: str, rank: int, peer: Peer) -> tuple[object, ...]:
    sender = world.machines[kind, rank]
    current = sender and peer.discriminator == sender.config.discriminator
    behind = min(_LONG_AGO, sender.sequence - peer.sequence) if current and peer.sequence >= 0 else peer.sequence
    what = (peer.state, peer.uplink, peer.reluctant, peer.granting, peer.epoch)
    return (liveness_key(peer.liveness, world.now), peer.discriminator, bool(current), behind, what)


def liveness_key(live: Liveness, now: int) -> tuple[object, ...]:
    if live.heard_at is None:
        return ()
    fresh = live.fresh(now)
    heard = max(-live.detection - 1, live.heard_at - now)
    flaps = None
    if live.up and live.doublings:
        flaps = max(-FORGIVEN_AFTER * max(live.wait, live.wait_to_restore), live.up_at - now)
    since = max(-live.wait, live.since_at - now) if fresh and not live.up else None
    wait = None if live.up and not live.doublings else live.wait
    return (live.up, heard, since, flaps, wait, live.doublings)


def grantor_key(g: Grantor, now: int) -> tuple[object, ...]:
    free = max(0, g._free_at - now) if g.holder is None else 0
    return (
        g.highest,
        max(0, g.quiet_until - now),
        g.holder,
        None if g.holder is None else (g.epoch, g.until - now),
        free,
        g._last if g.holder is not None or free else None,
        tuple(sorted((rank, until - now) for rank, until in g._elsewhere.items() if until > now)),
    )


def packet_key(world: World, packet: Packet) -> tuple[object, ...]:
    m, now = packet.message, world.now
    head = (packet.due - now, packet.source, packet.target, packet.port, m.epoch)
    source, target = world.machines[packet.source], world.machines[packet.target]
    if isinstance(m, Election):
        member = source if packet.source[0] == "member" else target
        own = member and m.sequence >> 16 == member.config.boots
        return (*head, m.operation, m.lease, member._claims - (m.sequence & 0xFFFF) if own else "old")
    if packet.port == "cw":
        current = source and m.my_discriminator == source.config.discriminator
        number: object = source.sequence - m.sequence if current else (m.my_discriminator, m.sequence)
    elif packet.source[0] == "member":
        current = source and m.my_discriminator == source.config.discriminator
        number = source.sequence - m.sequence if current else "old"
    else:
        current = target and m.your_discriminator == target.config.discriminator
        number = target.sequence - m.echo if current and m.echo else "old"
    return (*head, m.my_discriminator, m.state, m.holder, number)


# ------------------------------------------------------------------------------------------------ the search


@dataclass
class Explored:
    """What was found: how many states, and the longest recovery once faults had stopped, in cycles."""

    states: int
    transitions: int
    slowest: int
    judged: int  # states from which a holder had to be found


def explore(setup: Setup, most: int = 5_000_000) -> Explored:
    """Every state within the budget. Raises a `Violation` with the shortest trace to it."""
    first = power_up(setup)
    for machine in first.machines.values():
        assert machine is None or all_known(machine), f"a key leaves something of {type(machine)} out"
    numbers = {first.key(): 0}
    parents: list[tuple[int, str]] = [(-1, "power-up")]
    successor: list[int] = [-1]
    flags: list[tuple[bool, bool]] = [(first.good(), first.possible())]
    queue = deque([(0, first)])
    transitions = 0

    def enter(world: World, parent: int, label: str) -> int:
        nonlocal transitions
        transitions += 1
        key = world.key()
        number = numbers.get(key)
        if number is None:
            number = numbers[key] = len(parents)
            parents.append((parent, label))
            successor.append(-1)
            flags.append((world.good(), world.possible()))
            queue.append((number, world))
        return number

    try:
        while queue:
            here, world = queue.popleft()
            parent, label = here, "time"
            after = world.copy()
            after.pass_time()
            successor[here] = enter(after, here, "time")
            if world.budget and "swap" in setup.faults:
                label = "time, timers first"
                after = world.copy()
                after.budget -= 1
                after.pass_time(timers_first=True)
                enter(after, here, label)
            for label, happen in world.options():
                after = world.copy()
                happen(after)
                enter(after, here, label)
            if len(parents) > most:
                raise RuntimeError(f"more than {most} states")
    except Violation as violation:
        violation.trace = trace(setup, parents, parent, label)
        raise
    return _converges(setup, parents, successor, flags, transitions)


def _converges(
    setup: Setup,
    parents: list[tuple[int, str]],
    successor: list[int],
    flags: list[tuple[bool, bool]],
    transitions: int,
) -> Explored:
    """Without further faults every state leads into a circle of good states, and soon enough."""
    left: list[int | None] = [None] * len(successor)  # cycles until all is good for good; -1: never
    for begin in range(len(successor)):
        path: list[int] = []
        here = begin
        on_path: dict[int, int] = {}
        while left[here] is None and here not in on_path:
            on_path[here] = len(path)
            path.append(here)
            here = successor[here]
        if left[here] is None:  # a new circle
            circle = path[on_path[here] :]
            fine = all(flags[state][0] for state in circle)
            for state in circle:
                left[state] = 0 if fine else -1
        for state in reversed(path):
            if left[state] is None:
                after = left[successor[state]]
                assert after is not None
                left[state] = -1 if after == -1 else 0 if after == 0 and flags[state][0] else after + 1
    slowest = judged = 0
    for state, cycles in enumerate(left):
        if not flags[state][1]:
            continue
        judged += 1
        assert cycles is not None
        if cycles == -1 or cycles > setup.recovery:
            late = "never" if cycles == -1 else f"{cycles} cycles"
            violation = Violation(f"one holder for good after: {late}")
            violation.trace = trace(setup, parents, state, "", more=setup.recovery if cycles == -1 else cycles)
            violation.trace.append(f"     VIOLATION: {violation.what}")
            raise violation
        slowest = max(slowest, cycles)
    return Explored(len(successor), transitions, slowest, judged)


def trace(setup: Setup, parents: list[tuple[int, str]], state: int, last: str, more: int = 0) -> list[str]:
    """What happened on the way to a state, by doing it all once more."""
    labels = [last] if last else []
    while state > 0:
        state, label = parents[state]
        labels.append(label)
    world = power_up(setup)
    world.log = log = ["   0 power-up"]
    try:
        for label in [*reversed(labels), *["time"] * more]:
            if label.startswith("time"):
                if label != "time":
                    log.append(f"{world.now:4} {label}")
                    world.budget -= 1
                world.pass_time(timers_first=label != "time")
            else:
                log.append(f"{world.now:4} {label}")
                dict(world.options())[label](world)
    except Violation as violation:
        log.append(f"{world.now:4} VIOLATION: {violation.what}")
    return log
