"""The page of loans, used by mouse and keyboard: what it shows is what the database says."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page, expect
from tests.command import refusal, ringhil
from tests.emulator.lending.histories import SECOND, made_history

from ringhil.emulator.lending.database import open_database
from ringhil.emulator.lending.journal import LoanJournal
from ringhil.emulator.lending.loan import GpuLoan, LoanStep
from ringhil.emulator.lending.usage import LOANS, LoanUsage, MeterReading, UsageLog

from .conftest import viewed
from .test_page import AXE, SCHEMES, WIDER

Opened = Callable[..., Page]
HOSTILE = "<b onclick=alert(1)>\u202e"
SEEN = "<b onclick=alert(1)>\\u202e"


class Shown(NamedTuple):
    """A page, its database, and what that says."""

    page: str
    database: str
    told: dict[str, Any]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Thirty loans that are over, and one that goes on, of a GPU without a meter."""
    folder = tmp_path_factory.mktemp("loans")
    url = f"sqlite:///{folder}/lending.db"
    with open_database(url) as database:
        journal = LoanJournal(database)
        journal.new(GpuLoan(0, "i-0000002d", "kind 1", 1, ("a.0",), 5, done=LoanStep.RESTORE, reason="idle <i>"), 9)
        made_history(1, 30, 3).write(database)
        with UsageLog(database) as log:
            loan = LoanUsage(HOSTILE, "i-0000002e", "=1+1", 3.0, "b.0", ("b.0",), 1700 * SECOND)
            log.lent(loan, {"b.0": MeterReading(memory=1 << 20)})
            log.note(1720 * SECOND, {"b.0": MeterReading(memory=5 << 20, launches=7)})
        with database.begin() as connection:  # as somebody else may write it
            connection.execute(LOANS.update().where(LOANS.c.gpu == "b.0").values(kind=HOSTILE))
    page = folder / "usage.html"
    done = ringhil("lend", "usage", "--database", url, "--html", page, "--json")
    assert done.returncode == 0, done.stderr
    return Shown(page.as_uri(), url, json.loads(done.stdout))


def lent(page: Page) -> dict[str, str]:
    """Which loan has which GPU, by the page."""
    page.get_by_role("tab", name="GPU", exact=True).click()
    rows = page.get_by_role("table", name="GPUs at this moment").locator("tbody tr").all()
    cells = [(row.locator("th").inner_text(), row.locator("td").last.inner_text()) for row in rows]
    return {gpu: loan for gpu, loan in cells if loan != "-"}


def seen(loan: str) -> str:
    """As it is written on the page."""
    return SEEN if loan == HOSTILE else loan


@pytest.mark.rest
def test_at_any_moment_gpus_are_lent_to_whom_they_were(opened: Opened, shown: Shown) -> None:
    page, draw = opened(shown.page), random.Random(4)
    loans, gpus = shown.told["loans"], len({each["gpu"] for each in shown.told["gpus"]})
    last = shown.told["end_s"]
    moments = [draw.uniform(each["began_s"], each["ended_s"] or last) for each in draw.sample(loans, 12)]
    moments += [draw.uniform(0, last) for _ in range(8)]
    for moment in moments:
        page.get_by_role("slider", name="Moment").fill(f"{moment:.6f}")
        wanted = {
            each["gpu"]: seen(each["loan"])
            for each in loans
            if each["began_s"] <= moment and (each["ended_s"] is None or each["ended_s"] > moment)
        }
        assert lent(page) == wanted
        counted = {each.get_attribute("data-count"): each.inner_text() for each in page.locator("[data-count]").all()}
        assert counted == {"lent": f"{len(wanted)}", "free": f"{gpus - len(wanted)}"}


def test_figures_are_those_of_the_command(opened: Opened, shown: Shown) -> None:
    """A dash: nobody measured it."""
    page = opened(shown.page)
    page.get_by_role("tab", name="Figures").click()

    def table(name: str) -> list[list[str]]:
        rows = page.get_by_role("region", name=name, exact=True).locator("tbody tr").all()
        return [row.locator("th, td").all_inner_texts() for row in rows]

    found = ringhil("lend", "usage", "--database", shown.database).stdout
    loans = {row[0]: row for row in table("Loans")}
    assert [*loans] == [seen(each["loan"]) for each in reversed(shown.told["loans"])]
    assert loans[SEEN][1:5] == ["i-0000002e", SEEN, "3 B", "b.0"]
    assert loans[SEEN][6:] == ["-", "-", "-", "5 MiB", "7"]
    for row in [*table("GPUs"), *(loans[f"{n}"] for n in range(20, 30))]:
        assert " ".join(row).split() in [line.split() for line in found.splitlines()]


@pytest.mark.rest
def test_a_loan_is_chosen_in_the_list_and_in_its_lane(opened: Opened, shown: Shown) -> None:
    page = opened(shown.page)
    title = page.locator("#detail .title")
    page.keyboard.press("Home")
    page.get_by_role("option").filter(has_text="loan 1").first.click()
    expect(title).to_have_text("Loan 1")
    expect(page.locator("#detail")).to_contain_text("idle <i>")  # from the journal
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text("Loan 0")
    page.get_by_label("Lanes of").select_option("guests")
    expect(page.get_by_text("GPUs of each guest")).to_be_visible()
    box = page.locator(".plots .u-over").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] - 4, box["y"] + 36)  # the second guest, at the end
    expect(title).to_have_text(f"Loan {SEEN}")


@pytest.mark.rest
def test_it_plays_and_goes_to_both_ends(opened: Opened, shown: Shown) -> None:
    page = opened(shown.page)
    now = page.get_by_test_id("now").locator("b")
    page.keyboard.press("Home")
    expect(now).to_have_text("0 min")
    page.get_by_label("Speed").select_option("5")
    page.keyboard.press("Space")
    page.wait_for_function("() => parseFloat(document.querySelector('.now b').textContent) > 2")
    page.keyboard.press("Space")
    page.keyboard.press("End")
    expect(now).to_have_text(page.get_by_test_id("now").inner_text().partition("/")[2].strip())


@pytest.mark.rest
@pytest.mark.parametrize(("width", "scheme"), SCHEMES)
def test_axe_finds_nothing(opened: Opened, shown: Shown, width: int, scheme: str) -> None:
    page = opened(shown.page, width, color_scheme=scheme)
    for tab, other in (("Loans", "Loan"), ("Use", "GPU"), ("Figures", "Loan")):
        page.get_by_role("tab", name=tab, exact=True).click()
        page.get_by_role("tab", name=other, exact=True).click()
        page.evaluate(AXE.read_text())
        found = page.evaluate("async () => (await axe.run()).violations")
        assert not [(tab, each["id"], [node["target"] for node in each["nodes"]]) for each in found]
        assert page.evaluate(WIDER, width) == []


@pytest.mark.rest
def test_names_are_texts(opened: Opened, shown: Shown) -> None:
    page = opened(shown.page)
    expect(page.get_by_role("option").filter(has_text=f"{SEEN}, loan {SEEN}")).to_be_visible()
    assert page.locator("[onclick], i").count() == 0
    assert "\u202e" not in page.content()


@pytest.fixture
def lending(tmp_path: Path) -> Iterator[tuple[str, UsageLog]]:
    url = f"sqlite:///{tmp_path}/lending.db"
    with open_database(url) as database:
        LoanJournal(database)
        with UsageLog(database) as log:
            log.note(SECOND, {"a.0": MeterReading(0, 0, 0)})
            log.write()
            yield url, log


@pytest.mark.rest
def test_a_database_is_followed_while_somebody_lends(opened: Opened, lending: tuple[str, UsageLog]) -> None:
    url, log = lending
    with viewed(url) as address:
        page = opened(address, first="text=No GPU was lent yet.")
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        log.lent(
            LoanUsage("1", "i-0000002d", "training", 3.0, "a.0", ("a.0",), 2 * SECOND), {"a.0": MeterReading(5, 5, 5)}
        )
        log.note(3 * SECOND, {"a.0": MeterReading(9, 9, 9)})
        log.write()
        expect(page.get_by_role("option").filter(has_text="loan 1")).to_be_visible()
        assert lent(page) == {"a.0": "1"}
        page.close()


def test_what_cannot_be_shown_is_one_line(tmp_path: Path) -> None:
    assert "there is no such file" in refusal("view", "sqlite:///none.db", cwd=tmp_path)
    assert "--policy is for a cluster's file" in refusal("view", "sqlite:///none.db", "--policy", "fgd", cwd=tmp_path)
    assert [*tmp_path.iterdir()] == []
