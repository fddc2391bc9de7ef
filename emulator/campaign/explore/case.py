"""A case: a schedule of faults under a key that stays the same from campaign to campaign."""

import json
from dataclasses import dataclass

from ringhil.emulator.scenario import TimelineEvent
from ringhil.emulator.scenario.writer import event_entry


@dataclass(frozen=True)
class Schedule:
    """Events in the order of time, `at` in cycles since power-up."""

    events: tuple[TimelineEvent, ...]

    @property
    def start(self) -> int:
        """Cycle of the first event."""
        return self.events[0].at

    def to_json(self) -> str:
        """The events as a scenario file's `timeline` has them: JSON is YAML."""
        return json.dumps([event_entry(event) for event in self.events])


@dataclass(frozen=True)
class Case:
    """`cls`: the fault kinds, such as `dead` or `dead + hang`; `place`: what they strike; `phase`: cycles from the
    beginning of a census round to the first fault; `depth`: number of faults."""

    key: str
    cls: str
    place: str
    phase: int
    schedule: Schedule
    depth: int = 1
