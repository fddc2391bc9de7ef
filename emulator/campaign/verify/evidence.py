"""What a failing variant leaves behind: a folder from which anybody can play it again, exactly.

| file | holds |
|---|---|
| `scenario.yaml` | the variant as it was played, parameters and seed filled in |
| `replay.json` | seed, hash of the RTL, version, source file, parameters, failures, the command, the waves' window |
| `waves.fst` | with waves asked for: the wires of all links around the first failure |
| `run.rec` | with a recording asked for: the whole run, to be stepped |
| `run.html` | the same: what is around the failures, as a page that stands alone |

A folder is written beside its place by the process that played the variant, and moved there by the one that reports
the verdict: so there is none of a variant that is not reported. One of an earlier run with the same name is replaced.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ringhil.emulator.campaign.verify.discover import REPLAY, VerifyError
from ringhil.emulator.campaign.verify.judge import failures
from ringhil.emulator.campaign.verify.verdict import Verdict
from ringhil.emulator.campaign.verify.window import record as record_waves
from ringhil.emulator.campaign.verify.window import window
from ringhil.emulator.engine.library import Library
from ringhil.emulator.files import reason_of
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.scenario import Scenario, dumps
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.hashes import hashes
from ringhil.emulator.server.node_choice import ALL_HERE, NodeChoice
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.waves import WaveError


@dataclass(frozen=True)
class Replay:
    """What was given on the command line beside the files. `rtl`: directory and module; None: ours. `firmware`: whose
    runs where; `nodes`: whose hardware is outside."""

    seed: int | None = None
    rtl: tuple[Path, str] | None = None
    firmware: FirmwareChoice = OURS
    nodes: NodeChoice = ALL_HERE

    def options(self) -> list[str]:
        """Words of the command that stand for seed, firmware, hardware and RTL."""
        words = [] if self.seed is None else ["--seed", str(self.seed)]
        for text in self.firmware.given:
            words += ["--firmware", text]
        for text in self.nodes.given:
            words += ["--node", text]
        if self.nodes.baud is not None:
            words += ["--node-baud", str(self.nodes.baud)]
        return words + ([] if self.rtl is None else ["--rtl", str(self.rtl[0]), "--top", self.rtl[1]])

    def command(self, file: Path, variant: str) -> str:
        """`ringhil verify dead.yaml --select '[gpu=a.3]'`."""
        select = ["--select", f"[{variant}]"] if variant else []
        return shlex.join(["ringhil", "verify", str(file), *select, *self.options()])


_PARTIAL = ".verify-partial"
RECORDING = "run.rec"
_LONGEST_NAME = 100  # characters of a folder's name
_VARIANT = re.compile(r"\.(\d{5,})$")  # the end of a variant's folder; no file's own may have it


@dataclass(frozen=True)
class Evidence:
    """Leaves it below `out`; `names`: folder of each file; `fresh`: there was no such folder before."""

    out: Path
    names: dict[Path, str]
    replay: Replay
    version: str
    waves: bool
    record: bool
    fresh: bool

    @classmethod
    def below(
        cls, out: Path, files: Sequence[Path], replay: Replay, version: str, *, waves: bool, record: bool
    ) -> "Evidence":
        """Raises VerifyError when nothing could be written there; nothing is written yet."""
        parent = next(p for p in (out.absolute(), *out.absolute().parents) if p.exists())
        if not parent.is_dir():
            raise VerifyError(f"{out}: {parent} is not a folder; name one for what failing scenarios leave")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise VerifyError(f"{out}: cannot be written: {parent} is not writable")
        return cls(out, _names(files), replay, version, waves, record, not out.exists())

    def draft(self, verdict: Verdict, scenario: Scenario, library: Library, *, swept: bool) -> Verdict:
        """Write the folder beside its place. The verdict with the place in it; with a note instead if it could not be
        written."""
        target = self.out / (self.names[verdict.file] + (f".{verdict.number + 1:05d}" if swept else ""))
        draft = _draft(target)
        try:
            shutil.rmtree(draft, ignore_errors=True)  # of a process that died
            draft.mkdir(parents=True)
            try:
                no_page, note = self._write(draft, verdict, scenario, library)
            except BaseException:
                shutil.rmtree(draft, ignore_errors=True)
                raise
        except (OSError, WaveError, RecordingError) as error:
            return _not_written(verdict, target, error)
        return replace(verdict, left=target, no_page=no_page, note=f"{target}: {note}" if note else "")

    def take(self, verdict: Verdict) -> dict[str, bytes]:
        """The files that `draft` has written, by name; they are gone then."""
        if verdict.left is None:
            return {}
        draft = _draft(verdict.left)
        files = {file.name: file.read_bytes() for file in sorted(draft.iterdir())}
        shutil.rmtree(draft, ignore_errors=True)
        return files

    def put(self, verdict: Verdict, files: Mapping[str, bytes]) -> Verdict:
        """What `take` has given, on another machine, written as `draft` would have done it here."""
        if verdict.left is None:
            return verdict
        target = self.out / verdict.left.name
        draft = _draft(target)
        try:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            for name, data in files.items():
                (draft / Path(name).name).write_bytes(data)
        except OSError as error:
            shutil.rmtree(draft, ignore_errors=True)
            return _not_written(verdict, target, error)
        return replace(verdict, left=target)

    def publish(self, verdict: Verdict) -> Verdict:
        """Move what `draft` has written to its place; the verdict as it is reported."""
        target = verdict.left
        if target is None:
            return verdict
        try:
            shutil.rmtree(target, ignore_errors=True)
            _draft(target).replace(target)
        except OSError as error:
            return _not_written(verdict, target, error)
        return verdict

    def sweep(self) -> None:
        """Remove what processes that were killed had begun. No process may be writing any more."""
        for draft in self.out.glob(f".*{_PARTIAL}"):
            shutil.rmtree(draft, ignore_errors=True)
        if self.fresh:
            with contextlib.suppress(OSError):
                self.out.rmdir()  # if nothing is in it

    def _write(self, folder: Path, verdict: Verdict, scenario: Scenario, library: Library) -> tuple[str, str]:
        """Returns why there is no page that was asked for, and what else is wrong with what was left; empty: nothing
        is."""
        no_page = note = ""
        (folder / "scenario.yaml").write_text(dumps(scenario), encoding="utf-8")
        document: dict[str, object] = {
            "ringhil": self.version,
            "file": verdict.file.as_posix(),
            "variant": verdict.variant,
            "parameters": dict(verdict.parameters),
            "seed": scenario.seed,
            "rtl": library.rtl,
            "hashes": hashes(scenario, library.rtl, self.replay.firmware),
            "cycles": verdict.cycles,
            "failures": [failure.to_json() for failure in verdict.failures],
            "replay": verdict.replay,
            "waves": None,
            "recording": None,
            "page": None,
            "no_page": "",
            "note": "",
        }
        if self.waves:
            cycle = min((f.at for f in verdict.failures if f.at is not None), default=verdict.cycles)
            start, end = window(scenario, min(cycle, verdict.cycles))
            who = self.replay
            record_waves(folder / "waves.fst", scenario, library, start, end, firmware=who.firmware, nodes=who.nodes)
            document["waves"] = {"file": "waves.fst", "failure": cycle, "from": start, "to": end}
        if self.record:
            from ringhil.emulator.debug.recorder import record_run  # only for what failed
            from ringhil.emulator.view.alone import leave_page

            again = record_run(folder / RECORDING, scenario, library, self.replay.firmware)
            if (again.cycles, failures(scenario, again)) != (verdict.cycles, verdict.failures):
                document["note"] = note = f"{RECORDING} is of another run than the one that was judged: {_other(again)}"
            document["recording"] = RECORDING
            page = leave_page(folder / RECORDING, library, self.replay.firmware)
            document["page"] = None if page.path is None else page.path.name
            document["no_page"] = no_page = page.why
        (folder / REPLAY).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        return no_page, note


def _other(outcome: Outcome) -> str:
    failed = f"verdict {outcome.verdict}, {len(outcome.failures)} failures, {outcome.cycles:,} cycles"
    return f"{failed}; firmware that isn't deterministic does otherwise each time"


def _draft(target: Path) -> Path:
    return target.with_name(f".{target.name}{_PARTIAL}")


def _not_written(verdict: Verdict, target: Path, error: OSError | WaveError | RecordingError) -> Verdict:
    reason = reason_of(error) if isinstance(error, OSError) else error
    return replace(verdict, left=None, note=f"{target}: cannot be written: {reason}")


def _names(files: Sequence[Path]) -> dict[Path, str]:
    """A folder name for each file, all different: of its path, the end of it where it is long."""
    names: dict[Path, str] = {}
    taken: set[str] = set()
    for file in files:
        plain = re.sub(r"[^A-Za-z0-9_.+-]+", "-", file.with_suffix("").as_posix()).strip("-.")
        plain = _VARIANT.sub(r"-\1", plain)
        name = plain = plain[-_LONGEST_NAME:].lstrip("-.") or "scenario"
        number = 2
        while name in taken:
            name, number = f"{plain}-{number}", number + 1
        taken.add(name)
        names[file] = name
    return names
