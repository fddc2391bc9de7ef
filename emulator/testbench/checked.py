"""A scoreboard that watches a node's bench while a test drives it, and compares with the reference model.

For tests in which the node's state doesn't change while frames pass: its registers, faults and links are those of the
`view` that it is given. What changes the state is for the rules of `ringhil rtl check`.
"""

from functools import partial

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.mailbox import Mail
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.node import NodeBench
from ringhil.emulator.testbench.reference import compute, control, data
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.scoreboard import Scoreboard
from ringhil.protocol.wire import Link


class NodeScoreboard:
    """Compares each frame that leaves a node with what the reference model says.

    Attach it after `bench.start(...)`; frames that the test writes into the mailbox are told by `own`.

    | watched | compared with |
    |---|---|
    | control frames on the ring, mail by the ring ports | reference.control |
    | data frames on their way (not the node's own answers to work) | reference.data |

    `complaints` are there as soon as they are seen, `compared` counts frames; `check` raises AssertionError with them,
    and with what is missing.
    """

    def __init__(self, bench: NodeBench, view: NodeView) -> None:
        self._view, self._board = view, Scoreboard()
        self._control, self._data = control.ControlOutcome(), data.DataOutcome()
        self.complaints: list[str] = []
        self.compared = 0
        for link, port in bench.ports.items():
            port.arriving.on_frame.append(partial(self._arrived, link))
            port.sink.monitor.on_frame.append(partial(self._left, link))
            port.sink.monitor.on_breach.append(self._breach)
        for reader in bench.mailbox.readers[:2]:
            reader.on_mail.append(self._mail)

    def own(self, port: int, frame: bytes, cycle: int) -> None:
        """The test writes this frame into the mailbox for ring port 0 or 1."""
        control.originate(frame, port, cycle, self._view, self._control)
        self._expect()

    def check(self) -> None:
        """Everything that had to come has come, and nothing else."""
        lines = [*self.complaints, *self._board.missing()]
        assert not lines, "\n".join(lines)

    def _arrived(self, link: str, frame: RingFrame) -> None:
        if frame.channel == "data":
            data.arrive(frame, Link.parse(link).code, self._view, self._data)
        elif link in control.IN:
            control.arrive(frame, control.IN.index(link), self._view, self._control)
        self._expect()

    def _expect(self) -> None:
        self._board.expect([*self._control.leaving, *self._data.leaving], self._control.mail)
        self._control.leaving.clear()
        self._data.leaving.clear()
        self._control.mail.clear()

    def _left(self, link: str, frame: RingFrame) -> None:
        if frame.channel == "data" and compute.own_answer(frame, self._view):
            return
        if frame.channel == "control" and link not in control.OUT:
            return
        self._complain(self._board.saw(link, frame))

    def _mail(self, mail: Mail) -> None:
        self._complain(self._board.saw_mail(mail))

    def _breach(self, breach: Breach) -> None:
        self.complaints.append(f"{breach.rule}: {breach.what}")

    def _complain(self, complaint: str | None) -> None:
        self.compared += 1
        if complaint is not None:
            self.complaints.append(complaint)
