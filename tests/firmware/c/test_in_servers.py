"""Servers whose GPUs run the firmware in C: the very frames, and the very results, of ours; also side by side with
ours in one ring."""

import json
import random
from pathlib import Path

import pytest
from tests.command import refusal, ringhil

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario, load_variants
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.foreign import Maker

from . import library

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "tests" / "scenarios").rglob("*.yaml"))
_MACHINE = 18  # byte of an ELF header
EXAMPLES = [ROOT / "examples" / f"{name}.yaml" for name in ("two-cards-faults", "chain-of-four", "cut-off-and-back")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    return library.maker(tmp_path_factory)


def played(scenario: Scenario, firmware: FirmwareChoice) -> tuple[list[tuple[object, ...]], dict[str, object]]:
    """Every frame, and the result."""
    run = Run(scenario, cells_library(), firmware=firmware)
    frames = list[tuple[object, ...]]()
    run.observations.listen_to_frames(lambda s: frames.append((s.cycle, s.cell, s.WAY, s.port, s.frame, s.bad)))
    found = run.run().to_json()
    run.close()
    del found["engine"]
    return frames, found


def some_of(scenario: Scenario, made: Maker, seed: int) -> FirmwareChoice:
    """In C on about half of the GPUs."""
    dice = random.Random(seed)
    places = [f"{card.name}.{gpu}" for card in scenario.server.cards for gpu in range(card.gpus)]
    return library.at([place for place in places if dice.random() < 0.5], made)


def same_as_ours(file: Path, numbers: list[int], made: Maker) -> None:
    variants = load_variants(file)
    for number in numbers:
        scenario = variants[number].scenario
        ours = played(scenario, OURS)
        assert played(scenario, library.everywhere(made)) == ours, f"{file} [{variants[number].text}]"
        assert played(scenario, some_of(scenario, made, number)) == ours, f"{file} [{variants[number].text}], mixed"


@pytest.mark.rest(but_one_in=4, start=2)
@pytest.mark.parametrize(
    "file",
    [
        *FILES[::16],
        *(pytest.param(file, marks=pytest.mark.slow(part="benches")) for file in EXAMPLES),
    ],
    ids=lambda file: file.stem,
)
def test_frames_and_results_are_those_of_ours(file: Path, made: Maker) -> None:
    same_as_ours(file, [0], made)


@pytest.mark.slow(part="scenarios")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_variant_that_is_shipped_is_the_same(file: Path, made: Maker) -> None:
    same_as_ours(file, list(range(len(load_variants(file)))), made)


@pytest.mark.slow(part="outside")
def test_the_command_line_takes_a_library(tmp_path: Path) -> None:
    path = library.built(tmp_path)
    file = str(EXAMPLES[0])
    found = [
        ringhil("run", file, "--record", f"{name}.jsonl", "--json", *more, cwd=tmp_path)
        for name, more in (("ours", ()), ("c", ("--firmware", f"*={path}")))
    ]
    assert [done.returncode for done in found] == [0, 0]
    ours, theirs = (json.loads(done.stdout) for done in found)
    assert ours.pop("hashes") != theirs.pop("hashes"), "they say whose firmware it was"
    assert {**ours, "engine": 0} == {**theirs, "engine": 0}
    messages, same = ((tmp_path / f"{name}.jsonl").read_bytes().splitlines()[1:] for name in ("ours", "c"))
    assert messages
    assert messages == same
    (tmp_path / "s.yaml").write_text("server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}\n")
    options = ("--faults", "dead", "--phases", "2", "--places", "a.0", "--json")
    explored = ringhil("explore", "s.yaml", "--firmware", f"*={path}", *options, cwd=tmp_path)
    assert json.loads(explored.stdout)["verdict"] == "pass"


WRONG = {
    "int probe;": "has no rhf_size; wanted are rhf_size and rhf_answer",
    "#include <stddef.h>\nsize_t rhf_size(void) { return 0; } size_t rhf_answer(void) { return 0; }": (
        "rhf_size is 0 bytes; allowed are 1 to"
    ),
    "#include <stddef.h>\nsize_t rhf_size(void) { return 8; } size_t rhf_answer(void) { return 0; }": (
        "rhf_answer gave 0 bytes; allowed are 1 to"
    ),
    "#include <stddef.h>\nsize_t rhf_size(void) { return 8; }\n"
    "size_t rhf_answer(void *s, const char *r, size_t n, char *o) { o[0] = 1; return n; }": "found AttachRequest",
    "#include <stddef.h>\nsize_t rhf_size(void) { return 8; }\n"
    "size_t rhf_answer(void *s, const char *r, size_t n, char *o)\n"
    "{ o[0] = (char)0x81; o[1] = r[1]; o[2] = r[2]; o[3] = 7; o[4] = o[5] = o[6] = 3; return 7; }": (
        "it speaks version 7.3; this is 1.0"
    ),
}


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("source", WRONG)
def test_a_library_without_what_is_wanted_is_one_line(source: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.c").write_text(source + "\n")
    done = library.compile_c("-shared", "-fPIC", tmp_path / "wrong.c", "-o", tmp_path / "wrong.so")
    assert done.returncode == 0
    said = refusal("run", str(EXAMPLES[0]), "--firmware", "*=./wrong.so", cwd=tmp_path)
    assert said.startswith("ringhil: --firmware *=./wrong.so: ")
    assert WRONG[source] in said


@pytest.mark.rest
def test_what_is_no_library_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("hello\n")
    (tmp_path / "page.so").write_text("hello\n" * 100)
    elsewhere = bytearray(library.built(tmp_path).read_bytes())
    elsewhere[_MACHINE : _MACHINE + 2] = b"\xf7\0"  # some machine that nobody runs this on
    (tmp_path / "other.so").write_bytes(elsewhere)
    for name, why in (
        ("text.so", "file too short"),
        ("page.so", "invalid ELF header"),
        ("other.so", "is for another machine, or lacks a library that it needs"),
        ("none.so", "No such file or directory"),
    ):
        said = refusal("run", str(EXAMPLES[0]), "--firmware", f"a.0=./{name}", "--record", "run.jsonl", cwd=tmp_path)
        assert not (tmp_path / "run.jsonl").exists()
        assert said.startswith(f"ringhil: --firmware a.0=./{name}: ")
        assert why in said
