"""Each command of docs/tutorials/, run in an empty folder in the order of its page, prints what the page shows."""

import shlex
from pathlib import Path

import pytest

from .command import ringhil
from .tutorials import FOLDER, Command, agrees, play, steps


def _follow(name: str, folder: Path) -> None:
    """A page that goes wrong is shown whole, since a later command may fail for an earlier one."""
    done = play((FOLDER / f"{name}.md").read_text(), folder)
    wrong = [command.words for command, said in done if not agrees(command.shown, said)]
    assert wrong == [], "\n".join(f"$ {command.words}\n{said}" for command, said in done)


@pytest.mark.rest
@pytest.mark.parametrize("name", ["ci", "firmware"])
def test_a_page_does_as_it_says(name: str, tmp_path: Path) -> None:
    _follow(name, tmp_path)


@pytest.mark.slow(part="benches")
def test_the_hardware_engineer_finds_and_mends_the_bug(tmp_path: Path) -> None:
    _follow("hardware", tmp_path)


@pytest.mark.slow(part="benches")
@pytest.mark.skipif(not Path("/dev/fuse").exists(), reason="there is no /dev/fuse")
def test_the_operator_shares_a_gpu(tmp_path: Path) -> None:
    _follow("operator", tmp_path)


def test_each_page_has_a_test_and_commands() -> None:
    assert {page.stem for page in FOLDER.glob("*.md")} == {"hardware", "firmware", "ci", "operator"}
    for page in FOLDER.glob("*.md"):
        assert sum(isinstance(step, Command) for step in steps(page.read_text())) > 4


@pytest.mark.parametrize(
    ("shown", "said", "same"),
    [
        ("one\n...\nfour\n", "one\ntwo\nthree\nfour\n", True),
        ("one\n...\nfour\n", "one\nthree\n", False),
        ("1 passed, 0.4 s\n", "1 passed, 12.0 s\n", True),
        ("1 passed\n", "2 passed\n", False),
        ("", "anything", True),
    ],
)
def test_what_is_shown_is_compared_line_by_line(shown: str, said: str, same: bool) -> None:
    assert agrees(shown, said) == same


CLUSTERS = Path(__file__).resolve().parents[1] / "docs" / "howto" / "cluster.md"
SHIPPED = [
    step
    for step in steps(CLUSTERS.read_text())
    if isinstance(step, Command) and step.shown and step.words.startswith(".venv/bin/ringhil place examples/")
]


@pytest.mark.rest(but_one_in=3, start=1)
@pytest.mark.parametrize("command", SHIPPED, ids=range(len(SHIPPED)))
def test_comparisons_of_policies_print_what_the_page_shows(command: Command) -> None:
    done = ringhil(*shlex.split(command.words)[1:], cwd=CLUSTERS.parents[2])
    assert agrees(command.shown, done.stdout), done.stdout
