"""Processes of the machine that a server runs on, in the groups of its applications.

They use no context; what they ask about GPUs is answered by what their group is given.
"""

from abc import ABC, abstractmethod

from ringhil.emulator.host.groups.group import ProcessGroup


class Guests(ABC):
    """Who they are, and where."""

    @abstractmethod
    def admit(self, pid: int, group: ProcessGroup) -> None:
        """A process, and what it begins from now on, comes to this group. ESRCH: there is none; EPERM: another
        user's."""

    @abstractmethod
    def within(self, group: ProcessGroup) -> list[int]:
        """Those in this very group that haven't ended."""
