"""The same moment in other tools: what to type for it, of a message or event of a recording."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode


def elsewhere(recording: Path, number: int, cycle: int, firmware: Sequence[str] = ()) -> dict[str, str]:
    """By tool, a command for a shell; for VS Code, an address that its extension opens. `number`: of the message or
    event, from 1. The waves have a marker at its cycle, Wireshark begins with its packet. `firmware`: what plays the
    run, as it was given here; in no address, which may come from anybody and must not name code."""
    path = recording.absolute()
    own = "".join(f" --firmware {shlex.quote(given)}" for given in firmware)
    file, base = shlex.quote(str(path)), str(path.with_suffix(""))
    waves, capture, dissector = (shlex.quote(base + ending) for ending in (".fst", ".pcapng", ".lua"))
    shown = shlex.quote(base + ".gtkw")
    return {
        "terminal": f"ringhil step {file} --at {number}{own}",
        "browser": f"ringhil view {file} --at {number}{own}",
        "editor": f"vscode://ringhil.ringhil/step?{urlencode({'program': path, 'at': number})}",
        "GTKWave": f"ringhil export {file} --format fst --around {cycle}{own} -o {waves} && gtkwave -a {shown} {waves}",
        "Wireshark": f"ringhil export --format dissector -o {dissector} && "
        f"ringhil export {file} --format pcapng -o {capture} && "
        f"wireshark -X lua_script:{dissector} -g {number} {capture}",
    }
