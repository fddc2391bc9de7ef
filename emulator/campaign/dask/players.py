"""Pools on a cluster, for each kind of campaign."""

from collections.abc import Callable, Mapping
from pathlib import Path

from ringhil.emulator.build.node_rtl import NODE
from ringhil.emulator.campaign.dask import ClusterError
from ringhil.emulator.campaign.dask.dask_pool import DaskPool
from ringhil.emulator.campaign.dask.exploring import CaseCodec, ExploreCampaign
from ringhil.emulator.campaign.dask.order import Facts, NamedFirmware, Order, SentRtl
from ringhil.emulator.campaign.dask.placing import PlaceCodec, campaign_of, home
from ringhil.emulator.campaign.dask.verifying import NOT_SENT, TaskCodec, VerifyCampaign
from ringhil.emulator.campaign.dask.where import LOCAL, connect
from ringhil.emulator.campaign.explore.explorer import Conditions, Players
from ringhil.emulator.campaign.explore.player import Numbered
from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.campaign.explore.space import Round
from ringhil.emulator.campaign.place import PlaceAnswer, PlaceTask
from ringhil.emulator.campaign.verify.run import VerifyPlan
from ringhil.emulator.campaign.verify.tasks import Loaded, Task
from ringhil.emulator.campaign.verify.verdict import Verdict
from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.engine.library import Library
from ringhil.emulator.scenario import Scenario, dumps

_TRIES = 20  # one run that is lost ends the sweep, and may be hours long


def explorers(
    where: str,
    conditions: Conditions,
    library: Library,
    rtl: Path | None,
    top: str = NODE,
    refused: Callable[[str], None] = lambda line: None,
) -> Players:
    """Who plays cases for `explore`. `where`: see `connect`; `rtl`, `top`: what the library was built from; `refused`:
    see Cluster. Calling it raises ClusterError."""

    def start(scenario: Scenario, settled: Mapping[str, Round]) -> DaskPool[Numbered, CaseResult]:
        work = scenario.workload
        if work is not None and work.data is not None and where != LOCAL:
            raise ClusterError(f"{work.data}: {NOT_SENT}")
        campaign = ExploreCampaign(
            dumps(scenario), conditions.after, conditions.limit, conditions.rounds, dict(settled)
        )
        sent, firmware = SentRtl.of(library, rtl, top), NamedFirmware.of(conditions.firmware)
        order = Order(Facts.here(), sent, firmware, "explore", campaign.to_json(), where == LOCAL)
        return DaskPool(connect(where, conditions.jobs, refused), order, CaseCodec(), ahead=2)

    return start


def verifiers(
    where: str, plan: VerifyPlan, refused: Callable[[str], None] = lambda line: None
) -> DaskPool[Task, Loaded | Verdict]:
    """Who plays for `verify` what the plan's player would play here. Raises ClusterError."""
    player = plan.player
    rtl, top = player.replay.rtl or (None, NODE)
    campaign = VerifyCampaign.of(player, plan.version, plan.limit)
    sent, firmware = SentRtl.of(player.library, rtl, top), NamedFirmware.of(player.replay.firmware)
    order = Order(Facts.here(), sent, firmware, "verify", campaign.to_json(), where == LOCAL)
    return DaskPool(connect(where, plan.jobs, refused), order, TaskCodec(player.evidence))


def placers(
    where: str,
    cluster: GpuCluster,
    library: Library | None,
    jobs: int,
    refused: Callable[[str], None] = lambda line: None,
) -> DaskPool[PlaceTask, PlaceAnswer]:
    """Who plays the runs of a cluster for `place`, by policies of ours, or parts of one; without a library none that is
    emulated. Raises ClusterError."""
    rtl = None if library is None else SentRtl.of(library, None)
    order = Order(Facts.here(), rtl, NamedFirmware((), {}), "place", campaign_of(cluster), where == LOCAL)
    return DaskPool(connect(where, jobs, refused), order, PlaceCodec(), tries=_TRIES, home=home)
