"""Files that appear whole or not at all."""

import os
from pathlib import Path
from typing import IO, Self


class AtomicFile:
    """Written beside its place and moved there by `commit`; without it, nothing is left."""

    def __init__(self, path: Path, *, binary: bool = False) -> None:
        self._path = path
        self.partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        self.file: IO[str] | None = None if binary else self.partial.open("x", encoding="utf-8")

    def commit(self) -> None:
        """The file is complete."""
        if self.file is not None:
            self.file.close()
        self.partial.replace(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.file is not None:
            self.file.close()
        self.partial.unlink(missing_ok=True)
