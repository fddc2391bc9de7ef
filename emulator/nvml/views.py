"""Who uses contexts of GPUs, and what each process is told: all, or what it was given (S2)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringhil.emulator.host.sharing.driver import ContextRef
from ringhil.emulator.nvml.peer import PeerProcess, began, lineage

FIRST_PID = (1 << 22) + 1  # above those of any Linux

Place = tuple[int, int]  # card and GPU, by number


@dataclass(frozen=True, slots=True)
class ContextUser:
    """A process that uses a context."""

    pid: int
    name: str
    place: ContextRef


@dataclass(frozen=True, slots=True)
class GpuView:
    """What a process may see. `gpus`: None: all. `pids`: whose work and memory, None: everybody's. `memory`: pages that
    those may have of each GPU, None: as much as there is."""

    gpus: frozenset[Place] | None = None
    pids: frozenset[int] | None = None
    memory: int | None = None

    def sees(self, place: Place) -> bool:
        """Whether that GPU is there for it."""
        return self.gpus is None or place in self.gpus

    def knows(self, pid: int) -> bool:
        """Whether that process is."""
        return self.pids is None or pid in self.pids


ALL = GpuView()
NOTHING = GpuView(frozenset(), frozenset())


class Views(ABC):
    """The seam between a server's processes, in whatever groups they are, and those who ask about them."""

    @abstractmethod
    def users(self) -> Sequence[ContextUser]:
        """All of them."""

    @abstractmethod
    def view_of(self, peer: PeerProcess) -> GpuView:
        """What that process is told."""

    def enter(self, peer: PeerProcess, name: str) -> bool:
        """The process, and its children from now on, belong to `name`; whether that may be. Raises KeyError: there is
        no such thing."""
        raise KeyError(name)


class NoGroups(Views):
    """Nobody is in a group: whoever may know is told all."""

    def users(self) -> Sequence[ContextUser]:
        return ()

    def view_of(self, peer: PeerProcess) -> GpuView:
        return ALL if peer.trusted else NOTHING


@dataclass(frozen=True, slots=True)
class _Given:
    pid: int  # while no process of this machine stands for it
    place: ContextRef
    memory: int | None


class ApplicationViews(Views):
    """Applications of a scenario: by name, each with its context and its limit in pages. A process of this machine may
    enter one: then it, and its children, see what that was given. Who is in none is told all, if it is trusted."""

    def __init__(self, given: Mapping[str, tuple[ContextRef, int | None]]) -> None:
        self._given = {n: _Given(FIRST_PID + i, *what) for i, (n, what) in enumerate(given.items())}
        self._members: dict[int, tuple[int, str]] = {}  # by pid: when it began, and the application
        self._standing: dict[str, PeerProcess] = {}  # who stands for an application

    def users(self) -> Sequence[ContextUser]:
        return [ContextUser(self._pid(name), name, given.place) for name, given in self._given.items()]

    def view_of(self, peer: PeerProcess) -> GpuView:
        name = self._application(peer)
        if name is None:
            return ALL if peer.trusted else NOTHING
        given = self._given[name]
        return GpuView(frozenset([(given.place.card, given.place.gpu)]), frozenset([self._pid(name)]), given.memory)

    def enter(self, peer: PeerProcess, name: str) -> bool:
        if name not in self._given:
            raise KeyError(name)
        if not peer.trusted or self._application(peer) not in (None, name):
            return False
        self._standing[name] = peer  # the last one does
        self._add(peer, name)
        return True

    def _application(self, peer: PeerProcess) -> str | None:
        """Whose a process is. Once seen it stays so, also when its parents have ended."""
        for pid in lineage(peer.pid):
            since, name = self._members.get(pid, (None, ""))
            if since is not None and since == began(pid):
                if pid != peer.pid:
                    self._add(peer, name)
                return name
        return None

    def _add(self, peer: PeerProcess, name: str) -> None:
        self._members = {pid: what for pid, what in self._members.items() if began(pid) == what[0]}
        self._members[peer.pid] = (peer.began, name)

    def _pid(self, name: str) -> int:
        standing = self._standing.get(name)
        return standing.pid if standing is not None and standing.there else self._given[name].pid
