"""The applications of a file: the GPUs that they name, and how many a GPU has room for."""

from collections import Counter

from ringhil.emulator.scenario import model
from ringhil.emulator.scenario.marks import Loc, Source
from ringhil.emulator.scenario.references import Resolver
from ringhil.emulator.scenario.settings import Settings
from ringhil.emulator.scenario.sharing import Application, Sharing
from ringhil.emulator.scenario.topology import GpuRef
from ringhil.protocol.wire import CONTEXTS

_SHORTEST = 16  # cycles of a slice
_MOST_UNITS = 1 << 31  # of plain work: numbers above are those of commands


def check_sharing(
    source: Source, resolver: Resolver, settings: Settings, written: model.Sharing | None, units: int | None
) -> Sharing | None:
    """Raises ScenarioError. `units`: of plain work."""
    if written is None:
        return None
    if units is not None and units > _MOST_UNITS:
        problem = f"found {units}; beside applications allowed are {_MOST_UNITS} at most"
        raise source.error(("workload", "units"), problem)
    there: Counter[GpuRef] = Counter()
    applications = []
    for name, application in written.applications.items():
        loc: Loc = ("sharing", "applications", name)
        gpu = resolver.gpu((*loc, "gpu"), application.gpu)
        there[gpu] += 1
        if there[gpu] >= CONTEXTS:
            problem = f"{gpu} has {CONTEXTS - 1} applications already; allowed are no more on a GPU"
            raise source.error((*loc, "gpu"), problem)
        if 0 < application.slice < _SHORTEST:
            problem = f"found {application.slice}; allowed are {_SHORTEST} cycles or more, or 0: the GPU's default"
            raise source.error((*loc, "slice"), problem)
        if application.memory is not None and application.memory > settings.device_memory:
            problem = f"found {application.memory}; the GPU has {settings.device_memory} pages (device_memory)"
            raise source.error((*loc, "memory"), problem)
        if application.input and application.wants == 0:
            problem = f"found {application.input}; an application that takes no memory (wants: 0) has no room for data"
            raise source.error((*loc, "input"), problem)
        applications.append(Application(name=name, **(application.model_dump() | {"gpu": gpu})))
    return Sharing(written.cycle, written.page, tuple(applications))
