"""`ringhil view`: a run as a picture in a browser."""

import json
import re
import signal
import tempfile
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ringhil.emulator.engine.library import RTL, cells_library
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, firmware_option, rtl_options
from ringhil.emulator.front.cli.written import check_apart, must_be_writable, write_page
from ringhil.emulator.scenario import load
from ringhil.emulator.trace.recording import Recording

if TYPE_CHECKING:
    from ringhil.emulator.debug.session import DebugSession
    from ringhil.emulator.server.firmware_choice import FirmwareChoice

_ADDRESS = re.compile(r"[a-z0-9+]+:/", re.IGNORECASE)  # of a URL, which a path has with one stroke
_MEMORY = 1 << 29  # bytes of the moments of each of the two sessions


@click.command("view")
@click.argument("file", type=click.Path(path_type=Path), metavar="RECORDING|SERVER.yaml")
@click.option(
    "--listen",
    "where",
    default="127.0.0.1:0",
    metavar="HOST:PORT",
    help="Where the page is; port 0: a free one. From other machines only with the token that is printed.",
)
@click.option("--html", type=FILE, metavar="FILE", help="Write the page as one file that stands alone, and end.")
@click.option("--at", type=click.IntRange(1, 2**62), metavar="N", help="Begin at the message or event of this number.")
@click.option("--no-open", is_flag=True, help="Open no browser.")
@rtl_options
@firmware_option
@click.option("--json", "as_json", is_flag=True, help="Print where the page is as one JSON document; open no browser.")
def command(
    file: Path,
    where: str,
    html: Path | None,
    at: int | None,
    no_open: bool,
    rtl: Path | None,
    top: str,
    firmware: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show a run in a browser: rings with frames that move, roles, faults, counts, and a time line both ways.

    A server's file is run and recorded while the page shows it. The page is there until SIGINT or SIGTERM.

    With --html a file is written that needs no server: all of a small run, else what is around failures.
    """
    with explained(), ExitStack() as stack:
        from ringhil.emulator.view.files import built

        if _ADDRESS.match(str(file)):
            raise click.UsageError(
                "found an address; a served server is shown by its recording, which `serve --record FILE` writes"
            )
        # Of a recording the first picture needs nothing of a run: what plays it is loaded where it is needed.
        choice = _choice(firmware) if firmware or not Recording.is_one(file) else None
        page = built()
        scenario = None if Recording.is_one(file) else load(file)
        if at is not None and html is not None:
            raise click.UsageError("--at: the file begins where it is opened: FILE#N")
        if html is not None:
            check_apart([file], html=html)
            must_be_writable(html)
        if html is None:
            # Only now: a page that stands alone needs no server.
            from ringhil.emulator.lending.tokens import new_token
            from ringhil.emulator.view.gate import Gate
            from ringhil.emulator.view.shown import Shown
            from ringhil.emulator.view.web import application
            from ringhil.emulator.web_server import WebServer

            web = WebServer(where)
            stack.callback(web.close)
        with terminal.building() as progress:
            library = cells_library(rtl or RTL, top=top, progress=progress)
        growing = None
        if scenario is not None and choice is not None:
            file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ringhil-view-"))) / file.stem
            if html is None:
                from ringhil.emulator.debug.growing import Growing

                growing = Growing(file, scenario, library, choice)
                stack.callback(growing.close)
            else:
                from ringhil.emulator.debug.recorder import record_run

                record_run(file, scenario, library, choice)

        def session() -> "DebugSession":
            from ringhil.emulator.debug.session import DebugSession

            return DebugSession(file, library, firmware=choice or _choice(()), memory=_MEMORY)

        if html is not None:
            from ringhil.emulator.view.alone import page_alone

            write_page(html, page_alone(stack.enter_context(session()), page))
            if as_json:
                click.echo(json.dumps({"html": str(html)}))
            return 0
        shown = Shown(file, session, growing)
        stack.callback(shown.close)
        token = None if web.loopback else new_token()
        url = f"{web.url}/" if token is None else f"{web.url}/?token={token}"
        url += "" if at is None else f"#{at}"
        gate = Gate(application(shown, page), web.host, web.port, token)

        def end(number: int, frame: object) -> None:
            shown.ended = True
            web.end()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        click.echo(json.dumps({"ready": True, "url": url}) if as_json else url)
        if not (no_open or as_json or webbrowser.open(url)):
            raise RinghilError("found no browser; open the address above in one, with --no-open")
        web.answer(gate)
    return 0


def _choice(firmware: tuple[str, ...]) -> "FirmwareChoice":
    from ringhil.emulator.loop.loading import firmware_of

    choice = firmware_of(firmware)
    if choice.boards:
        raise click.UsageError("--firmware: a board can't go back; classes and libraries can")
    return choice
