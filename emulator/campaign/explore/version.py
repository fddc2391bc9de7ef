"""Which ringhil plays: results of other firmware, or of another judge, are other results."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

# What results follow from, beside the RTL.
_SOURCES = (
    "protocol",
    "firmware",
    *(
        f"emulator/{name}"
        for name in ("build", "campaign", "engine", "host", "judge", "kernel", "loop", "scenario", "server")
    ),
)


@cache
def version_and_sources() -> str:
    """The version, and a hash of the sources: `0.4.0 2c26b46b68ff`."""
    root, found = Path(__file__).resolve().parents[3], hashlib.sha256()
    for folder in _SOURCES:
        for file in sorted((root / folder).rglob("*.py")):
            found.update(f"{file.relative_to(root)}\n".encode() + file.read_bytes() + b"\n")
    return f"{version('ringhil')} {found.hexdigest()[:12]}"
