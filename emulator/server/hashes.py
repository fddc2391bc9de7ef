"""Which one it was: hashes of the scenario, the RTL and the firmware of a run, for all that is written about it.

| name | hash of |
|---|---|
| `scenario` | the scenario as a file says it that ringhil writes, parameters and seed filled in |
| `rtl` | names and contents of the SystemVerilog files |
| `firmware` | ours: the Python sources of `ringhil.firmware` and `ringhil.protocol` |
| `firmware.a.3`, `firmware.*` | somebody else's: the library, or the Python file and those beside it that it imports |

A board is named by what it says that it is, in the place of a hash.
"""

import hashlib
import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ringhil.emulator.scenario import Scenario, dumps
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice

_SHORT = 12  # digits in texts
_OURS = ("firmware", "protocol")
_MARK = "sha256:"
# What results follow from, beside the RTL.
_SOURCES = (
    "protocol",
    "firmware",
    *(
        f"emulator/{name}"
        for name in ("build", "campaign", "engine", "events", "host", "judge", "kernel", "loop", "scenario", "server")
    ),
)


def hashes(scenario: Scenario | None, rtl: str | None, firmware: FirmwareChoice = OURS) -> dict[str, str]:
    """All of a run, by name; None: there is no such thing, or there are several."""
    found = {} if scenario is None else {"scenario": scenario_hash(dumps(scenario.anywhere()))}
    found |= {} if rtl is None else {"rtl": rtl}
    others = {
        f"firmware.{where}": f"{_MARK}{chosen.source}" if chosen.board is None and chosen.source else chosen.source
        for where, chosen in sorted(firmware.chosen.items())
    }
    return {**found, "firmware": our_firmware(), **others}


def scenario_hash(text: str) -> str:
    """Of the text of a scenario file."""
    return f"{_MARK}{hashlib.sha256(text.encode()).hexdigest()}"


def short(found: Mapping[str, str]) -> str:
    """For people, in one line: `scenario 2c26b46b68ff, rtl c80d0f8a0673, firmware 0a1b2c3d4e5f`."""
    return ", ".join(f"{name} {value.removeprefix(_MARK)[:_SHORT] or 'unknown'}" for name, value in found.items())


@cache
def our_firmware() -> str:
    """Of the firmware that runs where nobody says otherwise."""
    return f"{_MARK}{sources_hash(_OURS)}"


@cache
def version_and_sources() -> str:
    """The version, and a hash of the sources that results follow from: `1.0.0 2c26b46b68ff`."""
    return f"{version('ringhil')} {sources_hash(_SOURCES)[:12]}"


def sources_hash(folders: tuple[str, ...]) -> str:
    """Over names and contents of all Python files of these folders of ringhil."""
    root, found = Path(__file__).resolve().parents[2], hashlib.sha256()
    for folder in folders:
        for file in sorted((root / folder).rglob("*.py")):
            found.update(os.fsencode(file.relative_to(root)) + b"\n" + file.read_bytes() + b"\n")
    return found.hexdigest()
