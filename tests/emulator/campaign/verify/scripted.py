"""Files that are words: what becomes of each variant is written down, and nothing is simulated."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from ringhil.emulator.campaign.verify.evidence import Evidence, Replay
from ringhil.emulator.campaign.verify.player import Player
from ringhil.emulator.campaign.verify.selection import Selection
from ringhil.emulator.campaign.verify.verdict import Failure, Verdict
from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.scenario import ScenarioError, loads

Script = Sequence[Sequence[str]]  # by file, by variant: pass, fail, raise, die, sleep; ["refuse"], ["die at once"]
_SCENARIO = loads("server: {cards: {a: {gpus: 2}}}")


class Scripted(Player):
    """Plays a script."""

    def __init__(self, script: Script, files: Sequence[Path] | None = None) -> None:
        library = Library(cast(Any, None), "sha256:none", True, 0.0)
        files = [Path(f"{number:03}.yaml") for number in range(len(script))] if files is None else files
        super().__init__(files, library, Selection(), None, Replay(), None)
        self._script = script

    def load(self, file: int) -> Any:
        words = self._script[file]
        if words == ["refuse"]:
            raise ScenarioError(str(self.files[file]), 3, 4, "server: is not one")
        if words == ["die at once"]:
            os.kill(os.getpid(), signal.SIGKILL)
        return None, range(len(words))

    def play(self, file: int, place: int) -> Verdict:
        word = self._script[file][place]
        if word == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if word == "raise":
            raise RuntimeError("no idea")
        if word == "sleep":
            time.sleep(600)
        failed = (Failure("expectation", "not as expected", 7, None, 100),)
        return self._verdict(file, place, *((VerdictWord.FAIL, failed) if word == "fail" else (VerdictWord.PASS, ())))

    def broken(self, file: int, place: int, failure: Failure) -> Verdict:
        return self._verdict(file, max(place, 0), VerdictWord.ERROR, (failure,))

    def _verdict(self, file: int, place: int, state: VerdictWord, failures: tuple[Failure, ...]) -> Verdict:
        path, text = self.files[file], f"n={place}"
        command = self.replay.command(path, text)
        return Verdict(path, place, text, (("n", str(place)),), text, state, 1, 10, 0.0, failures, command, alone=True)


class Leaving(Scripted):
    """Leaves something of what fails below `out`."""

    def __init__(self, script: Script, out: Path) -> None:
        super().__init__(script)
        self.evidence = Evidence.below(out, self.files, Replay(), "1", waves=False, record=False)

    def play(self, file: int, place: int) -> Verdict:
        verdict = super().play(file, place)
        if verdict.state == "pass" or self.evidence is None:
            return verdict
        return self.evidence.draft(verdict, _SCENARIO, self.library, swept=True)


class DyingReader(Scripted):
    """Dies the first `times` that it reads the last file; the marks in `folder` count them."""

    def __init__(self, script: Script, folder: Path, times: int) -> None:
        super().__init__(script)
        self._folder, self._times = folder, times

    def load(self, file: int) -> Any:
        deaths = len(list(self._folder.iterdir()))
        if file == len(self.files) - 1 and deaths < self._times:
            (self._folder / str(deaths)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().load(file)
