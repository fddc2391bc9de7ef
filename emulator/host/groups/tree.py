"""The tree of groups (S1), in the form that people know from cgroup v2: a directory for each group, and files in it.

Paths go from the root, `team/first/gpu.slice`, with or without a `/` before them. What is wrong is an OSError, as a
file system has it, and has changed nothing.
"""

import errno
import re
from abc import ABC, abstractmethod
from collections.abc import Callable

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.contexts.command import Command, ContextRef
from ringhil.emulator.host.contexts.driver import Driver, Then
from ringhil.emulator.host.groups.amounts import Units, refused, whole
from ringhil.emulator.host.groups.files import FILES, GroupFile
from ringhil.emulator.host.groups.governor import Governor
from ringhil.emulator.host.groups.group import GroupMember, ProcessGroup
from ringhil.emulator.scenario.file.sharing import LONGEST_NAME, MOST_DEPTH, MOST_GROUPS

LONGEST_WRITE = 4096  # bytes
FIRST_PID = (1 << 22) + 1  # above those of any Linux
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)


class HostProcesses(ABC):
    """Processes of the machine that a server runs on, in the groups of its applications.

    They use no context; what they ask about GPUs is answered by what their group is given.
    """

    @abstractmethod
    def admit(self, pid: int, group: ProcessGroup) -> None:
        """A process, and what it begins from now on, comes to this group. ESRCH: there is none; EPERM: another
        user's."""

    @abstractmethod
    def within(self, group: ProcessGroup) -> list[int]:
        """Those in this very group that haven't ended."""


class GroupTree:
    """The groups of a server's processes, which `join` and `leave`. `gpu_name`: of a card's number and a GPU's.
    `host_processes`: processes of this machine; None: there are none."""

    def __init__(self, port: CardPort, driver: Driver, units: Units, gpu_name: Callable[[int, int], str]) -> None:
        self.root = ProcessGroup("")
        self.units, self.gpu_name = units, gpu_name
        self.governor = Governor(port, driver, self.root)
        self.host_processes: HostProcesses | None = None
        self.held_outside: Callable[[], int] = lambda: 0  # pages of contexts that drivers outside have created
        self.on_changed: Callable[[], None] = lambda: None  # somebody has written to a file
        self._members: dict[int, GroupMember] = {}
        self._next_pid = FIRST_PID
        self._groups = 0

    # ------------------------------------------------------------------------------------------------------ processes

    def join(self, name: str, path: str) -> GroupMember:
        """A process begins in a group."""
        group = self.group(path)
        member = GroupMember(self.next_pid(), name, group)
        self._members[member.pid] = group.members[member.pid] = member
        return member

    def next_pid(self) -> int:
        """The number of the next process, which nobody else gets."""
        self._next_pid += 1
        return self._next_pid - 1

    def ask(self, member: GroupMember, place: ContextRef, command: Command, then: Then) -> None:
        """Have a process's command carried out by a GPU."""
        self.governor.ask(member, place, command, then)

    def leave(self, member: GroupMember) -> None:
        """It has ended; what it has of GPUs is given back."""
        self.governor.leave(member, lambda: self._left(member))

    def members(self) -> list[GroupMember]:
        """All that have joined and not left."""
        return list(self._members.values())

    def pids(self, group: ProcessGroup) -> list[int]:
        """Processes in this very group."""
        others = [] if self.host_processes is None else self.host_processes.within(group)
        return sorted([*group.members, *others])

    def _left(self, member: GroupMember) -> None:
        del self._members[member.pid]
        del member.group.members[member.pid]

    # ---------------------------------------------------------------------------------------------------- directories

    def group(self, path: str) -> ProcessGroup:
        """The group there. ENOENT, ENOTDIR."""
        found = self._look(path)
        if isinstance(found, ProcessGroup):
            return found
        raise refused(errno.ENOTDIR)

    def file(self, path: str) -> tuple[ProcessGroup, GroupFile]:
        """The file there, and whose it is. ENOENT, EISDIR, ENOTDIR."""
        found = self._look(path)
        if isinstance(found, ProcessGroup):
            raise refused(errno.EISDIR)
        return found

    def is_group(self, path: str) -> bool:
        """Whether it is a directory; a file otherwise. ENOENT, ENOTDIR."""
        return isinstance(self._look(path), ProcessGroup)

    def names(self, path: str) -> list[str]:
        """What is in a directory."""
        group = self.group(path)
        return [*(name for name, file in FILES.items() if file.has(group)), *group.children]

    def mkdir(self, path: str) -> ProcessGroup:
        """A new group without values. EEXIST, ENOENT; EINVAL, ENAMETOOLONG: not such a name; EBUSY: there are processes
        in the group around it; ENOSPC: too deep, or too many."""
        above, name = self._above(path)
        if name in above.children or name in FILES:
            raise refused(errno.EEXIST)
        if len(name) > LONGEST_NAME:
            raise refused(errno.ENAMETOOLONG)
        if not NAME.fullmatch(name) or name.startswith(("gpu.", "cgroup.")):
            raise refused(errno.EINVAL)
        if above.parent is not None and self.pids(above):
            raise refused(errno.EBUSY)
        if above.depth >= MOST_DEPTH or self._groups >= MOST_GROUPS:
            raise refused(errno.ENOSPC)
        group = above.children[name] = ProcessGroup(name, above)
        self._groups += 1
        return group

    def rmdir(self, path: str) -> None:
        """A group goes; the one around it remembers what it has used. ENOENT, ENOTDIR; ENOTEMPTY: there are groups in
        it; EBUSY: processes, or it is the root."""
        group = self.group(path)
        if group.children:
            raise refused(errno.ENOTEMPTY)
        if group.parent is None or self.pids(group):
            raise refused(errno.EBUSY)
        group.parent.past += group.past
        group.gone = True
        del group.parent.children[group.name]
        self._groups -= 1

    # ---------------------------------------------------------------------------------------------------------- files

    def read(self, path: str, then: Callable[[str], None]) -> None:
        """`then` gets the text, when the GPUs that are to be asked have answered."""
        group, file = self.file(path)
        file.read(self, group, then)

    def write(self, path: str, text: str, then: Callable[[], None]) -> None:
        """`then`: the GPUs have it. EACCES: it can only be read; EINVAL, ERANGE: not what it can be; ESRCH: no such
        process; EBUSY: a group with groups in it takes no processes."""
        group, file = self.file(path)
        if file.write is None:
            raise refused(errno.EACCES)
        if len(text) > LONGEST_WRITE:
            raise refused(errno.EINVAL)
        file.write(self, group, text.strip())
        self.on_changed()
        self.governor.changed(then)

    def move(self, pid: str, group: ProcessGroup) -> None:
        """A process goes to this group."""
        number = whole(pid)
        member = self._members.get(number)
        if member is None and self.host_processes is None:
            raise refused(errno.ESRCH)
        if group.children and group.parent is not None:
            raise refused(errno.EBUSY)
        if member is not None:
            self.governor.move(member, group)
        elif self.host_processes is not None:
            self.host_processes.admit(number, group)

    # ------------------------------------------------------------------------------------------------------- on a path

    def _look(self, path: str) -> ProcessGroup | tuple[ProcessGroup, GroupFile]:
        group = self.root
        names = [name for name in path.split("/") if name]
        for n, name in enumerate(names):
            if name in group.children:
                group = group.children[name]
                continue
            file = FILES.get(name)
            if file is None or not file.has(group):
                raise refused(errno.ENOENT)
            if n + 1 < len(names):
                raise refused(errno.ENOTDIR)
            return group, file
        return group

    def _above(self, path: str) -> tuple[ProcessGroup, str]:
        names = [name for name in path.split("/") if name]
        if not names:
            raise refused(errno.EEXIST)
        return self.group("/".join(names[:-1])), names[-1]
