"""What a process that asks about GPUs is told. GPUs are numbered card by card, as cells are.

Memory is what the register `memory_held` says, at this moment; what each process holds, and who had the engine for how
long, is as old as the last sample. What a group is given is all that those in it are told of.
"""

import re
import time
import uuid
from collections.abc import Callable
from importlib.metadata import version

from ringhil.emulator.host.contexts.command import ContextRef
from ringhil.emulator.host.contexts.outside import OutsideContext
from ringhil.emulator.nvml import messages
from ringhil.emulator.nvml.messages import Meter, NvmlAnswer, NvmlTopic, ProcessUse, Question, Status
from ringhil.emulator.nvml.meters import Read, has_meter, millijoules, most_power, performance, units_of
from ringhil.emulator.nvml.peer import PeerProcess
from ringhil.emulator.nvml.usage import UsageSampler
from ringhil.emulator.nvml.views import ContextUser, GpuView, Place, Views
from ringhil.emulator.server import LiveServer
from ringhil.protocol.wire import GpuType

_KIB = 1024
_PAGE = 1024  # KiB, where no file says otherwise
_TYPES = {kind.code: kind.value for kind in GpuType}
_UNKNOWN = 0xFFFF_FFFF
_ARCHITECTURES = {GpuType.T4: 6, GpuType.V100: 5, GpuType.A100: 7, GpuType.H100: 9, GpuType.H200: 9}
_ARCHITECTURE = {kind.code: architecture for kind, architecture in _ARCHITECTURES.items()}
_COMPARED = (NvmlTopic.UTILISATION, NvmlTopic.METER)
_MOST_PERCENT = 100
_BUS = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?", re.IGNORECASE | re.ASCII)


class NvmlAnswers:
    """To questions about the GPUs of `server`. `views`: who asks may know what."""

    def __init__(self, server: LiveServer, views: Views, usage: UsageSampler) -> None:
        self._server, self._views, self._usage = server, views, usage
        sharing = server.scenario.sharing
        self._page = (sharing.page if sharing is not None else _PAGE) * _KIB
        self._sampled = 0  # microseconds since 1970
        self._of_gpu: dict[NvmlTopic, Callable[[GpuView, int, Question], NvmlAnswer]] = {
            NvmlTopic.GPU: self._gpu,
            NvmlTopic.MEMORY: self._memory,
            NvmlTopic.UTILISATION: self._utilisation,
            NvmlTopic.PROCESSES: self._processes,
            NvmlTopic.METER: self._meter,
            NvmlTopic.ARCHITECTURE: self._architecture,
        }

    def sampled(self) -> None:
        """Notes the time of a new sample."""
        self._sampled = time.time_ns() // 1000

    def must_wait(self, question: Question) -> bool:
        """Whether there is no answer yet: cards are counted first, and shares and power need two samples."""
        if question.what in (NvmlTopic.HELLO, NvmlTopic.ENTER):
            return False
        return not (self._usage.measured if question.what in _COMPARED else self._usage.begun)

    def answer(self, peer: PeerProcess, question: Question) -> NvmlAnswer:
        """Returns the answer for that process."""
        if question.what is NvmlTopic.HELLO:
            same = question.number == messages.VERSION
            return messages.text(version("ringhil")) if same else NvmlAnswer(Status.LIB_RM_VERSION_MISMATCH)
        if question.what is NvmlTopic.ENTER:
            return self._enter(peer, question.text)
        view = self._views.view_of(peer)
        cells = [cell for cell in range(self._server.wiring.cells) if self._there(view, cell)]
        if question.what in self._of_gpu:
            if question.gpu not in cells:
                return NvmlAnswer(Status.INVALID_ARGUMENT)
            if self._lost(question.gpu):
                return NvmlAnswer(Status.GPU_IS_LOST)
            return self._of_gpu[question.what](view, question.gpu, question)
        match question.what:
            case NvmlTopic.COUNT:
                return messages.values(len(cells))
            case NvmlTopic.BY_INDEX:
                return self._found(cells[question.number : question.number + 1], Status.INVALID_ARGUMENT)
            case NvmlTopic.PROCESS_NAME:
                names = [user.name for user in self._users(view) if user.pid == question.number]
                names += [e.client.name for e in self._outside(view) if e.client.pid == question.number]
                return messages.text(names[0]) if names else NvmlAnswer(Status.NOT_FOUND)
            case NvmlTopic.BY_UUID:
                return self._found([c for c in cells if self._uuid(c) == question.text], Status.NOT_FOUND)
            case NvmlTopic.BY_BUS:
                return self._at(cells, question.text)
            case _:
                return self._found([c for c in cells if self._name(c) == question.text], Status.NOT_FOUND)

    def _enter(self, peer: PeerProcess, name: str) -> NvmlAnswer:
        try:
            return NvmlAnswer(Status.SUCCESS if self._views.enter(peer, name) else Status.NO_PERMISSION)
        except KeyError:
            return NvmlAnswer(Status.NOT_FOUND)

    # ---------------------------------------------------------------------------------------------------- which GPU

    def _place(self, cell: int) -> Place:
        return self._server.wiring.place(cell)

    def _name(self, cell: int) -> str:
        return str(self._server.wiring.gpu_of(cell))

    def _uuid(self, cell: int) -> str:
        """Returns an id that is always the same for a GPU of that name under that seed."""
        return f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'ringhil {self._server.scenario.seed} {self._name(cell)}')}"

    def _address(self, cell: int) -> tuple[int, int, int]:
        card, gpu = self._place(cell)
        return card, gpu, 0

    def _at(self, cells: list[int], text: str) -> NvmlAnswer:
        """`0000:02:00.0`, with more or fewer digits of the domain, or without that; the function can be left out."""
        found = _BUS.fullmatch(text)
        if found is None:
            return NvmlAnswer(Status.INVALID_ARGUMENT)
        domain, bus, device, function = (int(digits or "0", 16) for digits in found.groups())
        there = [cell for cell in cells if function == 0 and self._address(cell) == (domain, bus, device)]
        return self._found(there, Status.NOT_FOUND)

    def _found(self, cells: list[int], otherwise: Status) -> NvmlAnswer:
        if not cells:
            return NvmlAnswer(otherwise)
        return NvmlAnswer(Status.GPU_IS_LOST) if self._lost(cells[0]) else NvmlAnswer(number=cells[0])

    def _there(self, view: GpuView, cell: int) -> bool:
        """Says that the GPU is there for who asks: one that is lent is there for nobody."""
        card, gpu = self._place(cell)
        return view.sees((card, gpu)) and gpu not in self._server.cpu.cards[card].lent

    def _lost(self, cell: int) -> bool:
        """Says that the CPU has counted the card, and that this GPU isn't there."""
        card, gpu = self._place(cell)
        return gpu not in self._server.cpu.cards[card].members

    # ------------------------------------------------------------------------------------------------- what is told

    def _gpu(self, view: GpuView, cell: int, question: Question) -> NvmlAnswer:
        index = sum(self._there(view, other) for other in range(cell))
        kind = self._peek(cell, "gpu_type")
        name = f"ringhil {_TYPES.get(kind, f'type {kind}')}"
        return messages.gpu(name, self._uuid(cell), self._name(cell), self._address(cell), index)

    def _memory(self, view: GpuView, cell: int, question: Question) -> NvmlAnswer:
        """Whoever has a limit is told of that, and of nobody else; without one, of what the GPU has left. Programs take
        a total of 0 for none that is known, and show the machine's memory: who may have nothing is told of a page that
        is reserved."""
        there = self._peek(cell, "device_memory")
        if view.memory is None:
            total, used = there, self._peek(cell, "memory_held")
        else:
            total = min(view.memory, there)
            used = sum(self._usage.held(user) for user in self._users(view, cell))
        reserved = int(total == 0)
        parts = (max(total, reserved), max(0, total - used), used, reserved)
        return messages.values(*(pages * self._page for pages in parts))

    def _utilisation(self, view: GpuView, cell: int, question: Question) -> NvmlAnswer:
        if view.pids is None:
            busy = self._usage.busy(self._place(cell))
            return NvmlAnswer(Status.NOT_SUPPORTED) if busy is None else messages.values(busy)
        share = sum(self._usage.share(user) for user in self._users(view, cell))
        return messages.values(min(_MOST_PERCENT, share))

    def _processes(self, view: GpuView, cell: int, question: Question) -> NvmlAnswer:
        usage, page = self._usage, self._page
        there = [user for user in self._users(view, cell) if usage.has(user)]
        uses = [ProcessUse(u.pid, usage.held(u) * page, usage.share(u), self._sampled) for u in there]
        outside = [each for each in self._outside(view) if each.place.on == self._place(cell)]
        uses += [ProcessUse(each.client.pid, each.held * page, 0, self._sampled) for each in outside]
        return messages.uses(uses)

    def _meter(self, view: GpuView, cell: int, question: Question) -> NvmlAnswer:
        """Who doesn't see all of the GPU is told what those took whom it knows: the rest tells what others do."""

        def read(register: str) -> int:
            return self._peek(cell, register)

        if view.pids is None:
            found = self._metered(cell, question.number, read)
        elif has_meter(read):
            found = self._taken([user.place for user in self._users(view, cell)], question.number, read)
        else:
            found = None
        return NvmlAnswer(Status.NOT_SUPPORTED) if found is None else messages.values(found)

    def _taken(self, contexts: list[ContextRef], meter: int, read: Read) -> int | None:
        match meter:
            case Meter.ENERGY:
                return self._usage.meters.energy(contexts)
            case Meter.POWER | Meter.POWER_NOW:
                return self._usage.meters.power(contexts, now=meter == Meter.POWER_NOW)
            case Meter.POWER_LIMIT:
                return most_power(read)
        return None

    def _metered(self, cell: int, meter: int, read: Read) -> int | None:
        if meter == Meter.PERFORMANCE:
            return performance(read)
        if not has_meter(read):
            return None
        match meter:
            case Meter.ENERGY:
                return millijoules(units_of(read), self._usage.cycle)
            case Meter.POWER_LIMIT:
                return most_power(read)
            case Meter.POWER | Meter.POWER_NOW:
                return self._usage.meters.power([self._place(cell)], now=meter == Meter.POWER_NOW)
            case Meter.TEMPERATURE:
                return self._usage.meters.temperature(self._place(cell))
        return None

    def _architecture(self, view: GpuView, cell: int, question: Question) -> NvmlAnswer:
        return messages.values(_ARCHITECTURE.get(self._peek(cell, "gpu_type"), _UNKNOWN))

    def _users(self, view: GpuView, cell: int | None = None) -> list[ContextUser]:
        place = None if cell is None else self._place(cell)
        return [
            user
            for user in self._views.users()
            if view.knows(user.pid) and place in (None, (user.place.card, user.place.gpu))
        ]

    def _outside(self, view: GpuView) -> list[OutsideContext]:
        """Contexts of programs at management ports. What they have of an engine isn't known: only they can ask."""
        return [each for each in self._views.outside() if view.knows(each.client.pid)]

    def _peek(self, cell: int, register: str) -> int:
        return self._server.engine.peek(cell, register)
