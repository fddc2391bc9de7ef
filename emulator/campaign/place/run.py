"""A run of a comparison."""

from dataclasses import dataclass

from ringhil.emulator.cluster.fleet import TableFleet
from ringhil.emulator.cluster.play import PlacementRun
from ringhil.emulator.cluster.saturate import Saturated
from ringhil.emulator.cluster.window import PlayedWindow, TimeWindow
from ringhil.emulator.errors import RinghilError

RunResult = PlacementRun | Saturated | PlayedWindow


class PlaceError(RinghilError, ValueError):
    """A run that can't be played."""


@dataclass(frozen=True)
class PlaceRun:
    """`load`: see `GpuCluster.at_load`, None: as the file has it; `until`: seconds, as the file has it after that;
    None: to the end of the last task. `fleet`: by name; it has no meaning for a cluster that is filled. `window`:
    seconds that are emulated in a run of the table, of which nothing else is told."""

    load: float | None
    policy: str
    seed: int
    until: float | None = None
    fleet: str = TableFleet.name
    window: TimeWindow | None = None

    def __str__(self) -> str:
        """As it is named where several are played."""
        at = "" if self.load is None else f", load {self.load:g}"
        window = "" if self.window is None else f", {self.window} s"
        return f"{self.policy}, seed {self.seed}{at}{window}"
