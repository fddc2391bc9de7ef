"""Contexts of the compute engine: commands, memory, turns (docs/reference/contexts.md).

A node without contexts is not judged by these rules.
"""

import random
from collections.abc import Iterable
from functools import partial
from itertools import product

from ringhil.emulator.conformance.context_judge import judge_contexts
from ringhil.emulator.conformance.context_programs import MANAGER, WORD, ContextDriver, ContextOrder, some_command
from ringhil.emulator.conformance.data_frames import Place, roles, some_place
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.testbench.stimulus import Action, Fault, Peek, Poke, Stimulus
from ringhil.protocol import wire
from ringhil.protocol.wire import Compute, Query

_FOREVER = 1_000_000  # cycles: longer than any case
_START = 30
_APART = 130  # cycles from command to command: each is answered before the next
_SOON = 50  # the same, where no other frames are about
_TAIL = 400
_PAGES = 100  # of a GPU
_CREATED = range(1, wire.CONTEXTS)
_LENGTHS = (0x2AA8, 0x1550)  # bytes: each bit of a length up to 16 KiB is set in one and clear in the other


def context_settings(**more: int) -> list[Action]:
    """Registers, written before anything else; the switch stays where it is."""
    values = {"heartbeat": 0, "watchdog": _FOREVER, "device_memory": _PAGES, "context_switch": 5, "default_slice": 64}
    values["control"] = roles("entry")
    return [Poke(2 + i, name, value) for i, (name, value) in enumerate({**values, "compute_setup": 8, **more}.items())]


def context_case(rule_name: str, name: str, actions: Iterable[Action], place: Place, tail: int = _TAIL) -> RuleCase:
    """A case that the reference model judges."""
    stimulus = Stimulus.of(sorted(actions, key=lambda a: a.at), tail=tail, **place.straps)
    return RuleCase(name, stimulus, partial(judge_contexts, rule_name), lacking="contexts")


def _number(rng: random.Random) -> int:
    """Where the numbers of commands begin: some go on behind 2^32 - 1 at 0."""
    return rng.choice([0, rng.getrandbits(32), WORD - rng.randrange(2, 12)])


# ------------------------------------------------------------------------------------------------------------ commands

_OFTEN = {
    Compute.CREATE: 4,
    Compute.CONFIGURE: 4,
    Compute.DESTROY: 3,
    Compute.ALLOCATE: 8,
    Compute.FREE: 4,
    Compute.COPY: 3,
    Compute.LAUNCH: 5,
    Compute.CANCEL: 1,
    Compute.QUERY: 8,
}


@rule("contexts.commands", "each command does all that it asks for or nothing, in whatever order, and is answered")
def commands(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(3 * effort):
        place = some_place(rng)
        driver = ContextDriver(place, _number(rng))
        keys = {1: 5, 2: 0xDEADBEEF, 3: rng.getrandbits(32)}
        at = _START
        actions = context_settings()
        for context, key in keys.items():
            driver.send(at, ContextOrder(Compute.CREATE, context, key, 40, 16))
            at += _APART
        for _ in range(40):
            compute = rng.choices([*_OFTEN], [*_OFTEN.values()])[0]
            context = rng.choice([*keys]) if rng.random() < 0.93 else rng.choice([0, 15, 16, 300])
            own = keys.get(context, 5)
            key = rng.choice([own] * 8 + [MANAGER, 7])
            if compute is Compute.CONFIGURE and rng.random() < 0.8:
                key = MANAGER
            step = rng.choice([1, 1, 1, 1, 5, 2**31 - 1, 2**31, 0]) if rng.random() < 0.2 else 1
            last = driver.send(at, some_command(rng, compute, context, key), step=step)
            if rng.random() < 0.15:
                at += _APART
                driver.again(at, rng.choice([last, *driver.sent[-4:]]))
            if rng.random() < 0.1:
                actions.append(Poke(at - 1, "device_memory", rng.choice([0, 10, 40, _PAGES, WORD - 1])))
            actions.append(Peek(at + _APART - 5, "memory_held"))
            at += _APART
        yield context_case("contexts.commands", f"program {index}", [*actions, *driver.actions], place)


def _asked(driver: ContextDriver, at: int, context: int, key: int) -> int:
    for code in Query.codes().values():
        driver.send(at, ContextOrder(Compute.QUERY, context, key, code))
        at += _APART
    return at


@rule("contexts.memory", "no context holds more than its limit, nor all more than there is, also when less is allowed")
def memory(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index, large in product(range(effort), (False, True)):
        each = rng.randrange(WORD >> 9, WORD >> 7) if large else 1  # every number of pages is a multiple of it
        place = some_place(rng)
        driver, at = ContextDriver(place, _number(rng)), _START
        actions = context_settings(device_memory=each * _PAGES)
        limits = {1: each * rng.randrange(20, 50), 2: each * rng.randrange(50, _PAGES), 3: WORD - 1}
        for context, limit in limits.items():
            driver.send(at, ContextOrder(Compute.CREATE, context, 5, limit))
            at += _APART
        for context, limit in limits.items():
            # A limit of more than is held, as much, and less than that by one or by much.
            for over in (3, 0, -1, -20):
                had = each * rng.randrange(1, 20)
                low = max(had + over * each, 0)
                for command in (
                    ContextOrder(Compute.FREE, context, 5, WORD - 1),
                    ContextOrder(Compute.ALLOCATE, context, 5, had),
                    ContextOrder(Compute.CONFIGURE, context, MANAGER, low),
                    ContextOrder(Compute.ALLOCATE, context, 5, each * rng.choice([0, 1, 3, 4])),
                    ContextOrder(Compute.FREE, context, 5, had),
                    ContextOrder(Compute.CONFIGURE, context, MANAGER, limit),
                )[rng.randrange(2) :]:
                    driver.send(at, command)
                    at += _APART
            # Of the GPU less than is held, as much, and a little more.
            driver.send(at, ContextOrder(Compute.ALLOCATE, context, 5, had))
            at += _APART
            for left in (had - each, had, had + 3 * each, 0):
                actions.append(Poke(at, "device_memory", left))
                for amount in (4, 1, 0):
                    driver.send(at + 4, ContextOrder(Compute.ALLOCATE, rng.choice([*limits]), 5, each * amount))
                    at += _APART
            actions.append(Poke(at, "device_memory", each * _PAGES))
            driver.send(at + 4, ContextOrder(Compute.COPY, context, 5, rng.randrange(20), extra=rng.randbytes(8)))
            actions.append(Peek(at + _APART - 9, "memory_held"))
            at += _APART
        yield context_case(
            "contexts.memory", f"limits {index}{', large' if large else ''}", [*actions, *driver.actions], place
        )


@rule(
    "contexts.lives",
    "a new context knows nothing of the one before it; numbers go on, and what comes again is answered",
)
def lives(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = some_place(rng)
        driver, at = ContextDriver(place, _number(rng)), _START
        context = rng.randrange(1, 4)
        for life, key in enumerate((5, rng.getrandbits(32), 5)):
            last = driver.send(at, ContextOrder(Compute.CREATE, context, key, 40, 16))
            driver.again(at + _APART, last)
            at = _asked(driver, at + 2 * _APART, context, key)
            driver.send(at, ContextOrder(Compute.ALLOCATE, context, key, rng.randrange(1, 40)))
            launched = driver.send(at + _APART, ContextOrder(Compute.LAUNCH, context, key, rng.randrange(17, 60)))
            at += 3 * _APART
            driver.again(at, launched)
            driver.send(at + _APART, ContextOrder(Compute.FREE, context, key, 41))
            at = _asked(driver, at + 2 * _APART, context, key)
            if life == 0 or rng.randrange(2):  # it is gone while it has a launch
                driver.send(at, ContextOrder(Compute.LAUNCH, context, key, 5000))
                at += _APART
            last = driver.send(at, ContextOrder(Compute.DESTROY, context, key))
            driver.again(at + _APART, last)
            driver.send(at + 2 * _APART, ContextOrder(Compute.QUERY, context, key, 0))
            driver.again(at + 3 * _APART, launched)
            at += 4 * _APART
        actions = [*context_settings(), *driver.actions]
        yield context_case("contexts.lives", f"{index}", actions, place, 800)


@rule("contexts.each", "all 16 contexts do what one does, also side by side; answers that wait leave in turn")
def each(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for name, part in (("asked", _ask_each), ("ended", _end_each), ("cancelled", _cancel_each)):
            place = some_place(rng)
            driver, at = ContextDriver(place, _number(rng)), _START
            for context in _CREATED:
                command = ContextOrder(Compute.CREATE, context, context, 8 + context, _SLICE, rng.getrandbits(8))
                at = _soon(driver, at, command)
            part(driver, at)
            yield context_case("contexts.each", f"{name} {index}", [*context_settings(), *driver.actions], place)


def _ask_each(driver: ContextDriver, at: int) -> None:
    """All that they may be asked for; context 0 as it was after power-up."""
    for context in _CREATED:
        at = _soon(driver, at, ContextOrder(Compute.ALLOCATE, context, context, driver.place.rng.randrange(1, 7)))
    for context in (0, *_CREATED):
        for code in Query.codes().values():
            at = _soon(driver, at, ContextOrder(Compute.QUERY, context, context, code))
    for context in (0, *_CREATED):
        at = _soon(driver, at, ContextOrder(Compute.DESTROY, context, context))


def _launch_each(driver: ContextDriver, at: int, cycles: int) -> tuple[list[ContextOrder], int]:
    order = driver.place.rng.sample(_CREATED, len(_CREATED))
    for context in order:
        at = _soon(driver, at, ContextOrder(Compute.LAUNCH, context, context, cycles))
    return driver.sent[-len(order) :], at


def _end_each(driver: ContextDriver, at: int) -> None:
    """Their launches end, which is told, and told again."""
    launched, at = _launch_each(driver, at, 40)
    at += 6 * _APART
    for one in launched:
        driver.again(at, one)
        at += _SOON


def _cancel_each(driver: ContextDriver, at: int) -> None:
    """Each tells of its end beside the command's own answer: faster than both can leave."""
    for _ in range(2):
        launched, at = _launch_each(driver, at, 1000)
        for one in driver.place.rng.sample(launched, len(launched)):
            driver.send(at, ContextOrder(Compute.CANCEL, one.context, one.context), "p1")
        at += 4 * _APART


def _soon(driver: ContextDriver, at: int, command: ContextOrder) -> int:
    """Sends it; the cycle of the next one."""
    driver.send(at, command)
    return at + _SOON


@rule("contexts.long", "a copy of many segments is answered with its length and digest")
def long(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for length in _LENGTHS:
        place = some_place(rng)
        driver = ContextDriver(place, _number(rng))
        driver.send(_START, ContextOrder(Compute.CREATE, 1, 5, 9))
        driver.send(_START + _APART, ContextOrder(Compute.COPY, 1, 5, 3, extra=rng.randbytes(length)))
        actions = [*context_settings(), *driver.actions]
        yield context_case("contexts.long", f"{length} bytes", actions, place, length // 4)


# --------------------------------------------------------------------------------------------------------------- turns


def _looks(first: int, last: int, step: int) -> list[Action]:
    return [Peek(at, "turn") for at in range(first, last, step)]


@rule(
    "contexts.turns",
    "who waits has turns by priority, in rounds, a slice at most; no one goes on past a slice while others wait",
)
def turns(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(4 * effort):
        place, slow = some_place(rng), index % 4 == 3
        switch = rng.choice([0, 1, 7])
        actions = context_settings(context_switch=switch, default_slice=rng.choice([19, 40, 100]), compute_setup=300)
        driver, at = ContextDriver(place, _number(rng)), _START
        contexts = rng.sample(range(1, 8), 4)
        priorities = rng.choice([(200, 100, 127, 128), (3, 3, 3, 3), (255, 0, 1, 0)])
        for context, priority in zip(contexts, priorities, strict=True):
            cycles = rng.choice([0, 1, 16, 19, 24, 50])
            driver.send(at, ContextOrder(Compute.CREATE, context, 5, 9, cycles, priority, rng.choice([0, 0, 3, 40])))
            at += _APART
        # While a plain unit has the engine all begin to wait.
        driver.plain(at, 8, "host")
        for context in contexts:
            at += 20
            driver.send(at, ContextOrder(Compute.LAUNCH, context, 5, rng.choice([1, 16, 70, 100, 230])), "p1")
        actions += [Poke(at + 20, "compute_setup", rng.choice([1, 30]))]
        driver.plain(at + 40, 8, "host")
        driver.plain(at + 60, 8, "host")
        actions += [Fault(_START, "slow", True)] * slow
        at += 300
        # Others come and go while they wait.
        for step in range(6):
            context = rng.choice(contexts)
            kinds = (Compute.CANCEL, Compute.LAUNCH, Compute.CONFIGURE, Compute.QUERY)
            compute = rng.choice(kinds)
            key = MANAGER if compute is Compute.CONFIGURE else 5
            amount = rng.randrange(4) if compute is Compute.QUERY else rng.randrange(60)
            more = (rng.choice([0, 16, 30]), rng.getrandbits(8), 0) if compute is Compute.CONFIGURE else ()
            driver.send(at + rng.randrange(90), ContextOrder(compute, context, key, amount, *more), "p2")
            at += 100 + step
        last = at + (3500 if slow else 1200)
        actions += _looks(_START + 4 * _APART, last, rng.choice([5, 7, 9]))
        for context in contexts:
            last = _asked(driver, last, context, 5)
        name = f"{'slow, ' * slow}switch {switch} {index}"
        yield context_case("contexts.turns", name, [*actions, *driver.actions], place)


# ---------------------------------------------------------------------------------------------------- the exact cycle

_FIRST, _SECOND, _SLICE = 3, 4, 16
_ROUND = 54  # cycles in which both contexts and a plain unit have a turn
_BETWEEN = 300  # cycles from launches to launches


def _meeting(driver: ContextDriver, at: int, command: ContextOrder, offset: int) -> None:
    """Two contexts and a plain unit have turns; the command comes in the middle of that."""
    for context in (_FIRST, _SECOND):
        driver.send(at, ContextOrder(Compute.LAUNCH, context, 5, 40 + context), "p1")
        at += 12
    driver.plain(at, 8, "host")
    driver.send(at + 16 + offset, command, "p2")


@rule("contexts.cycle", "a command in whatever cycle of a turn is carried out first, with everything as it was before")
def cycle(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for compute in (Compute.CANCEL, Compute.DESTROY, Compute.CONFIGURE, Compute.LAUNCH, Compute.QUERY):
        often = 1 if compute in (Compute.CANCEL, Compute.DESTROY) else max(1, 4 // effort)
        yield _at_each(rng, compute, range(rng.randrange(often), _ROUND, often))
    yield _at_each(rng, Compute.CANCEL, range(rng.randrange(7), 4 * _ROUND, 7), slow=True)


def _at_each(rng: random.Random, compute: Compute, offsets: range, slow: bool = False) -> RuleCase:
    """The command in these cycles of a round, which is four times as long while `slow`."""
    place, between = some_place(rng), _BETWEEN * (4 if slow else 1)
    driver, at = ContextDriver(place, _number(rng)), _START
    for context in (_FIRST, _SECOND):
        driver.send(at, ContextOrder(Compute.CREATE, context, 5, 9, _SLICE, context - _FIRST))
        at += _APART
    for offset in offsets:
        context = rng.choice([_FIRST, _SECOND])
        key = MANAGER if compute is Compute.CONFIGURE else 5
        amount = Query.LAUNCH.code if compute is Compute.QUERY else 9
        _meeting(driver, at, ContextOrder(compute, context, key, amount, _SLICE, rng.randrange(3)), offset)
        if compute is Compute.DESTROY:
            driver.send(at + between - 60, ContextOrder(Compute.CREATE, context, 5, 9, _SLICE, 1), "p1")
        at += between
    actions = [*context_settings(context_switch=4, compute_setup=9), *[Fault(_START, "slow", True)] * slow]
    last = _asked(driver, _asked(driver, at, _FIRST, 5), _SECOND, 5)
    actions += _looks(_START + 2 * _APART, last, 11)
    return context_case("contexts.cycle", "slow, " * slow + compute.value, [*actions, *driver.actions], place)


@rule("contexts.again", "a command that comes again in whatever cycle, also as its answer leaves, is answered again")
def again(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    place = some_place(rng)
    driver, at = ContextDriver(place, _number(rng)), _START
    for context in (_FIRST, _SECOND):
        driver.send(at, ContextOrder(Compute.CREATE, context, 5, 9, 40))
        at += _APART
    # The end of a launch is told at any moment beside; what is to be said waits for that.
    for offset in range(34):
        driver.send(at, ContextOrder(Compute.LAUNCH, _FIRST, 5, 3 + offset), "p1")
        asked = driver.send(at + 14, ContextOrder(Compute.QUERY, _SECOND, 5, 0), "p1")
        for _ in range(2):
            driver.again(at + 15, asked, "p1")
        at += _APART
    actions = [*context_settings(context_switch=0), *driver.actions]
    yield context_case("contexts.again", "each cycle", actions, place)


@rule("contexts.many", "turns and switches go on and are counted beyond 4,096 as before", weight=2)
def many(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    place = some_place(rng)
    driver, at = ContextDriver(place, _number(rng)), _START
    for context in (1, 2):
        driver.send(at, ContextOrder(Compute.CREATE, context, 5, 9, _SLICE), "p1")
        at += _APART
    cycles = _SLICE * (4100 + rng.randrange(60))
    for context in (1, 2):
        driver.send(at, ContextOrder(Compute.LAUNCH, context, 5, cycles), "p1")
        at += _APART
    at += 2 * cycles + 2 * (cycles // _SLICE) * 3
    looks = _looks(at - 5 * _APART, at, 9)
    at = _asked(driver, _asked(driver, at, 1, 5), 2, 5)
    actions = [*context_settings(context_switch=0), *looks, *driver.actions]
    yield context_case("contexts.many", "two contexts", actions, place)
