"""The seam between a CPU and cards: time, frames to a GPU, frames back.

The CPU (`emulator/host`) knows nothing else of what it counts and gives work to. Cards in the engine (`Kernel`) and
cards on the pins of a cocotb bench (`testbench.card_port`) implement it. There is no peek and no poke: what the CPU
knows, a card has sent it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

Mail = Callable[[int, bytes, int, bool], None]  # cell, frame, virtual channel or mailbox port, arrived bad


def ignore(cell: int, frame: bytes, port: int, bad: bool) -> None:
    """Nobody is there to read it."""


class CardPort(ABC):
    """The way to all GPUs of all cards; a GPU is named by its cell, its number counted card by card.

    A subclass overrides `now`, `at` and `send`, and calls `on_cpu_mail` with each frame that a GPU sends to the CPU.
    It keeps these rules:

    1. It calls nothing back from within `at` or `send`, and makes one call at a time: the CPU may be in the middle of
       something.
    2. `now` never goes back, and stays as it is during a call.
    3. `at` calls once, in that cycle; where that is too late, as soon as rule 1 allows.
    4. What falls on one cycle happens in the order in which it was planned. A frame's delivery is planned when the
       frame has arrived, for `host_latency` cycles later: the latency of the CPU is the port's to model.
    5. Frames to one GPU arrive in the order in which they were sent, or not at all. `send` doesn't wait, and doesn't
       tell whether the link is up: the CPU learns by what doesn't come back.
    6. The link CRC, a frame's last 4 bytes, is the port's to write; `bad` says that it was wrong when a frame came.
    """

    def __init__(self) -> None:
        self.on_cpu_mail: Mail = ignore

    @property
    @abstractmethod
    def now(self) -> int:
        """The present cycle."""

    @abstractmethod
    def at(self, cycle: int, act: Callable[[], None]) -> None:
        """Have something done at a cycle."""

    def after(self, delay: int, act: Callable[[], None]) -> None:
        """Have something done `delay` cycles from now."""
        self.at(self.now + delay, act)

    @abstractmethod
    def send(self, cell: int, frames: Sequence[bytes]) -> None:
        """Send frames (wire bytes) over a GPU's link with the CPU, now."""
