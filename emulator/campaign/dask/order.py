"""What a worker is told before it plays: who it has to be, which RTL and firmware, and what kind of campaign.

All of it is JSON: nothing that arrives is run.
"""

import base64
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol, Self, TypeVar

from pydantic import TypeAdapter

from ringhil.emulator.build.node_rtl import NODE, sources
from ringhil.emulator.engine.library import RTL, Library, cells_library
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.server.firmware_choice import FirmwareChoice
from ringhil.emulator.server.foreign import FirmwareError
from ringhil.emulator.server.hashes import version_and_sources
from ringhil.protocol.wire import Kind


@dataclass(frozen=True)
class Facts:
    """`ringhil`: version and hash of the sources; `protocol`: version of the wire format."""

    ringhil: str
    python: str
    protocol: int

    @classmethod
    def here(cls) -> Self:
        """Those of this process."""
        return cls(version_and_sources(), platform.python_version(), Kind.STATISTICS.code >> 4)

    def difference(self, wanted: "Facts") -> str | None:
        """The first thing in which these are not the wanted ones; None: there is no such thing."""
        found, allowed = asdict(self), asdict(wanted)
        for name, value in allowed.items():
            if found[name] != value:
                return f"it has {name} {found[name]}; allowed is {value}, as here"
        return None


T_contra = TypeVar("T_contra", contravariant=True)
A_co = TypeVar("A_co", covariant=True)


class Refused(RinghilError):
    """A worker can't play for this campaign: why, as the end of a line that begins with the worker."""


class Codec(Protocol[T_contra, A_co]):
    """Between a campaign's tasks and answers, and text that travels."""

    def encode(self, task: T_contra) -> str:
        """A task as JSON."""
        ...

    def decode(self, text: str) -> A_co:
        """The answer that a worker has sent. Raises ValueError when it is none."""
        ...


@dataclass(frozen=True)
class SentRtl:
    """`top`: the node. `files`: a directory's sources in base64, by name; None: ringhil's own RTL. `shown`: which file
    is named when an assertion of one of that name fails."""

    top: str
    files: dict[str, str] | None
    hash: str
    shown: dict[str, str]

    @classmethod
    def of(cls, library: Library, rtl: Path | None, top: str = NODE) -> "SentRtl":
        """That of `library`, which was built from directory `rtl`. Raises BuildError."""
        shown = {name: str(path) for name, path in library.sources.items()}
        files = None if rtl is None else {f.name: packed(f.read_bytes()) for f in sources(rtl) if f.parent == rtl}
        return cls(top, files, library.rtl, shown)

    def library(self, folder: Path) -> Library:
        """Built here, in this machine's cache; `folder` takes the files. Raises BuildError, and Refused when it is
        another RTL."""
        where = RTL
        if self.files is not None:
            where = folder / "rtl"
            where.mkdir(parents=True)
            for name, text in self.files.items():
                (where / Path(name).name).write_bytes(unpacked(text))
        library = cells_library(where, top=self.top)
        if library.rtl != self.hash:
            raise Refused(f"it has RTL {library.rtl}; allowed is {self.hash}, as here")
        return replace(library, sources={name: Path(path) for name, path in self.shown.items()})


@dataclass(frozen=True)
class NamedFirmware:
    """Somebody else's firmware: `given` as it was written; `sources`: hashes of the files, which aren't sent."""

    given: tuple[str, ...]
    sources: dict[str, str]

    @classmethod
    def of(cls, firmware: FirmwareChoice) -> "NamedFirmware":
        """That of a campaign which is played here."""
        return cls(firmware.given, firmware.sources())

    def loaded(self) -> FirmwareChoice:
        """From the same files, here. Raises Refused when one of them differs or isn't there: none of it is run then."""
        try:
            return firmware_of(self.given, self.sources)
        except FirmwareError as error:
            raise Refused(str(error)) from error


@dataclass(frozen=True)
class Order:
    """`kind`: explore, place or verify; `campaign`: JSON of that kind. `lanes`: batches that are played at a time.
    `shared`: the worker is on this machine and finds its files."""

    facts: Facts
    rtl: SentRtl
    firmware: NamedFirmware
    kind: str
    campaign: str
    shared: bool = False
    lanes: int = 1

    def to_json(self) -> str:
        """See `facts_of` and `from_json`."""
        return _ORDER.dump_json(self).decode()

    @staticmethod
    def facts_of(text: str) -> Facts:
        """The only part that every version of ringhil has to understand."""
        return TypeAdapter(_Stamped).validate_json(text).facts

    @staticmethod
    def from_json(text: str) -> "Order":
        """The order in `text`. Raises ValueError."""
        return _ORDER.validate_json(text)


@dataclass(frozen=True)
class _Stamped:
    facts: Facts


_ORDER = TypeAdapter(Order)


@dataclass(frozen=True)
class Crew:
    """How a worker plays: `work` makes an answer's text from a task's. `once`, `patience`: see LocalPool."""

    work: Callable[[str], str]
    once: bool = False
    patience: float | None = None


def packed(data: bytes) -> str:
    """Bytes as text."""
    return base64.b64encode(data).decode()


def unpacked(text: str) -> bytes:
    """The bytes that `packed` was given. Raises ValueError."""
    return base64.b64decode(text, validate=True)
