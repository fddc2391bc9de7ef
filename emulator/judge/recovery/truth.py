"""What is true of one card at any time, by the faults that were injected; and what may still rightly be found."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from ringhil.emulator.judge.oracle import BLOCKED, CUT, OK, OUT, CardFaults, Part, PartState, RingTruth
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.scenario import PartKind
from ringhil.firmware.observations import Counted
from ringhil.protocol.registers import MAX_LINK_DELAY


class CardTruth(CardFaults):
    """The truth of a ring of `size` GPUs. Every change is kept until the hardware must have settled to it."""

    def __init__(self, size: int, bounds: Bounds) -> None:
        super().__init__(size)
        self._bounds = bounds
        self._past: dict[Part, list[tuple[int, PartState]]] = {}  # until when, and the state that it was in
        self._masked: dict[int, int] = {}  # GPU -> until when it has used its predecessor's number

    def change(self, part: Part, fault: str, on: bool, kind: str, now: int) -> None:
        """`fault` begins or ends; `kind` is its kind in the catalogue."""
        before = self.state(part)
        self.put(part, fault, on)
        settling = self._bounds.settling(kind)
        if BLOCKED in (before, self.state(part)):
            settling = max(settling, self._bounds.settling("switch_stuck_through"))
        past = self._past.setdefault(part, [])
        past.append((now + settling, before))
        if not on and part[0] == PartKind.GPU and "babble" in self.gpus[part[1]]:
            # Only now is it heard babbling: until it is muted it takes part.
            past.append((now + self._bounds.settling("babble"), OK))
        if kind == "link_delay" and (not on or now < MAX_LINK_DELAY):
            # What was under way is gone, or just after power-up nothing was yet: both ends start afresh, and until then
            # the link is out.
            past.append((now + self._bounds.settling("link_cut"), CUT))
        if kind == "duplicate_id" and not on:
            self._masked[part[1]] = now
        if kind == "flap":
            past.append((now + settling, OK))
            past.append((now + settling, OUT))

    @property
    def unsettled(self) -> int:
        """The cycle by which all that has happened has settled."""
        return max((at for past in self._past.values() for at, _ in past), default=0)

    def possible(self, part: Part, since: int, settled: Part | None = None) -> set[PartState]:
        """States in which a part may have been found since then; the part `settled` has its present one."""
        past = self._past.get(part, []) if part != settled else []
        return {self.state(part), *(was for until, was in past if until >= since)}

    def closed_since(self, since: int) -> bool:
        """The ring was closed all the time since then, and each GPU under its own number: no frame was turned round at
        a cut, or taken by another."""
        if (
            any("duplicate_id" in faults for faults in self.gpus.values())
            or max(self._masked.values(), default=-1) >= since
        ):
            return False
        parts: set[Part] = {(PartKind.LINK, link) for link in self.links} | {(PartKind.GPU, gpu) for gpu in self.gpus}
        return not any({CUT, BLOCKED} & self.possible(part, since) for part in parts | set(self._past))

    def fits(self, counted: Counted, entry: int, settled: Part | None = None) -> bool:
        """Whether this may have been found from `entry` since its round began.

        A round without records confirms a list of members by their number alone.
        """
        if self._bounds.times.refresh > 1:
            counted = replace(counted, members=None)
        told = (counted, *self._unmasked(counted))
        return any(self._fits(t, entry, settled, passing) for t in told for passing in self._passing(t, settled))

    def _unmasked(self, counted: Counted) -> Iterator[Counted]:
        """A GPU that uses its predecessor's number can't be told from it when that one is out: the count is right,
        a name is not. That one may be out because it uses its own predecessor's number, and so on."""
        masked = [
            gpu
            for gpu, faults in self.gpus.items()
            if "duplicate_id" in faults or self._masked.get(gpu, -1) >= counted.sent_at
        ]
        told = [frozenset(counted.members or ())]
        for members in told:
            for gpu in masked:
                before = (gpu - 1) % self.size
                if before in members and gpu not in members and (other := members - {before} | {gpu}) not in told:
                    told.append(other)
                    yield replace(counted, members=tuple(sorted(other)))

    def _passing(self, counted: Counted, settled: Part | None) -> Iterator[dict[Part, PartState]]:
        """Every combination of what passes messages on: links, and GPUs that may have been blocked."""
        links: set[Part] = {(PartKind.LINK, i) for i in self.links} | {p for p in self._past if p[0] == PartKind.LINK}
        gpus: list[Part] = [(PartKind.GPU, g) for g in self.gpus]
        past = {p for p in self._past if p[0] == PartKind.GPU}
        blocked = {p for p in past if BLOCKED in self.possible(p, counted.sent_at, settled)}
        blocked |= {p for p in gpus if self.state(p) == BLOCKED}
        parts = sorted(links | blocked)
        for states in product(*(sorted(self.possible(p, counted.sent_at, settled)) for p in parts)):
            yield dict(zip(parts, states, strict=True))

    def _fits(self, counted: Counted, entry: int, settled: Part | None, passing: dict[Part, PartState]) -> bool:
        if passing.get((PartKind.GPU, entry)) == BLOCKED and counted.count == 1:
            return counted.members in (None, (entry,))  # its own carrier is off: it has no neighbours
        cuts = frozenset(n for (kind, n), state in passing.items() if state == CUT)
        blocked = frozenset(n for (kind, n), state in passing.items() if state == BLOCKED and n != entry)
        reached = RingTruth(self.size, cuts=cuts, blocked=blocked).seen_from(entry).members
        gpus: dict[int, Part] = {g: (PartKind.GPU, g) for g in reached}
        states = {
            g: {passing[part]} if part in passing else self.possible(part, counted.sent_at, settled)
            for g, part in gpus.items()
        }
        must = {g for g in reached if states[g] == {OK}}
        may = {g for g in reached if OK in states[g]} | {entry}
        if counted.members is None:
            return len(must) <= counted.count <= len(may)
        return len(counted.members) == counted.count and must <= set(counted.members) <= may
