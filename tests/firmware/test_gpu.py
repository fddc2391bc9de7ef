"""All of a GPU's firmware: what is decided ends up in registers, and frames reach the machine that they are for."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.firmware.actions import Action
from ringhil.firmware.census import CensusConfig
from ringhil.firmware.commands import CancelTimer, Remember, Send, SetTimer, Tell, Write
from ringhil.firmware.gpu import CrossingConfig, GpuProgram
from ringhil.firmware.observations import Counted, Deposed, Elected, Granted, Lapsed, PeerUp, Rejected
from ringhil.protocol import codec, crc, registers, wire
from ringhil.protocol.frames import Acknowledgement, Election, Keepalive, Record, Report, Result, Statistics
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.wire import Port, Role

CONTROL = registers.ControlBit.codes()
ENTRY, MONITOR, CAPABLE = CONTROL["entry"], CONTROL["monitor"], CONTROL["entry_capable"]
BOUNDARY, FROM_ABOVE = CONTROL["boundary"], CONTROL["from_above"]
SIZE, NODE, CARD = 4, 1, 0
CENSUS = CensusConfig(card=CARD, node=NODE, size=SIZE, epoch=0, period=1000, timeout=400, weight=3)
BEHIND = {2: 0b0001_0100, 5: 0b0010_0000}  # card 4 lies behind card 2
ENTRY_EPOCH = 7


@dataclass
class Script:
    """An elector that notes what it is told and answers what it was given."""

    heard: list[tuple[object, ...]] = field(default_factory=list)
    says: list[Action] = field(default_factory=list)  # to every frame and timer
    boots: list[Action] = field(default_factory=list)
    reluctance: list[Action] = field(default_factory=list)

    def start(self, now: int) -> list[Action]:
        self.heard.append(("start", now))
        return self.boots

    def on_timer(self, name: str, now: int) -> list[Action]:
        self.heard.append((name, now))
        return self.says

    def on_keepalive(self, message: Keepalive, port: str, now: int) -> list[Action]:
        self.heard.append((message, port, now))
        return self.says

    def on_election(self, message: Election, port: str, now: int) -> list[Action]:
        self.heard.append((message, port, now))
        return self.says

    def set_reluctant(self, reluctant: bool, now: int) -> list[Action]:
        self.heard.append(("reluctant", reluctant, now))
        return self.reluctance


class Gpu:
    """A program between two scripts, and the registers as its writes leave them."""

    def __init__(self, *, entry: bool = True, boundary: bool = True, from_above: bool = False) -> None:
        self.entry, self.boundary = Script(), Script()
        electors = {"entry": self.entry} if entry else {}
        electors |= {"boundary": self.boundary} if boundary else {}
        crossing = CrossingConfig(2, BEHIND[2], from_above) if boundary else None
        self.program = GpuProgram(CENSUS, entry, dict(electors), crossing, BEHIND)
        self.registers: dict[str, int] = {"control": 0xFF, "crossings": 0xFF, "exits": 0xFF}  # of an earlier life
        self.boot = self.note(self.program.start(0))

    def note(self, actions: list[Action]) -> list[Action]:
        for action in actions:
            if isinstance(action, Write):
                self.registers[action.register] = action.value
        return actions

    def tell(self, role: Role, *actions: Action, now: int = 100) -> list[Action]:
        """The elector of a role decides this."""
        script = self.entry if role == "entry" else self.boundary
        script.says = list(actions)
        done = self.note(self.program.on_timer(f"{role}.tick", now))
        script.says = []
        return done

    def frame(self, frame: bytes, port: int = 0, bad: bool = False, now: int = 200) -> list[Action]:
        return self.note(self.program.on_frame(frame, port, bad, now))

    def elected(self, epoch: int = ENTRY_EPOCH) -> list[Action]:
        return self.tell(Role.ENTRY, Elected(Role.ENTRY, epoch))

    def home(self, peers: dict[int, int], now: int = 200) -> list[Action]:
        """Both messages of the round under way come home; these GPUs say that they speak to these cards."""
        sequence = self.program.census.sequence if self.program.census else 1
        done: list[Action] = []
        for ccw in (False, True):
            done += self.frame(codec.encode(statistics(sequence, peers, ccw)), int(ccw), now=now)
        return done


def statistics(sequence: int, peers: dict[int, int], ccw: bool = False, epoch: int = ENTRY_EPOCH) -> Statistics:
    """A message with a record of everybody, as it comes home."""
    order = [(NODE + (-step if ccw else step)) % SIZE for step in range(SIZE)]
    records = []
    for hop, gpu in enumerate(order, 1):
        flags = wire.RecordFlag.BOUNDARY if gpu in peers else 0
        head = (gpu, hop, wire.GpuState.WORKING.code, flags, 0, 0, 1, 0, peers.get(gpu, wire.NO_CARD))
        records.append(Record(*head, crc.record_tag(epoch, sequence, Record.HEAD.pack(*head, 0))))
    flags = wire.Flag.WITH_RECORDS | (wire.Flag.CCW if ccw else 0)
    return Statistics(CARD, flags, 1, NODE, epoch, sequence, SIZE, SIZE, wire.MAX_RING, 0, tuple(records))


def keepalive(role: Role) -> Keepalive:
    return Keepalive(CARD, 0, 2, NODE, 3, 9, 2 << 16 | 1, 0, role.code, 0, 3, 0x10, 1000, 3, 0, wire.NO_HOLDER)


def election(role: Role) -> Election:
    return Election(CARD, 0, 2, NODE, 4, 1 << 16, NODE, wire.Operation.GRANT.code, role.code, 3000, 3)


def sent(actions: list[Action], kind: int) -> list[Send]:
    return [a for a in actions if isinstance(a, Send) and a.frame[0] == kind]


# ------------------------------------------------------------------------------------------------------ registers


@pytest.mark.parametrize(("entry", "control"), [(True, CAPABLE), (False, 0)])
def test_at_boot_it_is_nobodys_entry_and_nobodys_boundary_gpu(entry: bool, control: int) -> None:
    """Whatever the registers still say of the time before it failed."""
    gpu = Gpu(entry=entry)
    assert gpu.registers == {"control": control, "crossings": 0, "exits": 0}
    assert gpu.program.census is None
    assert sent(gpu.boot, Statistics.KIND) == []


def test_at_boot_both_elections_begin_and_their_messages_are_encoded() -> None:
    gpu = Gpu()
    assert gpu.entry.heard == gpu.boundary.heard == [("start", 0)]
    message, timer = keepalive(Role.BOUNDARY), SetTimer("boundary.tick", 50)
    gpu.boundary.boots = [Tell(Port.CW, message), timer]
    actions = gpu.program.start(5)
    (send,) = sent(actions, Keepalive.KIND)
    assert (send.port, codec.decode(send.frame)) == ("cw", message)
    assert actions[-1] == timer
    assert not [action for action in actions if isinstance(action, Tell)]


def test_registers_are_cleared_before_anything_is_sent() -> None:
    gpu = Gpu()
    gpu.entry.boots = [Tell(Port.CPU, keepalive(Role.ENTRY))]
    actions = gpu.program.start(5)
    assert [type(action) for action in actions] == [Write, Write, Write, Send]


def test_an_elected_entry_gpu_opens_the_way_and_counts_under_its_epoch() -> None:
    gpu = Gpu()
    actions = gpu.elected()
    assert gpu.registers["control"] == CAPABLE | ENTRY | MONITOR
    assert gpu.registers["crossings"] == gpu.registers["exits"] == 0
    messages = sent(actions, Statistics.KIND)
    assert [send.port for send in messages] == ["cw", "ccw"]
    for send in messages:
        message = codec.decode(send.frame)
        assert isinstance(message, Statistics)
        assert (message.epoch, message.origin, message.records[0].weight) == (ENTRY_EPOCH, NODE, 3)
    # The way is open before the first message can come home.
    first_message = actions.index(messages[0])
    assert all(actions.index(a) < first_message for a in actions if isinstance(a, Write))
    assert {a.name for a in actions if isinstance(a, SetTimer)} == {"period", "timeout"}


def test_a_deposed_entry_gpu_closes_the_way_and_stops_counting() -> None:
    gpu = Gpu()
    gpu.elected()
    gpu.home({2: 2})
    assert gpu.registers["exits"] == BEHIND[2]
    actions = gpu.tell(Role.ENTRY, Deposed(Role.ENTRY, ENTRY_EPOCH, LeaseEnd.LEASE))
    assert gpu.registers == {"control": CAPABLE, "crossings": 0, "exits": 0}
    assert {a.name for a in actions if isinstance(a, CancelTimer)} == {"period", "timeout"}
    assert gpu.program.census is None
    assert gpu.program.on_timer("period", 300) == []
    assert gpu.home({}) == []


def test_elected_again_it_begins_a_census_of_its_own() -> None:
    gpu = Gpu()
    gpu.elected()
    gpu.home({2: 2})
    gpu.tell(Role.ENTRY, Deposed(Role.ENTRY, ENTRY_EPOCH, LeaseEnd.FENCED))
    gpu.elected(11)
    assert gpu.registers == {"control": CAPABLE | ENTRY | MONITOR, "crossings": 0, "exits": 0}
    assert gpu.program.census is not None
    assert gpu.program.census.config.epoch == 11
    assert gpu.program.census.last is None
    # What was sent under the epoch before counts for nothing.
    assert not [a for a in gpu.home({}) if isinstance(a, Counted)]


@pytest.mark.parametrize("from_above", [False, True])
@pytest.mark.parametrize("up", [Elected(Role.BOUNDARY, 3), Granted(Role.BOUNDARY, 3, 0, 900)], ids=["member", "warden"])
@pytest.mark.parametrize(
    "down",
    [Deposed(Role.BOUNDARY, 3, LeaseEnd.LEASE), Lapsed(Role.BOUNDARY, 3, 0, LeaseEnd.LEASE)],
    ids=["member", "warden"],
)
def test_a_boundary_gpu_opens_its_port_and_closes_it(up: Action, down: Action, from_above: bool) -> None:
    """At either end of the link: the member that is elected, and the warden that grants."""
    gpu = Gpu(from_above=from_above)
    gpu.tell(Role.BOUNDARY, up)
    wanted = CAPABLE | BOUNDARY | (FROM_ABOVE if from_above else 0)
    assert gpu.registers == {"control": wanted, "crossings": BEHIND[2], "exits": 0}
    gpu.tell(Role.BOUNDARY, down)
    assert gpu.registers == {"control": CAPABLE, "crossings": 0, "exits": 0}


def test_the_two_roles_leave_each_other_alone() -> None:
    gpu = Gpu()
    gpu.elected()
    gpu.tell(Role.BOUNDARY, Elected(Role.BOUNDARY, 3))
    assert gpu.registers["control"] == CAPABLE | ENTRY | MONITOR | BOUNDARY
    gpu.tell(Role.ENTRY, Deposed(Role.ENTRY, ENTRY_EPOCH, LeaseEnd.LEASE))
    assert gpu.registers["control"] == CAPABLE | BOUNDARY
    assert gpu.registers["crossings"] == BEHIND[2]
    gpu.elected(9)
    gpu.tell(Role.BOUNDARY, Deposed(Role.BOUNDARY, 3, LeaseEnd.LEASE))
    assert gpu.registers["control"] == CAPABLE | ENTRY | MONITOR
    assert gpu.registers["crossings"] == 0


def test_a_granted_epoch_is_in_memory_before_the_grant_is_sent() -> None:
    gpu = Gpu()
    actions = gpu.tell(
        "boundary",
        Remember(12),
        Granted(Role.BOUNDARY, 12, 0, 900),
        Tell(Port.BOUNDARY, election(Role.BOUNDARY)),
    )
    assert gpu.registers["memory"] == 12
    (send,) = sent(actions, Election.KIND)
    assert actions.index(Write("memory", 12)) < actions.index(send)


def test_what_else_a_machine_says_is_passed_on_as_it_is() -> None:
    gpu = Gpu()
    said: list[Action] = [PeerUp(Role.ENTRY, 3), SetTimer("entry.wake", 7), CancelTimer("entry.tick")]
    assert gpu.tell(Role.ENTRY, *said) == said


# ---------------------------------------------------------------------------------------------------------- exits


def test_exits_follow_what_the_records_say() -> None:
    gpu = Gpu()
    gpu.elected()
    for peers, exits in [({}, 0), ({2: 2}, BEHIND[2]), ({2: 2, 3: 5}, BEHIND[2] | BEHIND[5]), ({3: 5}, BEHIND[5])]:
        actions = gpu.home(peers)
        assert [a.count for a in actions if isinstance(a, Counted)] == [SIZE]
        assert gpu.registers["exits"] == exits
        gpu.program.on_timer("period", 1000)


def test_exits_are_written_only_when_they_change() -> None:
    gpu = Gpu()
    gpu.elected()
    gpu.home({2: 2})
    gpu.program.on_timer("period", 1000)
    assert not [a for a in gpu.home({2: 2}) if isinstance(a, Write)]
    gpu.program.on_timer("period", 2000)
    assert [a for a in gpu.home({}) if isinstance(a, Write)] == [Write("exits", 0)]


def test_two_boundary_gpus_for_one_card_make_one_exit() -> None:
    gpu = Gpu()
    gpu.elected()
    gpu.home({2: 2, 3: 2})
    assert gpu.registers["exits"] == BEHIND[2]


def test_a_card_that_nobody_is_wired_to_is_no_exit() -> None:
    gpu = Gpu()
    gpu.elected()
    gpu.home({2: 9})
    assert gpu.registers["exits"] == 0


def test_rejected_messages_change_no_exits() -> None:
    gpu = Gpu()
    gpu.elected()
    gpu.home({2: 2})
    gpu.program.on_timer("period", 1000)
    forged = statistics(2, {3: 5})
    wrong = replace(forged, records=(*forged.records[:-1], replace(forged.records[-1], tag=1)))
    assert [a.reason for a in gpu.frame(codec.encode(wrong)) if isinstance(a, Rejected)] == ["tag"]
    assert gpu.registers["exits"] == BEHIND[2]


def test_its_own_record_says_where_it_speaks_to_itself() -> None:
    """Whichever role came first, and no longer than it has both."""
    for roles in (Role.ENTRY, Role.BOUNDARY), (Role.BOUNDARY, Role.ENTRY):
        gpu = Gpu()
        for role in roles:
            gpu.tell(role, Elected(role, ENTRY_EPOCH))
        gpu.home({NODE: 2})
        assert own_record(gpu) == (wire.RecordFlag.BOUNDARY | wire.RecordFlag.ENTRY_CAPABLE, 2)
        assert gpu.registers["exits"] == BEHIND[2]
        gpu.home({})
        gpu.tell(Role.BOUNDARY, Deposed(Role.BOUNDARY, ENTRY_EPOCH, LeaseEnd.LEASE))
        assert own_record(gpu) == (wire.RecordFlag.ENTRY_CAPABLE, wire.NO_CARD)


def own_record(gpu: Gpu) -> tuple[int, int]:
    """Flags and peer of the record in the next round's messages."""
    census = gpu.program.census
    assert census is not None
    gpu.home({})  # whatever is under way
    messages = sent(gpu.program.on_timer("period", 1000), Statistics.KIND)
    records = {message.records[0] for message in map(decoded, messages)}
    assert len({(r.flags, r.peer) for r in records}) == 1
    return next((r.flags, r.peer) for r in records)


def decoded(send: Send) -> Statistics:
    message = codec.decode(send.frame)
    assert isinstance(message, Statistics)
    return message


def test_a_slow_gpu_says_so_in_its_own_record_also_when_it_was_slow_before_its_election() -> None:
    gpu = Gpu()
    gpu.program.on_status(registers.StatusBit.DEGRADED)
    states = [decoded(send).records[0].state for send in sent(gpu.elected(), Statistics.KIND)]
    assert states == [wire.GpuState.DEGRADED.code] * 2
    gpu.program.on_status(0)
    gpu.home({})
    states = [decoded(send).records[0].state for send in sent(gpu.program.on_timer("period", 1000), Statistics.KIND)]
    assert states == [wire.GpuState.WORKING.code] * 2


# ------------------------------------------------------------------------------------------------------ reluctance


def test_an_entry_gpu_is_a_reluctant_boundary_gpu_for_as_long_as_it_is_one() -> None:
    gpu = Gpu()
    gpu.elected()
    assert gpu.boundary.heard[1:] == [("reluctant", True, 100)]
    gpu.tell(Role.ENTRY, Deposed(Role.ENTRY, ENTRY_EPOCH, LeaseEnd.LEASE), now=150)
    assert gpu.boundary.heard[2:] == [("reluctant", False, 150)]
    assert not [heard for heard in gpu.entry.heard if heard[0] == "reluctant"]


def test_what_reluctance_makes_it_do_is_done() -> None:
    """It hands the boundary role over as soon as it becomes the entry GPU."""
    gpu = Gpu()
    gpu.tell(Role.BOUNDARY, Elected(Role.BOUNDARY, 3))
    release = replace(election(Role.BOUNDARY), operation=wire.Operation.RELEASE.code)
    gpu.boundary.reluctance = [Tell(Port.BOUNDARY, release), Deposed(Role.BOUNDARY, 3, LeaseEnd.HANDOVER)]
    actions = gpu.elected()
    assert [(s.port, codec.decode(s.frame)) for s in sent(actions, Election.KIND)] == [("boundary", release)]
    assert gpu.registers == {"control": CAPABLE | ENTRY | MONITOR, "crossings": 0, "exits": 0}
    # What it sends as the entry GPU no longer says that it speaks to another card.
    assert {decoded(send).records[0].peer for send in sent(actions, Statistics.KIND)} == {wire.NO_CARD}


def test_without_a_link_to_another_card_there_is_nobody_to_tell() -> None:
    gpu = Gpu(boundary=False)
    gpu.elected()
    assert gpu.registers["control"] == CAPABLE | ENTRY | MONITOR


# ---------------------------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize("port", range(4))
@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("make", [keepalive, election])
def test_a_frame_reaches_the_machine_of_its_role_with_its_port(
    make: Callable[[Role], Keepalive | Election], role: Role, port: int
) -> None:
    gpu = Gpu()
    message = make(role)
    assert gpu.frame(codec.encode(message), port) == []
    right, other = (gpu.entry, gpu.boundary) if role == "entry" else (gpu.boundary, gpu.entry)
    assert right.heard[1:] == [(message, Port.of(port), 200)]
    assert other.heard[1:] == []


def test_a_timer_reaches_the_machine_that_set_it() -> None:
    gpu = Gpu()
    gpu.program.on_timer("boundary.wake", 33)
    gpu.program.on_timer("entry.tick", 44)
    assert gpu.boundary.heard[1:] == [("boundary.wake", 33)]
    assert gpu.entry.heard[1:] == [("entry.tick", 44)]
    assert gpu.program.on_timer("period", 55) == []


@pytest.mark.parametrize("role", Role)
def test_what_is_for_a_group_that_it_is_not_in_is_ignored(role: Role) -> None:
    gpu = Gpu(entry=role != "entry", boundary=role != "boundary")
    for message in (keepalive(role), election(role), replace(keepalive(role), role=77)):
        assert gpu.frame(codec.encode(message), 2) == []
    assert gpu.entry.heard[1:] == gpu.boundary.heard[1:] == []


@pytest.mark.parametrize("message", [keepalive(Role.ENTRY), election(Role.BOUNDARY)], ids=["keepalive", "election"])
def test_a_frame_that_arrived_damaged_is_ignored(message: Keepalive | Election) -> None:
    gpu = Gpu()
    assert gpu.frame(codec.encode(message), bad=True) == []
    assert gpu.entry.heard[1:] == gpu.boundary.heard[1:] == []


@given(st.sampled_from([keepalive(Role.ENTRY), election(Role.BOUNDARY)]), st.data())
def test_a_single_wrong_bit_is_enough(message: Keepalive | Election, data: st.DataObject) -> None:
    """Of what the end-to-end CRC covers: TTL, mutable flags and the link CRC are the hops' business."""
    frame = bytearray(codec.encode(message))
    covered = [i for i in range(len(frame) - 4) if i not in (2, 4, 5)]
    at = data.draw(st.sampled_from(covered))
    frame[at] ^= 1 << data.draw(st.integers(0, 7))
    gpu = Gpu()
    gpu.frame(bytes(frame))
    assert gpu.entry.heard[1:] == gpu.boundary.heard[1:] == []


@given(st.integers(1, 40).flatmap(lambda flits: st.binary(min_size=8 * flits, max_size=8 * flits)), st.data())
def test_garbage_changes_nothing(garbage: bytes, data: st.DataObject) -> None:
    gpu = Gpu()
    gpu.elected()
    gpu.home({2: 2})
    kind = data.draw(st.none() | st.sampled_from([*wire.Kind.codes().values()]))
    if kind is not None:
        garbage = bytes([kind]) + garbage[1:]
    before = dict(gpu.registers)
    gpu.entry.heard, gpu.boundary.heard = [], []
    actions = gpu.frame(garbage, data.draw(st.integers(0, 3)), data.draw(st.booleans()))
    assert all(isinstance(action, Rejected) for action in actions)
    assert gpu.registers == before
    assert gpu.entry.heard == gpu.boundary.heard == []


@pytest.mark.parametrize("port", [2, 3])
def test_statistics_count_only_from_the_ring(port: int) -> None:
    gpu = Gpu()
    gpu.elected()
    clockwise, other = (codec.encode(statistics(1, {}, ccw)) for ccw in (False, True))
    assert gpu.frame(clockwise, port) == []
    counted = [[a.count for a in gpu.frame(*frame) if isinstance(a, Counted)] for frame in ((other, 1), (clockwise, 0))]
    assert counted == [[], [SIZE]]


def test_a_damaged_message_is_the_censuss_to_reject() -> None:
    gpu = Gpu()
    gpu.elected()
    actions = gpu.frame(codec.encode(statistics(1, {})), bad=True)
    assert [a.reason for a in actions if isinstance(a, Rejected)] == ["link"]


def test_statistics_are_ignored_while_it_is_not_the_entry_gpu() -> None:
    gpu = Gpu()
    assert gpu.frame(codec.encode(statistics(1, {}))) == []


OTHERS = [
    Report(CARD, 0, 1, NODE, ENTRY_EPOCH, 1, 0, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, (15, 0, 0)),
    Result(CARD, 0, 1, NODE, ENTRY_EPOCH, 1, 0, 1, 0, 0, 0, 0, 8, 1),
    Acknowledgement(CARD, 0, 1, NODE, ENTRY_EPOCH, 1, 0, 1, 1, 0, 0),
]


@pytest.mark.parametrize("message", OTHERS, ids=lambda m: type(m).__name__)
def test_frames_that_no_firmware_waits_for_are_ignored(message: Report | Result | Acknowledgement) -> None:
    gpu = Gpu()
    gpu.elected()
    assert [gpu.frame(codec.encode(message), port) for port in range(4)] == [[]] * 4
