"""Generators: what other languages and readers need to know of the wire, written from its definitions."""

from pathlib import Path

from ringhil.protocol.generate import c_header, frames, line_c, line_reference, messages, reference, systemverilog

ROOT = Path(__file__).resolve().parents[2]


def outputs() -> dict[Path, str]:
    """Path in the source tree -> text that belongs there."""
    return {
        ROOT / "protocol" / "frames.py": frames.render(),
        ROOT / "protocol" / "line" / "messages.py": messages.render(),
        ROOT / "rtl" / "ringhil_pkg.sv": systemverilog.render(),
        ROOT / "emulator" / "engine" / "csrc" / "ringhil_wire.h": c_header.render(),
        ROOT / "protocol" / "c" / "ringhil_messages.h": line_c.header(),
        ROOT / "protocol" / "c" / "ringhil_messages.c": line_c.source(),
        ROOT / "docs" / "protocol.md": reference.render(),
        ROOT / "docs" / "management.md": line_reference.render(),
    }
