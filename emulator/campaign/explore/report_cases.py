"""Cases of a report with what replays them."""

import re
import shlex
from collections.abc import Iterable

from ringhil.emulator.campaign.explore.report_page import code, number, percent, row_head, table, td, text
from ringhil.emulator.campaign.explore.rows import Campaign, Row

FOLDER = "replay"  # where the commands write cases to
SERVER = "server.yaml"  # what the scenario of the campaign is to be saved as, when it has no store
_MOST_TEXTS = 5
_LONGEST = 400  # characters of one


def replay(row: Row, store: str, campaign: int) -> str:
    """What a shell plays the case with; from the store, or, without one, from the scenario on the page."""
    if store == ":memory:":
        lines = [f"timeline: {row.schedule}", *([] if row.result.until is None else [f"until: {row.result.until}"])]
        file = f"case-{row.number:07}.yaml"
        words = " ".join(map(shlex.quote, lines))
        return f"printf '%s\\n' {words} | cat {SERVER} - > {file} && ringhil run {file}"
    # A path that begins with a dash would be taken for an option.
    path = f"./{store}" if store.startswith("-") else store
    key = re.sub(r"([*?[])", r"[\1]", row.key)  # --key knows patterns
    query = ["ringhil", "explore", "query", path, "--campaign", str(campaign), "--key", key, "--out", FOLDER]
    return f"{shlex.join(query)} && ringhil run {FOLDER}/case-{row.number:07}-*.yaml"


def where_commands_work(store: str) -> str:
    """What has to be known to use them."""
    rtl = "If the campaign ran RTL of your own, give `ringhil run` the same --rtl and --top."
    if store == ":memory:":
        return f"To replay a case, save the scenario at the end of this page as {SERVER}: there is no store. {rtl}"
    return (
        f"To replay a case, use its command in the folder where the campaign was started: the store is {store}. {rtl}"
    )


def worst(rows: Iterable[Row], store: str, campaign: int) -> str:
    """Those that came nearest to their bounds."""
    columns = ("case", "share of the bound", "recovery", "bound", "ring transits", "of", "what happened", "replay")
    return table("Worst recoveries, times in cycles", columns, (_recovery(row, store, campaign) for row in rows))


def _recovery(row: Row, store: str, campaign: int) -> list[str]:
    r = row.result
    taken = (r.recovery or 0) / max(1, r.bound or 0)
    share = td(f"✗ {percent(taken)}", "n fail") if taken > 1 else td(percent(taken), "n")
    figures = [number(r.recovery), number(r.bound), number(r.transits), td(r.slowest or "-")]
    return [row_head(row.number), share, *figures, td(row.key, "long"), _replay(row, store, campaign)]


def failures(rows: Iterable[Row], store: str, campaign: int) -> str:
    """Those that did not pass."""
    columns = ("case", "verdict", "class", "what happened", "what was wrong", "replay")
    return table("Failures", columns, (_failure(row, store, campaign) for row in rows))


def _failure(row: Row, store: str, campaign: int) -> list[str]:
    r = row.result
    verdict = r.verdict if r.violated in (None, r.verdict) else f"{r.verdict}: {r.violated}"
    texts = [words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…" for words in r.failures[:_MOST_TEXTS]]
    if len(r.failures) > _MOST_TEXTS:
        texts.append(f"and {len(r.failures) - _MOST_TEXTS} more")
    items = "".join(f"<li>{text(words)}</li>" for words in texts)
    wrong = f'<td class="long"><ul>{items}</ul></td>' if items else td("-")
    cells = [td(verdict, "fail"), td(row.cls, "long"), td(row.key, "long"), wrong]
    return [row_head(row.number), *cells, _replay(row, store, campaign)]


def _replay(row: Row, store: str, campaign: int) -> str:
    return f"<td>{code(replay(row, store, campaign))}</td>"


def scenario_file(campaign: Campaign) -> str:
    """The server and its work, as a scenario file."""
    return f"<pre>{text(campaign.scenario)}</pre>\n"
