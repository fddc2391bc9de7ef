"""The group tree of a run for Python: each call lets time pass until the GPUs have answered."""

import errno
import os

from ringhil.emulator.groups.desk import Does, carry_out
from ringhil.emulator.judge.run import Run

_STEP = 64  # cycles
_MOST = 10_000_000  # cycles


class LiveGroups:
    """The groups of applications of a run that has started, by path, as the files of `share --groups` have them.

    Of a run that has started. Paths: `team/first/gpu.slice`. What is wrong is an OSError, and changes nothing.
    """

    def __init__(self, run: Run) -> None:
        self._run, self._tree = run, run.server.process_groups

    def read(self, path: str) -> str:
        """What a file says. ENOENT, EISDIR, ENOTDIR; ETIMEDOUT: the GPUs don't answer."""
        return self._done("read", path)

    def write(self, path: str, text: str) -> None:
        """As `echo` does: EACCES, EINVAL, ERANGE, ESRCH, EBUSY, or what `read` may raise."""
        self._done("write", path, text)

    def mkdir(self, path: str) -> None:
        """A new group: EEXIST, ENOENT, EINVAL, ENAMETOOLONG, EBUSY, ENOSPC."""
        self._done("mkdir", path)

    def rmdir(self, path: str) -> None:
        """A group goes: ENOENT, ENOTDIR, ENOTEMPTY, EBUSY."""
        self._done("rmdir", path)

    def names(self, path: str = "") -> list[str]:
        """What is in a group: files, then groups. ENOENT, ENOTDIR."""
        return self._tree.names(path)

    def _done(self, does: Does, path: str, text: str = "") -> str:
        found = list[tuple[int | None, str]]()
        carry_out(self._tree, does, path, text, lambda error, answer: found.append((error, answer)))
        end = self._run.kernel.now + _MOST
        while not found:
            if self._run.kernel.now >= end:
                raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), path)
            self._run.run_to(self._run.kernel.now + _STEP)
        error, answer = found[0]
        if error is not None:
            raise OSError(error, os.strerror(error), path)
        return answer
