"""What has to be the same on two machines before one of them plays for the other."""

import platform
from dataclasses import asdict, dataclass
from typing import Self

from ringhil.emulator.campaign.explore.version import version_and_sources
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
