"""What is true of one card at any time, by the faults that were injected; and what may still rightly be found."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from ringhil.emulator.oracle import RingTruth, View
from ringhil.emulator.server.bounds import LIARS, Bounds
from ringhil.firmware.actions import Counted

Part = tuple[str, int]  # ("gpu", number) or ("link", number)
OK, OUT, BLOCKED, CUT = "ok", "out", "blocked", "cut"
_FAILING = frozenset({"dead", "hang", "babble", "flapped"})
_CUTS = frozenset({"link_cut", "link_one_way"})


class CardTruth:
    """Of a ring of `size` GPUs. Every change is kept until the hardware must have settled to it."""

    def __init__(self, size: int, bounds: Bounds) -> None:
        self.size, self._bounds = size, bounds
        self.gpus: dict[int, set[str]] = {}  # active faults
        self.links: dict[int, set[str]] = {}
        self._past: dict[Part, list[tuple[int, str]]] = {}  # until when, and the state that it was in

    def state(self, part: Part) -> str:
        """The state that a part settles to."""
        kind, number = part
        if kind == "link":
            return CUT if any(name.startswith(tuple(_CUTS)) for name in self.links.get(number, ())) else OK
        faults = self.gpus.get(number, set())
        if "switch_stuck_bypass" in faults:
            return OUT
        if faults & _FAILING:
            return BLOCKED if "switch_stuck_through" in faults else OUT
        return OK

    def change(self, part: Part, fault: str, on: bool, kind: str, now: int) -> None:
        """`fault` begins or ends; `kind` is its kind in the catalogue."""
        before = self.state(part)
        faults = (self.links if part[0] == "link" else self.gpus).setdefault(part[1], set())
        (faults.add if on else faults.discard)(fault)
        settling = self._bounds.settling(kind)
        if BLOCKED in (before, self.state(part)):
            settling = max(settling, self._bounds.settling("switch_stuck_through"))
        past = self._past.setdefault(part, [])
        past.append((now + settling, before))
        if not on and "babble" in faults and part[0] == "gpu":
            # Only now is it heard babbling: until it is muted it takes part.
            past.append((now + self._bounds.settling("babble"), OK))
        if kind == "link_delay" and not on:
            # What was under way is gone: both ends start afresh, and until then the link is out.
            past.append((now + self._bounds.settling("link_cut"), CUT))
        if kind == "flap":
            past.append((now + settling, OK))
            past.append((now + settling, OUT))

    @property
    def unsettled(self) -> int:
        """The cycle by which all that has happened has settled."""
        return max((at for past in self._past.values() for at, _ in past), default=0)

    @property
    def liars(self) -> set[tuple[int, str]]:
        """GPUs that spoil messages, and how."""
        return {(gpu, kind) for gpu, kinds in self.gpus.items() for kind in kinds & LIARS}

    @property
    def noisy(self) -> bool:
        """Messages may be damaged or lost now and then."""
        return any("link_bit_errors" in kinds for kinds in self.links.values())

    @property
    def flapping(self) -> bool:
        """Some GPU comes and goes."""
        return any("flap" in kinds for kinds in self.gpus.values())

    @property
    def faults(self) -> int:
        """Number of active faults."""
        return sum(map(len, self.gpus.values())) + sum(map(len, self.links.values()))

    def seen_from(self, entry: int) -> View:
        """What the entry GPU must find when all has settled."""
        return self._ring({}).seen_from(entry)

    def _ring(self, states: dict[Part, str]) -> RingTruth:
        parts = {("gpu", g) for g in self.gpus} | {("link", i) for i in self.links}
        now = {part: states.get(part, self.state(part)) for part in parts | set(states)}
        chosen = {s: frozenset(n for (_, n), state in now.items() if state == s) for s in (OUT, BLOCKED, CUT)}
        return RingTruth(self.size, chosen[OUT], chosen[CUT], chosen[BLOCKED])

    def possible(self, part: Part, since: int, settled: Part | None = None) -> set[str]:
        """States in which a part may have been found since then; the part `settled` has its present one."""
        past = self._past.get(part, []) if part != settled else []
        return {self.state(part), *(was for until, was in past if until >= since)}

    def fits(self, counted: Counted, entry: int, settled: Part | None = None) -> bool:
        """Whether this may have been found from `entry` since its round began."""
        told = (counted, *self._unmasked(counted))
        return any(self._fits(t, entry, settled, passing) for t in told for passing in self._passing(t, settled))

    def _unmasked(self, counted: Counted) -> Iterator[Counted]:
        """A GPU that uses its predecessor's number can't be told from it when that one is out: the count is right,
        a name is not."""
        for gpu, faults in self.gpus.items():
            before = (gpu - 1) % self.size
            if "duplicate_id" in faults and counted.members and before in counted.members:
                others = tuple(g for g in counted.members if g != before)
                if gpu not in others:
                    yield replace(counted, members=(*others, gpu))

    def _passing(self, counted: Counted, settled: Part | None) -> Iterator[dict[Part, str]]:
        """Every combination of what passes messages on: links, and GPUs that may have been blocked."""
        links: set[Part] = {("link", i) for i in self.links} | {p for p in self._past if p[0] == "link"}
        blocked = {p for p in self._past if p[0] == "gpu" and BLOCKED in self.possible(p, counted.sent_at, settled)}
        blocked |= {("gpu", g) for g in self.gpus if self.state(("gpu", g)) == BLOCKED}
        parts = sorted(links | blocked)
        for states in product(*(sorted(self.possible(p, counted.sent_at, settled)) for p in parts)):
            yield dict(zip(parts, states, strict=True))

    def _fits(self, counted: Counted, entry: int, settled: Part | None, passing: dict[Part, str]) -> bool:
        cuts = frozenset(n for (kind, n), state in passing.items() if state == CUT)
        blocked = frozenset(n for (kind, n), state in passing.items() if state == BLOCKED and n != entry)
        reached = RingTruth(self.size, cuts=cuts, blocked=blocked).seen_from(entry).members
        states = {
            g: {passing[("gpu", g)]} if ("gpu", g) in passing else self.possible(("gpu", g), counted.sent_at, settled)
            for g in reached
        }
        must = {g for g in reached if states[g] == {OK}}
        may = {g for g in reached if OK in states[g]} | {entry}
        if counted.members is None:
            return len(must) <= counted.count <= len(may)
        return len(counted.members) == counted.count and must <= set(counted.members) <= may
