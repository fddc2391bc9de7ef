"""Errors where GitHub Actions shows them: workflow commands, `::error file=...,line=...::...`, beside the lines of
files or, of what has none, on the job's page."""

from collections.abc import Mapping, Sequence

MOST = 10  # errors of one step that GitHub shows
_CHARACTERS = 1000  # of one message


def on_github(environment: Mapping[str, str]) -> bool:
    """Whether a pipeline of GitHub's runs this, by the variables that it sets."""
    return environment.get("GITHUB_ACTIONS", "").lower() not in ("", "0", "false")


def error(title: str, text: str, **where: str | int | None) -> str:
    """One command. `where`: `file`, `line` and `col`, as far as they are known."""
    given = {name: value for name, value in where.items() if value is not None} | {"title": title}
    words = ",".join(f"{name}={_property(str(value))}" for name, value in given.items())
    return f"::error {words}::{_data(text[:_CHARACTERS])}"


def at_most(errors: Sequence[str], of_what: str) -> list[str]:
    """As many as GitHub shows, and how many more `of_what` there are."""
    more = len(errors) - MOST
    notice = [f"::notice title=ringhil::{more} more {of_what}; see the log or the reports"] if more > 0 else []
    return [*errors[:MOST], *notice]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
