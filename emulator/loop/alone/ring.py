"""The ring of an entry GPU whose other GPUs are all bypassed: its messages come home as they have left, unless they are
lost, damaged, turned round or changed on the way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ringhil.emulator.loop.alone.stage import FrameOut, NotKept, Stage
from ringhil.protocol import codec, crc
from ringhil.protocol.frames import Record, Report, Statistics
from ringhil.protocol.wire import NO_CARD, Flag, GpuState, Port, RecordFlag

_ROUND_TRIP = 40  # cycles
_SENT_AT = 31  # byte of a message: the last one of a field that nothing else tells to be wrong
HOME, DAMAGED, LOST, TURNED, TWICE = "home", "damaged", "lost", "turned round", "home twice"
Fate = tuple[str, str]  # of the message by each way: one of these, or a change
Change = Callable[[Statistics], Statistics | bytes]
Passes = Callable[[Statistics, Port, int], Statistics]


def tagged(message: Statistics, record: Record) -> Record:
    """The record, under the tag that belongs to it in this message."""
    head = (record.id, record.hop, record.state, record.flags, record.gpu_type, record.stamp, record.weight)
    packed = Record.HEAD.pack(*head, record.errors, record.peer, 0)
    return replace(record, tag=crc.record_tag(message.epoch, message.sequence, packed))


def _with_record(message: Statistics, **changes: int) -> Statistics:
    """Its record says something else."""
    return replace(message, records=tuple(tagged(message, replace(each, **changes)) for each in message.records))


def _wrong_crc(message: Statistics) -> bytes:
    frame = codec.encode(message)
    return bytes([*frame[:_SENT_AT], frame[_SENT_AT] ^ 1, *frame[_SENT_AT + 1 :]])


CHANGES: dict[str, Change] = {
    "wrong in its end-to-end CRC": _wrong_crc,
    "of another epoch": lambda message: replace(message, epoch=message.epoch ^ 1),
    "of another round": lambda message: replace(message, sequence=message.sequence ^ 1),
    "another GPU's": lambda message: replace(message, origin=message.origin + 1),
    "once more on its way round": lambda message: replace(message, flags=message.flags | Flag.CIRCULATING),
    "home on the wrong side": lambda message: message,
    "of a ring of another size": lambda message: replace(message, expected=message.expected + 1),
    "with a count of 0": lambda message: replace(message, count=0),
    "with a count above the ring's size": lambda message: replace(message, count=message.expected + 1),
    "with fewer records than it counts": lambda message: replace(message, count=2),
    "with a wrong hop number": lambda message: _with_record(message, hop=2),
    "with a changed record": lambda message: replace(
        message, records=tuple(replace(record, weight=record.weight ^ 1) for record in message.records)
    ),
    "not in ring order": lambda message: _with_record(message, id=message.origin + 3),
}
IN_RECORDS = {
    *("with fewer records than it counts", "with a wrong hop number", "with a changed record", "not in ring order"),
}
_OTHER_SIDE = {TURNED, "home on the wrong side"}


def in_turn(fates: Sequence[Fate]) -> Callable[[int], Fate]:
    """What becomes of a round by its number, from 0 on: these again and again."""
    return lambda number: fates[number % len(fates)]


@dataclass
class RoundBegun:
    """One that was begun. `messages`: those that have left by now."""

    epoch: int
    sequence: int
    at: int
    fate: Fate
    number: int
    messages: int = 0

    @property
    def fails(self) -> bool:
        """Nothing comes home that can be counted."""
        turned = self.fate.count(TURNED)
        return turned == 1 or (turned == 0 and not {HOME, TWICE} & {*self.fate})


def unchanged(message: Statistics, port: Port, number: int) -> Statistics:
    """As it has left."""
    return message


def counted(message: Statistics, port: Port, gpu: int, **changes: int) -> Statistics:
    """A GPU that works has counted itself in, on the way by this port; `changes`: what else its record says."""
    record = Record(
        gpu, len(message.records) + 1, GpuState.WORKING.code, RecordFlag.PORT2 if port is Port.CCW else 0,
        0, message.sent_at % 256, 1, 0, NO_CARD, 0,
    )  # fmt: skip
    records = (*message.records, tagged(message, replace(record, **changes))) if message.records else ()
    return replace(message, count=message.count + 1, records=records)


class Ring:
    """Carries the messages of the entry GPU on `stage` home, each round as `fate` says of its number from 0 on.
    `passes` gives what comes home of one, by its port and the number of its round."""

    def __init__(self, stage: Stage, fate: Callable[[int], Fate], passes: Passes = unchanged) -> None:
        self._stage, self._fate, self._passes = stage, fate, passes
        self.rounds = list[RoundBegun]()
        self.reports = list[tuple[int, Report]]()
        stage.on_sent.append(self._sent)

    def _sent(self, sent: FrameOut) -> None:
        message = sent.message
        if isinstance(message, Report) and sent.port is Port.CPU:
            self.reports.append((sent.at, message))
        if not isinstance(message, Statistics) or sent.port not in (Port.CW, Port.CCW):
            return
        self._check(sent.at, message)
        known = [each for each in self.rounds if (each.epoch, each.sequence) == (message.epoch, message.sequence)]
        if not known:
            fate = self._fate(len(self.rounds))
            known = [RoundBegun(message.epoch, message.sequence, sent.at, fate, len(self.rounds))]
            self.rounds += known
        known[0].messages += 1
        what = known[0].fate[sent.port.code]
        home = self._passes(message, sent.port, known[0].number)
        if what != LOST:
            self._stage.after(_ROUND_TRIP, lambda: self._home(home, sent.port, what))

    def _check(self, at: int, message: Statistics) -> None:
        """What leaves names this GPU, its ring, and one GPU counted."""
        boot = self._stage.boot
        found = (message.origin, message.expected, message.count, *(record.id for record in message.records))
        if found[:3] != (boot.gpu, boot.gpus, 1) or found[3:] not in ((), (boot.gpu,)):
            told = (
                f"a message leaves with origin {found[0]}, expected {found[1]}, count {found[2]}, records {found[3:]}"
            )
            raise NotKept(at, told, f"they should be {boot.gpu}, {boot.gpus}, 1 and its own record")

    def _home(self, message: Statistics, port: Port, what: str) -> None:
        back = {Port.CW: Port.CCW, Port.CCW: Port.CW}[port] if what in _OTHER_SIDE else port
        if what == TURNED:
            message = replace(message, flags=message.flags | Flag.WRAPPED)
        changed = CHANGES[what](message) if what in CHANGES else message
        frame = changed if isinstance(changed, bytes) else codec.encode(changed)
        for _ in range(2 if what == TWICE else 1):
            self._stage.hear_bytes(frame, back, bad=what == DAMAGED)
