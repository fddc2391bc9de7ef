"""Generators: what other languages and readers need to know of the wire, written from its definitions."""

import tomllib
from pathlib import Path

from ringhil.protocol.generate import (
    c_header,
    flows,
    frames,
    line_c,
    line_reference,
    lua,
    messages,
    node_loop,
    node_reference,
    reference,
    systemverilog,
)
from ringhil.protocol.generate.tables import FIRMWARE_LOOP, MANAGEMENT

ROOT = Path(__file__).resolve().parents[2]


def _version() -> str:
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def outputs() -> dict[Path, str]:
    """Path in the source tree -> text that belongs there."""
    in_c = {
        ROOT / "protocol" / "c" / f"{each.name}.{suffix}": text
        for each in (line_c.MESSAGES, line_c.FIRMWARE_MESSAGES, line_c.FRAMES)
        for suffix, text in (("h", each.header()), ("c", each.source()))
    }
    return {
        ROOT / "protocol" / "frames.py": frames.render(),
        ROOT / "protocol" / "line" / "messages.py": messages.render(MANAGEMENT),
        ROOT / "protocol" / "line" / "firmware_messages.py": messages.render(FIRMWARE_LOOP),
        ROOT / "rtl" / "ringhil_pkg.sv": systemverilog.render(),
        ROOT / "rtl" / "ringhil.f": flows.file_list(ROOT / "rtl"),
        ROOT / "rtl" / "ringhil.core": flows.fusesoc(ROOT / "rtl", _version()),
        ROOT / "rtl" / "Bender.yml": flows.bender(ROOT / "rtl"),
        ROOT / "rtl" / "ringhil.rdl": flows.systemrdl(),
        ROOT / "emulator" / "engine" / "csrc" / "ringhil_wire.h": c_header.render(),
        ROOT / "emulator" / "engine" / "csrc" / "node_loop.h": node_loop.cpp(),
        ROOT / "emulator" / "trace" / "export" / "ringhil.lua": lua.render(),
        **in_c,
        ROOT / "docs" / "reference" / "protocol.md": reference.render(),
        ROOT / "docs" / "reference" / "management.md": line_reference.render(),
        ROOT / "docs" / "reference" / "firmware-loop.md": line_reference.render_loop(),
        ROOT / "docs" / "reference" / "node-loop.md": node_reference.render(),
    }
