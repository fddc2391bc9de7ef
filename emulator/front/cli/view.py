"""`ringhil view`: a run as a picture in a browser."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ringhil.emulator.children import temporary_folder
from ringhil.emulator.engine.library import RTL, cells_library
from ringhil.emulator.front.cli import terminal, view_fleet
from ringhil.emulator.front.cli.boards import firmware_given
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, WholeNumber, firmware_option, rtl_options
from ringhil.emulator.front.cli.view_served import ViewOptions, answer
from ringhil.emulator.front.cli.written import check_apart, must_be_writable, write_page
from ringhil.emulator.scenario import load
from ringhil.emulator.serial.client import TIMEOUT
from ringhil.emulator.serial.line import BAUD, BAUDS
from ringhil.emulator.serial.words import EVENTS, event_kinds
from ringhil.emulator.trace.recording import Recording

if TYPE_CHECKING:
    from ringhil.emulator.debug.session import DebugSession

_URL = re.compile(r"[a-z][a-z0-9+]*://", re.IGNORECASE)
_MEMORY = 1 << 29  # bytes of the moments of each of the two sessions


@click.command("view")
@click.argument("shown", metavar="RECORDING|SERVER.yaml|CLUSTER.yaml|URL")
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
@click.option(
    "--policy", "policies", multiple=True, metavar="NAME", help="Play a cluster by this one; may be repeated."
)
@click.option(
    "--baud", type=WholeNumber(*BAUDS), default=BAUD, show_default=True, help="Of a card: baud rate of a physical port."
)
@click.option(
    "--events",
    "kinds",
    metavar="KINDS",
    default="roles,counts,faults",
    show_default=True,
    help=f"Of a card: events of these kinds: {', '.join(EVENTS)}.",
)
@click.option("--json", "as_json", is_flag=True, help="Print where the page is as one JSON document; open no browser.")
def command(
    shown: str,
    where: str,
    html: Path | None,
    at: int | None,
    no_open: bool,
    rtl: Path | None,
    top: str,
    firmware: tuple[str, ...],
    policies: tuple[str, ...],
    baud: int,
    kinds: str,
    as_json: bool,
) -> int:
    """Show a run in a browser: rings with frames that move, roles, faults, counts, and a time line both ways.

    A server's file is run and recorded while the page shows it. A cluster's file is played as `ringhil place` does, on
    a table. URL is the management port of a card, real or served, as `ringhil card` takes it, or the database of loans
    and usage (sqlite:///FILE, …), which is followed. The page is there until SIGINT or SIGTERM.

    With --html a file is written that needs no server: all of a small run, else what is around failures.
    """
    with explained(), ExitStack() as stack:
        from ringhil.emulator.view.files import built

        options = ViewOptions(html, where, no_open, as_json, at)
        file, is_fleet = Path(shown), view_fleet.is_fleet(shown)
        is_card = not is_fleet and (_URL.match(shown) is not None or file.is_char_device())
        if not is_card and _given("baud", "kinds"):
            raise click.UsageError("--baud and --events are for a card")
        if is_fleet:
            if at is not None or firmware or rtl is not None:
                raise click.UsageError("--at, --firmware and --rtl are for a run of a server")
            view_fleet.show(shown, policies, options)
            return 0
        if policies:
            raise click.UsageError("--policy is for a cluster's file")
        if is_card:
            if html is not None or at is not None or firmware or rtl is not None:
                raise click.UsageError("--html, --at, --firmware and --rtl are for a run; found the URL of a card")
            return _show_card(stack, shown, baud, kinds, options)
        choice = firmware_given(firmware)
        if choice.boards:
            raise click.UsageError("--firmware: a board can't go back; classes and libraries can")
        page = built()
        scenario = None if Recording.is_one(file) else load(file)
        if at is not None and html is not None:
            raise click.UsageError("--at: the file begins where it is opened: FILE#N")
        if html is not None:
            check_apart([file], html=html)
            must_be_writable(html)
        else:
            # Only now: a page that stands alone needs no server.
            from ringhil.emulator.view.shown import Shown
            from ringhil.emulator.view.web import application
            from ringhil.emulator.web_server import WebServer

            web = WebServer(where)
            stack.callback(web.close)
        with terminal.building() as progress:
            library = cells_library(rtl or RTL, top=top, progress=progress)
        growing = None
        if scenario is not None:
            folder = stack.enter_context(temporary_folder("ringhil-view-"))
            file = folder / file.stem
            if html is None:
                from ringhil.emulator.debug.growing import Growing

                growing = Growing(file, scenario, library, choice)
                stack.callback(growing.close)
            else:
                from ringhil.emulator.debug.recorder import record_run

                record_run(file, scenario, library, choice)

        def session() -> "DebugSession":
            from ringhil.emulator.debug.session import DebugSession

            return DebugSession(file, library, firmware=choice, memory=_MEMORY)

        if html is not None:
            from ringhil.emulator.view.alone import page_alone

            write_page(html, page_alone(stack.enter_context(session()), page))
            if as_json:
                terminal.print_json("view", {"html": str(html)})
            return 0
        run = Shown(file, session, growing, choice.given)
        stack.callback(run.close)
        answer(web, application(run, page), options, run)
    return 0


def _given(*names: str) -> bool:
    """Whether one of these was written, as a default is as good as none."""
    context = click.get_current_context()
    return any(context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE for name in names)


def _show_card(stack: ExitStack, url: str, baud: int, kinds: str, options: ViewOptions) -> int:
    """The card at a management port."""
    from ringhil.emulator.view.card import ShownCard
    from ringhil.emulator.view.files import built
    from ringhil.emulator.view.listening import CardListener
    from ringhil.emulator.view.web import application
    from ringhil.emulator.web_server import WebServer

    try:
        events = event_kinds(kinds)
    except ValueError as error:
        raise click.UsageError(f"--events: {error}") from None
    if url.startswith("replay://"):
        raise click.UsageError("a recorded session answers what was asked in it, and nothing else; found replay://")
    page = built()
    web = WebServer(options.where)
    stack.callback(web.close)
    card = ShownCard(CardListener(url, baud=baud, timeout=TIMEOUT, kinds=events))
    stack.callback(card.close)
    answer(web, application(card, page), options, card)
    return 0
