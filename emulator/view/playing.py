"""What has to be searched for or played: done by processes of their own (`debug.desk`), so that rows come at once."""

from bisect import bisect_left
from itertools import takewhile
from typing import Any

from ringhil.emulator.debug.commands import bits_set
from ringhil.emulator.debug.hops import FLIT
from ringhil.emulator.debug.items import decoded, said
from ringhil.emulator.debug.memory import plain
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.debug.shown import differences
from ringhil.emulator.debug.worker import SessionWorker
from ringhil.emulator.trace.identity import identity
from ringhil.emulator.trace.recording import RecordedMessage
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.emulator.view.messages import (
    MOST_CYCLES,
    MOST_PASSED,
    CardState,
    Changed,
    CpuPicture,
    FailureAbout,
    PassedFrame,
    ViewHop,
    ViewHops,
    ViewPasses,
    ViewPicture,
    ViewState,
)
from ringhil.emulator.view.places import CPU, Wires
from ringhil.emulator.view.reading import failures
from ringhil.protocol.registers import ControlBit, StatusBit
from ringhil.protocol.wire import LINKS, Link

_AROUND = 4_000  # cycles before and after, in which the rows of frames are looked for
_MOST_LOOKED = 40_000  # rows
_FROM_CPU = WAYS.index("from_cpu")
_BYPASSED = StatusBit.BYPASS_CW | StatusBit.BYPASS_CCW


class PlayedView:
    """What the page asks for, of a session, at its message or event."""

    def __init__(self, session: DebugSession) -> None:
        self.session = session

    def begin(self) -> tuple[str | None, list[FailureAbout]]:
        """Why the run can't be played, if so, and what has failed in it."""
        return self.session.why_not, failures(self.session)

    def links(self) -> ViewHops:
        """The links that the message passed; of an event, none."""
        here = self.session.here
        hops = self.session.hops() if isinstance(here, RecordedMessage) else []
        wires, found = self._wires, list[ViewHop]()
        for place, each in enumerate(hops):
            was = differences(hops[place - 1].frame, each.frame) if place else []
            found.append(
                ViewHop(
                    cycle=each.cycle,
                    gpu=each.gpu,
                    link=each.link,
                    to=wires.far(each.gpu, each.link),
                    changed=[Changed(name=name, before=before, after=after) for name, before, after in was],
                    bytes=each.frame.hex(),
                )
            )
        return ViewHops(number=self.session.number, hops=found)

    @property
    def _wires(self) -> Wires:
        return Wires(self.session.scenario.server)

    def passes(self, first: int, last: int) -> ViewPasses:
        """Every frame on every link in these cycles."""
        last = min(last, first + MOST_CYCLES - 1)
        passed = self.session.passes(first, last)
        if len(passed) > MOST_PASSED:
            last = max(first, passed[MOST_PASSED].cycle - 1)
        near, wires, gpus = self._near(first, last), self._wires, self.session.recording.gpus
        rows: dict[object, list[tuple[int, int]]] = {}
        for each in near:
            rows.setdefault(identity(each.frame), []).append((each.cycle, each.number))
        messages: dict[object, int] = {}

        def shown(cycle: int, gpu: str, link: str, to: str, frame: bytes, bad: bool) -> PassedFrame:
            kind, fields = decoded(frame)
            message = identity(frame) or frame
            there = rows.get(message, [])
            place = bisect_left(there, (cycle, 0))
            nearest = min(there[max(0, place - 1) : place + 1], key=lambda row: abs(row[0] - cycle), default=None)
            return PassedFrame(
                cycle=cycle,
                gpu=gpu,
                link=link,
                to=to,
                flits=len(frame) // FLIT,
                kind=kind,
                text=said(fields),
                bad=bad,
                message=messages.setdefault(message, len(messages)),
                row=None if nearest is None else nearest[1],
            )

        found = [
            shown(each.cycle, gpu, link, wires.far(gpu, link), each.frame, each.bad)
            for each in passed[:MOST_PASSED]
            for gpu, link in [(gpus[each.cell], LINKS[each.link].value)]
        ]
        # What the CPU sends is on no link of a GPU's own; it is there from when it is to be sent.
        found += [
            shown(each.cycle, CPU, Link.HOST.value, gpus[each.cell], each.frame, False)
            for each in near
            if each.way == _FROM_CPU and first <= each.cycle <= last
        ]
        return ViewPasses(first=first, last=last, frames=sorted(found, key=lambda frame: frame.cycle))

    def _near(self, first: int, last: int) -> list[RecordedMessage]:
        """The messages that were sent or came about then, in order."""
        recording = self.session.recording
        before = recording.at(max(0, first - _AROUND))
        start = 0 if before is None else before.number
        rows = recording.messages(start, start + _MOST_LOOKED)
        return list(takewhile(lambda message: message.cycle <= last + _AROUND, rows))

    def exact(self, picture: ViewPicture) -> ViewPicture:
        """What was told, put right by what there was: roles, who is bypassed, what the CPU knows."""
        registers, cards = self.session.server(picture.cycle)
        gpus = []
        for told in picture.gpus:
            control, status = registers[told.gpu]["control"], registers[told.gpu]["status"]
            roles = [("boundary", ControlBit.BOUNDARY), ("entry", ControlBit.ENTRY)]
            # What firmware that has failed had set in its registers stays there, and says nothing any more.
            having = [role for role, bit in roles if control & bit and not told.failed]
            gpus.append(told.model_copy(update={"roles": having, "bypassed": bool(status & _BYPASSED)}))
        known = [told.model_copy(update={"cpu": _cpu(told.card, cards[told.card])}) for told in picture.cards]
        return picture.model_copy(update={"exact": True, "until": picture.cycle, "gpus": gpus, "cards": known})

    def state(self, gpu: str) -> ViewState:
        """Of a GPU."""
        session = self.session
        registers = session.registers(gpu)
        return ViewState(
            gpu=gpu,
            number=session.number,
            cycle=session.cycle,
            registers=registers,
            words={name: bits for name, value in registers.items() if (bits := bits_set(name, value))},
            firmware=session.firmware(gpu),
        )

    def card(self, name: str) -> CardState:
        """What the CPU knows of one."""
        session = self.session
        return CardState(card=name, number=session.number, cycle=session.cycle, knows=plain(session.card(name)))


class ViewWorker(SessionWorker, PlayedView):
    """The same in a process of its own; see `debug.desk`."""

    def begin(self) -> tuple[str | None, list[FailureAbout]]:
        """The same; of a recording that has grown, as it is by now."""
        if not self.session.recording.complete:
            self.session.close()
            self.session = self._open_again()
        return super().begin()


def _cpu(name: str, knows: dict[str, Any]) -> CpuPicture:
    rank = knows["rank"]
    return CpuPicture(
        count=knows["count"],
        members=list(knows["members"]),
        entry=None if rank is None else f"{name}.{knows['host'][rank]}",
        epoch=knows["epoch"],
        reachable=knows["reachable"],
        share=knows["share"],
        completed=knows["completed"],
    )
