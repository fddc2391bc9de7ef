"""A public class has its name for itself, so that a reader who meets it knows which it is."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# The reasons for which a name may be shared, and by how many.
_SCHEMA = "a part of a file, named so in the JSON Schema, and what it is checked into"
_STIMULUS = "an action of a stimulus file has its class's name in small letters; the other world never meets it"
SHARED = {
    **dict.fromkeys(("Application", "ApplicationGroup", "BoundaryLink", "Card"), (2, _SCHEMA)),
    **dict.fromkeys(("Scenario", "Server", "Sharing", "Workload"), (2, _SCHEMA)),
    **dict.fromkeys(("Fault", "Send"), (2, _STIMULUS)),
    "Serial": (2, "pyserial looks for this name in the module of each URL"),
    "Work": (2, "a frame; and a part of a file, named so in the JSON Schema"),
}


def test_no_two_public_classes_share_a_name() -> None:
    """A new pair needs another name, and a pair that is no more is no more allowed."""
    found: Counter[str] = Counter()
    for folder in ("protocol", "firmware", "emulator"):
        for path in (ROOT / folder).rglob("*.py"):
            found.update(re.findall(r"^class ([A-Za-z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE))
    shared = {name: number for name, number in found.items() if number > 1}
    assert shared == {name: number for name, (number, _) in SHARED.items()}
