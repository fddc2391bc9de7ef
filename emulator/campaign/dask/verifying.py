"""`ringhil verify` on a worker: files come as text, and what a failing variant leaves goes back with its verdict."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from ringhil.emulator.campaign.dask.order import Crew, Order, packed, unpacked
from ringhil.emulator.campaign.verify.evidence import Evidence, Replay
from ringhil.emulator.campaign.verify.player import Player
from ringhil.emulator.campaign.verify.selection import Selection
from ringhil.emulator.campaign.verify.tasks import Loaded, Task, TaskPlayer
from ringhil.emulator.campaign.verify.verdict import Verdict
from ringhil.emulator.engine.library import Library
from ringhil.emulator.host.work.workload import DataError
from ringhil.emulator.scenario import ScenarioError, Variant, Variants, loads_variants, read_text
from ringhil.emulator.server.firmware_choice import FirmwareChoice

_VERDICT = TypeAdapter(Verdict)


@dataclass(frozen=True)
class SentFile:
    """A scenario file: its text, or why it can't be read (line and column are those of a ScenarioError)."""

    path: str
    text: str | None
    problem: str = ""
    line: int | None = None
    column: int | None = None

    @classmethod
    def of(cls, path: Path) -> "SentFile":
        """The file as it is now."""
        try:
            return cls(str(path), read_text(path))
        except ScenarioError as error:
            return cls(str(path), None, error.problem, error.line, error.column)

    def variants(self) -> Variants:
        """As if it was there. Raises ScenarioError."""
        if self.text is None:
            raise ScenarioError(self.path, self.line, self.column, self.problem)
        return loads_variants(self.text, self.path, Path(self.path).parent)


@dataclass(frozen=True)
class VerifyCampaign:
    """What a Player is made of. `waves`, `record`: also leave those; None: failing variants leave nothing. `limit`:
    seconds for a variant."""

    files: tuple[SentFile, ...]
    patterns: tuple[str, ...]
    only: tuple[str, ...] | None
    shard: int
    shards: int
    seed: int | None
    rtl: tuple[str, str] | None
    waves: bool | None
    record: bool
    version: str
    limit: float

    @classmethod
    def of(cls, player: Player, version: str, limit: float) -> "VerifyCampaign":
        """The campaign of a player that is here."""
        chosen, rtl, evidence = player.selection, player.replay.rtl, player.evidence
        return cls(
            tuple(SentFile.of(path) for path in player.files),
            chosen.patterns,
            None if chosen.only is None else tuple(sorted(chosen.only)),
            chosen.shard,
            chosen.shards,
            player.seed,
            None if rtl is None else (str(rtl[0]), rtl[1]),
            None if evidence is None else evidence.waves,
            evidence is not None and evidence.record,
            version,
            limit,
        )

    def to_json(self) -> str:
        """See `crew`."""
        return _CAMPAIGN.dump_json(self).decode()


_CAMPAIGN = TypeAdapter(VerifyCampaign)


@dataclass
class SentPlayer(Player):
    """Plays files that were sent. Work from a file is there only if the machine is `shared`."""

    sent: Sequence[SentFile] = ()
    shared: bool = False

    def read(self, file: int) -> Variants:
        """See Player."""
        return self.sent[file].variants()

    def played(self, file: int, variants: int, variant: Variant, began: float) -> Verdict:
        """See Player."""
        work = variant.scenario.workload
        if work is not None and work.data is not None and not self.shared:
            raise DataError(f"{work.data}: {NOT_SENT}")
        return super().played(file, variants, variant, began)


NOT_SENT = "work from a file isn't sent to other machines; give `units`, or play it without --cluster"


def crew(order: Order, library: Library | None, firmware: FirmwareChoice, folder: Path) -> Crew:
    """Run on a worker; failing variants leave theirs below `folder` until it is sent."""
    assert library is not None
    campaign = _CAMPAIGN.validate_json(order.campaign)
    files = [Path(sent.path) for sent in campaign.files]
    rtl = None if campaign.rtl is None else (Path(campaign.rtl[0]), campaign.rtl[1])
    replay = Replay(campaign.seed, rtl, firmware)
    evidence = None
    if campaign.waves is not None:
        evidence = Evidence.below(
            folder / "left", files, replay, campaign.version, waves=campaign.waves, record=campaign.record
        )
    only = None if campaign.only is None else frozenset(campaign.only)
    selection = Selection(campaign.patterns, campaign.shard, campaign.shards, only)
    player = SentPlayer(
        files, library, selection, campaign.seed, replay, evidence, sent=campaign.files, shared=order.shared
    )
    return Crew(lambda text: answer(TaskPlayer(player), text), patience=campaign.limit)


def answer(tasks: TaskPlayer, text: str) -> str:
    """The answer to a task, both as they travel."""
    found = tasks(Task(*json.loads(text)))
    if isinstance(found, Loaded):
        return json.dumps({"variants": found.variants})
    evidence = tasks.player.evidence
    left = {} if evidence is None else {name: packed(data) for name, data in evidence.take(found).items()}
    return json.dumps({"verdict": _VERDICT.dump_python(found, mode="json"), "left": left})


@dataclass(frozen=True)
class TaskCodec:
    """See Codec. `evidence`: takes what comes with a verdict."""

    evidence: Evidence | None

    def encode(self, task: Task) -> str:
        """A task as JSON."""
        return json.dumps([task.file, task.place])

    def decode(self, text: str) -> Loaded | Verdict:
        """A verdict, with what it leaves in the place where whoever played it here would have put it."""
        found = json.loads(text)
        if "variants" in found:
            return Loaded(int(found["variants"]))
        verdict = _VERDICT.validate_json(json.dumps(found["verdict"]))
        if verdict.left is None or self.evidence is None:
            return replace(verdict, left=None)
        return self.evidence.put(verdict, {name: unpacked(data) for name, data in found["left"].items()})
