"""`ringhil explore` on a worker: it settles the same server by itself, and plays cases from there."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ringhil.emulator.campaign.dask.order import Crew, Order, Refused
from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.campaign import patience
from ringhil.emulator.campaign.explore.player import CasePlayer, Numbered
from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.campaign.explore.settle import UnsettledError, settle
from ringhil.emulator.campaign.explore.space import Case, Round, Schedule
from ringhil.emulator.engine.library import Library
from ringhil.emulator.host.work.workload import DataError
from ringhil.emulator.scenario import CrossRef, EventAction, GpuRef, LinkRef, ScenarioError, TimelineEvent, loads
from ringhil.emulator.server.firmware_choice import FirmwareChoice
from ringhil.emulator.server.foreign import FirmwareError

_RESULT = TypeAdapter(CaseResult)


@dataclass(frozen=True)
class ExploreCampaign:
    """`scenario`: the bare one, as text; `after`, `limit`, `rounds`: see Conditions; `settled`: the rounds that were
    found here, by card."""

    scenario: str
    after: int
    limit: float
    rounds: int | None
    settled: dict[str, Round]

    def to_json(self) -> str:
        """See `crew`."""
        return _CAMPAIGN.dump_json(self).decode()


_CAMPAIGN = TypeAdapter(ExploreCampaign)


def crew(order: Order, library: Library | None, firmware: FirmwareChoice, folder: Path) -> Crew:
    """Run on a worker. Raises Refused."""
    campaign = _CAMPAIGN.validate_json(order.campaign)
    try:
        assert library is not None
        warm, rounds = settle(loads(campaign.scenario), library, campaign.after, firmware=firmware)
    except (UnsettledError, ExploreError, ScenarioError, DataError, FirmwareError) as error:
        raise Refused(f"the server, which settles here, doesn't there: {error}") from error
    if rounds != campaign.settled:
        raise Refused(f"the same server has census rounds {rounds} there; allowed is {campaign.settled}, as here")
    player = CasePlayer(warm, campaign.limit, campaign.rounds)
    return Crew(lambda text: played(player, text), once=player.goes_on, patience=patience(campaign.limit))


def played(player: CasePlayer, text: str) -> str:
    """The answer to a case, both as they travel."""
    return json.dumps(asdict(player(numbered(text))))


class CaseCodec:
    """See Codec."""

    def encode(self, task: Numbered) -> str:
        """A case as JSON."""
        number, case = task
        events = [_plain(event) for event in case.schedule.events]
        return json.dumps([number, case.key, case.cls, case.place, case.phase, case.depth, events])

    def decode(self, text: str) -> CaseResult:
        """A result. Raises ValueError."""
        return _RESULT.validate_json(text)


def numbered(text: str) -> Numbered:
    """The case that CaseCodec has encoded."""
    number, key, cls, place, phase, depth, events = json.loads(text)
    return number, Case(key, cls, place, phase, Schedule(tuple(_event(plain) for plain in events)), depth)


def _plain(event: TimelineEvent) -> list[Any]:
    gpus = event.target.gpus if isinstance(event.target, LinkRef) else None
    kind = type(event.target).__name__
    end = [event.count, event.line, event.value, event.reverse]
    return [event.at, event.action, event.kind, kind, str(event.target), gpus, *end]


def _event(plain: list[Any]) -> TimelineEvent:
    at, action, fault, kind, name, gpus, *end = plain
    target: GpuRef | LinkRef | CrossRef
    match kind:
        case "GpuRef":
            target = GpuRef.parse(name)
        case "LinkRef":
            target = LinkRef.parse(name, gpus)
        case _:
            target = CrossRef.parse(name)
    return TimelineEvent(at, EventAction(action), fault, target, *end)
