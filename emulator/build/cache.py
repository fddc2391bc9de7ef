"""A content-addressed store on disk, shared by threads and processes.

```
<root>/entries/<key>/            the files, and entry.json with the size and SHA-256 of each
<root>/work/<key>.<pid>.<n>/     being made
<root>/locks/<key>               flock held by whoever makes <key>
```

| situation | what happens |
|---|---|
| entry there and sound | found without a lock |
| two makers of one key | the second waits, then finds the first one's entry |
| maker fails or is interrupted | its work directory goes; no entry |
| maker is killed outright | the kernel drops its lock; the next maker of anything removes its directory |
| entry damaged | not found, so it is made again |

The directory may be deleted at any time when nothing is being built.
"""

import fcntl
import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs

from ringhil.emulator.build.errors import BuildError

_MANIFEST = "entry.json"
_numbers = itertools.count()


def cache_dir() -> Path:
    """$RINGHIL_CACHE, else the user's cache directory for ringhil. It need not exist. Raises BuildError when nobody
    knows where that is."""
    chosen = os.environ.get("RINGHIL_CACHE")
    if chosen:
        return Path(chosen).absolute()
    with suppress(RuntimeError):  # of newer versions of platformdirs
        usual = Path(platformdirs.user_cache_dir("ringhil"))
        if usual.is_absolute():
            return usual
    raise BuildError("no home folder for the cache: HOME isn't set, and this user isn't known; set RINGHIL_CACHE")


class Claim:
    """The right to make one key, held under its lock.

    `existing` is the entry if another maker was faster; otherwise `work` is an empty private directory.
    """

    def __init__(self, store: "BuildStore", key: str, work: Path, existing: Path | None) -> None:
        self._store, self._key, self.work, self.existing = store, key, work, existing

    def commit(self, files: Iterable[Path]) -> Path:
        """Move `files` (they lie in `work`) into a new entry, whole or not at all; answers its directory."""
        draft = self.work / "entry"
        draft.mkdir()
        manifest = {}
        for file in files:
            manifest[file.name] = {"size": file.stat().st_size, "sha256": _sha256(file)}
            file.replace(draft / file.name)
        (draft / _MANIFEST).write_text(json.dumps(manifest))
        entry = self._store.entry(self._key)
        if entry.exists():  # a damaged one: a directory replaces only an empty one
            shutil.rmtree(entry)
        entry.parent.mkdir(parents=True, exist_ok=True)
        draft.replace(entry)
        return entry


class BuildStore:
    """All methods raise OSError when the directory can't be used."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def entry(self, key: str) -> Path:
        return self.root / "entries" / key

    def find(self, key: str, *, thorough: bool = False) -> Path | None:
        """The entry's directory if all its files have the right size (`thorough`: and contents)."""
        entry = self.entry(key)
        try:
            manifest = json.loads((entry / _MANIFEST).read_bytes())
            for name, facts in manifest.items():
                if (entry / name).stat().st_size != facts["size"]:
                    return None
                if thorough and _sha256(entry / name) != facts["sha256"]:
                    return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return entry

    @contextmanager
    def claim(self, key: str, *, thorough: bool = False, waiting: Callable[[], None] = lambda: None) -> Iterator[Claim]:
        """Hold the lock of `key`; `waiting` is called once if another maker holds it."""
        for name in ("entries", "work", "locks"):
            # Private: what lies here gets loaded as code.
            (self.root / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked(key, waiting):
            work = self.root / "work" / f"{key}.{os.getpid()}.{next(_numbers)}"
            existing = self.find(key, thorough=thorough)
            try:
                if existing is None:
                    self._sweep(key)
                    work.mkdir(mode=0o700)
                yield Claim(self, key, work, existing)
            finally:
                if existing is None:
                    shutil.rmtree(work, ignore_errors=True)

    @contextmanager
    def _locked(self, key: str, waiting: Callable[[], None]) -> Iterator[None]:
        with (self.root / "locks" / key).open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                # Not by closing alone: a process forked meanwhile shares the lock and would keep it.
                fcntl.flock(lock, fcntl.LOCK_UN)

    def _sweep(self, mine: str) -> None:
        """Remove what killed makers left: work directories whose key is not locked by another process."""
        for left in (self.root / "work").iterdir():
            key = left.name.partition(".")[0]
            if key == mine:
                shutil.rmtree(left, ignore_errors=True)
                continue
            with (self.root / "locks" / key).open("a") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                try:
                    shutil.rmtree(left, ignore_errors=True)
                finally:
                    fcntl.flock(lock, fcntl.LOCK_UN)


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
