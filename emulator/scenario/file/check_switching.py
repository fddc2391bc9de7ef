"""The tasks of a file that follow one another: their layers, how they are divided, whether there is room for them."""

from pathlib import Path

from ringhil.emulator.scenario.file import model_switching as written_as
from ringhil.emulator.scenario.file.policies import SwitchPolicyName
from ringhil.emulator.scenario.file.references import Resolver
from ringhil.emulator.scenario.file.settings import Settings
from ringhil.emulator.scenario.file.switching import MIB, NetworkTask, SwitchingRequest, TaskSwitching
from ringhil.emulator.scenario.networks.layers import Layer, divide, most_at_once, of_lengths
from ringhil.emulator.scenario.networks.table import PUBLISHED, layers_of, published_layers, read_layers
from ringhil.emulator.scenario.yaml.errors import ScenarioError, quoted, unknown
from ringhil.emulator.scenario.yaml.marks import Loc, Source, exactly_one

_USUAL_PARTS = 4  # subtasks of a task unless given
_MOST_BYTES = 65000  # that a command brings
_LEAST_BYTES = 8
_MOST_CYCLES = (1 << 32) - 1  # that a command launches
_FILE = (".yaml", ".yml")


def check_switching(
    source: Source, resolver: Resolver, settings: Settings, written: written_as.Switching | None, folder: Path
) -> TaskSwitching | None:
    """Raises ScenarioError."""
    if written is None:
        return None
    if ("sharing",) in source.keys:
        problem = "key 'switching' beside 'sharing'; allowed is one of them in a file"
        raise source.error(("switching",), problem, key=True)
    gpus = tuple(resolver.gpu(("switching", "gpu", n), name) for n, name in enumerate(written.gpu))
    for n, gpu in enumerate(gpus):
        if gpu in gpus[:n]:
            raise source.error(("switching", "gpu", n), f"{gpu} a second time; allowed is each GPU once")
    tasks = tuple(_task(source, name, task, folder) for name, task in written.tasks.items())
    switching = TaskSwitching(
        cycle=written.cycle,
        page=written.page,
        link=written.link,
        piece=written.piece,
        rate=written.rate,
        gpus=gpus,
        policy=SwitchPolicyName(written.policy),
        first_preset=written.first_preset,
        second_preset=written.second_preset,
        left=written.left,
        workers=written.workers,
        recycle=written.recycle,
        interrupt=written.interrupt,
        tasks=tasks,
        requests=tuple(_request(source, n, r, written) for n, r in enumerate(written.requests)),
    )
    _check_piece(source, switching)
    _check_memory(source, switching, settings)
    for task in tasks:
        if switching.worked(task.operations(len(task.layers))) > _MOST_CYCLES:
            problem = f"a step takes more than {_MOST_CYCLES} cycles; allowed are fewer operations, or a higher rate"
            raise source.error(("switching", "tasks", task.name), problem)
    return switching


def _request(
    source: Source, n: int, request: written_as.SwitchRequest, within: written_as.Switching
) -> SwitchingRequest:
    if request.task not in within.tasks:
        loc = ("switching", "requests", n, "task")
        raise source.error(loc, unknown("task", request.task, within.tasks))
    return SwitchingRequest(request.task, request.after)


def _task(source: Source, name: str, task: written_as.SwitchTask, folder: Path) -> NetworkTask:
    loc: Loc = ("switching", "tasks", name)
    exactly_one(source, loc, written_as.LAYERS)
    layers = layers_of(task.layers or [])
    published = None
    if task.model is not None:
        published = task.model if task.model in PUBLISHED else None
        layers = _model(source, (*loc, "model"), task.model, folder)
    return NetworkTask(
        name=name,
        model=published,
        layers=layers,
        parts=_parts(source, loc, task, layers),
        training=task.kind == "training",
        batch=task.batch,
        steps=task.steps,
        start=task.start,
        clean=task.clean,
        environment=task.environment,
    )


def _model(source: Source, loc: Loc, name: str, folder: Path) -> tuple[Layer, ...]:
    if name in PUBLISHED:
        return published_layers(name)
    if not name.endswith(_FILE):
        raise source.error(loc, f"{unknown('model', name, PUBLISHED)}, or a file of layers ({_FILE[0]})")
    try:
        return read_layers(folder / name)
    except ScenarioError as error:
        if error.line is None:
            raise source.error(loc, f"{quoted(name)} {error.problem}") from None
        raise


def _parts(
    source: Source, loc: Loc, task: written_as.SwitchTask, layers: tuple[Layer, ...]
) -> tuple[tuple[int, int], ...]:
    if task.division is None:
        wanted = min(_USUAL_PARTS, len(layers)) if task.subtasks is None else task.subtasks
        if wanted > len(layers):
            problem = f"found {wanted}; there are {len(layers)} layers, so allowed are 1 .. {len(layers)}"
            raise source.error((*loc, "subtasks"), problem)
        return divide([layer.weights for layer in layers], wanted)
    if task.subtasks is not None:
        exactly_one(source, loc, written_as.DIVISIONS)
    if sum(task.division) != len(layers):
        problem = f"found parts with {sum(task.division)} layers; there are {len(layers)}, and each is in one part"
        raise source.error((*loc, "division"), problem)
    return of_lengths(task.division)


def _check_piece(source: Source, switching: TaskSwitching) -> None:
    size = switching.piece_on_wire
    if not _LEAST_BYTES <= size <= _MOST_BYTES:
        allowed = [each * switching.stands_for / 1024 for each in (_LEAST_BYTES - 1, _MOST_BYTES)]
        problem = (
            f"a piece of {switching.piece} KiB takes {size} bytes on the emulated link; allowed are {_LEAST_BYTES} .."
            f" {_MOST_BYTES}, at this speed {int(allowed[0]) + 1} .. {int(allowed[1])} KiB"
        )
        key = next(key for key in ("piece", "link", "cycle", "tasks") if ("switching", key) in source.keys)
        raise source.error(("switching", key), problem)


def _check_memory(source: Source, switching: TaskSwitching, settings: Settings) -> None:
    """Every task alone has room, whatever the policy: how many have at a time is what policies are about."""
    there = settings.device_memory
    first = there if switching.first_preset is None else switching.pages(switching.first_preset * MIB)
    if first > there:
        problem = f"found {switching.first_preset} MiB, {first} pages; the GPU has {there} (device_memory)"
        raise source.error(("switching", "first_preset"), problem)
    for task in switching.tasks:
        loc = ("switching", "tasks", task.name)
        environment = switching.pages(task.environment * MIB)
        whole = environment + switching.pages(task.memory(0, len(task.layers)))
        if whole > there:
            problem = f"it takes {whole} pages as a whole; the GPU has {there} (device_memory)"
            raise source.error(loc, problem)
        sizes = [switching.pages(task.memory(*part)) for part in task.parts]
        most = environment + most_at_once(sizes, task.steps)
        if most > first:
            problem = f"it takes {most} pages; the first preset value is {first}"
            raise source.error(loc, problem)
