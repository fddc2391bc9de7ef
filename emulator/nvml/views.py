"""Says who uses contexts of GPUs, and what each process may see: all, or what it was given (S2)."""

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ringhil.emulator.host.contexts.command import ContextRef
from ringhil.emulator.host.contexts.outside import OutsideContext
from ringhil.emulator.host.groups.amounts import refused
from ringhil.emulator.host.groups.group import GroupMember, ProcessGroup
from ringhil.emulator.host.groups.tree import GroupTree, HostProcesses
from ringhil.emulator.nvml.peer import PeerProcess, began, lineage, owner
from ringhil.emulator.server import LiveServer

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


_Place = GroupMember | ProcessGroup


@dataclass(frozen=True, slots=True)
class _Joined:
    """A process of this machine; `began` tells it from a later one with the same number."""

    began: int
    where: _Place


ALL = GpuView()
NOTHING = GpuView(frozenset(), frozenset())


class Views(HostProcesses):
    """Applications of a server, `places` of their contexts by name, and the groups in which they are. A process of this
    machine may enter an application; then it, and its children, see what that was given. Or it is moved to a group:
    then they see what the group is given, and who is in it. Who is in none is told all, if it is trusted."""

    def __init__(
        self, tree: GroupTree, places: Mapping[str, ContextRef], outside: Iterable[OutsideContext] = ()
    ) -> None:
        self._tree, self._places, self._outside = tree, places, outside
        self._applications = {member.name: member for member in tree.members()}
        self._members: dict[int, _Joined] = {}  # by pid
        self._standing: dict[str, list[PeerProcess]] = {}  # who can stand for an application: the last one does
        tree.host_processes = self

    def users(self) -> Sequence[ContextUser]:
        """Returns who uses a context."""
        return [ContextUser(self._pid(name), name, place) for name, place in self._places.items()]

    def outside(self) -> Sequence[OutsideContext]:
        """Returns the contexts of programs at management ports."""
        return list(self._outside)

    def view_of(self, peer: PeerProcess) -> GpuView:
        """Returns what that process may see."""
        where = self._where(peer)
        if isinstance(where, GroupMember):
            place = self._places[where.name]
            limit = self._tree.governor.limit(where)
            return GpuView(frozenset([(place.card, place.gpu)]), frozenset([self._pid(where.name)]), limit)
        if where is None or where.parent is None:
            return ALL if peer.trusted else NOTHING
        there = [self._pid(member.name) for member in where.members.values()]  # it has no groups in it
        return GpuView(pids=frozenset(there), memory=where.memory_there)

    def enter(self, peer: PeerProcess, name: str) -> bool:
        """The process, and its children from now on, belong to application `name`; whether that may be. Raises
        KeyError: there is no such thing."""
        application = self._applications[name]
        if not peer.trusted or self._where(peer) not in (None, self._tree.root, application):
            return False
        before = [other for other in self._standing.get(name, []) if other.there and other != peer]
        self._standing[name] = [*before, peer]
        self._add(peer.pid, _Joined(peer.began, application))
        return True

    def admit(self, pid: int, group: ProcessGroup) -> None:
        since = began(pid)
        if since is None:
            raise refused(errno.ESRCH)
        if owner(pid) not in (None, os.geteuid()) and os.geteuid() != 0:
            raise refused(errno.EPERM)
        self._add(pid, _Joined(since, group))

    def within(self, group: ProcessGroup) -> list[int]:
        self._forget()
        return [pid for pid, joined in self._members.items() if joined.where is group and group.parent is not None]

    def _where(self, peer: PeerProcess) -> _Place | None:
        """Where a process is, by itself or by its parents. Once seen it stays so, also when they have ended."""
        for pid in lineage(peer.pid):
            joined = self._members.get(pid)
            if joined is not None and joined.began == began(pid):
                if pid != peer.pid:
                    self._add(peer.pid, _Joined(peer.began, joined.where))
                return joined.where
        return None

    def _add(self, pid: int, joined: _Joined) -> None:
        self._forget()
        self._members[pid] = joined

    def _forget(self) -> None:
        """Forgets processes that have ended."""
        self._members = {pid: joined for pid, joined in self._members.items() if began(pid) == joined.began}

    def _pid(self, name: str) -> int:
        standing = [peer.pid for peer in self._standing.get(name, []) if peer.there]
        return standing[-1] if standing else self._applications[name].pid


def views_of(server: LiveServer) -> Views:
    """Returns the views of a server's applications, and of the groups in which they are."""
    places = {name: place for name, (place, _) in server.applications.by_context().items()}
    return Views(server.process_groups, places, server.outside)
