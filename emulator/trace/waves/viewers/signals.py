"""What a viewer shows of the bench of one node, in groups."""

from dataclasses import dataclass
from typing import Literal

from ringhil.protocol.wire import Link, Port

TOP = "node_bench"
NODE = f"{TOP}.u_node"

Show = Literal["bit", "hex", "decimal", "control", "event", "kind", "flags", "fault", "register"]


@dataclass(frozen=True)
class Signal:
    """`path` is its hierarchical name without a range; `width` in bits."""

    path: str
    width: int
    show: Show

    @property
    def ranged(self) -> str:
        """The name with its range, as viewers that need one write it."""
        return self.path if self.width == 1 else f"{self.path}[{self.width - 1}:0]"


Group = tuple[str, list[Signal]]


@dataclass(frozen=True)
class WaveView:
    """What a viewer shows: `groups` of signals; `marks`: names and cycles, the first one is where it begins;
    `window`: the first and the last cycle in sight (all of the file, if None); `note`: a text above all."""

    groups: list[Group]
    marks: tuple[tuple[str, int], ...] = ()
    window: tuple[int, int] | None = None
    note: str = ""


def groups() -> list[Group]:
    """Titles and what is below them: the node first, then both ways of each link, then the mailbox and registers."""
    found = [("node", pins("clk_i", "rst_i", "now_i", "fault_i", "quiescent_o", "wake_at_o"))]
    for link in Link:
        for way in ("rx", "tx"):
            found.append((f"{link} {way}", link_signals(link, way)))
    return [*found, ("mailbox", pins(*_MAILBOX)), ("registers", pins(*_REGISTERS))]


def pins(*names: str) -> list[Signal]:
    """Pins of the node, by name."""
    return [Signal(f"{NODE}.{name}", *_PINS[name]) for name in names]


_NODE: dict[str, tuple[int, Show]] = {
    "clk_i": (1, "bit"),
    "rst_i": (1, "bit"),
    "now_i": (64, "decimal"),
    "fault_i": (16, "fault"),
    "quiescent_o": (1, "bit"),
    "wake_at_o": (64, "decimal"),
}
_MAILBOX: dict[str, tuple[int, Show]] = {
    "mtx_valid_i": (1, "bit"),
    "mtx_ready_o": (1, "bit"),
    "mtx_sof_i": (1, "bit"),
    "mtx_eof_i": (1, "bit"),
    "mtx_port_i": (2, "decimal"),
    "mtx_data_i": (64, "hex"),
}
for _port in range(len(Port)):
    _MAILBOX |= {f"mrx{_port}_ctl_o": (4, "hex"), f"mrx{_port}_data_o": (64, "hex")}
_REGISTERS: dict[str, tuple[int, Show]] = {
    "reg_we_i": (1, "bit"),
    "reg_addr_i": (8, "register"),
    "reg_wdata_i": (32, "hex"),
    "reg_rdata_o": (32, "hex"),
}
_PINS = _NODE | _MAILBOX | _REGISTERS
_FRAME: list[tuple[str, int, Show]] = [
    ("kind", 8, "kind"),
    ("card", 8, "decimal"),
    ("flags", 16, "flags"),
    ("home", 16, "decimal"),
    ("ttl", 16, "decimal"),
]


def link_signals(link: str, way: str, channels: str = "cd") -> list[Signal]:
    """One way of a link ("rx", "tx"), seen from the node; of `channels` c (control) and d (data)."""
    view, end = f"{TOP}.u_view_{link}_{way}", "i" if way == "rx" else "o"
    frame = [Signal(f"{view}.{c}_{name}", width, show) for c in channels for name, width, show in _FRAME]
    return [
        Signal(f"{view}.link_event", 4, "event"),
        *frame,
        Signal(f"{NODE}.{link}_{way}_ctl_{end}", 8, "control"),
        Signal(f"{NODE}.{link}_{way}_data_{end}", 64, "hex"),
    ]
