"""Power states of a compute engine, its energy and the time that it has run (docs/reference/contexts.md).

`until` is told of stretches of cycles in which the engine ran or rested, and memory was held or not, all the same; it
goes through them from one change of state to the next.
"""

from dataclasses import dataclass, field

from ringhil.protocol.registers import PowerState


@dataclass(frozen=True)
class PowerSettings:
    """Registers of the GPU. `power`: units of energy a cycle, by state; `after`: cycles of rest; `wake`: cycles."""

    run_power: int = 0
    idle_power: int = 0
    low_power: int = 0
    off_power: int = 0
    low_after: int = 0
    off_after: int = 0
    low_wake: int = 0
    off_wake: int = 0

    def state(self, rested: int, held: bool) -> PowerState:
        """Of an engine that has rested for so many cycles."""
        if self.off_after and rested >= self.off_after and not held:
            return PowerState.OFF
        if self.low_after and rested >= self.low_after:
            return PowerState.LOW
        return PowerState.IDLE

    def wake(self, state: PowerState) -> int:
        """Cycles that work takes longer which begins in this state."""
        return {PowerState.LOW: self.low_wake, PowerState.OFF: self.off_wake}.get(state, 0)

    def power(self, state: PowerState) -> int:
        """Units of energy that a cycle of it takes."""
        return {
            PowerState.RUNNING: self.run_power,
            PowerState.IDLE: self.idle_power,
            PowerState.LOW: self.low_power,
            PowerState.OFF: self.off_power,
        }[state]


UNMETERED = PowerSettings()


@dataclass
class PowerMeter:
    """What all cycles before `now` have taken."""

    settings: PowerSettings
    now: int = 0
    rests_since: int = 0
    energy: int = 0
    busy: int = 0
    cycles: dict[PowerState, int] = field(default_factory=lambda: dict.fromkeys(PowerState, 0))

    def state(self, runs: bool, held: bool) -> PowerState:
        """In cycle `now`, if the engine runs in it or rests, and memory is held or not."""
        return PowerState.RUNNING if runs else self.settings.state(self.now - self.rests_since, held)

    def until(self, cycle: int, runs: bool, held: bool) -> None:
        """All cycles before this one that haven't been counted yet were so."""
        while self.now < cycle:
            state = self.state(runs, held)
            changes = (self.rests_since + after for after in (self.settings.low_after, self.settings.off_after))
            end = min([cycle, *(at for at in changes if at > self.now and not runs)])
            span = end - self.now
            self.cycles[state] += span
            self.energy += span * self.settings.power(state)
            self.now = end
            if runs:
                self.busy += span
                self.rests_since = end
