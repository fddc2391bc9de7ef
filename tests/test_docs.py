"""Pages and docstrings keep to the words of docs/reference/glossary.md, and files named on pages exist.

Links are checked by `make docs`.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringhil.emulator.front.cli.main import COMMANDS
from ringhil.emulator.proofs.claims import CLAIMS

from . import labels
from .formal.proofs import PROOFS

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"


def banned() -> dict[str, str]:
    """Words that are not used, with those that are, from the last table of the glossary."""
    rows = re.findall(
        r"^\| (.+) \| (.+) \|$", GLOSSARY.read_text().split("## Words that are not used")[1], re.MULTILINE
    )
    return {word: right for words, right in rows[1:] for word in words.split(", ")}


def texts() -> Iterator[tuple[str, str]]:
    """Each page, and each docstring of Python, with its place."""
    for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")):
        if page != GLOSSARY:
            yield str(page.relative_to(ROOT)), page.read_text()
    for folder in ("protocol", "firmware", "emulator"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{file.relative_to(ROOT)}, {getattr(node, 'name', 'file')}", ast.get_docstring(node) or ""


@pytest.mark.rest
def test_words_are_those_of_the_glossary() -> None:
    words = banned()
    assert words["host CPU"] == "CPU"
    search = re.compile(rf"\b({'|'.join(map(re.escape, words))})\b", re.IGNORECASE)
    spelt = {word.lower(): right for word, right in words.items()}
    found = [f"{where}: {w}, say {spelt[w.lower()]}" for where, text in texts() for w in search.findall(text)]
    assert found == []


def test_files_named_on_pages_exist() -> None:
    """Paths with a folder; they begin in the project, in emulator/ or in emulator/engine/."""
    bases = (ROOT, ROOT / "emulator", ROOT / "emulator" / "engine")
    path = re.compile(r"`((?:\w+/)+\w+\.(?:py|sv|h|cpp))`")
    named = {(page.name, name) for page in ROOT.glob("docs/**/*.md") for name in path.findall(page.read_text())}
    assert len(named) > 20
    assert [(page, name) for page, name in named if not any((base / name).is_file() for base in bases)] == []


def test_each_command_is_on_the_page_of_commands_and_no_other() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text()
    rows = re.findall(r"^\| `ringhil (\w+)", page, re.MULTILINE)
    assert {*rows} == {*COMMANDS}


def test_what_is_said_to_show_a_feature_exists() -> None:
    page = (ROOT / "docs" / "explanation" / "why-not.md").read_text()
    page = page.split("## Feature by feature")[1].split("\n## ")[0]
    cells = re.findall(r"^\| [^|]+ \| ([^|]+) \|", page, re.MULTILINE)[1:]
    shown = [re.findall(r"`([^`]+)`", cell) for cell in cells if cell not in ("no", "---")]
    assert len(shown) > 10
    assert all(shown)
    commands = {f"ringhil {name}" for name in COMMANDS}
    assert [each for cell in shown for each in cell if not (each in commands or (ROOT / each).exists())] == []


def test_each_label_that_is_cited_is_a_requirement() -> None:
    page = labels.defined()
    assert len(page) == len(set(page)) == 38
    assert {(path, label) for path, cited in labels.citing() for label in cited - {*page}} == set()


def test_labels_are_told_from_names_that_look_like_them() -> None:
    text = "R2-R4, W2 to\nW5 and S1; not Link.P1, P2 = 1, [R7], .S0(x), V100 or R6(1)"
    assert labels.cited(text) == {"R2", "R3", "R4", "W2", "W3", "W4", "W5", "S1"}


def test_each_proof_that_is_named_for_a_requirement_exists() -> None:
    proofs = {proof.name for proof in PROOFS} | {claim.name for claim in CLAIMS}
    assert {name for names in labels.PROOFS.values() for name in names} <= proofs
    assert labels.PROOFS.keys() <= {*labels.defined()}
