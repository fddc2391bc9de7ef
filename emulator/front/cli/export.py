"""`ringhil export`: a recording in the formats of other tools."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ringhil.emulator.debug.waves import window, write_waves
from ringhil.emulator.engine.library import RTL, cells_library
from ringhil.emulator.files import is_stream
from ringhil.emulator.front.cli.boards import firmware_given
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, WholeNumber, firmware_option, json_option, rtl_options
from ringhil.emulator.front.cli.terminal import beside, building, counting, print_json
from ringhil.emulator.front.cli.written import write_page
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
@click.argument("file", type=FILE, metavar="RECORDING", required=False)
@click.option(
    "--format",
    "form",
    required=True,
    type=click.Choice([*_WRITERS, _WAVES, _DISSECTOR]),
    help="Format of the file; see above.",
)
@click.option(
    "-o",
    "--out",
    type=FILE,
    required=True,
    metavar="FILE",
    help="File to write; `-` is standard output.",
)
@click.option(
    "--around", type=WholeNumber(0, 2**63 - 1), metavar="CYCLE", help="fst: write only cycles around this one."
)
@click.option(
    "--cycles",
    type=WholeNumber(1, _LONGEST),
    default=_CYCLES,
    show_default=True,
    metavar="N",
    help="fst: number of cycles with --around, half of them before CYCLE.",
)
@rtl_options
@firmware_option
@json_option
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

    pcapng: a packet capture for Wireshark and tshark. dissector: the Lua script by which they decode it; it needs no
    RECORDING. perfetto: tracks and flows for ui.perfetto.dev. jsonl: one JSON object a line. fst: the wires of all
    links for GTKWave and Surfer; the run is played again for them, with --rtl, --top and --firmware.
    """
    console = beside(as_json, out=out)
    _fitting(context, form)
    if form == _DISSECTOR:
        if file is not None:
            raise click.UsageError(f"found {str(file)!r}; the dissector is the same for all recordings")
        write_page(out, DISSECTOR.read_text(encoding="utf-8"))
        if as_json:
            print_json("export", {"format": form, "file": str(out)})
        return 0
    if file is None:
        raise click.UsageError(f"--format {form}: wanted is a RECORDING")
    if not is_stream(out) and out.exists() and file.exists() and out.samefile(file):
        raise click.UsageError(f"--out {out}: is the recording itself; name another file")
    with explained(), Recording(file) as recording:
        found: dict[str, Any]
        if form == _WAVES:
            found = _waves(recording, out, around, cycles, rtl or RTL, top, firmware_given(firmware))
            text = f"cycles {found['first']} to {found['last']}"
        else:
            found = {"number": _messages(recording, out, form)}
            text = f"{found['number']} messages and events"
        complete, lost = recording.complete, recording.cut_off or not recording.last_number
        if not complete:
            after = f"after cycle {recording.last_cycle}; {text}; what follows is missing" if lost else ""
            click.echo(f"ringhil: {file}: breaks off{f' {after}' if lost else '; what there is was written'}", err=True)
    if as_json:
        print_json("export", {"format": form, "file": str(out), **found, "complete": complete})
    else:
        console.print(text, markup=False)
    return 2 if lost and not complete else 0


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
    recording: Recording, out: Path, around: int | None, most: int, rtl: Path, top: str, firmware: FirmwareChoice
) -> dict[str, Any]:
    cycles = window(recording, around, most)
    with building() as progress:
        library = cells_library(rtl, top=top, progress=progress)
    with counting("cycles") as on_progress:
        write_waves(recording, out, library, cycles, firmware=firmware, marked=around, on_progress=on_progress)
    return {"first": cycles[0], "last": cycles[1]}
