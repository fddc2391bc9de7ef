"""`ringhil place` on a worker: the cluster comes as JSON; then runs do, or moments of some servers of one."""

from pathlib import Path

from pydantic import ConfigDict, TypeAdapter

from ringhil.emulator.campaign.dask.order import Crew, Order
from ringhil.emulator.campaign.place import PlaceAnswer, PlaceTask, RunPlayer, ServersTask
from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.engine.library import Library
from ringhil.emulator.server.firmware_choice import FirmwareChoice

_NUMBERS = ConfigDict(ser_json_inf_nan="constants")  # what never ends has no end
# One each: of a dataclass itself the adapter takes no configuration.
_CAMPAIGN = TypeAdapter(tuple[GpuCluster], config=_NUMBERS)
_TASK = TypeAdapter(tuple[PlaceTask], config=_NUMBERS)
_ANSWER = TypeAdapter(tuple[PlaceAnswer], config=_NUMBERS)


def campaign_of(cluster: GpuCluster) -> str:
    """See `crew`."""
    return _CAMPAIGN.dump_json((cluster,)).decode()


def crew(order: Order, library: Library | None, firmware: FirmwareChoice, folder: Path) -> Crew:
    """Run on a worker."""
    (cluster,) = _CAMPAIGN.validate_json(order.campaign)
    player = RunPlayer(cluster, POLICIES, library, part_jobs=order.lanes)
    return Crew(lambda text: played(player, text))


def played(player: RunPlayer, text: str) -> str:
    """The answer to a task, both as they travel."""
    (task,) = _TASK.validate_json(text)
    return _ANSWER.dump_json((player(task),), warnings="error").decode()


def home(task: PlaceTask) -> int | None:
    """See DaskPool."""
    return task.part if isinstance(task, ServersTask) else None


class PlaceCodec:
    """See Codec."""

    def encode(self, task: PlaceTask) -> str:
        """A task as JSON."""
        return _TASK.dump_json((task,)).decode()

    def decode(self, text: str) -> PlaceAnswer:
        """An answer. Raises ValueError."""
        (found,) = _ANSWER.validate_json(text)
        return found
