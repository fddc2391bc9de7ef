"""What is watched of single frames in every case: the TTL of those that go on, the number of the GPU's own."""

from collections.abc import Iterator, Sequence

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN, OUT
from ringhil.emulator.testbench.stimulus import Fault, Poke, Post, Stimulus
from ringhil.protocol import registers
from ringhil.protocol.wire import FLIT_BYTES, Flag

LOWERED = "link.ttl"
WITHIN = "mailbox.within"
DEMANDS = {
    LOWERED: "a frame that goes on round the ring has a TTL one lower; one that came with TTL 0 doesn't go on",
    WITHIN: "no more control frames of the GPU's own leave than its allowance in each period",
}
_FIRST = slice(2, 6)  # bytes of the first flit that hops may change: flags and TTL
_FLAGS, _TTL = slice(2, 4), slice(4, 6)
_REST = 300  # cycles beyond a period without a frame of its own, behind which none of an earlier period waits
_BABBLED = bytes.fromhex("BABB1E00")  # sequence number
_RESET = {r.name: r.reset for r in registers.REGISTERS}

_Key = tuple[str, bytes]


def head_of(frame: RingFrame) -> _Key:
    """What no hop changes of the first flit."""
    data = frame.data[:FLIT_BYTES]
    return frame.channel, data[: _FIRST.start] + data[_FIRST.stop :]


def name_of(frame: RingFrame) -> _Key:
    """And of the second; if that is the last, its upper half."""
    channel, head = head_of(frame)
    return channel, head + frame.data[FLIT_BYTES : FLIT_BYTES + (8 if len(frame.data) > 2 * FLIT_BYTES else 4)]


def lowered(stimulus: Stimulus, observed: Observed) -> Iterator[Breach]:
    """Frames that came by a ring port and left by one."""
    most = stimulus.size + 1
    came: dict[_Key, list[tuple[str, RingFrame]]] = {}
    for link in IN:
        for frame in observed.arrived[link]:
            if frame.sof and len(frame.data) >= FLIT_BYTES:
                for key in {name_of(frame), head_of(frame)}:
                    came.setdefault(key, []).append((link, frame))
    # By other ways a frame of the same name may have come, or been written.
    others = {head_of(f) for link, frames in observed.arrived.items() if link not in IN for f in frames}
    others |= {("control", a.data[:2] + a.data[6:FLIT_BYTES]) for a in stimulus.actions if isinstance(a, Post)}
    for link in OUT:
        for frame in observed.left[link]:
            if not frame.sof or len(frame.data) < FLIT_BYTES or head_of(frame) in others:
                continue
            # One that was cut behind its first flit has nothing else left; the GPU's own results are whole.
            cut = frame.channel == "control" and not frame.good
            sources = came.get(name_of(frame), []) or (came.get(head_of(frame), []) if cut else [])
            sources = [(by, f) for by, f in sources if f.began < frame.began]
            if sources and not any(_goes_on(by, f, link, frame, most) for by, f in sources):
                ttls = " or ".join(str(t) for t in dict.fromkeys(_ttl(f) for _, f in sources))
                text = f"{link}: a {frame.kind} frame leaves with TTL {_ttl(frame)} that came with {ttls}"
                yield Breach(LOWERED, frame.began, text)


def _ttl(frame: RingFrame) -> int:
    return int.from_bytes(frame.data[_TTL], "big")


def _wrapped(frame: RingFrame) -> bool:
    return bool(int.from_bytes(frame.data[_FLAGS], "big") & Flag.WRAPPED)


def _goes_on(by: str, came: RingFrame, link: str, left: RingFrame, most: int) -> bool:
    had, has = _ttl(came), _ttl(left)
    if not had:
        return False
    if _wrapped(came):
        return has == min(had - 1, most) if OUT[IN.index(by)] == link else has < had
    if _wrapped(left):  # turned round for the first time: it begins anew
        return has <= most
    return has == min(had - 1, most)


def within(stimulus: Stimulus, observed: Observed) -> Iterator[Breach]:
    """Control frames that firmware or a babbling GPU has made, against all periods that may have begun meanwhile.

    A period begins with the first frame after the last one ended; so up to any time no more than one has begun for
    each length of it since the first frame."""
    came = {name_of(f) for frames in observed.arrived.values() for f in frames}
    wrote = {name_of(RingFrame(a.data, "control")) for a in stimulus.actions if isinstance(a, Post)} - came
    left = [(name_of(f), f) for frames in observed.left.values() for f in frames if f.sof]
    own = [f for name, f in left if name in wrote or (babbled(f) and name not in came)]
    own.sort(key=lambda f: f.began)
    still = not any(isinstance(a, Fault) and a.name != "babble" for a in stimulus.actions)
    since, count = _first_offer(observed), 0
    for before, frame in zip([None, *own], own, strict=False):
        allowance, period = _settings(observed, since)
        if still and before is not None and frame.began - before.began > period + _REST:
            since, count = before.began + _REST, 0
            allowance, period = _settings(observed, since)
        count += 1
        if period and count > allowance * (1 + max(0, frame.began - since) // period):
            text = f"{count} frames of the GPU's own have left since cycle {since}: its allowance is {allowance}"
            yield Breach(WITHIN, frame.began, f"{text} in {period} cycles")
            return


def babbled(frame: RingFrame) -> bool:
    """A babbling GPU's: marked by their sequence number."""
    return frame.channel == "control" and frame.data[12:16] == _BABBLED


def _first_offer(observed: Observed) -> int:
    """The cycle from which on frames of the GPU's own may reach the guardian."""
    offers = (c for c, a in observed.done if isinstance(a, Post) or (isinstance(a, Fault) and a.name == "babble"))
    return min(offers, default=0)


def _settings(observed: Observed, since: int) -> tuple[int, int]:
    """The largest allowance and the shortest period that held at any time from a cycle on."""
    return max(_values(observed, "allowance", since)), min(_values(observed, "allowance_period", since))


def _values(observed: Observed, register: str, since: int) -> Sequence[int]:
    at = _RESET[register]
    later = []
    for cycle, action in observed.done:
        if isinstance(action, Poke) and action.register in (register, registers.ADDRESS[register]):
            if cycle < since:
                at = action.value
            else:
                later.append(action.value)
    return [at, *later]
