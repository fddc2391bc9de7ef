"""Whatever firmware says and sends, a run comes to its end, and to a verdict."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.claims import check_claim
from ringhil.emulator.server.firmware_choice import Chosen, FirmwareChoice
from ringhil.firmware import observations as o
from ringhil.firmware.actions import Action
from ringhil.firmware.boot import Boot, our_program
from ringhil.firmware.commands import Send, Write
from ringhil.firmware.observations import Observation
from ringhil.protocol.reasons import LeaseEnd, Rejection
from ringhil.protocol.wire import CensusVerdict, Port, Role

SERVER = """
server:
  cards: {a: {gpus: 5, host_links: [0, 1]}, b: {gpus: 3}}
  boundary_links: [{from: [a.3, a.2], to: [b.1, b.2]}]
workload: {units: 20, size: 100}
until: 6000
"""


class Liar:
    """Ours, which says and sends something else, too."""

    def __init__(self, boot: Boot, dice: random.Random) -> None:
        self._boot, self._dice, self._ours = boot, dice, our_program(boot)

    def start(self, now: int) -> list[Action]:
        return self._and_lies(self._ours.start(now))

    def on_timer(self, name: str, now: int) -> list[Action]:
        return self._and_lies(self._ours.on_timer(name, now))

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        return self._and_lies(self._ours.on_frame(frame, port, bad, now))

    def on_status(self, status: int) -> None:
        self._ours.on_status(status)

    def _and_lies(self, actions: list[Action]) -> list[Action]:
        lies = (self._lie() for _ in range(self._dice.choice((0, 0, 0, 1, 2, 4))))
        return [*actions, *(lie for lie in lies if self._can_be_said(lie))]

    def _can_be_said(self, lie: Action) -> bool:
        try:
            return not isinstance(lie, Observation) or check_claim(lie, self._boot) is None
        except ValueError:
            return False

    def _lie(self) -> Action:
        dice, role = self._dice, self._dice.choice(list(Role))
        end, verdict = dice.choice(list(LeaseEnd)), dice.choice(list(CensusVerdict))

        def few() -> int:
            return dice.choice((0, 1, 2, 3, 4, 9))

        lies: tuple[Callable[[], Any], ...] = (
            lambda: o.Elected(role, few()),
            lambda: o.Deposed(role, few(), end),
            lambda: o.Granted(role, few(), few(), few()),
            lambda: o.Lapsed(role, few(), few(), end),
            lambda: o.PeerUp(role, few()),
            lambda: o.PeerDown(role, few()),
            lambda: o.Rejected(dice.choice(list(Rejection)), few()),
            lambda: o.Suspected((few(),)),
            lambda: o.Counted(
                few(), (few(), few()), verdict, few(), None, few(), few(), (few(),), ((few(), few()),), few()
            ),
            lambda: Send(dice.choice(list(Port)), self._frame()),
            lambda: Write("control", dice.randrange(256)),
        )
        return dice.choice(lies)()  # type: ignore[no-any-return]

    def _frame(self) -> bytes:
        """Of any kind, and of any length."""
        head = bytes([self._dice.choice((*range(0x10, 0x17), 0xFF)), self._dice.randrange(2), 4, 0, 9, 0])
        return (head + bytes([0, self._dice.randrange(6)]) + self._dice.randbytes(72))[
            : 8 * self._dice.randrange(1, 10)
        ]


@pytest.mark.parametrize("seed", range(24))
def test_a_run_with_a_liar_has_a_verdict(seed: int) -> None:
    dice = random.Random(seed)
    where = dice.choice(("a.0", "a.1", "a.3", "b.1"))
    firmware = FirmwareChoice((), {where: Chosen("liar", lambda boot: Liar(boot, dice), "")})
    run = Run(loads(SERVER), cells_library(), firmware=firmware)
    assert run.run().verdict in ("pass", "fail")
    run.close()
