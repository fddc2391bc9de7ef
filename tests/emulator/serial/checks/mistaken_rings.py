"""More cards that break one promise each: times, censuses, subscriptions, frames."""

from dataclasses import replace
from typing import Any

from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import COUNTING, EventKind, Refusal, Way

from .mistaken import NOW, Honest, Subscribing, Telling, changes, finds, instead, request_of
from .mistaken_requests import Redone

# ------------------------------------------------------------------------------------------------------- times


@finds("time.forward")
class TimeOf10Bits(Honest):
    """Time begins again every 1,024 cycles."""

    def told(self, message: Any) -> list[Any]:
        return [replace(message, now=message.now & 0x3FF) if hasattr(message, "now") else message]


changes("time.stamps", "hello_in_8_bits", m.HelloReply, lambda r: replace(r, now=r.now & 0xFF))
changes("time.stamps", "written_at_the_beginning", m.WriteReply, lambda r: replace(r, now=0))
changes("time.forward", "read_in_the_future", m.ReadReply, lambda r: replace(r, now=NOW))
changes("time.stamps", "subscribed_in_12_bits", m.SubscribeReply, lambda r: replace(r, now=r.now & 0xFFF))
changes("census.now", "first_message_at_the_beginning", m.CensusReply, lambda c: replace(c, sent_at=0))
changes("frames.sent", "sent_at_the_beginning", m.SendReply, lambda r: replace(r, now=0))

# ---------------------------------------------------------------------------------------------------- censuses


@finds("census.again")
class CountedAgain(Redone):
    """A census that comes again is counted again."""

    types = (m.CensusRequest.TYPE,)


class Crowded(Honest):
    """More than four censuses under way are refused with `why`; None: not answered."""

    most, why = 4, Refusal.BUSY.code

    def asked(self, request: bytes) -> list[bytes]:
        if request[0] != m.CensusRequest.TYPE:
            return [request]
        under_way = self.memory.setdefault("under way", set())
        if len(under_way) >= self.most:
            if self.why:
                self.reply(m.RefusedReply(int.from_bytes(request[1:3], "big"), self.why, b"too many"))
            return []
        under_way.add(int.from_bytes(request[1:3], "big"))
        return [request]

    def told(self, message: Any) -> list[Any]:
        self.memory.get("under way", set()).discard(message.id)
        return [message]


finds("census.many")(Crowded)


@finds("census.several")
class LostCensuses(Crowded):
    """Of several censuses the third and all later ones are lost."""

    most, why = 2, 0


@finds("census.many")
class RefusedAsBad(Crowded):
    """The ninth census is refused for a wrong reason."""

    most, why = COUNTING, Refusal.BAD_VALUE.code


# ------------------------------------------------------------------------------------------------------ events


@finds("events.once")
class SubscribedTwice(Redone):
    """A subscription that comes again is done again, and nobody is told."""

    types, hides = (m.SubscribeRequest.TYPE,), True


@finds("events.kinds")
class RolesBringCounts(Subscribing):
    """Who subscribes to roles is told of counts, too."""

    def instead(self, events: int) -> int:
        return events | (EventKind.COUNTS if events & EventKind.ROLES else 0)


@finds("events.kinds")
class FaultsBringFrames(Subscribing):
    """Who subscribes to faults is told of frames, too."""

    def instead(self, events: int) -> int:
        return events | (EventKind.FRAMES if events & EventKind.FAULTS else 0)


@finds("events.ended")
class FramesNeverEnd(Subscribing):
    """Frames are told for ever."""

    def instead(self, events: int) -> int:
        self.memory["ever"] = self.memory.get("ever", 0) | events & EventKind.FRAMES
        return int(events | self.memory["ever"])


@finds("events.forgotten")
class HelloKeepsFrames(Telling):
    """Whoever was told of frames is told so after hello, too."""

    events = 0

    def asked(self, request: bytes) -> list[bytes]:
        found = request_of(request)
        if isinstance(found, m.SubscribeRequest):
            self.events = found.events & EventKind.FRAMES
        return super().asked(request)


@finds("events.unknown")
class RefusedEnds(Honest):
    """A subscription that is refused ends the one before."""

    def asked(self, request: bytes) -> list[bytes]:
        found = request_of(request)
        if not isinstance(found, m.SubscribeRequest) or found.events < 16:
            return [request]
        return [request[:1] + b"\x7f\x55\0\0", request]

    def told(self, message: Any) -> list[Any]:
        return [] if message.id == 0x7F55 else [message]


instead("events.unknown", "kinds_of_8_bits", m.SubscribeRequest, lambda r: replace(r, events=r.events & 0x80FF))
changes("events.counts", "counts_told_twice", m.CountEvent, lambda e: [e, e])

# ------------------------------------------------------------------------------------------------------ frames


def one_way(rule: str, name: str, *ways: Way) -> None:
    """A card that tells of no other frames."""
    codes = {way.code for way in ways}
    changes(rule, name, m.FrameEvent, lambda e: e if e.way in codes else None)


one_way("frames.census", "frames_to_others_only", Way.TO_FIRMWARE, Way.TO_CPU)
one_way("frames.census", "frames_from_others_only", Way.FROM_FIRMWARE, Way.FROM_CPU)
one_way("frames.census", "frames_of_firmware_only", Way.FROM_FIRMWARE, Way.TO_FIRMWARE)
one_way("frames.cpu", "frames_but_from_the_cpu", Way.FROM_FIRMWARE, Way.TO_FIRMWARE, Way.TO_CPU)
changes("frames.census", "frames_cut", m.FrameEvent, lambda e: replace(e, frame=e.frame[:-8]))
changes("frames.census", "frames_begin_only", m.FrameEvent, lambda e: replace(e, frame=e.frame[:8]))
changes(
    "frames.census",
    "frames_with_a_wrong_byte",
    m.FrameEvent,
    lambda e: replace(e, frame=e.frame[:13] + bytes([e.frame[13] ^ 1]) + e.frame[14:]),
)
changes("frames.census", "frames_in_12_bits_of_time", m.FrameEvent, lambda e: replace(e, cycle=e.cycle & 0xFFF))
changes("frames.census", "frames_at_the_next_gpu", m.FrameEvent, lambda e: replace(e, gpu=(e.gpu + 1) % 4))
changes("frames.sent", "all_frames_at_gpu_0", m.FrameEvent, lambda e: replace(e, gpu=0))


@finds("frames.sent")
class SendsNothing(Honest):
    """A frame to be sent is not."""

    def asked(self, request: bytes) -> list[bytes]:
        if request[0] != m.SendRequest.TYPE or len(request) < 60 or request[3:5] > b"\0\3":
            return [request]
        self.memory[int.from_bytes(request[1:3], "big")] = True
        return [bytes([m.TimeRequest.TYPE]) + request[1:3]]

    def told(self, message: Any) -> list[Any]:
        return [m.SendReply(message.id, message.now) if self.memory.pop(message.id, False) else message]


instead("frames.sent", "sends_from_another", m.SendRequest, lambda r: replace(r, gpu=(r.gpu + 2) % 4))
instead("frames.sent", "sends_by_the_other_port", m.SendRequest, lambda r: replace(r, port=r.port ^ 1))
instead("frames.sent", "sends_it_twice", m.SendRequest, lambda r: [r, replace(r, id=0x7F55)])


@finds("frames.once")
class SentTwice(Redone):
    """A frame to be sent that comes again is sent again, and nobody is told."""

    types, hides = (m.SendRequest.TYPE,), True
