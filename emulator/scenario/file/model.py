"""The file as it is written: which keys there are, their types, ranges and defaults.

The one place for that; the JSON Schema and the messages about wrong values follow from it. What needs a
look at other parts of the file (does this GPU exist?) is checked afterwards, in the `check` modules.
"""

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import Field, create_model

from ringhil.emulator.scenario.expect import CHECKS
from ringhil.emulator.scenario.expect.check import When
from ringhil.emulator.scenario.file.faults import PARAMETERS, EventAction, ParameterName, PartKind
from ringhil.emulator.scenario.file.model_switching import Switching
from ringhil.emulator.scenario.file.settings import ANY_TYPE, GpuPower, Settings
from ringhil.emulator.scenario.file.types import (
    MAX_CYCLE,
    MAX_REGISTER,
    CardName,
    Cycle,
    FaultName,
    GpuName,
    GpuTypeName,
    GroupPath,
    Index,
    IndexOrDefault,
    Links,
    Members,
    Number,
    OneLine,
    OwnName,
    Part,
    Positive,
    TrueOnly,
    Weight,
)
from ringhil.emulator.scenario.sweep.model import Sweep
from ringhil.protocol.wire import MAX_CARDS, MAX_RING, GpuType

# Keys that exclude one another, and keys of which at least one is needed.
WORKLOADS: tuple[Literal["units", "data"], ...] = ("units", "data")
ACTIONS = tuple(EventAction)
TARGETS = tuple(PartKind)
TIMES = tuple(When)


class Card(Part):
    """R1: GPUs wired into a closed ring, in ring order 0, 1, 2 ..."""

    gpus: int = Field(ge=2, le=MAX_RING, description="number of GPUs on the ring")
    host_links: list[Index] = Field(
        [0],
        min_length=1,
        description="indices of the GPUs with a link to the CPU, neighbours in the order of the ring; "
        "the first is the entry GPU at power-up (R10)",
    )
    types: dict[IndexOrDefault, GpuTypeName] = Field(
        {}, description="GPU type by index; `default` is for the rest (generic)"
    )
    weights: dict[IndexOrDefault, Weight] = Field(
        {}, description="share of work by index, relative to the other GPUs; `default` is for the rest (1)"
    )


class BoundaryLink(Part):
    """R9: links between neighbouring GPUs of two cards, wired one to one; together one logical link."""

    from_: Members = Field(alias="from", description="GPUs of one card, neighbours in the order of the ring")
    to: Members = Field(description="as many GPUs of another card, in the order in which they are wired")


def _part(name: str, checked: type[Any]) -> type[Part]:
    """The dataclass that a checked scenario has, as a part of the file."""
    hints = get_type_hints(checked, include_extras=True)
    keys: dict[str, Any] = {field.name: (hints[field.name], field.default) for field in fields(checked)}
    return create_model(name, __base__=Part, __doc__=checked.__doc__, **keys)


if TYPE_CHECKING:
    WrittenSettings = Part
    WrittenPowers = Part
else:
    WrittenSettings, WrittenPower = _part("Settings", Settings), _part("Power", GpuPower)
    WrittenPowers = create_model(
        "Powers",
        __base__=Part,
        __doc__="By GPU type; `default` is for the rest.",
        **{kind: (WrittenPower, Field(WrittenPower(), description=f"of {kind} GPUs")) for kind in GpuType.codes()},
        **{ANY_TYPE: (WrittenPower, Field(WrittenPower(), description="of all others"))},
    )


class Server(Part):
    """R1: a CPU and its cards."""

    cards: dict[CardName, Card] = Field(min_length=1, max_length=MAX_CARDS, description="cards by name")
    boundary_links: list[BoundaryLink] = Field([], description="links between cards")
    settings: WrittenSettings = Field(
        default_factory=lambda: WrittenSettings.model_validate({}),
        description="times and limits of the hardware and firmware",
    )
    power: WrittenPowers = Field(
        default_factory=lambda: WrittenPowers.model_validate({}), description="what GPUs take of energy, by GPU type"
    )


class Workload(Part):
    """Exactly one of `units` and `data`."""

    units: Number | None = Field(None, description="number of work units, filled from the seed")
    data: OneLine | None = Field(None, description="file to distribute; relative to this file's folder")
    size: int = Field(4096, ge=1, le=65536, description="bytes: size of a work unit")
    across: int = Field(
        0,
        ge=0,
        le=100,
        description="percent: share of the units that enter by another card's entry GPU and cross boundary links",
    )


class Application(Part):
    """A training task that shares a GPU (S4): it takes its memory, then does its steps."""

    gpu: GpuName = Field(description="the GPU that it uses")
    memory: Positive | None = Field(
        None, description="pages: most that it may hold; as much as the GPU has unless given"
    )
    slice: int = Field(
        0, ge=0, le=MAX_REGISTER, description="cycles: time slice, 16 or more; 0: the setting `default_slice`"
    )
    priority: int = Field(0, ge=0, le=255, description="whoever has the highest is served first in each round")
    state: int = Field(
        0, ge=0, le=(1 << 24) - 1, description="cycles: what a switch to it takes beside `context_switch`"
    )
    wants: int = Field(90, ge=0, le=100, description="percent: what it takes of the memory that it is told of")
    piece: Positive = Field(256, description="pages that it allocates at a time")
    steps: Positive = Field(description="steps of the training")
    host: Number = Field(0, description="cycles: host part of a step")
    compute: Positive = Field(description="cycles: GPU part of a step")
    input: int = Field(0, ge=0, le=65000, description="bytes copied to the GPU in each step")
    again: bool = Field(False, description="true: it does its steps again and again, until all others have done theirs")
    start: Number = Field(0, description="cycles after the cards have been counted")
    group: GroupPath | None = Field(None, description="the group that it is in, by its names from the outermost on")


class ApplicationGroup(Part):
    """What applications may have together, each GPU for itself: nobody gets more than the groups around it allow."""

    memory: Positive | None = Field(None, description="pages of a GPU that all in it may hold; no limit unless given")
    slice: int = Field(
        0, ge=0, le=MAX_REGISTER, description="cycles: longest time slice of any in it, 16 or more; 0: none"
    )
    priority: int | None = Field(None, ge=0, le=255, description="highest priority of any in it; none unless given")
    groups: dict[OwnName, "ApplicationGroup"] = Field({}, description="groups in it, by name")


class Sharing(Part):
    """Applications that share GPUs, and what the emulator's units stand for."""

    cycle: Positive = Field(1000, description="nanoseconds that a cycle stands for, in reports")
    page: Positive = Field(1024, description="KiB that a page of memory stands for, in reports")
    applications: dict[OwnName, Application] = Field(
        min_length=1, max_length=1000, description="applications by name; at most 15 on a GPU"
    )
    groups: dict[OwnName, ApplicationGroup] = Field({}, description="groups of applications, by name")


def _parameter(name: ParameterName) -> Any:
    of = PARAMETERS[name]
    return Field(None, ge=of.low, le=of.high, description=f"{of.doc} ({of.default} unless given)")


class Event(Part):
    """Exactly one of `fault`, `clear`, `lend` and `take_back`; the first two with what they hit."""

    at: Cycle = Field(description="cycle since power-up")
    fault: FaultName | None = Field(None, description="fault that begins")
    clear: FaultName | None = Field(None, description="fault that ends")
    lend: Members | None = Field(
        None, description="GPU that is lent to a virtual machine, or a list: each of them, in this order"
    )
    take_back: Members | None = Field(
        None, description="GPU that comes back from one, or a list: each of them, in this order"
    )
    gpu: Members | None = Field(None, description="GPU that is hit, or a list: each of them, in this order")
    link: Links | None = Field(
        None,
        description="ring link (a.5-a.6) or boundary link (a.4-b.3) that is hit, by the GPUs at its ends; or a list: "
        "each of them, in this order",
    )
    card: CardName | None = Field(None, description="card whose management line is hit, by a fault of lines")
    count: Positive | None = Field(
        None,
        description="keepalive intervals after which the fault ends by itself; cleared unless given",
    )
    period: int | None = _parameter("period")
    rate: int | None = _parameter("rate")
    delay: int | None = _parameter("delay")


class TimeKeys(Part):
    """When an expectation has to hold: exactly one of `at`, `by`, `end` and `always`."""

    at: Cycle | None = Field(None, description="cycle since power-up: has to hold then")
    by: Cycle | None = Field(None, description="cycle since power-up: has to hold then at the latest")
    end: TrueOnly | None = Field(None, description="has to hold at the end of the run")
    always: TrueOnly | None = Field(None, description="has to hold at every cycle")
    from_: Annotated[int, Field(ge=1, le=MAX_CYCLE)] | None = Field(
        None,
        alias="from",
        description="with `always`: first cycle at which it has to hold; "
        "the first accepted count of the cards it names unless given",
    )
    until: Annotated[int, Field(ge=1, le=MAX_CYCLE)] | None = Field(
        None, description="with `always`: last cycle at which it has to hold; the end of the run unless given"
    )


if TYPE_CHECKING:
    Expectation = TimeKeys
else:
    # What can be checked is known to the classes of expect/ alone.
    Expectation = create_model(
        "Expectation",
        __base__=TimeKeys,
        __doc__="Exactly one of `at`, `by`, `end` and `always`, and at least one thing to check.",
        **{check.attribute(): check.FIELD for check in CHECKS},
    )


class Invariants(Part):
    """What has to hold in every run; each counts unless it is false here."""

    wrong_count: bool = Field(True, description="no count is accepted that was at no time true since its round began")
    one_grant: bool = Field(True, description="no role is held by two GPUs at a time, no epoch is granted twice")
    only_holder: bool = Field(
        True,
        description="the CPU lets only that count which comes from the GPU that holds the card's entry role; "
        "the hardware of a GPU without a role lets none of its frames pass",
    )
    bounded_recovery: bool = Field(
        True, description="every fault is dealt with within its bound, and long after the last one all is as it must be"
    )
    rightly_named: bool = Field(
        True, description="who is suspected, slow or noisy has given cause for it; who has, is named"
    )
    work_once: bool = Field(
        True,
        description="every work unit is done, its result accepted once, and right; an application's launches are done "
        "whole, as many as it says and in no more cycles; each command is asked for until it is answered",
    )
    memory_isolated: bool = Field(
        True,
        description="no context holds more memory than it may, all together not more than the GPU has, none is refused "
        "what it may have, and each may have its part of its groups' memory",
    )
    slice_kept: bool = Field(
        True,
        description="no context has a GPU's engine past its slice while another waits; rounds, priorities and "
        "switches are as they must be; slices and priorities are those that the groups allow",
    )
    rightly_switched: bool = Field(
        True,
        description="tasks follow one another on a GPU as their policy says: prepared, computed, stopped and cleaned "
        "up when they may be, each request over once",
    )
    no_orphan: bool = Field(True, description="no statistics message stays on a ring beyond its bound")
    lease_terms: bool = Field(
        True,
        description="a lease lasts neither longer nor shorter than it may, its epoch is the next of its member, "
        "and who asks is refused only when it must be",
    )
    best_holder: bool = Field(
        True, description="elected is the first one listed at power-up, and nobody while a holder can keep its role"
    )
    no_early_return: bool = Field(True, description="what has failed is not taken back before its time")
    steady_pace: bool = Field(
        True, description="keepalives, rounds of a census and silence come neither sooner nor later than they must"
    )
    rightly_resent: bool = Field(
        True,
        description="a unit goes out again for a reason, in time, elsewhere; "
        "no GPU has more than its window, nor less while there is work for it",
    )
    rightly_counted: bool = Field(
        True, description="the result counts units sent again, refused, wrong, late and crossed as they were"
    )
    rightly_lent: bool = Field(
        True,
        description="a GPU is lent when it is counted, has no contexts and no work left; it gets none until it is back",
    )
    rightly_told: bool = Field(
        True, description="what GPUs and CPU write says truly who sends it, to whom, under which number, by which way"
    )


class Scenario(Part):
    """Server and scenario file of ringhil."""

    name: OneLine | None = Field(None, description="the file's name without its extension unless given")
    seed: int = Field(1, ge=0, le=(1 << 32) - 1, description="of every random number of the run")
    server: Server = Field(description="the server that is emulated")
    workload: Workload | None = Field(None, description="work that the CPU hands out; there is no work unless given")
    sharing: Sharing | None = Field(None, description="applications that share GPUs; there are none unless given")
    switching: Switching | None = Field(
        None, description="tasks that use one GPU one after the other; there are none unless given"
    )
    timeline: list[Event] = Field(
        [], description="faults that begin and end, and GPUs that are lent and come back, in any order"
    )
    until: Annotated[int, Field(ge=1, le=MAX_CYCLE)] | None = Field(
        None, description="cycles since power-up: end of the run"
    )
    expect: list[Expectation] = Field([], description="what has to hold, and when")
    invariants: Invariants = Field(
        default_factory=lambda: Invariants.model_validate({}),
        description="what has to hold in every run; false: it doesn't count",
    )
    sweep: Sweep | None = Field(
        None,
        description="parameters by name, and the values that each takes: the file is one scenario for each combination",
    )


INVARIANTS = tuple(Invariants.model_fields)
