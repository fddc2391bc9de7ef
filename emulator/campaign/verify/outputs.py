"""Reports as files: refused before the run when they can't be written, and there as a whole or not at all."""

from pathlib import Path
from types import TracebackType
from typing import Self

from ringhil.emulator.campaign.verify.discover import VerifyError
from ringhil.emulator.files import AtomicFile, NobodyReadsError, reason_of, shown


class Output:
    """A file that appears when `write` is called. `wait`: for somebody who reads a FIFO; without it NobodyReadsError is
    raised. Raises VerifyError."""

    def __init__(self, path: Path, *, wait: bool) -> None:
        self._path = path
        try:
            self._file = AtomicFile(path, wait=wait)
        except NobodyReadsError:
            raise
        except OSError as error:
            raise _unwritable(path, error) from None

    def write(self, text: str) -> None:
        """All of it."""
        assert self._file.file is not None
        try:
            self._file.file.write(text)
            self._file.commit()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritable(self._path, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.__exit__(kind, error, tb)


def append(path: Path, text: str) -> None:
    """Add to a file that others write to as well. Raises VerifyError."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> VerifyError:
    return VerifyError(f"{shown(path)}: cannot be written: {reason_of(error)}")
