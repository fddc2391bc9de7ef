"""`ringhil card`: a card, real or emulated, by its serial port or any URL of pyserial's."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import click
from rich.markup import escape

from ringhil.emulator.front.cli.card_check import check
from ringhil.emulator.front.cli.options import FILE, Seconds, WholeNumber
from ringhil.emulator.front.cli.terminal import output, print_json, say
from ringhil.emulator.pages.tables import print_table, table
from ringhil.emulator.serial.client import TIMEOUT, CardClient, CardError, SilentError, comparing, opened_port
from ringhil.emulator.serial.client.comparing import MAY_DIFFER
from ringhil.emulator.serial.handlers import emulated_url
from ringhil.emulator.serial.line import BAUD, BAUDS
from ringhil.emulator.serial.server.lines import ListenError
from ringhil.emulator.serial.server.listening import ALLOWED, opened
from ringhil.emulator.serial.server.relay import Relay
from ringhil.emulator.serial.session.format import SessionError, load_session
from ringhil.emulator.serial.session.recording import SessionWriter
from ringhil.emulator.serial.words import (
    EVENTS,
    bytes_of,
    census_text,
    event_document,
    event_kinds,
    fault_of,
    gpu_of,
    number_of,
    place_of,
    port_of,
    register_of,
    register_text,
)
from ringhil.protocol import registers
from ringhil.protocol.line.management import LineFault
from ringhil.protocol.wire import CONTEXTS, Port

_RECORDED = "replay://"
_WITHOUT_SPEED = ("socket://", "emulated://", _RECORDED)
_ENDLESS = 1e9  # seconds
T = TypeVar("T")


def _typed(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Wraps `parse`, so that click refuses a word in its own way."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return parsed


_number, _kinds, _fault, _port, _frame = map(_typed, (number_of, event_kinds, fault_of, port_of, bytes_of))


@contextmanager
def _open(context: click.Context) -> Iterator[CardClient]:
    url, options = context.obj
    try:
        with CardClient.open(url, **options) as card:
            yield card
    except SilentError as error:
        hint = "" if url.startswith(_WITHOUT_SPEED) else f"; the line is at {options['baud']} baud: see --baud"
        raise click.ClickException(f"{error}{hint}") from error
    except CardError as error:
        raise click.ClickException(str(error)) from error


def _gpu(card: CardClient, text: str) -> int:
    with _usage("GPU"):
        return gpu_of(text, card.info.name)


@contextmanager
def _usage(argument: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise click.UsageError(f"{argument}: {error}") from None


def _ended_by_signal() -> Callable[[], bool]:
    """Returns a function that says whether SIGINT or SIGTERM has come since."""
    ended = list[int]()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: ended.append(number))
    return lambda: bool(ended)


_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


@click.group("card")
@click.argument("url")
@click.option("--baud", type=WholeNumber(*BAUDS), default=BAUD, show_default=True, help="Baud rate of a physical port.")
@click.option(
    "--timeout",
    type=Seconds(0.001, 3600),
    default=TIMEOUT,
    show_default=True,
    help="Wait this many seconds for an answer, at each of four tries.",
)
@click.option("--record", type=FILE, metavar="FILE", help="Record the bytes on the line in this file.")
@click.pass_context
def command(context: click.Context, url: str, baud: int, timeout: float, record: Path | None) -> None:
    """Talk to a card at URL.

    URL is /dev/ttyUSB0, socket://HOST:PORT, rfc2217://HOST:PORT, emulated://SERVER.yaml#CARD, or replay://FILE for a
    recorded session.
    """
    if not url:
        raise click.BadParameter("found ''; allowed is a serial port or a URL", param_hint="'URL'")
    context.obj = (url, {"baud": baud, "timeout": timeout, "record": record})


command.add_command(check)


@command.command("info")
@_json
@click.pass_context
def info(context: click.Context, as_json: bool) -> None:
    """Show what the card is, what it can do, and how much of its clock the ring keeps, if it has one to keep."""
    with _open(context) as card:
        kept = card.kept() if not context.obj[0].startswith(_RECORDED) else None  # there is nobody to be measured
        found = {**asdict(card.info), "kept": kept if kept is None else float(f"{kept:.3g}")}
    if as_json:
        print_json("card-info", found)
        return
    for name, value in found.items():
        shown = ", ".join(value) if isinstance(value, tuple) else value
        if name == "kept":
            shown = "not measured" if kept is None else f"{100 * kept:.3g} % of its clock"
        click.echo(f"{'protocol' if name == 'version' else name:13}{shown}")


@command.command("census")
@click.option("--last", is_flag=True, help="Show the last census that was accepted; begin none.")
@_json
@click.pass_context
def census(context: click.Context, last: bool, as_json: bool) -> None:
    """Begin a census of the ring, and show its result."""
    with _open(context) as card:
        found = card.last_census() if last else card.census()
        name = card.info.name
    if as_json:
        print_json("card-census", {"card": name, **asdict(found)})
    else:
        click.echo(census_text(found))


@command.command("read")
@click.argument("gpu")
@click.argument("register", required=False)
@_json
@click.pass_context
def read(context: click.Context, gpu: str, register: str | None, as_json: bool) -> None:
    """Read REGISTER of GPU's node, by name or address. Without REGISTER, read all of them."""
    names = [register] if register is not None else [r.name for r in registers.REGISTERS]
    with _open(context) as card:
        number = _gpu(card, gpu)
        values = [card.read(number, name) for name in names]
    found = dict(zip(map(register_of, names), values, strict=True))
    if as_json:
        print_json("card-read", found)
        return
    for name, value in found.items():
        click.echo(register_text(name, value))


@command.command("write")
@click.argument("gpu")
@click.argument("register")
@click.argument("value", type=_number)
@click.pass_context
def write(context: click.Context, gpu: str, register: str, value: int) -> None:
    """Write VALUE to REGISTER of GPU's node."""
    with _open(context) as card:
        click.echo(f"written at cycle {card.write(_gpu(card, gpu), register, value)}")


@command.command("send")
@click.argument("gpu")
@click.argument("port", type=_port)
@click.argument("frame", type=_frame)
@click.pass_context
def send(context: click.Context, gpu: str, port: Port, frame: bytes) -> None:
    """Make GPU send FRAME by PORT of its mailbox.

    FRAME is in hexadecimal; PORT is cw, ccw, cpu or boundary.
    """
    with _open(context) as card:
        click.echo(f"sent at cycle {card.send(_gpu(card, gpu), port, frame)}")


@command.command("fault")
@click.argument("fault", type=_fault)
@click.argument("gpu")
@click.option("--clear", is_flag=True, help="End the fault instead.")
@click.option("--value", type=_number, default="0", help="Value of the fault's parameter; 0 stands for its default.")
@click.pass_context
def fault(context: click.Context, fault: LineFault, gpu: str, clear: bool, value: int) -> None:
    """Inject FAULT at GPU, or at a link (a.3-a.4).

    A link is also named by the GPU before it, clockwise. A physical card refuses.
    """
    with _open(context) as card:
        with _usage("GPU"):
            place = place_of(fault, gpu, card.info.name, card.info.gpus)
        cycle = card.clear(fault, place) if clear else card.fault(fault, place, value=value)
    click.echo(f"{'cleared' if clear else 'set'} at cycle {cycle}")


@command.command("watch")
@click.option(
    "--events",
    type=_kinds,
    default="roles,counts,faults",
    show_default=True,
    help=f"Print events of these kinds: {', '.join(EVENTS)}.",
)
@click.option("--number", type=click.IntRange(1), help="End after this many events.")
@click.option("--for", "seconds", type=Seconds(0.001), metavar="SECONDS", help="End after this many seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as a JSON document, on a line.")
@click.pass_context
def watch(context: click.Context, events: int, number: int | None, seconds: float | None, as_json: bool) -> None:
    """Print events as they come, one on a line."""
    with _open(context) as card:
        card.subscribe(events)
        for n, event in enumerate(card.events(seconds or _ENDLESS), 1):
            document = event_document(event)
            if as_json:
                print_json("card-watch", document)
            else:
                say(" ".join(f"{key}={value}" for key, value in document.items()))
            if n == number:
                return


@command.command("contexts")
@click.option(
    "--free",
    "places",
    nargs=2,
    multiple=True,
    metavar="GPU CONTEXT",
    help="Destroy this one; may be given several times.",
)
@click.option("--free-all", is_flag=True, help="Destroy all of them.")
@_json
@click.pass_context
def contexts(context: click.Context, places: tuple[tuple[str, str], ...], free_all: bool, as_json: bool) -> None:
    """List the contexts of GPUs that programs at a management port have created, or destroy them.

    A program's contexts go when its connection ends, unless it has asked for them to stay.
    """
    with _open(context) as card:
        with _usage("--free"):
            wanted = [(gpu_of(gpu, card.info.name), _context_number(number)) for gpu, number in places]
        found = card.contexts()
        if free_all:
            wanted += [(each.gpu, each.context) for each in found if (each.gpu, each.context) not in wanted]
        for gpu, number in wanted:
            cycle = card.free_context(gpu, number)
            say(f"context {number} of {card.info.name}.{gpu} was destroyed at cycle {cycle}", err=as_json)
        found = card.contexts() if wanted else found
        name = card.info.name
    if as_json:
        print_json("card-contexts", [asdict(each) for each in found])
    elif found:
        shown = table("GPU", "context", "held", "limit", "client", "name", "belongs", left=("GPU", "name", "belongs"))
        for each in found:
            numbers = (each.context, each.held, each.limit, each.client)
            shown.add_row(f"{name}.{each.gpu}", *(f"{number:,}" for number in numbers), escape(each.name), each.belongs)
        print_table(output(), shown)
    elif not wanted:
        say("no client has a context")


def _context_number(text: str) -> int:
    if text.isascii() and text.isdecimal() and int(text) < CONTEXTS:
        return int(text)
    raise ValueError(f"context {text!r}: allowed are 0 .. {CONTEXTS - 1}")


@command.command("record")
@click.argument("file", type=FILE)
@click.option(
    "--listen", "where", default="pty", show_default=True, metavar="WHERE", help=f"Where a program connects: {ALLOWED}."
)
@click.option("--json", "as_json", is_flag=True, help="Print where the port is as one JSON document.")
@click.pass_context
def record(context: click.Context, file: Path, where: str, as_json: bool) -> None:
    """Record the bytes between a program and the card in FILE.

    A port is offered to any program, whose bytes are passed on to the card, and back. Runs until SIGINT or SIGTERM.
    """
    url, options = context.obj
    if options["record"] is not None:
        raise click.UsageError("--record and record both write a session; one of them is allowed")
    with ExitStack() as stack:
        try:
            card = opened_port(url, baud=options["baud"], timeout=options["timeout"])
            stack.callback(card.close)
            port = opened(where)
            stack.callback(port.close)
            writer = SessionWriter(file, url, getattr(card, "monotonic", None))
        except (CardError, ListenError, SessionError) as error:
            raise click.ClickException(str(error)) from error
        stack.pop_all()
        relay = stack.enter_context(closing(Relay(card, port, writer)))
        until = _ended_by_signal()
        if as_json:
            print_json("card-record", {"ready": True, "ports": {"card": [port.name]}})
        else:
            click.echo(f"card: {port.name}")
        try:
            relay.serve(until)
        except SessionError as error:
            raise click.ClickException(str(error)) from error
        except OSError as error:
            raise click.ClickException(f"{url}: the line is gone: {' '.join(str(error).split())}") from error


def _list(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    columns = ("what", "why it may differ", "where")
    shown = table(*columns, left=columns[:1], folded=columns[1:])
    for each in MAY_DIFFER:
        bits = [f"HelloReply.capabilities {bit.word}" for bit in each.bits]
        shown.add_row(*map(escape, (each.what, each.why, ", ".join([*each.fields, *each.registers, *bits]))))
    print_table(output(), shown)
    context.exit()


@command.command("compare")
@click.argument("server", metavar="SERVER.yaml[#CARD]")
@click.option("--session", type=FILE, metavar="FILE", help="Ask what was asked in this recorded session.")
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="List what may differ, and why."
)
@_json
@click.pass_context
def compare(context: click.Context, server: str, session: Path | None, as_json: bool) -> int:
    """Compare the card's answers with an emulated card's.

    Both are asked the same, up to the first answer that differs, which is shown. Exit code 0: all answers are equal; 1:
    one differs. Nothing is changed on the card unless the session does it.
    """
    with _open(context) as card:
        try:
            recorded = None if session is None else load_session(session)
        except SessionError as error:
            raise click.ClickException(str(error)) from error
        if recorded is not None and recorded.notice:
            say(f"ringhil: {recorded.notice}", err=True)
        with CardClient.open(emulated_url(server)) as emulator:
            found = comparing.compare(
                card, emulator, comparing.questions(card) if recorded is None else comparing.asked_in(recorded)
            )
    if as_json:
        print_json("card-compare", _document(found))
    elif found.asked is None:
        more = ", ".join(f"{what} {number}" for what, number in found.may_differ.items()) or "none"
        click.echo(f"equal: {found.requests} requests, {found.fields} fields; declared to differ: {more}")
    else:
        say(f"request {found.requests}: {found.asked}")
        columns = ("", "field", "card", "emulator")
        shown = table(*columns, left=columns)
        for name, ours, theirs, differs in found.rows:
            shown.add_row("*" if differs else "", name, escape(ours), escape(theirs))
        print_table(output(), shown)
    return 0 if found.asked is None else 1


def _document(found: comparing.CardComparison) -> dict[str, object]:
    names = ("field", "card", "emulator", "differs")
    rows = [dict(zip(names, row, strict=True)) for row in found.rows]
    asked = None if found.asked is None else {"number": found.requests, "request": str(found.asked), "fields": rows}
    counts = {"requests": found.requests, "fields": found.fields, "may_differ": found.may_differ}
    return {"equal": found.asked is None, **counts, "difference": asked}
