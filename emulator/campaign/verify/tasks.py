"""What each process of `ringhil verify` is asked, and what it answers.

| task | answer |
|---|---|
| `Task(file, LOAD)` | `Loaded`; the verdict on the only variant of a file, or "error" on a file that can't be used |
| `Task(file, place)` | the verdict on the variant at that place |

Most files have one variant, and reading a file costs as much as playing a short one: so it is read once.
"""

from dataclasses import dataclass

from ringhil.emulator.campaign.verify.player import Player
from ringhil.emulator.campaign.verify.verdict import Verdict
from ringhil.emulator.scenario import ScenarioError

LOAD = -1


@dataclass(frozen=True, order=True)
class Task:
    """`place` among the chosen variants of the file with this number; LOAD: read it first."""

    file: int
    place: int


@dataclass(frozen=True)
class Loaded:
    """The number of variants of a file that are to be played."""

    variants: int


@dataclass(frozen=True)
class TaskPlayer:
    """Does tasks with a player, which keeps what it has read for the next task."""

    player: Player

    def __call__(self, task: Task) -> Loaded | Verdict:
        """The answer to a task."""
        if task.place != LOAD:
            return self.player.play(task.file, task.place)
        try:
            variants = len(self.player.load(task.file)[1])
        except ScenarioError as error:
            return self.player.refused(task.file, error)
        return self.player.play(task.file, 0) if variants == 1 else Loaded(variants)
