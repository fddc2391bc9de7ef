"""A public class has its name for itself, so that a reader who meets it knows which it is."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# How many share a name: the file as it is written and what it is checked into (`scenario/model.py`), a frame and what
# it stands for, and the two worlds that never meet (the hardware kit with its rules; scenarios, campaigns and judge).
SHARED = {
    **dict.fromkeys(("BoundaryLink", "Card", "Scenario", "Times"), 2),
    **dict.fromkeys(("Evidence", "Judge", "Result", "Row", "Send", "Work"), 2),
    **dict.fromkeys(("Case", "Engine", "Fault", "Firmware", "Player", "Signal", "Source", "Expected"), 2),
    **dict.fromkeys(("Campaign", "Cell", "Plan", "Role", "Schedule", "Store", "Tally", "Verdict"), 2),
    **dict.fromkeys(("Mark", "Outcome", "Server", "Settings", "Workload"), 3),
    "Report": 4,
}


def test_no_two_public_classes_share_a_name() -> None:
    """A new pair needs another name."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in ("protocol", "firmware", "emulator"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in found.items() if len(paths) > SHARED.get(name, 1)} == {}
