"""A cluster file as it is written; `read.py` makes a `GpuCluster` of it."""

from typing import Annotated

from pydantic import Field

from ringhil.emulator.scenario.file import names
from ringhil.emulator.scenario.file.types import OneLine, Part

MOST_GPUS = 64  # of a server
MOST_MEMBERS = 10_000  # of a gang
MOST_SERVERS = 100_000
Watts = Annotated[float, Field(ge=0, le=1_000_000)]
Seconds = Annotated[float, Field(ge=0, le=1_000_000_000)]
Bound = Annotated[float, Field(ge=0, le=1_000_000_000_000)]
Processors = Annotated[float, Field(ge=0, le=100_000)]
Mebibytes = Annotated[int, Field(ge=0, le=1_000_000_000)]
GpuIndex = Annotated[int, Field(ge=0, le=MOST_GPUS - 1)]
GivenName = Annotated[str, Field(pattern=names.LISTED)]
IndexText = Annotated[str, Field(pattern=names.INDEX)]


class PowerOfType(Part):
    """What a GPU of one type draws."""

    idle: Watts = Field(description="watts of a GPU that is awake and has nothing to do")
    task: Watts = Field(description="watts at most with a task: the first power value (P2)")
    low: Watts | None = Field(None, description="watts in its low-power state (P7); as `idle` unless given")
    off: Watts | None = Field(None, description="watts while its whole server sleeps (P7); as `low` unless given")


class WrittenProcessor(Part):
    """The processors of a server, which are equal."""

    idle: Watts = Field(description="watts of one that has nothing to do")
    task: Watts = Field(description="watts of one that has")
    cores: int = Field(ge=1, le=10_000, description="what one has, as tasks count `cpus`")


class ServerTemplate(Part):
    """A server, or several that are equal but for their names."""

    name: GivenName = Field(description="its name; of several, NAME.0, NAME.1, ...")
    count: int | None = Field(None, ge=1, le=MOST_SERVERS, description="how many there are")
    gpus: int = Field(ge=0, le=MOST_GPUS, description="how many GPUs each has")
    type: GivenName | None = Field(None, description="the type of its GPUs; needed unless it has none")
    types: dict[IndexText, GivenName] = Field({}, description="GPUs of another type, by index")
    busy: list[GpuIndex] = Field([], max_length=MOST_GPUS, description="GPUs that are taken from the start to the end")
    cpus: Processors = Field(128, description="processors, as tasks count them")
    memory: Mebibytes = Field(1_048_576, description="MiB of memory")
    standby: Watts = Field(0, description="watts of its CPU while the whole server sleeps (P5)")
    processor: WrittenProcessor | None = Field(
        None, description="watts of its processors while it works; `standby` unless given"
    )


class NodeList(Part):
    """Servers from a list in a file, one a line."""

    list: OneLine = Field(description="a CSV file, relative to this file's folder")
    standby: Watts = Field(0, description="watts of the CPU of each while the whole server sleeps (P5)")
    processors: dict[GivenName, WrittenProcessor] = Field({}, description="processors by the type of a server's GPUs")


class WrittenSaturation(Part):
    """Tasks that come until more was asked for than there is, and never leave."""

    load: float = Field(1.3, gt=0, le=100, description="how much is asked for, in parts of all GPUs")
    arrivals: OneLine | None = Field(None, description="a CSV file: the order in which tasks come")
    column: OneLine | None = Field(None, description="the column of these files")
    ties: OneLine | None = Field(None, description="a CSV file: the place of each server among equals")


class WrittenCluster(Part):
    """Servers and what they draw. Exactly one of `servers` and `nodes`."""

    power: dict[GivenName, PowerOfType] = Field(min_length=1, max_length=1000, description="watts by type of GPU")
    servers: list[ServerTemplate] | None = Field(None, min_length=1, description="servers by template")
    nodes: NodeList | None = Field(None, description="servers from a list in a file")
    saturate: WrittenSaturation | None = Field(None, description="fill the cluster instead of a run over time")
    census: Annotated[float, Field(ge=0.1, le=1_000_000)] = Field(
        60, description="seconds from one count of a server's GPUs to the next"
    )


class WrittenTask(Part):
    """A task."""

    name: GivenName = Field(description="its name")
    gpus: float = Field(ge=0, le=MOST_GPUS, description="whole GPUs of one server, or a fraction of one")
    cpus: Processors = Field(0, description="processors")
    memory: Mebibytes = Field(0, description="MiB of its server's memory")
    at: Seconds = Field(0.0, description="seconds: when it comes")
    lasts: Seconds = Field(alias="for", gt=0, description="seconds: how long it takes, once it has begun")
    types: list[GivenName] = Field([], max_length=100, description="types of GPU that it can use; any unless given")
    members: int = Field(
        1,
        ge=1,
        le=MOST_MEMBERS,
        description="a gang of so many, each with these needs, which begin together",
    )
    spread: bool = Field(False, description="each member on a server of its own")


class WrittenFault(Part):
    """Something fails: a GPU, a ring link, or with neither the whole server."""

    at: Seconds = Field(description="seconds: when it fails")
    lasts: Seconds | None = Field(
        None, alias="for", gt=0, description="seconds: how long it is out of order; for good unless given"
    )
    server: OneLine = Field(description="the server; of several, NAME.0")
    gpu: Annotated[str, Field(pattern=names.GPU)] | None = Field(None, description="its GPU, `a.2`")
    link: Annotated[str, Field(pattern=names.LINK)] | None = Field(None, description="its ring link, `a.2-a.3`")


class WrittenFailing(Part):
    """GPUs that fail for good, each at a moment that the seed draws."""

    gpus: float = Field(gt=0, le=100, description="percent of all GPUs that nobody has taken")


class ExpectedWaiting(Part):
    """Seconds from arrival to beginning, of the tasks that began. At least one of them."""

    median: Seconds | None = Field(None, description="seconds at most of half of the tasks")
    p99: Seconds | None = Field(None, description="seconds at most of 99 of 100")


class ExpectedOfPolicy(Part):
    """What a policy may cost. At least one key beside `policy`."""

    policy: OneLine = Field(description="a policy by its name")
    energy: Bound | None = Field(None, description="kWh at most, up to `until`")
    waiting: ExpectedWaiting | None = Field(None, description="seconds at most")
    unplaced: Bound | None = Field(None, description="tasks at most that never began")
    lost: Bound | None = Field(None, description="tries at most that were lost with what they ran on")
    awake: Bound | None = Field(None, description="servers at most that are awake, on average up to `until`")
    wake_ups: Bound | None = Field(None, description="how often at most a server was woken")
    fragments: float | None = Field(
        None, ge=0, le=99.99, description="percent at most of what is free; of a run, on average"
    )
    allocated: float | None = Field(
        None, gt=0, le=1_000_000_000_000, description="with `saturate`: percent at least of all GPUs, in the end"
    )
    power: Bound | None = Field(None, description="with `saturate`: kW at most, in the end")


class ClusterFile(Part):
    """All of it. Exactly one of `tasks` and `pods`."""

    name: OneLine | None = Field(None, description="what it is called in reports")
    seed: int = Field(0, ge=0, le=2**32 - 1, description="for what is drawn by lot")
    until: Seconds | None = Field(
        None, gt=0, description="seconds: the end, to which energy is counted; the end of the last task unless given"
    )
    cluster: WrittenCluster = Field(description="servers and what they draw")
    tasks: list[WrittenTask] | None = Field(None, min_length=1, description="what the cluster has to do")
    pods: OneLine | None = Field(None, description="a CSV file of tasks, relative to this file's folder")
    faults: list[WrittenFault] = Field([], max_length=100_000, description="what fails, and when")
    failing: WrittenFailing | None = Field(None, description="GPUs that fail at random moments")
    expect: list[ExpectedOfPolicy] = Field([], max_length=1000, description="what `ringhil place` and `verify` judge")
