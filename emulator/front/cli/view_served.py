"""Where the page of `ringhil view` is, and until when."""

import signal
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.front.cli.terminal import print_json

if TYPE_CHECKING:
    from ringhil.emulator.web_server import WebServer


@dataclass(frozen=True)
class ViewOptions:
    """How the page is shown: as a file, or at an address. `at`: the row with which it begins."""

    html: Path | None
    where: str
    no_open: bool
    as_json: bool
    at: int | None = None


class Endable(Protocol):
    """What is shown; `ended`: nobody wants to know more of it."""

    ended: bool


def answer(web: "WebServer", application: Any, options: ViewOptions, shown: Endable | None = None) -> None:
    """Say where the page is, open it, and answer until SIGINT or SIGTERM. Raises RinghilError."""
    from ringhil.emulator.lending.tokens import new_token  # with --html there is no server
    from ringhil.emulator.view.gate import Gate

    token = None if web.loopback else new_token()
    url = f"{web.url}/" if token is None else f"{web.url}/?token={token}"
    url += "" if options.at is None else f"#{options.at}"
    gate = Gate(application, web.host, web.port, token)

    def end(number: int, frame: object) -> None:
        if shown is not None:
            shown.ended = True
        web.end()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    if options.as_json:
        print_json("view", {"ready": True, "url": url})
    else:
        click.echo(url)
    if not (options.no_open or options.as_json or webbrowser.open(url)):
        raise RinghilError("found no browser; open the address above in one, with --no-open")
    web.answer(gate)
