"""A scenario file as pytest sees it: a collector whose tests are its variants."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from ringhil.emulator.build.node_rtl import NODE
from ringhil.emulator.campaign.verify.evidence import RECORDING, Evidence, Replay
from ringhil.emulator.campaign.verify.junit import lines
from ringhil.emulator.campaign.verify.player import Player, variants_of
from ringhil.emulator.campaign.verify.selection import Selection
from ringhil.emulator.campaign.verify.verdict import Verdict
from ringhil.emulator.engine.library import RTL, Library, cells_library
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.scenario import ScenarioError
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.foreign import FirmwareError
from ringhil.emulator.server.hashes import hashes


@cache
def library_of(rtl: Path | None, top: str | None) -> Library:
    """The library of the RTL in a directory; None: ours. Raises BuildError."""
    return cells_library(rtl or RTL, top=top or NODE)


@cache
def firmware_chosen(given: tuple[str, ...]) -> FirmwareChoice:
    """The firmware that was named for some GPUs, or for all. Raises FirmwareError."""
    if not given:
        return OURS
    from ringhil.emulator.loop.loading import firmware_of, is_board  # what it stands on takes long to load

    for text in given:
        if is_board(text.partition("=")[2]):
            raise FirmwareError(f"--firmware {text}: a board has one run at a time; `ringhil verify` plays on boards")
    return firmware_of(given)


_NAME = "play"  # of a file's only test; of a sweep's: play[gpu=a.3,at=2000]


class ScenarioFailedError(RinghilError):
    """A verdict that isn't PASS."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict)
        self.verdict = verdict


class ScenarioFile(pytest.File):
    """One file."""

    def collect(self) -> Iterator["ScenarioItem"]:
        """Its variants."""
        try:
            variants = variants_of(self.path)
            texts = [variant.text for variant in variants]
        except ScenarioError as error:
            raise self.CollectError(str(error)) from None
        shared = _Lazy(self)
        for place, text in enumerate(texts):
            yield ScenarioItem.from_parent(self, name=f"{_NAME}[{text}]" if text else _NAME, player=shared, place=place)


class ScenarioItem(pytest.Item):
    """One variant."""

    def __init__(self, *, player: "_Lazy", place: int, **rest: Any) -> None:
        super().__init__(**rest)
        self._player, self._place = player, place

    def runtest(self) -> None:
        """Play and judge it."""
        player = self._player.get()
        verdict = player.play(0, self._place)
        if player.evidence is not None:
            verdict = player.evidence.publish(verdict)
        told = {"cycles": verdict.cycles, "seed": verdict.seed, "rtl": player.library.rtl}
        known = hashes(None, player.library.rtl, player.replay.firmware)
        if verdict.scenario:
            known["scenario"] = verdict.scenario
        self.user_properties += [*told.items(), *(each for each in known.items() if each[0] not in told)]
        self.user_properties.append(("replay", verdict.replay))
        self.user_properties += [("not judged", str(each)) for each in verdict.unjudged]
        if verdict.state != VerdictWord.PASS:
            raise ScenarioFailedError(verdict)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What failed, by line of the file, and how to play it again."""
        if isinstance(excinfo.value, ScenarioFailedError):
            verdict = excinfo.value.verdict
            recorded = _recorded(verdict, self._player.get().replay)
            return "\n".join([*lines(verdict), *recorded, f"or:     pytest '{self.nodeid}'"])
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The place at which it stands, from line 0."""
        return self.path, 0, f"{self.path.name}: {self.name}"


def _recorded(verdict: Verdict, replay: Replay) -> Iterator[str]:
    if verdict.left is not None:
        options = replace(replay, seed=None).options()  # the recording has its own
        yield f"recorded: {shlex.join(['ringhil', 'step', str(verdict.left / RECORDING), *options])}"
        page = (verdict.left / RECORDING).with_suffix(".html")
        yield f"no page was left: {verdict.no_page}" if verdict.no_page else f"page: {page}"


class _Lazy:
    """The player of a file, made when its first test runs: collecting builds nothing."""

    def __init__(self, file: ScenarioFile) -> None:
        self._file = file
        self._player: Player | None = None

    def get(self) -> Player:
        """Raises BuildError."""
        if self._player is None:
            option = self._file.config.getoption
            rtl, top, seed = option("--ringhil-rtl"), option("--ringhil-top"), option("--ringhil-scenario-seed")
            library = library_of(rtl, top)
            path = Path(os.path.relpath(self._file.path))
            firmware = firmware_chosen(tuple(option("--ringhil-firmware")))
            replay = Replay(seed, None if rtl is None else (rtl, top or NODE), firmware)
            folder = option("--ringhil-record")
            evidence = None
            if folder is not None:
                evidence = Evidence.below(folder, [path], replay, version("ringhil"), waves=False, record=True)
            self._player = Player([path], library, Selection(), seed, replay, evidence)
        return self._player
