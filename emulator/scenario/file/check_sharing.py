"""The applications of a file: the GPUs and groups that they name, and how many a GPU has room for."""

from collections import Counter
from collections.abc import Mapping

from ringhil.emulator.scenario.file import model
from ringhil.emulator.scenario.file.references import Resolver
from ringhil.emulator.scenario.file.settings import Settings
from ringhil.emulator.scenario.file.sharing import (
    LONGEST_NAME,
    MOST_DEPTH,
    MOST_GROUPS,
    Application,
    ApplicationGroup,
    Sharing,
)
from ringhil.emulator.scenario.file.topology import GpuRef
from ringhil.emulator.scenario.yaml.errors import hint, listing, quoted
from ringhil.emulator.scenario.yaml.marks import Loc, Source
from ringhil.protocol.wire import CONTEXTS, FIRST_COMMAND

_SHORTEST = 16  # cycles of a slice


def check_sharing(
    source: Source, resolver: Resolver, settings: Settings, written: model.Sharing | None, units: int | None
) -> Sharing | None:
    """Raises ScenarioError. `units`: of plain work."""
    if written is None:
        return None
    if units is not None and units > FIRST_COMMAND:
        problem = f"found {units}; beside applications allowed are {FIRST_COMMAND} at most"
        raise source.error(("workload", "units"), problem)
    groups = _Groups(source, settings, written)
    there: Counter[GpuRef] = Counter()
    applications = []
    for name, application in written.applications.items():
        loc: Loc = ("sharing", "applications", name)
        gpu = resolver.gpu((*loc, "gpu"), application.gpu)
        there[gpu] += 1
        if there[gpu] >= CONTEXTS:
            problem = f"{gpu} has {CONTEXTS - 1} applications already; allowed are no more on a GPU"
            raise source.error((*loc, "gpu"), problem)
        _check_given(source, loc, settings, application)
        group = application.group or ""
        groups.place(loc, name, group)
        if application.input and application.wants == 0:
            problem = f"found {application.input}; an application that takes no memory (wants: 0) has no room for data"
            raise source.error((*loc, "input"), problem)
        applications.append(Application(name=name, **(application.model_dump() | {"gpu": gpu, "group": group})))
    return Sharing(written.cycle, written.page, tuple(groups.found.values()), tuple(applications))


class _Groups:
    """The groups of a file, by path, and which names are taken in each."""

    def __init__(self, source: Source, settings: Settings, written: model.Sharing) -> None:
        self._source, self._settings = source, settings
        self._left = MOST_GROUPS - len(written.applications)  # each has one of its own
        self.found: dict[str, ApplicationGroup] = {}
        self._add(("sharing", "groups"), "", written.groups)

    def place(self, loc: Loc, name: str, group: str) -> None:
        """An application is in a group that is there, in which nobody else has its name."""
        _check_name(self._source, loc, name)
        if group and group not in self.found:
            problem = f"unknown group {quoted(group)}; {hint(group, self.found)}"
            problem += f"groups are {listing(self.found)}" if self.found else "there are none"
            raise self._source.error((*loc, "group"), problem)
        if (path := f"{group}/{name}".lstrip("/")) in self.found:
            problem = f"{quoted(path)} is a group; the application's own group would have the same name"
            raise self._source.error(loc, problem, key=True)

    def _add(self, loc: Loc, around: str, groups: Mapping[str, model.ApplicationGroup]) -> None:
        for name, group in groups.items():
            here, path = (*loc, name), f"{around}/{name}".lstrip("/")
            _check_name(self._source, here, name)
            if path.count("/") + 2 > MOST_DEPTH:
                problem = f"is {path.count('/') + 1} groups deep; allowed are {MOST_DEPTH - 1}"
                raise self._source.error(here, problem, key=True)
            if len(self.found) == self._left:
                problem = f"allowed are {MOST_GROUPS} groups, with one for each application"
                raise self._source.error(here, problem, key=True)
            _check_given(self._source, here, self._settings, group)
            self.found[path] = ApplicationGroup(path, group.memory, group.slice, group.priority)
            self._add((*here, "groups"), path, group.groups)


def _check_name(source: Source, loc: Loc, name: str) -> None:
    if len(name) > LONGEST_NAME:
        raise source.error(loc, f"found a name of {len(name)} letters; allowed are {LONGEST_NAME}", key=True)


def _check_given(
    source: Source, loc: Loc, settings: Settings, given: model.Application | model.ApplicationGroup
) -> None:
    if 0 < given.slice < _SHORTEST:
        default = "the GPU's default" if isinstance(given, model.Application) else "none"
        problem = f"found {given.slice}; allowed are {_SHORTEST} cycles or more, or 0: {default}"
        raise source.error((*loc, "slice"), problem)
    if given.memory is not None and given.memory > settings.device_memory:
        problem = f"found {given.memory}; the GPU has {settings.device_memory} pages (device_memory)"
        raise source.error((*loc, "memory"), problem)
