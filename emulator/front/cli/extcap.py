"""`ringhil extcap`, and `ringhil-extcap` in Wireshark's folder for such programs: captures from a recording as it is
written. See https://www.wireshark.org/docs/man-pages/extcap.html for what is asked, and how it is answered."""

import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

import click

from ringhil.emulator.files import reason_of
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE
from ringhil.emulator.front.cli.terminal import until_terminated
from ringhil.emulator.trace.export.capture import follow_capture
from ringhil.emulator.trace.recording import Recording
from ringhil.protocol.capture import LINK_TYPE

_INTERFACE = "ringhil"
_PAUSE = 0.1  # seconds before it is looked whether there is more


@click.command("extcap")
@click.option("--extcap-interfaces", "interfaces", is_flag=True, help="List the interfaces that can be captured from.")
@click.option(
    "--extcap-version", metavar="VERSION", expose_value=False, help="Version of Wireshark; it makes no difference."
)
@click.option(
    "--extcap-interface",
    "interface",
    metavar="NAME",
    help=f"Interface that is asked about or captured from: {_INTERFACE}.",
)
@click.option("--extcap-dlts", "dlts", is_flag=True, help="List the interface's link types.")
@click.option("--extcap-config", "config", is_flag=True, help="List the interface's options.")
@click.option(
    "--capture", is_flag=True, help="Capture until the run is over, or until SIGTERM; needs --fifo and --recording."
)
@click.option("--fifo", type=FILE, metavar="FIFO", help="Write the capture to this FIFO.")
@click.option(
    "--recording",
    type=FILE,
    metavar="FILE",
    help="Capture from this recording of `run --record FILE`.",
)
@click.option("--extcap-capture-filter", "rule", metavar="FILTER", help="Refused: use a display filter instead.")
def command(
    interfaces: bool,
    interface: str | None,
    dlts: bool,
    config: bool,
    capture: bool,
    fifo: Path | None,
    recording: Path | None,
    rule: str | None,
) -> int:
    """Let Wireshark capture from a recording while it is written. Wireshark gives the options; people need none.

    Put a link to the program `ringhil-extcap` into Wireshark's extcap folder, which `tshark -G folders` names.
    """
    if interfaces:
        click.echo(f"extcap {{version={version('ringhil')}}}")
        click.echo(f"interface {{value={_INTERFACE}}}{{display=ringhil: a run that is recorded}}")
        return 0
    if interface != _INTERFACE:
        raise click.UsageError(f"--extcap-interface: found {interface or ''!r}; there is {_INTERFACE!r}")
    if dlts:
        click.echo(f"dlt {{number={LINK_TYPE}}}{{name=USER0}}{{display=ringhil}}")
    elif config:
        click.echo(
            "arg {number=0}{call=--recording}{display=Recording}{tooltip=The file of ringhil run --record}"
            "{type=fileselect}{mustexist=true}{required=true}"
        )
    elif capture:
        _capture(fifo, recording, rule)
    else:
        raise click.UsageError("wanted is one of --extcap-interfaces, --extcap-dlts, --extcap-config, --capture")
    return 0


def main() -> None:
    """The program `ringhil-extcap`."""
    from ringhil.emulator.front.cli.main import main as ringhil

    ringhil(["extcap", *sys.argv[1:]])


def _capture(fifo: Path | None, recording: Path | None, rule: str | None) -> None:
    if fifo is None or recording is None:
        raise click.UsageError("--capture: wanted are --fifo FIFO and --recording FILE")
    if rule:
        raise click.UsageError(f"--extcap-capture-filter: found {rule[:50]!r}; there are none, display filters are")
    with explained(), Recording(recording) as found, _opened(fifo) as file, until_terminated() as ended:
        gone = select.poll()
        gone.register(file, 0)  # an error: whoever has read it reads no more

        def wait() -> bool:
            time.sleep(_PAUSE)
            return not ended() and not gone.poll(0)

        with suppress(BrokenPipeError):  # that is how a capture is ended, too
            follow_capture(found, file, wait)


@contextmanager
def _opened(fifo: Path) -> Iterator[BinaryIO]:
    if not fifo.is_fifo():
        raise click.UsageError(f"--fifo {fifo}: is no FIFO")
    try:
        file = fifo.open("wb")
    except OSError as error:
        raise click.ClickException(f"{fifo}: cannot be written: {reason_of(error)}") from None
    try:
        yield file
    finally:
        with suppress(BrokenPipeError):  # with what it never took
            file.close()
