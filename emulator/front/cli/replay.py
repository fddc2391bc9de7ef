"""`ringhil replay`: a recorded run, or a live session without the clients that were there, again."""

from dataclasses import asdict
from pathlib import Path

import click

from ringhil.emulator.debug.outside import RecordedOutside
from ringhil.emulator.debug.replaying import RunReplay, RunReplayed
from ringhil.emulator.documents import one_line
from ringhil.emulator.engine.library import RTL, Library, cells_library
from ringhil.emulator.front.cli.boards import firmware_given
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, firmware_option, json_option, rtl_options
from ringhil.emulator.front.cli.terminal import building, print_json, say
from ringhil.emulator.server.firmware_choice import FirmwareChoice
from ringhil.emulator.server.hashes import hashes, short
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import Recording

_LONGEST = 2000  # letters of a difference; --json has all of them


@click.command("replay")
@click.argument("file", type=FILE, metavar="RECORDING")
@rtl_options
@firmware_option
@json_option
def command(file: Path, rtl: Path | None, top: str, firmware: tuple[str, ...], as_json: bool) -> int:
    """Run a recording of `run --record` or `serve --record` again, and compare.

    Exit code 0: everything is identical; 1: it isn't, and the first difference is shown.
    """
    with explained():
        with building() as progress:
            library = cells_library(rtl or RTL, top=top, progress=progress)
        given = firmware_given(firmware)
        played, recorded = _run(file, library, given)
    now = hashes(None, library.rtl, given)
    changed = {name: value for name, value in recorded.items() if name in now and now[name] != value}
    if as_json:
        print_json("replay", {**asdict(played), "hashes": recorded, "changed": [*changed]})
    elif played.difference is not None:
        say(f"differs: {one_line(played.difference.text, _LONGEST)}")
        for name, value in changed.items():
            say(f"recorded with {short({name: value})}; this is {short({name: now[name]})}")
    else:
        end = f"verdict {played.verdict}" if played.complete else f"{file} breaks off there"
        say(f"identical: {played.cycles} cycles, {played.messages} messages{_clients(played)}; {end}")
        for failure in played.failures:
            say(f"failed: {one_line(failure, _LONGEST)}")
    return 0 if played.difference is None else 1


def _clients(played: RunReplayed) -> str:
    if not played.clients:
        return ""
    return f", {played.clients} client{'' if played.clients == 1 else 's'}, {played.bytes_out} bytes sent"


def _run(file: Path, library: Library, given: FirmwareChoice) -> tuple[RunReplayed, dict[str, str]]:
    """And the recording's hashes."""
    with Recording(file) as recording:
        about = recording.about
        if library.rtl != about.rtl:
            say(f"ringhil: {file}: was recorded on the RTL {about.rtl}; this one is {library.rtl}", err=True)
        if about.firmware and not RecordedOutside(recording).choices(given)[0].given:
            options = " ".join(f"--firmware {each}" for each in about.firmware)
            raise RecordingError(f"{file}: was recorded with {options}; found our firmware")
        if not recording.complete and not recording.last_number:
            raise RecordingError(f"{file}: breaks off before its first message; there is nothing to compare")
        return RunReplay(recording, library, firmware=given).run(), dict(about.hashes)
