"""Labels of requirements (R5, S3): where they are cited, and the table of docs/requirements.md made of that."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from ringhil.emulator.conformance.rule import all_rules

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "requirements.md"
_CODE = ("protocol", "firmware", "emulator", "rtl", "examples")
_ROOMS = (*_CODE, "tests", "docs")
_KINDS = {".py", ".sv", ".svh", ".h", ".c", ".cpp", ".md", ".yaml", ".json", ".j2"}
# A label is no attribute (Link.P1), index ([R2]), pin (.S0) or name that is assigned (P1 = ...).
_LABEL = r"(?<![\w.\[{$])([RPSWV])(\d{1,2})\b(?![\](]|\s*=)"
_CITED = re.compile(rf"{_LABEL}(?:(?:-|\sto\s|\s?\.\.\s?){_LABEL})?")
_NO_LABELS = {"docs/howto/monitoring.md", "tests/labels.py"}  # P0, P8 ... are NVML's performance states there
# Proofs have no label in their files: those of `ringhil rtl prove` and of tests/formal that show a requirement.
PROOFS = {
    "R2": ("hops",),
    "R3": ("count",),
    "R4": ("lane_mailbox",),
    "R5": ("credit", "bubble", "route", "buffer", "credits"),
    "R6": ("bypass", "lane", "ttl.control"),
    "R8": ("route",),
    "S3": ("memory", "isolation", "settings", "charged"),
    "S5": ("turns", "chosen"),
}
_MADE = {"build", "built", "node_modules"}  # folders


def defined() -> list[str]:
    """The labels that the page has, in its order."""
    return re.findall(r"^\| ([RPSWV]\d+) \|", PAGE.read_text().split("\n## Where each")[0], re.MULTILINE)


def cited(text: str) -> set[str]:
    """Labels in a text; of `W2 to W5` those between as well."""
    found = set()
    for kind, first, _, last in _CITED.findall(text):
        found |= {f"{kind}{number}" for number in range(int(first), int(last or first) + 1)}
    return found


def citing() -> Iterator[tuple[str, set[str]]]:
    """Each file that cites labels, by its path, with them."""
    for room in _ROOMS:
        for file in sorted((ROOT / room).rglob("*")):
            path = str(file.relative_to(ROOT))
            if file.suffix in _KINDS and path not in _NO_LABELS and not _MADE & {*file.parts}:
                labels = cited(file.read_text())
                if labels:
                    yield path, labels


def table() -> list[str]:
    """The rows of the page's table: for each label that is cited what cites it."""
    code, tests, scenarios = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list), Counter[str]()
    folders = defaultdict[str, Counter[str]](Counter)
    rules = defaultdict[str, Counter[str]](Counter)
    for path, labels in citing():
        for label in labels:
            if path.startswith("tests/scenarios/"):
                folders[label][path.split("/")[2]] += 1
                scenarios[label] += 1
            elif path.startswith("tests/"):
                tests[label].append(f"`{path}`")
            elif path.startswith(_CODE) and not path.startswith("emulator/conformance/"):
                code[label].append(f"`{path}`")
                if (mirror := _mirror(path)).is_file():
                    tests[label].append(f"`{mirror.relative_to(ROOT)}`")
    for rule in all_rules().values():
        for label in cited(rule.requirement):
            rules[label][rule.name.partition(".")[0]] += 1
    lines = ["| label | code | rules | proofs | tests | scenarios |", "|---|---|---|---|---|---|"]
    for label in defined():
        if label in code or label in tests:
            cells = (
                ", ".join(code[label]),
                _counted(rules[label]),
                ", ".join(f"`{name}`" for name in PROOFS.get(label, ())),
                ", ".join(sorted(set(tests[label]))),
                f"{scenarios[label]}: {_counted(folders[label])}" if scenarios[label] else "",
            )
            lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def _mirror(path: str) -> Path:
    """Where the tests of a file of code are, if it has such of its own."""
    file = ROOT / "tests" / path
    return file.with_name(f"test_{file.stem}.py")


def _counted(names: Counter[str]) -> str:
    return ", ".join(f"`{name}` {number}" for name, number in sorted(names.items()))
