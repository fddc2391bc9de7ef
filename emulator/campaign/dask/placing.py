"""`ringhil place` on a worker: the cluster comes as JSON, a run at a time."""

from pathlib import Path

from pydantic import ConfigDict, TypeAdapter

from ringhil.emulator.campaign.dask.order import Crew, Order
from ringhil.emulator.campaign.place import PlaceRun, RunPlayer, RunResult
from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.engine.library import Library
from ringhil.emulator.server.firmware_choice import FirmwareChoice

_NUMBERS = ConfigDict(ser_json_inf_nan="constants")  # what never ends has no end
# One each: of a dataclass itself the adapter takes no configuration.
_CAMPAIGN = TypeAdapter(tuple[GpuCluster], config=_NUMBERS)
_RUN = TypeAdapter(tuple[PlaceRun], config=_NUMBERS)
_RESULT = TypeAdapter(tuple[RunResult | str], config=_NUMBERS)


def campaign_of(cluster: GpuCluster) -> str:
    """See `crew`."""
    return _CAMPAIGN.dump_json((cluster,)).decode()


def crew(order: Order, library: Library, firmware: FirmwareChoice, folder: Path) -> Crew:
    """Run on a worker."""
    (cluster,) = _CAMPAIGN.validate_json(order.campaign)
    player = RunPlayer(cluster, POLICIES, library)
    return Crew(lambda text: played(player, text))


def played(player: RunPlayer, text: str) -> str:
    """The answer to a run, both as they travel."""
    (run,) = _RUN.validate_json(text)
    return _RESULT.dump_json((player(run),), warnings="error").decode()


class RunCodec:
    """See Codec."""

    def encode(self, task: PlaceRun) -> str:
        """A run as JSON."""
        return _RUN.dump_json((task,)).decode()

    def decode(self, text: str) -> RunResult | str:
        """A result. Raises ValueError."""
        (found,) = _RESULT.validate_json(text)
        return found
