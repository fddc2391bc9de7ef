"""The port contract of a node, and what a module's ports are."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringhil.emulator.build.diagnostics import verilator_complaint
from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import run
from ringhil.emulator.build.toolchain import Verilator
from ringhil.emulator.children import temporary_folder
from ringhil.protocol import registers
from ringhil.protocol.wire import Link, Port


@dataclass(frozen=True, slots=True)
class RtlPort:
    """`width` in bits; 0: of a type that has no plain width."""

    name: str
    direction: str
    width: int


def _links() -> list[RtlPort]:
    answer = []
    for link in Link:
        answer += [RtlPort(f"{link}_rx_data_i", "input", 64), RtlPort(f"{link}_rx_ctl_i", "input", 8)]
        answer += [RtlPort(f"{link}_tx_data_o", "output", 64), RtlPort(f"{link}_tx_ctl_o", "output", 8)]
    return answer


def _mailbox() -> list[RtlPort]:
    answer = [RtlPort(f"mtx_{name}_i", "input", 1) for name in ("valid", "sof", "eof")]
    answer += [
        RtlPort("mtx_port_i", "input", 2),
        RtlPort("mtx_data_i", "input", 64),
        RtlPort("mtx_ready_o", "output", 1),
    ]
    for port in Port.codes().values():
        answer += [RtlPort(f"mrx{port}_data_o", "output", 64), RtlPort(f"mrx{port}_ctl_o", "output", 4)]
    return answer


PORTS: tuple[RtlPort, ...] = (
    RtlPort("clk_i", "input", 1),
    RtlPort("rst_i", "input", 1),
    RtlPort("now_i", "input", 64),
    RtlPort("card_id_i", "input", 8),
    RtlPort("node_id_i", "input", 16),
    RtlPort("ring_size_i", "input", 16),
    RtlPort("fault_i", "input", registers.FAULT_PORT_WIDTH),
    *_links(),
    *_mailbox(),
    RtlPort("reg_we_i", "input", 1),
    RtlPort("reg_addr_i", "input", 8),
    RtlPort("reg_wdata_i", "input", 32),
    RtlPort("reg_rdata_o", "output", 32),
)
# A node that can't tell when it rests leaves both out.
QUIESCENCE: tuple[RtlPort, ...] = (RtlPort("quiescent_o", "output", 1), RtlPort("wake_at_o", "output", 64))


def ports_of(files: Sequence[Path], top: str, verilator: Verilator) -> tuple[RtlPort, ...]:
    """The ports of module `top`, as Verilator understands them. Raises BuildError if it doesn't compile."""
    environment = child_environment({"VERILATOR_ROOT": str(verilator.root)})
    with temporary_folder("ringhil-ports-") as scratch:
        command = [str(verilator.binary), "--json-only", "--quiet", "-Wno-lint", "-Wno-style", "--no-timing"]
        command += ["--prefix", "Vports", "--Mdir", str(scratch), "--top-module", top]
        (finished,) = run([[*command, *(str(f.absolute()) for f in files)]], env=environment)
        if finished.returncode != 0:
            raise BuildError(verilator_complaint(finished.output) or "Verilator failed", finished.output)
        try:
            tree = json.loads((scratch / "Vports.tree.json").read_text())
        except ValueError as error:
            raise BuildError(f"what Verilator wrote breaks off ({error}); is there room in {scratch}?") from None
    types = {t["addr"]: t for table in tree["miscsp"] for t in table.get("typesp", [])}
    module = next(m for m in tree["modulesp"] if m.get("origName", m["name"]) == top or m["name"] == top)
    answer = []
    for item in module["stmtsp"]:
        if item["type"] == "VAR" and item.get("isPrimaryIO"):
            answer.append(RtlPort(item["origName"], item["direction"].lower(), _width(types.get(item["dtypep"], {}))))
    return tuple(answer)


def _width(kind: dict[str, Any]) -> int:
    if kind.get("type") != "BASICDTYPE":
        return 0
    left, _, right = kind.get("range", "0:0").partition(":")
    return abs(int(left) - int(right)) + 1


def compare(top: str, found: Sequence[RtlPort]) -> list[str]:
    """What is wrong with the ports of `top`, one line each."""
    there = {port.name: port for port in found}
    wrong = []
    for wanted in PORTS:
        wrong += _mismatch(top, wanted, there.get(wanted.name))
    optional = [port for port in QUIESCENCE if port.name in there]
    if optional:
        for wanted in QUIESCENCE:
            wrong += _mismatch(top, wanted, there.get(wanted.name))
    known = {port.name for port in (*PORTS, *QUIESCENCE)}
    for port in found:
        if port.name not in known and port.direction != "output":
            wrong.append(f"{top}: port {port.name}: {port.direction} that the contract doesn't know; nothing drives it")
    return wrong


def _mismatch(top: str, wanted: RtlPort, found: RtlPort | None) -> list[str]:
    bits = f"{wanted.width} bit{'s' * (wanted.width > 1)}"
    if found is None:
        return [f"{top}: port {wanted.name} is missing; the contract asks for an {wanted.direction} of {bits}"]
    if (found.direction, found.width) == (wanted.direction, wanted.width):
        return []
    width = f"{found.width} bit{'s' * (found.width > 1)}" if found.width else "a type that is no plain vector"
    text = f"{top}: port {wanted.name} is an {found.direction} of {width}"
    return [f"{text}; the contract asks for an {wanted.direction} of {bits}"]
