"""The attachment `sim`: a deterministic model of guests and of the bus between them and the server's GPUs.

What it models: which driver has each GPU; which guest sees it; that steps take time; memory, that a guest writes and
that only scrubbing clears; guests that compute, crash and restart; GPUs and guests that fail. What it doesn't: a
guest's own kernel, interrupts, DMA, and how fast anything is beyond `SimTimes`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ringhil.emulator.lending.attachment import AttachedMeters, AttachmentError, GuestState, LendableGpu


@dataclass(frozen=True)
class SimTimes:
    """Cycles that each step takes."""

    bind: int = 200
    attach: int = 500
    detach: int = 300
    reset: int = 100
    scrub: int = 400


@dataclass(slots=True)
class _Gpu:
    """`pages`: memory that isn't zero, by page. `busy_until`: its guest computes until then; `counted`: cycles that it
    computed before `since`."""

    for_guests: bool = False
    node: str = ""
    pages: dict[int, bytes] = field(default_factory=dict)
    was_reset: bool = True
    failed: bool = False
    since: int = 0
    busy_until: int = 0
    counted: int = 0
    step: str = ""
    ready_at: int = 0


class SimAttachment:
    """Of these GPUs. `now`: cycle of the run. `work`: cycles that a guest computes as soon as it has a GPU. `watts`:
    what a GPU takes while it computes, by its type. `cycle`: seconds. Every node address is that of a guest that runs,
    unless it was said to be in another state (`says`)."""

    def __init__(
        self,
        gpus: Sequence[LendableGpu],
        now: Callable[[], int],
        *,
        times: SimTimes | None = None,
        work: int = 0,
        watts: Mapping[str, float] = MappingProxyType({}),
        cycle: float = 1e-6,
    ) -> None:
        self._gpus, self._now, self._times, self._work = list(gpus), now, times or SimTimes(), work
        self._joules = {gpu.name: watts.get(gpu.model, 0.0) * cycle for gpu in gpus}
        self._states = {gpu.name: _Gpu() for gpu in gpus}
        self._guests: dict[str, GuestState] = {}

    # ------------------------------------------------------------------------------------------------ of an Attachment

    def gpus(self) -> Sequence[LendableGpu]:
        """All."""
        return self._gpus

    def guest(self, node: str) -> GuestState:
        """It runs, unless something else was said."""
        return self._guests.get(node, GuestState.UP)

    def held(self) -> Mapping[str, str]:
        """What guests see."""
        return {name: gpu.node for name, gpu in self._states.items() if gpu.node}

    def bound(self) -> frozenset[str]:
        """What the driver for guests has."""
        return frozenset(name for name, gpu in self._states.items() if gpu.for_guests)

    def bind(self, gpu: str) -> bool:
        """See Attachment."""
        state = self._working(gpu)
        if not state.for_guests and self._takes(state, "bind", self._times.bind):
            state.for_guests = True
        return state.for_guests

    def attach(self, gpu: str, node: str) -> bool:
        """See Attachment."""
        state = self._working(gpu)
        if state.node == node:
            return True
        if state.node:
            raise AttachmentError(f"{gpu}: {state.node} has it; detach it first")
        if not state.for_guests:
            raise AttachmentError(f"{gpu}: the server's driver has it; bind it first")
        if self.guest(node) is not GuestState.UP:
            raise AttachmentError(f"{gpu}: {node} doesn't run")
        if self._takes(state, f"attach {node}", self._times.attach):
            state.node, state.was_reset = node, False
            if self._work:
                self.compute(gpu, self._work)
        return state.node == node

    def detach(self, gpu: str) -> bool:
        """See Attachment."""
        state = self._states[gpu]
        if state.node and self._takes(state, "detach", self._times.detach):
            self._stop(state)
            state.node = ""
        return not state.node

    def reset(self, gpu: str) -> bool:
        """See Attachment."""
        state = self._free_of_guests(gpu)
        if not state.was_reset and self._takes(state, "reset", self._times.reset):
            state.was_reset, state.failed = True, False
        return state.was_reset

    def scrub(self, gpu: str) -> bool:
        """See Attachment."""
        state = self._free_of_guests(gpu)
        if state.pages and self._takes(state, "scrub", self._times.scrub):
            state.pages.clear()
        return not state.pages

    def unbind(self, gpu: str) -> bool:
        """See Attachment."""
        state = self._free_of_guests(gpu)
        if state.for_guests and self._takes(state, "unbind", self._times.bind):
            state.for_guests = False
        return not state.for_guests

    def meters(self, gpu: str) -> AttachedMeters:
        """See Attachment."""
        busy = self._busy(self._states[gpu])
        return AttachedMeters(busy, busy * self._joules[gpu])

    def attend(self) -> None:
        """Guests ask for nothing."""

    def close(self) -> None:
        """Nothing is open."""

    # ------------------------------------------------------------------------------------------------ what guests do

    def compute(self, gpu: str, cycles: int) -> None:
        """The guest that has it computes from now on, for so long."""
        state = self._states[gpu]
        self._stop(state)
        state.busy_until = state.since + cycles

    def write(self, node: str, gpu: str, page: int, data: bytes) -> None:
        """A guest writes to memory. Raises AttachmentError: it doesn't have that GPU."""
        self._of(node, gpu).pages[page] = data

    def read(self, node: str, gpu: str) -> Mapping[int, bytes]:
        """What a guest finds in memory that isn't zero. Raises AttachmentError."""
        return dict(self._of(node, gpu).pages)

    def says(self, node: str, state: GuestState) -> None:
        """How a guest is from now on. One that is down, or gone, sees no GPU any more."""
        self._guests[node] = state
        if state is not GuestState.UP:
            for gpu in self._states.values():
                if gpu.node == node:
                    self._stop(gpu)
                    gpu.node = ""

    def fail(self, gpu: str) -> None:
        """A GPU fails: nobody can bind or attach it, and it computes nothing, until it is reset."""
        state = self._states[gpu]
        self._stop(state)
        state.failed, state.was_reset = True, False

    def mend(self, gpu: str) -> None:
        """It works again."""
        self._states[gpu].failed = False

    def restart(self) -> None:
        """The server starts anew: its own driver has every GPU, and no guest runs that had one."""
        for state in self._states.values():
            self._stop(state)
            state.for_guests, state.node, state.step = False, "", ""

    def dirty(self, gpu: str) -> bool:
        """Something of a guest's is still in memory."""
        return bool(self._states[gpu].pages)

    # ----------------------------------------------------------------------------------------------------------------

    def _working(self, gpu: str) -> _Gpu:
        state = self._states[gpu]
        if state.failed:
            raise AttachmentError(f"{gpu}: doesn't answer on the bus")
        return state

    def _free_of_guests(self, gpu: str) -> _Gpu:
        state = self._states[gpu]
        if state.node:
            raise AttachmentError(f"{gpu}: {state.node} has it; detach it first")
        return state

    def _of(self, node: str, gpu: str) -> _Gpu:
        state = self._states[gpu]
        if state.node != node:
            raise AttachmentError(f"{gpu}: {node} doesn't have it")
        return state

    def _takes(self, state: _Gpu, step: str, cycles: int) -> bool:
        """Whether a step has had its time, counted from when it was first asked for."""
        now = self._now()
        if state.step != step:
            state.step, state.ready_at = step, now + cycles
        if now < state.ready_at:
            return False
        state.step = ""
        return True

    def _busy(self, state: _Gpu) -> int:
        return state.counted + max(0, min(self._now(), state.busy_until) - state.since)

    def _stop(self, state: _Gpu) -> None:
        state.counted, state.since = self._busy(state), self._now()
        state.busy_until = state.since
