"""What a viewer shows of the bench of one node, in groups."""

from dataclasses import dataclass
from typing import Literal

from ringhil.protocol.wire import Link, Port

TOP = "node_bench"
NODE = f"{TOP}.u_node"

Show = Literal["bit", "hex", "decimal", "control", "event", "kind"]


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


def groups() -> list[tuple[str, list[Signal]]]:
    """Titles and what is below them: the node first, then both ways of each link, then the mailbox."""
    node = [Signal(f"{NODE}.{name}", width, show) for name, width, show in _NODE]
    found = [("node", node)]
    for link in Link:
        for way, end in (("rx", "i"), ("tx", "o")):
            found.append((f"{link} {way}", _link(link, way, end)))
    mailbox = [Signal(f"{NODE}.{name}", width, show) for name, width, show in _MAILBOX]
    return [*found, ("mailbox", mailbox)]


_NODE: list[tuple[str, int, Show]] = [
    ("clk_i", 1, "bit"),
    ("rst_i", 1, "bit"),
    ("now_i", 64, "decimal"),
    ("fault_i", 16, "hex"),
    ("quiescent_o", 1, "bit"),
    ("wake_at_o", 64, "decimal"),
]
_MAILBOX: list[tuple[str, int, Show]] = [
    ("mtx_valid_i", 1, "bit"),
    ("mtx_ready_o", 1, "bit"),
    ("mtx_sof_i", 1, "bit"),
    ("mtx_eof_i", 1, "bit"),
    ("mtx_port_i", 2, "decimal"),
    ("mtx_data_i", 64, "hex"),
    *((f"mrx{port}_{name}_o", width, "hex") for port in range(len(Port)) for name, width in (("ctl", 4), ("data", 64))),
]
_FRAME: list[tuple[str, int, Show]] = [
    ("kind", 8, "kind"),
    ("card", 8, "decimal"),
    ("home", 16, "decimal"),
    ("ttl", 16, "decimal"),
]
_VIEW: list[tuple[str, int, Show]] = [
    ("link_event", 4, "event"),
    *((f"{channel}_{name}", width, show) for channel in "cd" for name, width, show in _FRAME),
]


def _link(link: Link, way: str, end: str) -> list[Signal]:
    view = f"{TOP}.u_view_{link}_{way}"
    return [
        *(Signal(f"{view}.{name}", width, show) for name, width, show in _VIEW),
        Signal(f"{NODE}.{link}_{way}_ctl_{end}", 8, "control"),
        Signal(f"{NODE}.{link}_{way}_data_{end}", 64, "hex"),
    ]
