"""`ringhil lend usage`: the table, JSON, CSV and the page say the same."""

import csv
import json
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.emulator.view.held import held

from ringhil.emulator.lending.database import open_database
from ringhil.emulator.lending.journal import LoanJournal
from ringhil.emulator.lending.usage import LoanUsage, MeterReading, UsageLog
from ringhil.emulator.pages.units import joules
from ringhil.emulator.view.fleet import LOANS

from .histories import made_history

SECOND = 10**9


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Thirty loans that are over, and one that goes on, of a GPU without a meter."""
    url = f"sqlite:///{tmp_path_factory.mktemp('usage')}/lending.db"
    with open_database(url) as database:
        LoanJournal(database)
        made_history(1, 30, 3).write(database)
        with UsageLog(database) as log:
            loan = LoanUsage("<b>", "i-0000002d", "=1+1", 3.0, "b.0", ("b.0",), SECOND)
            log.lent(loan, {"b.0": MeterReading(memory=1 << 20)})
            log.note(3 * SECOND, {"b.0": MeterReading(memory=5 << 20, launches=7)})
    return url


def test_table_json_csv_and_page_say_the_same(url: str, tmp_path: Path) -> None:
    """How the page shows it, tests/emulator/view/page/test_loans.py tries."""
    page, file = tmp_path / "usage.html", tmp_path / "usage.csv"
    said = ringhil("lend", "usage", "--database", url, "--html", page, "--csv", file)
    told = json.loads(ringhil("lend", "usage", "--database", url, "--json").stdout)
    assert said.returncode == 0, said.stderr
    with file.open(newline="") as opened:
        lines = list(csv.DictReader(opened))
    shown = held(page.read_text(), LOANS)
    assert shown["loans"] == [each | {"reason": "", "error": ""} for each in told["loans"]]
    assert shown["gpus"] == told["gpus"]
    assert (shown["begin_s"], shown["end_s"]) == (told["begin_s"], told["end_s"])
    assert len(lines) == len(told["loans"]) == 31
    for line, each in zip(lines, told["loans"], strict=True):
        assert line == {key: "" if each[key] is None else str(each[key]) for key in line}
        energy = joules(each["energy_j"])
        printed = [line for line in said.stdout.splitlines() if line.split()[:2] == [each["loan"], each["node"]]]
        assert [energy in line for line in printed] == ([True] if told["loans"].index(each) >= 11 else [])
    for each in told["gpus"]:
        lent = [loan for loan in told["loans"] if loan["gpu"] == each["gpu"]]
        assert each["loans"] == len(lent)
        assert (each["energy_j"] or 0) == pytest.approx(sum(loan["energy_j"] or 0 for loan in lent))
        assert (each["busy_s"] or 0) == pytest.approx(sum(loan["busy_s"] or 0 for loan in lent))


def test_what_nobody_measured_is_told_so(url: str) -> None:
    *_, loan = json.loads(ringhil("lend", "usage", "--database", url, "--json").stdout)["loans"]
    assert (loan["loan"], loan["ended_s"], loan["energy_j"], loan["busy_s"]) == ("<b>", None, None, None)
    assert (loan["memory"], loan["launches"]) == (5 << 20, 7)


def test_gpus_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    gpus = [f"{card}.{number}" for card in ("left", "right") for number in range(11)]
    url = f"sqlite:///{tmp_path}/lending.db"
    with open_database(url) as database, UsageLog(database) as log:
        LoanJournal(database)
        for second in range(2):
            log.note(second * SECOND, {gpu: MeterReading(energy=second) for gpu in reversed(gpus)})
    told = json.loads(ringhil("lend", "usage", "--database", url, "--json").stdout)
    assert [each["gpu"] for each in told["gpus"]] == gpus


def test_what_is_always_the_same_is_a_flat_line(tmp_path: Path) -> None:
    """Samples are further apart than the points of a curve; before and between them nothing is said."""
    url, page = f"sqlite:///{tmp_path}/lending.db", tmp_path / "usage.html"
    with open_database(url) as database, UsageLog(database) as log:
        LoanJournal(database)
        for second in range(13):
            log.note(second * SECOND, {"a.0": MeterReading(energy=10**7 * second, busy=0, memory=0)})
    assert ringhil("lend", "usage", "--database", url, "--html", page).returncode == 0
    power, busy, memory, launches = held(page.read_text(), LOANS)["charts"]
    (curve,) = power["curves"]
    assert (power["y"]["quantity"], set(curve["ys"]), curve["steps"]) == ("watts", {10.0}, True)
    assert [chart["title"] for chart in (busy, memory, launches)] == ["Busy", "Memory", "Launches in a second"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--html", "x", "--csv", "x"), "--html x: that would take the place of what is read or kept"),
        (("--html", "/dev/null/x"), "/dev/null: cannot be written"),
        (("--html", "x", "--csv", "."), "cannot be written"),
        (("--database", "sqlite:///none.db"), "sqlite:///none.db: there is no such file"),
    ],
)
def test_what_cannot_be_shown_is_one_line(url: str, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    given = ("--database", url) if "--database" not in words else ()
    assert says in refusal("lend", "usage", *given, *words, cwd=tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_a_database_with_no_loans_yet_is_no_mistake(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lending.db"
    open_database(url).close()
    page = tmp_path / "usage.html"
    done = ringhil("lend", "usage", "--database", url, "--html", page, "--json")
    assert json.loads(done.stdout) == {
        "schema": "lend-usage/1",
        "database": url,
        "begin_s": 0.0,
        "end_s": 0.0,
        "gpus": [],
        "loans": [],
    }
    assert held(page.read_text(), LOANS)["what"] == f"{url}: 0 loans; samples of 0.0 s"
