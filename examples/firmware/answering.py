"""A firmware that only answers keepalives: it is heard, and never asks for anything.

ringhil run ../fail-over.yaml --firmware a.1=answering:Answering      # in this folder; fails, as a.1 doesn't take over
"""

from dataclasses import replace

from ringhil.firmware import Action, Boot, Send
from ringhil.protocol import FrameError, Keepalive, Port, decode, encode


class Answering:
    """Sends each keepalive of another GPU back to it, by both ways, as a follower's."""

    def __init__(self, boot: Boot) -> None:
        self.boot, self.sequences = boot, dict[int, int]()

    def start(self, now: int) -> list[Action]:
        return []

    def on_timer(self, name: str, now: int) -> list[Action]:
        return []

    def on_status(self, status: int) -> None:
        """Of no interest here."""

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        if bad or port not in (Port.CW.code, Port.CCW.code):
            return []
        try:
            asked = decode(frame, link=False)
        except FrameError:
            return []
        if not isinstance(asked, Keepalive) or self.boot.entry is None:
            return []
        sequence = self.sequences[asked.priority] = self.sequences.get(asked.priority, 0) + 1
        answer = replace(
            asked,
            flags=0,
            ttl=self.boot.gpus + 1,
            destination=asked.my_discriminator >> 16,
            sequence=sequence,
            my_discriminator=self.boot.gpu << 16 | self.boot.boots & 0xFFFF,
            your_discriminator=asked.my_discriminator,
            priority=self.boot.entry.rank,
            members=1 << self.boot.entry.rank,
            state=0,
        )
        both = ((Port.CW, 0), (Port.CCW, 1))
        return [Send(port, encode(replace(answer, flags=ccw))) for port, ccw in both]
