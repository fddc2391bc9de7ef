"""`ringhil lend usage`, `ringhil lend train`: what GPUs and loans have used, and what can be learned from it."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, json_option
from ringhil.emulator.front.cli.written import check_apart, must_be_writable, write_page
from ringhil.emulator.lending.choice import CHOICES, NOT_FOR, Goal
from ringhil.emulator.pages import number, units
from ringhil.emulator.pages.tables import print_table, table

if TYPE_CHECKING:  # they need packages that may not be there
    from ringhil.emulator.lending.database import LendingDatabase
    from ringhil.emulator.lending.learning import Trained
    from ringhil.emulator.lending.usage import GpuUsage, LoanUsage

_SECOND = 10**9
_JOULE = 10**6
_SHOWN = 20  # loans in the table
_COLUMNS = ("loan", "node", "kind", "size", "gpu", "began_s", "ended_s", "energy_j", "busy_s", "memory", "launches")

database_option = click.option(
    "--database",
    default="sqlite:///lending.db",
    show_default=True,
    metavar="URL",
    help="Where loans and usage are: sqlite:///FILE, mariadb+pymysql://… or postgresql+psycopg://…",
)


@click.command("usage")
@database_option
@click.option("--html", type=FILE, metavar="FILE", help="Write a page for operators; it needs nothing else.")
@click.option("--csv", "csv_file", type=FILE, metavar="FILE", help="Write a line for each loan.")
@json_option
def usage(database: str, html: Path | None, csv_file: Path | None, as_json: bool) -> None:
    """Show what GPUs and loans have used: energy, busy time, memory, launches.

    Times are seconds of the clock of the runs that lent them.
    """
    with explained():
        check_apart([csv_file], html=html)
        for file in (html, csv_file):
            must_be_writable(file)
        from ringhil.emulator.lending.database import open_database
        from ringhil.emulator.lending.usage import gpus_used, loans_used
        from ringhil.emulator.view.files import built

        page = None if html is None else built()
        with open_database(database, make=False) as found:
            loans = loans_used(found)
            whole, begin, end = gpus_used(found)
            if html is not None and page is not None:
                write_page(html, _page(found, page))
        gpus = {gpu: used for gpu, (used,) in whole.items()}
        lent = Counter(each.gpu for each in loans)
        rows = [gpu_row(gpu, used, lent[gpu]) for gpu, used in gpus.items()]
        lines = [loan_row(each) for each in loans]
        if csv_file is not None:
            write_page(csv_file, _csv(lines))
    if as_json:
        told = [line | {"among": [*each.among]} for line, each in zip(lines, loans, strict=True)]
        span = {"begin_s": begin / _SECOND, "end_s": end / _SECOND}
        terminal.print_json("lend-usage", {"database": found.name, **span, "gpus": rows, "loans": told})
        return
    _show(rows, lines)


def _page(database: "LendingDatabase", page: dict[str, tuple[bytes, str]]) -> str:
    from ringhil.emulator.front.cli.lend_usage_page import about
    from ringhil.emulator.view.alone import in_one
    from ringhil.emulator.view.fleet import LOANS

    return in_one(page, about(database), LOANS)


def gpu_row(gpu: str, used: "GpuUsage", loans: int) -> dict[str, Any]:
    """In the units that people are told."""
    return {
        "gpu": gpu,
        "loans": loans,
        "seen_s": used.seen / _SECOND,
        "lent_s": used.lent / _SECOND,
        **_used(used),
    }


def loan_row(loan: "LoanUsage") -> dict[str, Any]:
    """In the units that people are told; None: nobody knows, or it isn't over."""
    return {
        "loan": loan.loan,
        "node": loan.node,
        "kind": loan.kind,
        "size": loan.size,
        "gpu": loan.gpu,
        "began_s": loan.began / _SECOND,
        "ended_s": None if loan.ended is None else loan.ended / _SECOND,
        **_used(loan),
    }


def _used(of: "GpuUsage | LoanUsage") -> dict[str, Any]:
    return {
        "energy_j": None if of.energy is None else of.energy / _JOULE,
        "busy_s": None if of.busy is None else of.busy / _SECOND,
        "memory": of.memory,
        "launches": of.launches,
    }


def shown(row: Mapping[str, Any], key: str) -> str:
    """A value for people."""
    value = row[key]
    if key in ("memory", "size"):
        return units.memory(value)
    if key.endswith("_s"):
        return units.seconds(value)
    if key == "energy_j":
        return units.joules(value)
    return number(value) if value is None or isinstance(value, int | float) else str(value)


GPU_HEADS = {
    "gpu": "GPU",
    "loans": "loans",
    "seen_s": "seen",
    "lent_s": "lent",
    "energy_j": "energy",
    "busy_s": "busy",
    "memory": "most memory",
    "launches": "launches",
}
LOAN_HEADS = {
    "loan": "loan",
    "node": "guest",
    "kind": "kind",
    "size": "size",
    "gpu": "GPU",
    "began_s": "began",
    "ended_s": "ended",
    **{key: GPU_HEADS[key] for key in ("energy_j", "busy_s", "memory", "launches")},
}
LEFT = ("GPU", "guest", "kind")


def _show(rows: Sequence[Mapping[str, Any]], lines: Sequence[Mapping[str, Any]]) -> None:
    console = terminal.output()
    for heads, found in ((GPU_HEADS, rows), (LOAN_HEADS, lines[-_SHOWN:])):
        made = table(*heads.values(), left=LEFT)
        for row in found:
            made.add_row(*(escape(shown(row, key)) for key in heads))
        print_table(console, made)
        console.print()
    if len(lines) > _SHOWN:
        console.print(f"The last {_SHOWN} of {len(lines):,} loans; --csv and --json have all.")


def _csv(lines: Sequence[Mapping[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()


# ------------------------------------------------------------------------------------------------------------- learning


@click.command("train")
@database_option
@click.option(
    "--goal",
    type=click.Choice([each.value for each in Goal]),
    default=Goal.ENERGY.value,
    show_default=True,
    help="What loans are to take little of.",
)
@json_option
def train(database: str, goal: str, as_json: bool) -> int:
    """Learn from past loans which GPU takes least for which work.

    The first half of the history is learned from, the second half shows how good that is. The model is kept in the
    database. Exit code 0: it is kept; 1: refused, because always taking the least used GPU, or taking turns, would have
    been better; 2: there is too little history.
    """
    with explained():
        from ringhil.emulator.lending.database import open_database
        from ringhil.emulator.lending.learning import keep_model
        from ringhil.emulator.lending.learning import train as learn

        with open_database(database, make=False) as found:
            trained = learn(found, Goal(goal))
            if trained.better:
                keep_model(found, trained.model)
    if as_json:
        terminal.print_json("lend-train", _document(found.name, trained))
    elif trained.better:
        _show_quality(found.name, trained)
    if not trained.better:
        beyond = {name: f"{100 * each.regret:.1f} %" for name, each in trained.model.quality.items()}
        better = min(CHOICES, key=lambda name: trained.model.quality[name].regret)
        click.echo(
            f"ringhil: {found.name}: refused: the model would have taken {beyond['model']} more than the best GPUs, "
            f"{better} {beyond[better]}",
            err=True,
        )
    return int(not trained.better)


def _document(name: str, trained: "Trained") -> dict[str, Any]:
    model = trained.model
    return {
        "database": name,
        "kept": trained.better,
        "goal": model.goal,
        "trained": model.trained,
        "judged": model.judged,
        "seconds": round(trained.seconds, 6),
        "quality": {name: each.model_dump() for name, each in model.quality.items()},
        "kinds": [*model.kinds],
        "not_for": [*NOT_FOR],
    }


def _show_quality(name: str, trained: "Trained") -> None:
    console, model = terminal.output(), trained.model
    console.print(
        f"Learned from {model.trained:,} loans in {trained.seconds:.2f} s which GPU takes least {model.goal}; "
        f"held against {model.judged:,} later ones:",
        soft_wrap=True,
    )
    made = table("choice", "best GPU", "taken beyond the best", left=("choice",))
    for choice, each in model.quality.items():
        made.add_row(escape(choice), f"{100 * each.accuracy:.1f} %", f"{100 * each.regret:.1f} %")
    print_table(console, made)
    console.print(escape(f"Kept in {name}. It is not for:"), soft_wrap=True)
    for text in NOT_FOR:
        console.print(escape(f"- {text}"), soft_wrap=True)
