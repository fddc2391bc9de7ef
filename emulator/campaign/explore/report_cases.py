"""What plays a case of a report again."""

import re
import shlex

from ringhil.emulator.campaign.explore.rows import Row

FOLDER = "replay"  # where the commands write cases to
SERVER = "server.yaml"  # what the scenario of the campaign is to be saved as, when it has no store


def replay(row: Row, store: str, campaign: int, options: str = "") -> str:
    """What a shell plays the case with; from the store, or, without one, from the scenario on the page. `options`: of
    `run`, each with a space before it."""
    if store == ":memory:":
        lines = [f"timeline: {row.schedule}", *([] if row.result.until is None else [f"until: {row.result.until}"])]
        file = f"case-{row.number:07}.yaml"
        words = " ".join(map(shlex.quote, lines))
        return f"printf '%s\\n' {words} | cat {SERVER} - > {file} && ringhil run {file}{options}"
    # A path that begins with a dash would be taken for an option.
    path = f"./{store}" if store.startswith("-") else store
    key = re.sub(r"([*?[])", r"[\1]", row.key)  # --key knows patterns
    query = ["ringhil", "explore", "query", path, "--campaign", str(campaign), "--key", key, "--out", FOLDER]
    return f"{shlex.join(query)} && ringhil run {FOLDER}/case-{row.number:07}-*.yaml{options}"
