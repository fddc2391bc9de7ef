"""Compares what left a node with what had to leave, whatever the order between independent streams."""

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import replace

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.mailbox import Mail
from ringhil.emulator.testbench.reference.control import Delivered, Leaving, stamped
from ringhil.emulator.trace.naming import described, differing


class Scoreboard:
    """Frames that must come, compared with those that come.

    `expect` what must come, `saw` what came, `missing` what did not; each complaint is one line.

    Frames of one stream (one way in, or the node's own) keep their order; streams that leave by one link may
    interleave in any way.
    """

    def __init__(self) -> None:
        self._leaving: dict[tuple[str, str], dict[str, deque[Leaving]]] = defaultdict(lambda: defaultdict(deque))
        self._mail: dict[int, deque[Delivered]] = defaultdict(deque)

    def expect(self, frames: Iterable[Leaving], mail: Iterable[Delivered] = ()) -> None:
        """The frames are compared in the order of each stream."""
        for frame in frames:
            self._leaving[frame.link, frame.channel][frame.stream].append(frame)
        for delivered in mail:
            self._mail[delivered.port].append(delivered)

    def saw(self, link: str, frame: RingFrame) -> str | None:
        """A frame has left by `link`; None if it had to."""
        streams = self._leaving[link, frame.channel]
        for waiting in streams.values():
            while waiting and waiting[0].optional and difference(waiting[0], frame) is not None:
                if not any(_same(w, frame.data) for w in waiting):
                    break
                waiting.popleft()
            if waiting and difference(waiting[0], frame) is None:
                waiting.popleft()
                return None
        # Which one was it to be? The first that it could have come from; those before it are missing.
        for name, waiting in streams.items():
            for place, expected in enumerate(waiting):
                if not _same(expected, frame.data):
                    continue
                why = difference(expected, frame)
                skipped = [waiting.popleft() for _ in range(place + 1)][:-1]
                skipped = [s for s in skipped if not s.optional]
                if why is None and not skipped:
                    return None
                if why is None:
                    return f"{link}: a {frame.kind} frame of '{name}' overtook another ({described(skipped[0].data)})"
                return f"{link}: a {frame.kind} frame of '{name}' left wrong: {why} ({frame.title})"
        return f"{link}: a {frame.kind} frame left that nothing asked for ({frame.title})"

    def saw_mail(self, mail: Mail) -> str | None:
        """A frame was handed to the firmware; None if it had to be."""
        waiting = self._mail[mail.port]
        while waiting and waiting[0].optional and not _may_be(waiting[0], mail):
            waiting.popleft()
        if not waiting:
            return f"mailbox {mail.port}: a frame ({described(mail.data)}) was handed over that nothing asked for"
        expected = waiting.popleft()
        if expected.optional and waiting and _may_be(waiting[0], mail) and mail.bad == waiting[0].bad:
            waiting[0] = replace(waiting[0], optional=True)  # it may be this one, and the other one is lost
        if mail.bad != expected.bad:
            return f"mailbox {mail.port}: bad is {mail.bad}, must be {expected.bad} ({described(mail.data)})"
        if not expected.bad and mail.data[:-4] != expected.data[:-4]:
            return f"mailbox {mail.port}: {differing(mail.data, expected.data)} ({described(mail.data)})"
        return None

    def missing(self, open_lanes: Iterable[str] = ()) -> list[str]:
        """What never came. Links of `open_lanes` were still sending a frame whose end didn't arrive: frames that
        wait for their turn there are not missing."""
        lines = []
        for (link, channel), streams in self._leaving.items():
            for name, waiting in streams.items():
                if link in open_lanes and name.startswith("own"):
                    continue
                lines += [
                    f"{link}: a {channel} frame of '{name}' never left ({described(f.data)})"
                    for f in waiting
                    if not f.optional
                ]
        for port, mails in self._mail.items():
            lines += [
                f"mailbox {port}: a frame was never handed over ({described(m.data)})" for m in mails if not m.optional
            ]
        return lines


def _identity(data: bytes) -> bytes:
    """What no hop may change in the first two flits."""
    return data[:2] + data[6:16]


def _same(expected: Leaving, found: bytes) -> bool:
    """They are of one message, as far as what came of it tells."""
    own, other = _identity(expected.data[: expected.known]), _identity(found)
    return other.startswith(own) if expected.cut else own == other


def _may_be(expected: Delivered, mail: Mail) -> bool:
    own, other = _identity(expected.data), _identity(mail.data)
    return (mail.bad and other.startswith(own)) if expected.cut else own == other


def difference(expected: Leaving, found: RingFrame) -> str | None:
    """What is wrong with `found`; None if it is what had to leave."""
    if expected.cut:
        if not _same(expected, found.data):
            return "it is of another message"
        return None if not found.good else "it had been cut on its way in, and left as a good one"
    if found.err != expected.bad:
        return f"error mark {found.err}, must be {expected.bad}"
    if not (found.sof and found.eof):
        return "it has lost its beginning or its end"
    stamp = 0
    if expected.record_at is not None and len(found.data) == len(expected.data):
        stamp = found.data[expected.record_at + 7]
        if found.began >= 0 and not any(c & 0xFF == stamp for c in range(expected.since, found.began + 1)):
            return f"time stamp {stamp} is of no cycle from {expected.since} to {found.began}"
    later = sum(expected.since < end <= found.ended for end in expected.bad_ends) if expected.record_at else 0
    wanted = [stamped(expected, stamp, more) for more in range(later + expected.more_bad + 1)]
    return None if found.data in wanted else differing(found.data, wanted[0])
