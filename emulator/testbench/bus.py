"""Pins: one port of a node as the simulator shows it, whole or as a slice of a card's vectors; and its logger."""

import logging
import os
from dataclasses import dataclass, field
from typing import Any, Self

from ringhil.emulator.testbench.arguments import KitError

_LEVELS = ("DEBUG", "INFO", "WARNING")


def logger(name: str, cell: int | None = None) -> logging.Logger:
    """The logger of one part of a node, which says what sources send and sinks take. Raises ValueError when RINGHIL_LOG
    is no level.

    | level | what |
    |---|---|
    | INFO | frames of sources and sinks, mail that firmware writes and reads |
    | DEBUG | register accesses, broken rules that monitors see |

    They are named `cocotb.ringhil.p1`, in a card `cocotb.ringhil.CELL.p1`. They are quiet unless RINGHIL_LOG is INFO or
    DEBUG in the environment of the simulation, or a bench sets a level itself: a random test sends frames by the
    thousand.
    """
    level = os.environ.get("RINGHIL_LOG", "WARNING")
    if level not in _LEVELS:
        raise ValueError(f"RINGHIL_LOG is {level!r}; allowed are {', '.join(_LEVELS)}")
    kit = logging.getLogger("cocotb.ringhil")
    if kit.level == logging.NOTSET:
        kit.setLevel(level)
    return kit.getChild(name if cell is None else f"{cell}.{name}")


_Shadow = dict[str, int]


@dataclass(frozen=True, slots=True)
class Pin:
    """`width` bits from bit `lsb` of a simulator's signal, `handle`.

    Slices of one input share `shadow`: a vector can only be written whole.
    """

    handle: Any
    width: int
    lsb: int = 0
    shadow: _Shadow | None = None

    def read(self) -> int:
        """The value. Raises KitError, which is a ValueError, where bits are X or Z."""
        value = self.handle.value
        if self.shadow is not None:
            # As text: a slice of the value itself would make an object of every bit of a card's vector.
            bits = str(value)
            end = len(bits) - self.lsb
            bits = bits[end - self.width : end]
            try:
                return int(bits, 2)
            except ValueError:
                raise self._unknown(bits) from None
        try:
            return int(value.to_unsigned()) if len(value) > 1 or self.width > 1 else int(value)
        except ValueError:
            raise self._unknown(str(value)) from None

    def _unknown(self, bits: str) -> KitError:
        place = "" if self.shadow is None else f"[{self.lsb + self.width - 1}:{self.lsb}]"
        return KitError(f"{self.handle._name}{place} is {bits}; the kit reads 0 and 1 only: outputs need a reset")

    def write(self, value: int) -> None:
        """Takes effect in this time step."""
        if self.shadow is None:
            self.handle.value = value
            return
        name = self.handle._name
        mask = (1 << self.width) - 1
        whole = self.shadow.get(name, 0) & ~(mask << self.lsb) | (value & mask) << self.lsb
        self.shadow[name] = whole
        self.handle.value = whole


@dataclass(frozen=True, slots=True)
class Pins:
    """Makes pins: of a node's bench, or of cell `cell` in a card's or server's top, where every port is a vector of
    all cells' ports. `dut`: the top as the simulator shows it. Pass the same `shadow` for all cells of one top."""

    dut: Any
    cell: int | None = None
    shadow: _Shadow = field(default_factory=dict)

    def pin(self, name: str, width: int) -> Pin:
        """The signal `name`, `width` bits for each cell; narrow ones take 8 bits in a card's vectors."""
        handle = getattr(self.dut, name)
        if self.cell is None:
            return Pin(handle, width)
        stride = 8 if width <= 8 else width
        return Pin(handle, width, stride * self.cell, self.shadow)

    def log(self, name: str) -> logging.Logger:
        """The logger of a part of this node."""
        return logger(name, self.cell)


@dataclass(frozen=True, slots=True)
class RingBus:
    """The pins of one link of a node.

    One link of a node, seen from the node: `rx_data` and `rx_ctl` are its inputs, `tx_data` and `tx_ctl` its outputs
    (64 data, 8 control bits); `name` is the link's, `log` its logger.

    Where only outputs are wired out, as at the ring ports of a card, the inputs are None.
    """

    name: str
    tx_data: Pin
    tx_ctl: Pin
    rx_data: Pin | None
    rx_ctl: Pin | None
    log: logging.Logger

    @classmethod
    def from_prefix(cls, pins: Pins, prefix: str) -> Self:
        """`prefix` is p1, p2, host or boundary."""
        listens = hasattr(pins.dut, f"{prefix}_rx_ctl_i")
        return cls(
            prefix,
            pins.pin(f"{prefix}_tx_data_o", 64),
            pins.pin(f"{prefix}_tx_ctl_o", 8),
            pins.pin(f"{prefix}_rx_data_i", 64) if listens else None,
            pins.pin(f"{prefix}_rx_ctl_i", 8) if listens else None,
            pins.log(prefix),
        )
