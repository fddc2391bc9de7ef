"""How long a run is played at least."""

from collections.abc import Sequence

from ringhil.emulator.judge.bounds import Bounds
from ringhil.emulator.scenario import CrossRef, Scenario, TimelineEvent
from ringhil.emulator.server.wiring import Wiring


def horizon(
    scenario: Scenario, timeline: Sequence[TimelineEvent], wiring: Wiring, bounds: Sequence[Bounds], last: int
) -> int:
    """The cycle by which all events of `timeline` have happened and have had time to be dealt with. `last`: the latest
    one that an expectation speaks of; `bounds`: by card."""
    if scenario.until is not None:
        return scenario.until
    end = max(scenario.server.settings.census_period, *(b.power_up + b.times.refreshed + 1 for b in bounds))
    across = bool(wiring.links)
    if across:
        end = max(end, *(b.return_bound(2, across=True) for b in bounds))
    settled = 0  # by then what came before has settled, on any card
    for event in timeline:
        # The whole way: the role moves, then the new entry GPU counts.
        target = event.target
        ends = [target.from_.card, target.to.card] if isinstance(target, CrossRef) else [target.card]
        for b in (bounds[wiring.number(name)] for name in ends):
            bound = b.recovery(event.action, event.kind, len(timeline)) + b.return_bound(8, across=across)
            end = max(end, max(event.at, settled) + bound + 1)
            settled = max(settled, event.at + b.settling(event.kind))
    return max(end, last + 1)
