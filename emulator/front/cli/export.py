"""`ringhil export`: a recording in the formats of other tools."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ringhil.emulator.build.node_rtl import NODE
from ringhil.emulator.debug.waves import window, write_waves
from ringhil.emulator.engine.library import RTL, cells_library
from ringhil.emulator.files import is_stream, reason_of, write_whole
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.firmware_option import option as firmware_option
from ringhil.emulator.front.cli.terminal import beside, building, counting
from ringhil.emulator.front.cli.whole import WholeNumber
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.server.firmware_choice import FirmwareChoice
from ringhil.emulator.trace.export import write_capture, write_json_lines, write_tracks
from ringhil.emulator.trace.export.capture import DISSECTOR
from ringhil.emulator.trace.recording import Recording

_WRITERS: dict[str, Callable[..., int]] = {
    "pcapng": write_capture,
    "perfetto": write_tracks,
    "jsonl": write_json_lines,
}
_WAVES, _DISSECTOR = "fst", "dissector"
_OF_WAVES = ("around", "cycles", "rtl", "top", "firmware")
_EVERY = 1000  # messages and events: so often the bar moves
_LONGEST = 10**9  # cycles
_CYCLES = 2000


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path), metavar="RECORDING", required=False)
@click.option(
    "--format",
    "form",
    required=True,
    type=click.Choice([*_WRITERS, _WAVES, _DISSECTOR]),
    help="What to write; see below.",
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="`-` is standard output."
)
@click.option("--around", type=WholeNumber(0, 2**63 - 1), metavar="CYCLE", help="fst: not all of the run.")
@click.option(
    "--cycles",
    type=WholeNumber(1, _LONGEST),
    default=_CYCLES,
    show_default=True,
    metavar="N",
    help="fst: so many, half of them before CYCLE.",
)
@click.option("--rtl", type=click.Path(path_type=Path), help="fst: run the RTL of this directory instead of ours.")
@click.option("--top", default=NODE, show_default=True, metavar="MODULE", help="fst: the node in that directory.")
@firmware_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def command(
    context: click.Context,
    file: Path | None,
    form: str,
    out: Path,
    around: int | None,
    cycles: int,
    rtl: Path | None,
    top: str,
    firmware: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write a recording of `run --record` for other tools.

    pcapng: a packet capture, for Wireshark and tshark. dissector: what they need to read it, in Lua; without a
    RECORDING. perfetto: tracks and flows for ui.perfetto.dev. jsonl: one JSON object a line. fst: the wires of all
    links, for GTKWave and Surfer; the run is played again for them.
    """
    console = beside(as_json, out=out)
    _fitting(context, form)
    if form == _DISSECTOR:
        if file is not None:
            raise click.UsageError(f"found {str(file)!r}; the dissector is the same for all recordings")
        _dissector(out)
        if as_json:
            click.echo(json.dumps({"format": form, "file": str(out)}))
        return 0
    if file is None:
        raise click.UsageError(f"--format {form}: wanted is a RECORDING")
    if not is_stream(out) and out.exists() and file.exists() and out.samefile(file):
        raise click.UsageError(f"--out {out}: is the recording itself; name another file")
    with explained(), Recording(file) as recording:
        found: dict[str, Any]
        if form == _WAVES:
            found = _waves(recording, out, window(recording, around, cycles), rtl or RTL, top, firmware_of(firmware))
            text = f"cycles {found['first']} to {found['last']}"
        else:
            found = {"number": _messages(recording, out, form)}
            text = f"{found['number']} messages and events"
        complete = recording.complete
    if not complete:
        click.echo(f"ringhil: {file}: breaks off; what there is was written", err=True)
    if as_json:
        click.echo(json.dumps({"format": form, "file": str(out), **found, "complete": complete}))
    else:
        console.print(text, markup=False)
    return 0


def _fitting(context: click.Context, form: str) -> None:
    given = [name for name in _OF_WAVES if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE]
    if given and form != _WAVES:
        raise click.UsageError(f"--{given[0]}: is for --format {_WAVES}; found --format {form}")
    if "cycles" in given and "around" not in given:
        raise click.UsageError("--cycles: wanted is --around CYCLE, too")


def _messages(recording: Recording, out: Path, form: str) -> int:
    with counting("exported") as progress:
        last = recording.last_number
        return _WRITERS[form](recording, out, lambda done: None if done % _EVERY else progress(done, last))


def _waves(
    recording: Recording, out: Path, cycles: tuple[int, int], rtl: Path, top: str, firmware: FirmwareChoice
) -> dict[str, Any]:
    with building() as progress:
        library = cells_library(rtl, top=top, progress=progress)
    with counting("cycles") as on_progress:
        write_waves(recording, out, library, cycles, firmware=firmware, on_progress=on_progress)
    return {"first": cycles[0], "last": cycles[1]}


def _dissector(out: Path) -> None:
    text = DISSECTOR.read_text(encoding="utf-8")
    try:
        write_whole(out, text)
    except OSError as error:
        raise click.ClickException(f"{out}: cannot be written: {reason_of(error)}") from None
