"""How long a launch may take at most that shares its GPU with all tasks of a file (docs/reference/contexts.md, S5)."""

from collections.abc import Callable

from ringhil.emulator.scenario import Scenario
from ringhil.protocol.wire import CONTEXTS

_SLOW = 4  # times as long on a slow GPU
_SHORTEST = 16  # cycles of a slice


def longest_launch(scenario: Scenario) -> Callable[[int], int]:
    """Cycles, of one that asks for so many, when nobody works but the tasks: in each round every other one has its
    slice, after a switch."""
    settings, sharing = scenario.server.settings, scenario.sharing
    tasks = sharing.applications if sharing else ()
    slices = [each.slice for each in tasks if each.slice]
    slices += [each.slice for each in (sharing.groups if sharing else ()) if each.slice]
    shortest = max(_SHORTEST, min([*slices, settings.default_slice]))
    switch = settings.context_switch + max((task.state for task in tasks), default=0)
    others = (len(tasks) or CONTEXTS) * (max([*slices, settings.default_slice]) + switch)
    awake = scenario.server.longest_wake

    def cycles(asked: int) -> int:
        rounds = _SLOW * asked // shortest + 1
        return _SLOW * asked + rounds * others + awake

    return cycles
