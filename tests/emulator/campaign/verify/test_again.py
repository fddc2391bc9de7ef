"""What is played again, what is left out, and what has changed since the last run."""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command import refusal

from ringhil.emulator.campaign.verify import VerifyPlan, run_all
from ringhil.emulator.campaign.verify.compare import VerifyDocument, compared
from ringhil.emulator.campaign.verify.evidence import Replay
from ringhil.emulator.campaign.verify.kept import KeptVerdicts
from ringhil.emulator.campaign.verify.selection import Selection
from ringhil.emulator.server.firmware_choice import Chosen, FirmwareChoice

from .files import BAD, GOOD, SWEEP, ringhil, write
from .scripted import Scripted

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


@pytest.mark.rest
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


@given(st.none() | st.sampled_from("12"), st.none() | st.sampled_from("12"))
def test_a_scenario_has_changed_only_where_both_runs_know_it(old: str | None, new: str | None) -> None:
    """One whose firmware died, say, has no hash."""
    first, second = ({**result("a", word), "scenario": known} for word, known in (("pass", old), ("error", new)))
    documents = [VerifyDocument.model_validate({"ringhil": "1", "results": [each]}) for each in (first, second)]
    (change,) = compared(*documents).worse
    assert change.edited == ({old, new} == {"1", "2"})


def shown(run: dict[str, Any], id_: str) -> tuple[str, ...]:
    if id_ not in run:
        return ("none",)
    (word, sort), known = run[id_]
    return ("known" if known and word == "fail" else word, sort)


@pytest.mark.rest
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
    back = ringhil(tmp_path, "verify", "compare", "new.json", "old.json")
    assert (back.returncode, back.stdout.splitlines()[-3:-1]) == (1, ["only in new.json: 1", "  new.yaml"])
    same = ringhil(tmp_path, "verify", "compare", "new.json", "new.json", "--json")
    assert same.returncode == 0
    assert json.loads(same.stdout)["both"] == 3
    (tmp_path / "other.json").write_text(ringhil(tmp_path, "verify", "new.yaml", "--json").stdout)
    line = refusal("verify", "compare", "old.json", "other.json", cwd=tmp_path)
    assert line == "ringhil: other.json: found no variant that is in old.json as well; nothing can be compared"
    for text, says in (("{}", "needed is 'ringhil' as well"), ("no", "not JSON")):
        (tmp_path / "x.json").write_text(text)
        line = refusal("verify", "compare", "x.json", "new.json", cwd=tmp_path)
        assert line.startswith("ringhil: x.json: ")
        assert says in line
    assert "no.json: " in refusal("verify", "compare", "no.json", "new.json", cwd=tmp_path)


CHANGES = ["nothing", "file", "meanwhile", "seed", "rtl", "top", "select", "shard", "firmware"]


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("changed", CHANGES)
@settings(deadline=None, max_examples=6)
@given(
    st.lists(st.lists(st.sampled_from(["pass", "pass", "fail", "raise"]), min_size=1, max_size=4), max_size=4),
    st.booleans(),
)
def test_what_passed_is_kept_while_all_that_it_follows_from_is_the_same(
    changed: str, script: list[list[str]], fail_fast: bool
) -> None:
    """In the second run whatever is played raises."""
    script = [["pass", "fail"], *script]
    with TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.yaml") for number in range(len(script))]
        for file in files:
            file.write_text("server: {}\n")
        first, kept = Scripted(script, files), KeptVerdicts()
        before = run_all(VerifyPlan(first, 1, fail_fast, "1", kept=kept))
        again = Scripted([["raise"] * len(words) for words in script], files)
        if changed == "meanwhile":
            files[0].write_text("server: {} # edited\n")
        Path(folder, "kept").write_text(kept.with_played(first, before))
        match changed:
            case "file":
                files[0].write_text("server: {} # edited\n")
            case "seed":
                again.seed = 7
            case "rtl":
                again.library = replace(again.library, rtl="sha256:other")
            case "top":
                again.replay = Replay(rtl=(Path("rtl"), "other"))
            case "select":
                again.selection = Selection(("n=",))
            case "shard":
                again.selection = Selection(shards=2)
            case "firmware":
                again.replay = Replay(firmware=FirmwareChoice(chosen={"*": Chosen("own:A", cast(Any, None), "1")}))
        report = run_all(VerifyPlan(again, 1, False, "1", kept=KeptVerdicts.load(Path(folder, "kept"))))
        stands = {file for number, file in enumerate(files) if number in before.whole}
        stands -= {"nothing": set(), "file": set(files[:1]), "meanwhile": set(files[:1])}.get(changed, set(files))
        passed = {verdict.id for verdict in before.results if verdict.state == "pass" and verdict.file in stands}
        assert {verdict.id for verdict in report.results if verdict.kept} == passed
        assert {verdict.id for verdict in report.results if verdict.state == "pass"} == passed
        assert len(report.results) == sum(map(len, script))


def test_what_is_kept_is_reported_as_it_was(tmp_path: Path) -> None:
    """What fails is played again and leaves its folder again; what reads other files is played again."""
    work = GOOD + "workload: {data: notes.txt, size: 64}\n"
    write(tmp_path, bad=BAD, good=GOOD, sweep=SWEEP, work=work)
    (tmp_path / "notes.txt").write_text("some work\n" * 100)
    command = ("verify", ".", "--keep", "out/kept.json", "--json")
    first = json.loads(ringhil(tmp_path, *command).stdout)
    (tmp_path / "ringhil-verify" / "bad" / "scenario.yaml").unlink()
    second = json.loads(ringhil(tmp_path, *command).stdout)
    mine = {"seconds", "kept"}
    assert [{k: v for k, v in each.items() if k not in mine} for each in second["results"]] == [
        {k: v for k, v in each.items() if k not in mine} for each in first["results"]
    ]
    passed = {each["id"] for each in first["results"] if each["verdict"] == "pass"}
    assert {each["id"] for each in second["results"] if each["kept"]} == passed - {"work.yaml"}
    assert (first["kept"], second["kept"]) == (0, len(passed) - 1)
    assert (tmp_path / "ringhil-verify" / "bad" / "scenario.yaml").exists()
    text = ringhil(tmp_path, "verify", "good.yaml", "--keep", "out/kept.json", "--junit", "j.xml").stdout
    assert text.startswith("1 passed (1 kept), 0 failed: 1 variant of 1 file, 0 cycles")
    assert "kept: not played again" in (tmp_path / "j.xml").read_text()


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    "text", ["", "[" * 5000, '{"format": "ringhil kept verdicts", "version": 1, "files": {"a": 1}}']
)
def test_a_spoilt_file_of_kept_verdicts_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    write(tmp_path, good=GOOD)
    (tmp_path / "kept").write_text(text)
    assert refusal("verify", "good.yaml", "--keep", "kept", cwd=tmp_path).startswith("ringhil: kept: ")
    assert (tmp_path / "kept").read_text() == text
    line = refusal("verify", "good.yaml", "--keep", "good.yaml", cwd=tmp_path)
    assert (tmp_path / "good.yaml").read_text() == GOOD, line
