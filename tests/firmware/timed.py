"""A machine of an election and the time: its timers fire by themselves when time passes."""

from typing import Any

from ringhil.firmware.actions import Action
from ringhil.firmware.commands import SetTimer, Tell
from ringhil.firmware.member import Member
from ringhil.firmware.warden import Warden


def only(actions: list[Action], *kinds: type) -> list[Action]:
    return [a for a in actions if isinstance(a, kinds)]


def told(actions: list[Action], kind: type, port: str | None = None) -> list[Any]:
    """Messages of a kind, by one port or any."""
    return [
        a.message for a in actions if isinstance(a, Tell) and isinstance(a.message, kind) and port in (None, a.port)
    ]


class Timed:
    """`actions` are all that it has done. Feed what it returns to `step`."""

    def __init__(self, machine: Member | Warden) -> None:
        self._machine = machine
        self.now = 1000
        self.timers: dict[str, int] = {}
        self.actions: list[Action] = []
        self.step(machine.start(self.now))

    def step(self, actions: list[Action]) -> list[Action]:
        self.actions += actions
        for action in only(actions, SetTimer):
            assert isinstance(action, SetTimer)
            assert action.delay > 0
            self.timers[action.name] = self.now + action.delay
        return actions

    def wait(self, cycles: int) -> list[Action]:
        """Let time pass; returns what happened meanwhile."""
        end, begin = self.now + cycles, len(self.actions)
        while self.timers and min(self.timers.values()) <= end:
            name = min(self.timers, key=lambda n: self.timers[n])
            self.now = max(self.now, self.timers.pop(name))
            self.step(self._machine.on_timer(name, self.now))
        self.now = end
        return self.actions[begin:]
