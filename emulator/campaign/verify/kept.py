"""Verdicts that are kept from run to run, for `--keep`: what has passed isn't played again while nothing has changed.

A file's verdicts are kept together, in the order of its chosen variants, with a hash of all that they follow from.
Only what has passed is taken over: a failing variant is played again, and leaves what it takes to look into it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter

from ringhil.emulator.campaign.verify.discover import VerifyError
from ringhil.emulator.campaign.verify.player import Player
from ringhil.emulator.campaign.verify.report import VerifyReport
from ringhil.emulator.campaign.verify.verdict import Verdict
from ringhil.emulator.documents import Document, read
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.scenario import ScenarioError, read_text
from ringhil.emulator.server.hashes import our_firmware, version_and_sources

_FORMAT = "ringhil kept verdicts"
_MOST = 1 << 28  # bytes


class _File(Document):
    key: Annotated[str, Field(max_length=64)]
    verdicts: list[Verdict]


class _Kept(Document):
    format: Literal["ringhil kept verdicts"]
    version: Literal[1]
    files: dict[Annotated[str, Field(max_length=1 << 16)], _File]


_VERDICTS = TypeAdapter(list[Verdict])


@dataclass
class KeptVerdicts:
    """Those of one selection of variants: what another has kept of a file isn't known here. `files`: by path."""

    files: Mapping[str, _File] = field(default_factory=dict)
    _keys: dict[int, str | None] = field(default_factory=dict)  # when the run began

    @classmethod
    def load(cls, path: Path) -> Self:
        """None where there is no such file. Raises VerifyError."""
        return cls(read(path, _Kept, _MOST, VerifyError).files if path.exists() else {})

    def of(self, player: Player, number: int) -> list[Verdict | None]:
        """What is known of the chosen variants of a file, each in its place; None: it has to be played. Nothing when
        something has changed, or never was kept."""
        file = player.files[number]
        kept = self.files.get(str(file))
        self._keys[number] = key = _key_of(player, number)
        if kept is None or kept.key != key:
            return []
        return [
            replace(verdict, file=file, kept=True, replay=player.replay.command(file, verdict.variant))
            if verdict.state == VerdictWord.PASS and verdict.alone
            else None
            for verdict in kept.verdicts
        ]

    def with_played(self, player: Player, report: VerifyReport) -> str:
        """The text of the file that keeps the verdicts of a report as well, of files of which it has all."""
        files = {name: kept.model_dump(mode="json") for name, kept in self.files.items() if Path(name).exists()}
        verdicts: dict[Path, list[Verdict]] = {}
        for verdict in report.results:
            verdicts.setdefault(verdict.file, []).append(replace(verdict, kept=False, left=None))
        for number in report.whole:
            file, key = player.files[number], _key_of(player, number)
            if key is not None and key == self._keys[number]:  # else it was edited meanwhile
                found = _VERDICTS.dump_python(verdicts[file], mode="json")
                files[str(file)] = {"key": key, "verdicts": found}
        return json.dumps({"format": _FORMAT, "version": 1, "files": files}) + "\n"


def _key_of(player: Player, number: int) -> str | None:
    """A hash of all that the verdicts on a file follow from; None: it can't be read."""
    try:
        text = read_text(player.files[number])
    except ScenarioError:
        return None
    chosen, replay = player.selection, player.replay
    selection = (chosen.patterns, (chosen.shard, chosen.shards, number) if chosen.shards > 1 else None)
    rtl = (player.library.rtl, None if replay.rtl is None else replay.rtl[1])
    follow = (text, player.seed, selection, rtl, our_firmware(), replay.firmware.sources(), version_and_sources())
    return hashlib.sha256(json.dumps(follow).encode()).hexdigest()
