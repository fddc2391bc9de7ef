"""`ringhil card`: a card, real or emulated, by its serial port or any URL of pyserial's."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TypeVar

import click

from ringhil.emulator.serial.client import BAUD, TIMEOUT, CardClient, CardError
from ringhil.emulator.serial.telling import counted, read_out, told
from ringhil.emulator.serial.words import EVENTS, event_kinds, gpu_of, number_of, place_of
from ringhil.protocol import registers
from ringhil.protocol.line.management import LineFault
from ringhil.protocol.wire import Port

_ENDLESS = 1e9  # seconds
F = TypeVar("F", bound=Callable[..., None])


def _typed(parse: Callable[[str], int]) -> Callable[[str], int]:
    """A word that a person types, as click reads it."""

    def parsed(text: str) -> int:
        try:
            return parse(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return parsed


_number, _kinds = _typed(number_of), _typed(event_kinds)


def _fault(text: str) -> LineFault:
    try:
        return LineFault.parse(text)
    except ValueError:
        raise click.BadParameter(f"found {text!r}; allowed are {', '.join(LineFault)}") from None


def _port(text: str) -> Port:
    try:
        return Port.parse(text)
    except ValueError:
        raise click.BadParameter(f"found {text!r}; allowed are {', '.join(Port)}") from None


@contextmanager
def _open(context: click.Context) -> Iterator[CardClient]:
    url, options = context.obj
    try:
        with CardClient.open(url, **options) as card:
            yield card
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


def _json(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")(command)


@click.group("card")
@click.argument("url")
@click.option("--baud", type=click.IntRange(50, 100_000_000), default=BAUD, show_default=True, help="Of a real port.")
@click.option("--timeout", type=click.FloatRange(0.001, 3600), default=TIMEOUT, show_default=True, help="Seconds.")
@click.pass_context
def command(context: click.Context, url: str, baud: int, timeout: float) -> None:
    """Talk to a card at URL: /dev/ttyUSB0, socket://HOST:PORT, rfc2217://HOST:PORT, emulated://SERVER.yaml#CARD."""
    context.obj = (url, {"baud": baud, "timeout": timeout})


@command.command("info")
@_json
@click.pass_context
def info(context: click.Context, as_json: bool) -> None:
    """What the card is, and what it can do."""
    with _open(context) as card:
        found = asdict(card.info)
    if as_json:
        click.echo(json.dumps(found))
        return
    for name, value in found.items():
        click.echo(f"{name:13}{', '.join(value) if isinstance(value, tuple) else value}")


@command.command("census")
@click.option("--last", is_flag=True, help="The last one that was accepted; begin none.")
@_json
@click.pass_context
def census(context: click.Context, last: bool, as_json: bool) -> None:
    """Have the ring counted now."""
    with _open(context) as card:
        found = card.last_census() if last else card.census()
        name = card.info.name
    click.echo(json.dumps({"card": name, **asdict(found)}) if as_json else counted(found))


@command.command("read")
@click.argument("gpu")
@click.argument("register", required=False)
@_json
@click.pass_context
def read(context: click.Context, gpu: str, register: str | None, as_json: bool) -> None:
    """Read REGISTER of GPU's node, by name or address; without one all of them."""
    names = [register] if register is not None else [r.name for r in registers.REGISTERS]
    with _open(context) as card:
        number = _gpu(card, gpu)
        found = {name: card.read(number, name) for name in names}
    if as_json:
        click.echo(json.dumps(found))
        return
    for name, value in found.items():
        click.echo(read_out(name, value))


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
@click.argument("frame")
@click.pass_context
def send(context: click.Context, gpu: str, port: Port, frame: str) -> None:
    """Have GPU send FRAME, in hexadecimal, by PORT of its mailbox: cw, ccw, cpu or boundary."""
    try:
        data = bytes.fromhex(frame)
    except ValueError:
        raise click.UsageError(f"FRAME: found {frame[:40]!r}; allowed are pairs of hexadecimal digits") from None
    with _open(context) as card:
        click.echo(f"sent at cycle {card.send(_gpu(card, gpu), port, data)}")


@command.command("fault")
@click.argument("fault", type=_fault)
@click.argument("gpu")
@click.option("--clear", is_flag=True, help="End it.")
@click.option("--value", type=_number, default="0", help="Of the fault's parameter; 0: its default.")
@click.pass_context
def fault(context: click.Context, fault: LineFault, gpu: str, clear: bool, value: int) -> None:
    """Inject FAULT at GPU, or at the link from it clockwise (a.3-a.4); a real card refuses."""
    with _open(context) as card:
        with _usage("GPU"):
            place = place_of(gpu, card.info.name, card.info.gpus)
        cycle = card.clear(fault, place) if clear else card.fault(fault, place, value=value)
    click.echo(f"{'cleared' if clear else 'set'} at cycle {cycle}")


@command.command("watch")
@click.option(
    "--events", type=_kinds, default="roles,counts,faults", show_default=True, help=f"Of {', '.join(EVENTS)}."
)
@click.option("--number", type=click.IntRange(1), help="End after so many.")
@click.option("--for", "seconds", type=click.FloatRange(0.001), help="End after so many.")
@_json
@click.pass_context
def watch(context: click.Context, events: int, number: int | None, seconds: float | None, as_json: bool) -> None:
    """Print events as they come, a line each."""
    with _open(context) as card:
        card.subscribe(events)
        for n, event in enumerate(card.events(seconds or _ENDLESS), 1):
            document = told(event)
            line = json.dumps(document) if as_json else " ".join(f"{key}={value}" for key, value in document.items())
            click.echo(line)
            if n == number:
                return
