"""`ringhil step`: a run message by message, forwards and backwards."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from ringhil.emulator.children import temporary_folder
from ringhil.emulator.dap import serving
from ringhil.emulator.dap.launching import Offer
from ringhil.emulator.debug.commands import Commands, in_vain, in_words, lines
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import RTL, Library, cells_library, inside_library
from ringhil.emulator.files import open_input, reason_of
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.boards import firmware_given
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, firmware_option, rtl_options
from ringhil.emulator.scenario import Scenario, load
from ringhil.emulator.server.firmware_choice import FirmwareChoice
from ringhil.emulator.trace.recording import Recording

_LARGEST = 1 << 20  # bytes of a script
_STANDARD_INPUT = Path("-")
_STANDARD_STREAMS = "-"


@click.command("step")
@click.argument("file", type=FILE, metavar="RECORDING|SERVER.yaml", required=False)
@click.option(
    "--script",
    type=FILE,
    metavar="FILE",
    help="Read commands from this file, one a line; `-` is stdin.  [default: a screen on a terminal, else stdin]",
)
@click.option(
    "--at",
    type=click.IntRange(1, 2**62),
    metavar="N",
    help="Begin at the message or event of this number; of a server's file, as soon as it is there.",
)
@rtl_options
@firmware_option
@click.option("--strict", is_flag=True, help="End with exit code 1 where a command finds nothing: until, why.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document for each command.")
@click.option(
    "--dap",
    is_flag=False,
    flag_value=_STANDARD_STREAMS,
    metavar="[HOST:PORT]",
    help="Speak the Debug Adapter Protocol, on stdin and stdout, or with whoever connects there; port 0: a free one. "
    "On stdin and stdout the client may name the file.",
)
def command(
    file: Path | None,
    script: Path | None,
    at: int | None,
    rtl: Path | None,
    top: str,
    firmware: tuple[str, ...],
    strict: bool,
    as_json: bool,
    dap: str | None,
) -> int:
    """Step a run message by message, forwards and backwards, and look at what GPUs and CPU knew.

    A server's file is run and recorded first. On a terminal a screen opens; ? shows its keys. Elsewhere, and on the
    screen after a colon, the commands are: step [N], back [N], next KIND, previous KIND, until CONDITION,
    back-until CONDITION, go CYCLE, row N, compare FILE, break CONDITION, breaks, delete N, continue, reverse, watch GPU
    NAME [CYCLES]; assert CONDITION, show, state GPU, signal GPU NAME, card NAME, who FIELD, why
    count|role|rejected, diff N; failures, failure [N], doomed [N [FUTURES]]; elsewhere; inject {fault: ...}, set
    GPU REGISTER VALUE, send GPU PORT FRAME, branch FILE, edit FILE; quit.

    Exit code 1: an assert doesn't hold, or with --strict a command has found nothing. The script ends there.
    """
    with explained(), ExitStack() as stack:
        choice = firmware_given(firmware)
        if choice.boards:
            raise click.UsageError("--firmware: a board can't go back; classes and libraries can")
        if dap is not None:
            if script is not None or strict or as_json or at is not None:
                raise click.UsageError(
                    "--dap has its own messages; --script, --at, --strict and --json are of commands"
                )
            _speak(dap, file, choice, rtl, top)
            return 0
        if file is None:
            raise click.UsageError("needed is RECORDING|SERVER.yaml; with --dap the client may name it")
        if asked := script == _STANDARD_INPUT:
            script = None
        text = None if script is None else _text(script)
        if text is not None and not any(lines(text)):
            raise click.ClickException(f"{script}: found no command; a script has one in each line")
        # The screen is drawn on standard error.
        terminals = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
        on_screen = text is None and not asked and not as_json and terminals
        with terminal.building() as progress:
            library = cells_library(rtl or RTL, top=top, progress=progress)
        server = None
        if not Recording.is_one(file):
            server = load(file)
            folder = stack.enter_context(temporary_folder("ringhil-step-"))
            file = folder / file.stem
        if on_screen:
            _on_screen(file, library, choice, server, at)
        else:
            if server is not None:
                record_run(file, server, library, choice)
            session = stack.enter_context(DebugSession(file, library, firmware=choice, open_up=_opened))
            if at is not None and not session.go_to(at):
                raise click.UsageError(f"--at: found {at}; there are 1 to {session.recording.last_number}")
            return _by_lines(Commands(session, terminal.counting), script, text, as_json, strict)
    return 0


def _speak(where: str, file: Path | None, firmware: FirmwareChoice, rtl: Path | None, top: str) -> None:
    def library(say: Callable[[str], None]) -> Library:
        return cells_library(rtl or RTL, top=top, progress=lambda text: say(f"building the engine: {text}"))

    offer = Offer(file, firmware, library, fixed=where != _STANDARD_STREAMS)
    if where == _STANDARD_STREAMS:
        serving.on_streams(offer)
    else:
        serving.on_socket(where, offer, terminal.say)


def _on_screen(file: Path, library: Library, firmware: FirmwareChoice, server: Scenario | None, at: int | None) -> None:
    from ringhil.emulator.front.tui.opening import step  # Textual takes longer to load than most commands to run

    with _refused("", go_on=False):
        step(file, library, firmware, server, at or 1)


def _opened(library: Library) -> Library:
    with terminal.building() as progress:
        return inside_library(library, progress=progress)


def _by_lines(commands: Commands, script: Path | None, text: str | None, as_json: bool, strict: bool) -> int:
    """Does one after the other; returns the exit code."""
    for number, line in _asked() if text is None else lines(text):
        if line.strip() in ("quit", "exit"):
            return 0
        asked = text is None and sys.stdin.isatty()
        where = "" if asked else f"{script or 'standard input'}:{number}: "
        with _refused(where, go_on=asked):
            found = commands.do(line)
            if as_json:
                terminal.print_json("step", found)
            else:
                terminal.say(in_words(found))
            why = "does not hold" if found.get("holds") is False else ""
            why = why or ("finds nothing" if strict and in_vain(found) else "")
            if why and not asked:
                terminal.say(f"ringhil: {where}{line.strip()}: {why}", err=True)
                return 1
    return 0


def _text(script: Path) -> str:
    try:
        with open_input(script) as file:
            found = file.read(_LARGEST + 1)
    except OSError as error:
        raise click.ClickException(f"{script}: cannot be read: {reason_of(error)}") from None
    if len(found) > _LARGEST:
        raise click.ClickException(f"{script}: is longer than {_LARGEST} bytes, which are allowed")
    return found.decode("utf-8", errors="replace")


def _asked() -> Iterator[tuple[int, str]]:
    """Commands from standard input; a prompt for people."""
    number = 0
    while True:
        if sys.stdin.isatty():
            click.echo("(ringhil) ", nl=False, err=True)
        if not (line := sys.stdin.readline()):
            return
        number += 1
        yield from ((number, each) for _, each in lines(line))


@contextmanager
def _refused(where: str, *, go_on: bool) -> Iterator[None]:
    try:
        yield
    except DebugError as error:
        terminal.say(f"ringhil: {where}{error}", err=True)  # a condition is shown with a mark below the place
        if not go_on:
            raise click.exceptions.Exit(2) from None
