"""Shards of a campaign become one, and a campaign is told as JUnit."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import command
from tests.emulator.campaign.explore.reported import PASSED, PLAN, campaign, filled, played, space
from tests.emulator.campaign.explore.servers import LYING, RING
from tests.emulator.campaign.verify.strict_junit import check, properties

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.document import document
from ringhil.emulator.campaign.explore.explorer import Explored
from ringhil.emulator.campaign.explore.junit import junit
from ringhil.emulator.campaign.explore.merge import merge
from ringhil.emulator.campaign.explore.store import Store

ringhil = partial(command.ringhil, "explore")
SHORT = ("--faults", "dead,link_cut", "--phases", "1", "--lasts", "left", "--json")


def part(path: Path, number: int, parts: int, **other: object) -> Path:
    """A shard of a campaign in which everything passes."""
    kept = campaign(PLAN)
    kept = replace(kept, arguments={**kept.arguments, "shard": [number, parts]})
    kept = replace(kept, **other)  # type: ignore[arg-type]
    path.unlink(missing_ok=True)
    with Store(path) as store:
        begun = store.begin(kept)
        mine = [(n, case, PASSED) for n, case in enumerate(space(PLAN)) if n % parts == number - 1]
        store.add(begun, mine)
    return path


@pytest.mark.rest
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10, deadline=None)
@given(st.integers(1, 4), st.randoms(use_true_random=False))
def test_all_shards_together_are_the_whole(tmp_path: Path, parts: int, rng: Any) -> None:
    """In whatever order, also twice."""
    files = [part(tmp_path / f"{number}.sqlite", number, parts) for number in range(1, parts + 1)]
    files += files[:1]
    rng.shuffle(files)
    with Store(":memory:") as whole, Store(":memory:") as merged:
        filled(whole, campaign(PLAN), ((case, PASSED) for case in space(PLAN)))
        number = merge(files, merged)
        assert list(merged.rows(number)) == list(whole.rows(1))
        assert merged.campaigns() == whole.campaigns()
        assert merge(files, merged) == number


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"rtl": "sha256:9"}, "its RTL is sha256:9, that of "),
        ({"version": "0.2 x"}, "its version of ringhil is 0.2 x, that of "),
        ({"seed": 77}, "its seed is 77, that of "),
        ({"scenario_hash": "sha256:8"}, "its scenario is sha256:8, that of "),
        ({"space": {"no fault": 1, "one fault": 2_000}}, "its space is 1 no fault, 2,000 one fault, that of "),
        ({"arguments": {**campaign(PLAN).arguments, "hashes": {"firmware": "z"}}}, "its hashes is {'firmware': 'z'}, "),
    ],
)
def test_what_is_no_part_of_it_is_refused(tmp_path: Path, other: Mapping[str, object], says: str) -> None:
    files = [part(tmp_path / "1", 1, 2), part(tmp_path / "2", 2, 2, **other)]
    with Store(":memory:") as merged:
        with pytest.raises(ExploreError, match=f"{tmp_path}/2: ") as error:
            merge(files, merged)
        assert says in str(error.value)
        assert merged.campaigns() == {}


def test_another_result_of_the_same_case_is_refused(tmp_path: Path) -> None:
    files = [part(tmp_path / "1", 1, 1), part(tmp_path / "2", 1, 1)]
    with Store(files[1]) as store:
        store._db.execute("UPDATE results SET cycles = 9 WHERE number = 3")
    with Store(":memory:") as merged:
        with pytest.raises(ExploreError, match="another store has another result of it"):
            merge(files, merged)
        assert merged.campaigns() == {}


@pytest.mark.rest
def test_shards_that_were_played_are_merged_by_a_command(tmp_path: Path) -> None:
    (tmp_path / "ring.yaml").write_text(RING)
    run = partial(ringhil, cwd=tmp_path)
    for number in (1, 2):
        run("ring.yaml", *SHORT, "--shard", f"{number}/2", "--store", f"{number}.sqlite")
    half = run("merge", "half.sqlite", "1.sqlite", "--json")
    assert (json.loads(half.stdout)["verdict"], half.returncode) == ("incomplete", 0)
    for share, code in (("0.4", 0), ("0.9999", 1), ("1", 1)):
        lost = run("merge", "half.sqlite", "1.sqlite", "--at-least", share, "--junit", "half.xml")
        assert (lost.returncode, lost.stderr.count(f"{100 * float(share):g} % of them")) == (code, code)
        assert check((tmp_path / "half.xml").read_text()).attrib["failures"] == str(code)
    both = run(
        "merge",
        "all.sqlite",
        "1.sqlite",
        "2.sqlite",
        "--json",
        "--report",
        "r.html",
        "--junit",
        "out/x.xml",
        "--at-least",
        "1",
    )
    assert (both.returncode, both.stderr) == (0, "")
    found, whole = json.loads(both.stdout), json.loads(run("ring.yaml", *SHORT, "--store", "w.sqlite").stdout)
    assert {name: found[name] for name in ("verdict", "classes", "cases", "done")} == {
        name: whole[name] for name in ("verdict", "classes", "cases", "done")
    }
    assert run("compare", "w.sqlite", "all.sqlite").stdout.endswith("0 recover later, 0 sooner\n")
    assert check((tmp_path / "out" / "x.xml").read_text()).attrib["tests"] == str(len(found["classes"]) + 1)
    assert "✓ pass" in (tmp_path / "r.html").read_text()
    for arguments, says in (
        (("merge", "x.sqlite", "no.sqlite"), "no.sqlite: no such file"),
        (("merge", "x.sqlite", "1.sqlite", "ring.yaml"), "ring.yaml: "),
        (("merge", "1.sqlite", "1.sqlite"), "it is read, and was to be written"),
        (("merge", "x.sqlite", "1.sqlite", "--junit", "1.sqlite"), "would take the place of what is read"),
    ):
        assert says in command.refusal("explore", *arguments, cwd=tmp_path)
        assert not (tmp_path / "x.sqlite").exists()


@pytest.mark.parametrize("number", [10**6, 50])
def test_junit_has_a_case_for_each_class(number: int) -> None:
    with played(number=number) as store:
        kept = store.campaigns()[1]
        told = document(store, Explored(1, sum(kept.space.values()), 0, 0, 0.0, None), ())
    root = check(junit(told))
    cases = {case.attrib["name"]: case for case in root.iter("testcase")}
    assert [*cases] == [*(each["class"] for each in told["classes"]), "all was played"]
    for each in told["classes"]:
        found = [element.tag for element in cases[each["class"]]]
        assert found == ["failure"] * bool(each["failed"]) or (found == ["error"] and not each["failed"])
        text = "".join(cases[each["class"]].itertext())
        assert all(row["key"] in text for row in told["failing"] if row["class"] == each["class"])
    assert [element.tag for element in cases["all was played"]] == ["skipped"] * (number == 50)
    assert {name: properties(root[0])[name] for name in told["hashes"]} == told["hashes"]
    if number == 50:
        *_, last = check(junit(told, at_least=0.9)).iter("failure")
        assert last.attrib["message"] == f"50 of {told['cases']:,} cases were played"


@pytest.mark.rest
def test_known_failures_are_no_news_and_those_that_are_gone_are(tmp_path: Path) -> None:
    """In verdict, exit code, text, report and JUnit."""
    (tmp_path / "ring.yaml").write_text(LYING)
    run = partial(ringhil, "ring.yaml", "--faults", "skip_count", "--phases", "1", "--lasts", "left", cwd=tmp_path)
    found = json.loads(run("--json").stdout)
    sorts = [sort["sort"] for sort in found["sorts"]]
    assert found["verdict"] == "fail"
    entries = [f"- {{scenario: ring.yaml, sort: {json.dumps(sort)}, reason: r, until: 2026-11-30}}\n" for sort in sorts]
    gone = '- {sort: "no such sort", reason: r, until: 2026-11-30}\n'
    for listed, today, verdict in (
        (entries, "2026-11-30", "pass"),
        (entries, "2026-12-01", "fail"),
        (entries[1:], "2026-11-30", "fail"),
        ([*entries, gone], "2026-11-30", "fail"),
    ):
        (tmp_path / "known.yaml").write_text("known:\n" + ("".join(listed) or "  []\n"))
        options = ("--known", "known.yaml", "--today", today, "--report", "r.html", "--junit", "x.xml")
        done = run(*options, "--json")
        told = json.loads(done.stdout)
        assert (told["verdict"], done.returncode) == (verdict, int(verdict == "fail"))
        failed = sum(int(each.attrib["failures"]) for each in check((tmp_path / "x.xml").read_text()))
        assert bool(failed) == (verdict == "fail")
        assert ("✓ pass" in (tmp_path / "r.html").read_text()) == (verdict == "pass")
    assert told["known"] == told["total"]["failed"] == sum(sort["cases"] for sort in told["sorts"])
    assert all(sort["known"] == f"r (until 2026-11-30, known.yaml:{n})" for n, sort in enumerate(told["sorts"], 2))
    assert all(sort["over"] is None for sort in told["sorts"])
    text = run(*options).stdout
    assert text.count("  known to fail: r (until 2026-11-30, ") == len(sorts)
    over = "it was known, and that is over: r (until 2026-11-30, "
    late = run(*options[:3], "2026-12-01", *options[4:]).stdout
    for written in (late, (tmp_path / "x.xml").read_text(), (tmp_path / "r.html").read_text()):
        assert written.count(over) == len(sorts)
    assert "FAIL no such sort: no case has failed in this sort, and it is known to: r (until 2026-11-30, " in text


def test_a_campaign_that_could_not_be_played_has_an_error_in_junit(tmp_path: Path) -> None:
    (tmp_path / "ring.yaml").write_text(RING)
    done = ringhil("ring.yaml", "--parts", "pairs", "--junit", "out/x.xml", cwd=tmp_path)
    assert done.returncode == 2
    assert check((tmp_path / "out" / "x.xml").read_text()).attrib["errors"] == "1"
    done = ringhil("ring.yaml", *SHORT, "--junit", "out/x.xml", cwd=tmp_path)
    assert done.returncode == 0
    assert check((tmp_path / "out" / "x.xml").read_text()).attrib["errors"] == "0"
