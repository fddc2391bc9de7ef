"""What is played again, what is left out, and what has changed since the last run."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import refusal

from ringhil.emulator.campaign.verify.compare import VerifyDocument, compared
from ringhil.emulator.campaign.verify.selection import Selection

from .files import BAD, GOOD, SWEEP, ringhil, write

NAMES = st.text("ab", min_size=1, max_size=3)


@given(st.lists(NAMES, max_size=3), st.lists(NAMES, max_size=3), NAMES, st.none() | st.frozensets(st.just("x.yaml[a]")))
def test_not_leaves_out_what_the_same_word_would_choose(
    wanted: list[str], left_out: list[str], variant: str, only: frozenset[str] | None
) -> None:
    def fits(*patterns: str) -> bool:
        return Selection(patterns).fits(Path("x.yaml"), variant, "")

    both = Selection((*wanted, *(f"not {word}" for word in left_out)), only=only)
    expected = fits(*wanted) and not any(fits(word) for word in left_out)
    expected &= only is None or f"x.yaml[{variant}]" in only
    assert both.fits(Path("x.yaml"), variant, "") == expected
    useless = both.useless([(f"x.yaml[{variant}]", "")])
    assert set(useless) == {f"not {word}" for word in left_out if not fits(word)}


def test_select_leaves_out_and_a_word_that_fits_nothing_is_refused(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD, good=GOOD, sweep=SWEEP)
    done = ringhil(tmp_path, "verify", ".", "--list", "--select", "not at=3000", "--select", "not bad.yaml")
    assert done.stdout.split() == ["good.yaml", *(f"sweep.yaml[gpu=a.{n},at=3100]" for n in (1, 2, 3))]
    for more in ((), ("--list",)):
        line = refusal("verify", ".", "--select", "not goood", *more, cwd=tmp_path)
        assert line.startswith("ringhil: --select 'not goood': nothing is left out by that")


def ids(folder: Path, *arguments: str) -> list[str]:
    done = ringhil(folder, "verify", ".", *arguments, "--json")
    return [each["id"] for each in json.loads(done.stdout)["results"]]


def test_what_failed_last_is_played_until_it_passes(tmp_path: Path) -> None:
    """Of a part of the files, the rest stays as it was."""
    write(tmp_path, bad=BAD, good=GOOD, sweep=SWEEP)
    everything = ids(tmp_path)
    failed = [id_ for id_ in everything if id_ != "good.yaml" and "a.3" not in id_]
    assert ids(tmp_path, "--last-failed") == failed
    write(tmp_path, bad=GOOD)
    assert ids(tmp_path, "--last-failed", "--select", "bad") == ["bad.yaml"]
    assert ids(tmp_path, "--last-failed") == failed[1:]
    write(tmp_path, sweep=SWEEP.replace("  - {at: 8900, members: {a: [0, 1, 2]}}", "  - {at: 8900, count: {a: 3}}"))
    assert ids(tmp_path, "--last-failed") == failed[1:]
    again = ringhil(tmp_path, "verify", ".", "--last-failed")
    assert again.stderr == (
        "ringhil: --last-failed: nothing that has failed is kept in ringhil-verify: all is played\n"
    )
    assert again.stdout.splitlines()[-1].startswith("8 passed, 0 failed: 8 variants of 3 files")


@pytest.mark.parametrize("text", ["", "{}", "[" * 5000, '{"format": "x", "version": 1, "failed": []}'])
def test_a_spoilt_list_of_what_failed_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    write(tmp_path, good=GOOD)
    (tmp_path / "ringhil-verify").mkdir()
    (tmp_path / "ringhil-verify" / ".last-failed").write_text(text)
    line = refusal("verify", "good.yaml", "--last-failed", cwd=tmp_path)
    assert line.startswith("ringhil: ringhil-verify/.last-failed: ")


def result(id_: str, word: str, sort: str = "", known: str | None = None) -> dict[str, Any]:
    failures = [{"sort": sort, "lasts": None}] if sort else []
    return {"id": id_, "verdict": word, "failures": failures, "known": known, "scenario": "sha256:1"}


WORDS = st.sampled_from([("pass", ""), ("fail", "x"), ("fail", "y"), ("error", "z")])
RUNS = st.dictionaries(st.sampled_from("abcdef"), st.tuples(WORDS, st.none() | st.just("why")))


def made(run: dict[str, Any], rtl: str = "1") -> VerifyDocument:
    results = [result(id_, *words, known if words[0] == "fail" else None) for id_, (words, known) in run.items()]
    return VerifyDocument.model_validate({"ringhil": "1", "results": results, "hashes": {"rtl": rtl}})


@given(RUNS, RUNS)
def test_each_variant_is_in_one_part_of_a_comparison(old: dict[str, Any], new: dict[str, Any]) -> None:
    found = compared(made(old), made(new, "2"))
    changed = [change.id for part in (found.worse, found.better, found.other) for change in part]
    assert len(changed) == len(set(changed))
    assert {*changed, *found.only_old, *found.only_new} == {i for i in {*old, *new} if shown(old, i) != shown(new, i)}
    assert found.both == len(old.keys() & new.keys())
    assert found.changed == {"rtl": ("1", "2")}
    fails = {id_ for id_ in new if shown(new, id_)[0] in ("fail", "error")}
    failed = {id_ for id_ in old if shown(old, id_)[0] in ("fail", "error")}
    assert {change.id for change in found.worse} == (fails & old.keys()) - failed
    assert {change.id for change in found.better} == (failed & new.keys()) - fails
    assert found.worsened == bool(fails - failed)
    assert not compared(made(new), made(new)).worsened


def shown(run: dict[str, Any], id_: str) -> tuple[str, ...]:
    if id_ not in run:
        return ("none",)
    (word, sort), known = run[id_]
    return ("known" if known and word == "fail" else word, sort)


def test_two_runs_are_compared_by_their_documents(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD, good=GOOD)
    (tmp_path / "old.json").write_text(ringhil(tmp_path, "verify", "bad.yaml", "good.yaml", "--json").stdout)
    write(tmp_path, bad=GOOD, good=BAD, new=BAD)
    (tmp_path / "new.json").write_text(
        ringhil(tmp_path, "verify", "bad.yaml", "good.yaml", "new.yaml", "--json").stdout
    )
    done = ringhil(tmp_path, "verify", "compare", "old.json", "new.json")
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "passed before, and doesn't now: 1"
    assert lines[1].startswith("  good.yaml: pass -> fail: expectation: ")
    assert lines[1].endswith(" (the scenario has changed)")
    assert lines[2:4] == ["new, and doesn't pass: 1", "  new.yaml"]
    assert lines[-1] == "2 variants in both: 1 worse, 1 better, 0 changed otherwise"
    same = ringhil(tmp_path, "verify", "compare", "new.json", "new.json", "--json")
    assert same.returncode == 0
    assert json.loads(same.stdout)["both"] == 3
    for text, says in (("{}", "needed is 'ringhil' as well"), ("no", "not JSON")):
        (tmp_path / "x.json").write_text(text)
        line = refusal("verify", "compare", "x.json", "new.json", cwd=tmp_path)
        assert line.startswith("ringhil: x.json: ")
        assert says in line
    assert "no.json: " in refusal("verify", "compare", "no.json", "new.json", cwd=tmp_path)
