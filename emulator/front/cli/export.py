"""`ringhil export`: a recording in the formats of other tools."""

import json
from collections.abc import Callable
from pathlib import Path

import click

from ringhil.emulator.files import STDOUT, write_whole
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.terminal import beside, counting
from ringhil.emulator.trace.export import write_capture, write_json_lines, write_tracks
from ringhil.emulator.trace.export.capture import DISSECTOR
from ringhil.emulator.trace.recording import Recording

_WRITERS: dict[str, Callable[..., int]] = {
    "pcapng": write_capture,
    "perfetto": write_tracks,
    "jsonl": write_json_lines,
}
_DISSECTOR = "dissector"
_EVERY = 1000  # messages and events: so often the bar moves


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path), metavar="RECORDING", required=False)
@click.option(
    "--format", "form", required=True, type=click.Choice([*_WRITERS, _DISSECTOR]), help="What to write; see below."
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="`-` is standard output."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(file: Path | None, form: str, out: Path, as_json: bool) -> int:
    """Write a recording of `run --record` for other tools.

    pcapng: a packet capture, for Wireshark and tshark. dissector: what they need to read it, in Lua; without a
    RECORDING. perfetto: tracks and flows for ui.perfetto.dev. jsonl: one JSON object a line.
    """
    console = beside(as_json, out=out)
    if form == _DISSECTOR:
        if file is not None:
            raise click.UsageError(f"found {str(file)!r}; the dissector is the same for all recordings")
        _dissector(out)
        return 0
    if file is None:
        raise click.UsageError(f"--format {form}: wanted is a RECORDING")
    if out != STDOUT and out.exists() and file.exists() and out.samefile(file):
        raise click.UsageError(f"--out {out}: is the recording itself; name another file")
    with explained(), Recording(file) as recording, counting("exported") as progress:
        last = recording.last_number
        number = _WRITERS[form](recording, out, lambda done: None if done % _EVERY else progress(done, last))
        complete = recording.complete
    if not complete:
        click.echo(f"ringhil: {file}: breaks off; what there is was written", err=True)
    if as_json:
        click.echo(json.dumps({"format": form, "file": str(out), "number": number, "complete": complete}))
    else:
        console.print(f"{number} messages and events", markup=False)
    return 0


def _dissector(out: Path) -> None:
    text = DISSECTOR.read_text(encoding="utf-8")
    try:
        write_whole(out, text)
    except OSError as error:
        raise click.ClickException(f"{out}: cannot be written: {error.strerror}") from None
