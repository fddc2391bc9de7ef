"""A frame on a link, as sources send it and monitors see it; damaged ones too."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self

from ringhil.emulator.testbench.arguments import within
from ringhil.emulator.trace.naming import described
from ringhil.protocol import codec, crc, wire
from ringhil.protocol.frames import Frame

Channel = Literal["control", "data"]
DATA_KINDS = frozenset(kind.code for kind in wire.DATA_KINDS)
KIND_NAMES = {kind.code: kind.value for kind in wire.Kind}
_TTL = slice(4, 6)
_EPOCH = slice(8, 12)


class Flit(NamedTuple):
    """What one cycle carries: `data`, 64 bits, and how they stand in their frame: first flit (`sof`), last flit
    (`eof`), with the error mark (`err`)."""

    data: int
    sof: bool
    eof: bool
    err: bool


@dataclass(frozen=True, slots=True)
class RingFrame:
    """A frame as flits, and the ways to spoil it.

    `data`: whole flits, most significant byte first. `channel`: control or data. `err`: an earlier hop's mark,
    carried with the last flit.

    `sof` and `eof` are false for a frame that lost its beginning or its end on the way (or is to lose it). `began`
    and `ended` are the cycles of the first and last flit, filled in by monitors.
    """

    data: bytes
    channel: Channel
    err: bool = False
    sof: bool = True
    eof: bool = True
    began: int = -1
    ended: int = -1

    @classmethod
    def of(cls, message: Frame | bytes) -> Self:
        """A well-formed message (both CRCs right), on the channel that its kind travels on."""
        data = message if isinstance(message, bytes) else codec.encode(message)
        return cls(data, "data" if data[0] in DATA_KINDS else "control")

    @property
    def kind(self) -> str:
        """Name of the kind, or "unknown"."""
        return KIND_NAMES.get(self.data[0], "unknown") if self.data else "unknown"

    @property
    def title(self) -> str:
        """Kind, sender and receiver, as far as they are in it."""
        return described(self.data) if self.sof else f"the last {len(self.data) // wire.FLIT_BYTES} flits of a frame"

    @property
    def ttl(self) -> int:
        """Hops that it has left."""
        return int.from_bytes(self.data[_TTL], "big")

    @property
    def link_ok(self) -> bool:
        """The link CRC is right."""
        return len(self.data) >= 16 and int.from_bytes(self.data[-4:], "big") == crc.link_crc(self.data)

    @property
    def good(self) -> bool:
        """Whole, not marked, and the link CRC is right."""
        return self.sof and self.eof and not self.err and self.link_ok

    def __str__(self) -> str:
        found = {"no start": not self.sof, "no end": not self.eof, "marked": self.err, "bad link CRC": not self.link_ok}
        notes = "".join(f", {word}" for word, holds in found.items() if holds)
        return f"{self.channel} {self.kind}, {len(self.data) // wire.FLIT_BYTES} flits{notes}: {self.data.hex()}"

    def message(self) -> Frame:
        """Decoded; raises codec.FrameError."""
        return codec.decode(self.data)

    def flits(self) -> Iterator[Flit]:
        """One a cycle."""
        count = len(self.data) // wire.FLIT_BYTES
        for i in range(count):
            word = int.from_bytes(self.data[8 * i : 8 * i + 8], "big")
            last = i == count - 1 and self.eof
            yield Flit(word, i == 0 and self.sof, last, last and self.err)

    # ------------------------------------------------------------------------------------------ injected errors

    def with_bit_flip(self, bit: int) -> Self:
        """Bit `bit` (from the first one sent) arrives wrong. Raises KitError."""
        within("bit", bit, 0, 8 * len(self.data) - 1)
        damaged = bytearray(self.data)
        damaged[bit // 8] ^= 0x80 >> bit % 8
        return replace(self, data=bytes(damaged))

    def truncated(self, flits: int) -> Self:
        """The frame as it arrives when only its first `flits` come, without an end. Raises KitError."""
        within("flits", flits, 1, self._count)
        return replace(self, data=self.data[: wire.FLIT_BYTES * flits], eof=False)

    def headless(self, flits: int = 1) -> Self:
        """The first `flits` are missing. Raises KitError."""
        within("flits", flits, 1, self._count - 1)
        return replace(self, data=self.data[wire.FLIT_BYTES * flits :], sof=False)

    def marked(self) -> Self:
        """The frame as an earlier hop sends on what it received damaged: with its mark and an inverted link CRC."""
        wrong = crc.link_crc(self.data) ^ 0xFFFFFFFF
        return replace(self, data=self.data[:-4] + wrong.to_bytes(4, "big"), err=True)

    def with_bad_link_crc(self) -> Self:
        """The last bit is wrong."""
        return self.with_bit_flip(8 * len(self.data) - 1)

    def with_bad_e2e_crc(self) -> Self:
        """Wrong from end to end, right on every link."""
        wrong = int.from_bytes(self.data[-8:-4], "big") ^ 1
        return self._relinked(self.data[:-8] + wrong.to_bytes(4, "big") + self.data[-4:])

    def with_stale_epoch(self, behind: int = 1) -> Self:
        """The frame of a holder that was deposed `behind` epochs ago; both CRCs are right."""
        epoch = int.from_bytes(self.data[_EPOCH], "big") - behind & 0xFFFFFFFF
        return replace(self, data=codec.seal(self.data[:8] + epoch.to_bytes(4, "big") + self.data[12:-8]))

    def with_ttl(self, ttl: int) -> Self:
        """The frame with another time to live (hops), link CRC put right. Raises KitError."""
        within("ttl", ttl, 0, 0xFFFF)
        return self._relinked(self.data[:4] + ttl.to_bytes(2, "big") + self.data[6:])

    @property
    def _count(self) -> int:
        return len(self.data) // wire.FLIT_BYTES

    def _relinked(self, data: bytes) -> Self:
        return replace(self, data=data[:-4] + crc.link_crc(data).to_bytes(4, "big"))

    def damaged(self, rng: random.Random) -> Self:
        """One of the errors above, drawn from `rng`."""
        flits = len(self.data) // wire.FLIT_BYTES
        match rng.randrange(5):
            case 0:
                return self.with_bit_flip(rng.randrange(64, 8 * len(self.data)))
            case 1:
                return self.truncated(rng.randrange(1, flits))
            case 2:
                return self.headless(rng.randrange(1, flits))
            case 3:
                return self.marked()
            case _:
                return self.with_bad_link_crc()
