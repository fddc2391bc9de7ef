"""What tasks wait for is counted: one that waits, and has nothing to wait for, waits for ever."""

from collections.abc import Callable, Sequence

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.tasks.process import TaskPort


class Port(CardPort):
    """Keeps what is planned and sent."""

    now = 7

    def __init__(self) -> None:
        super().__init__()
        self.planned: list[tuple[int, Callable[[], None]]] = []
        self.sent: list[tuple[int, Sequence[bytes]]] = []

    def at(self, cycle: int, act: Callable[[], None]) -> None:
        self.planned.append((cycle, act))

    def send(self, cell: int, frames: Sequence[bytes]) -> None:
        self.sent.append((cell, frames))


def test_a_plan_is_pending_until_it_is_carried_out() -> None:
    port, done = Port(), list[int]()
    tasks = TaskPort(port)
    tasks.at(9, lambda: done.append(tasks.pending))
    tasks.after(5, lambda: done.append(tasks.pending))
    assert (tasks.pending, [cycle for cycle, _ in port.planned]) == (2, [9, 12])
    for _, act in port.planned:
        act()
    assert (done, tasks.pending) == ([1, 0], 0)
    tasks.send(3, [b"x"])
    assert port.sent == [(3, [b"x"])]
