"""Loans: nothing is bound twice, nothing is lost, whatever fails when (V4, V5, V7, V8)."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ringhil.emulator.lending.attachment import AttachedMeters, GuestState
from ringhil.emulator.lending.database import LendingDatabaseError
from ringhil.emulator.lending.loan import GpuLoan, LoanState, LoanStep
from ringhil.emulator.lending.loans import LoanRefused, LoanWish
from ringhil.emulator.lending.sim_gpus import sim_gpus
from ringhil.emulator.scenario import loads

from .world import GPUS, IDLE, NODES, STEP, World

_QUICK = 20


def _sequence(folder: Path, seed: int) -> World:
    """Requests, releases, and faults of GPU, guest, server and database, at random."""
    dice = random.Random(seed)
    world = World(folder, dice.choice([GPUS, ("0", "0", "2", "3"), ("0", "1", "1", "1")]))
    ops: list[Callable[[], object]] = [
        lambda: world.request(dice.choice(NODES)),
        lambda: world.request(dice.choice(NODES), gpu=dice.choice(GPUS)),
        lambda: give_back(0.4),
        lambda: world.compute(dice.choice(GPUS), dice.randrange(1, 60_000)),
        lambda: world.crash_soon(dice.randrange(1, 8), late=dice.random() < 0.5),
        lambda: world.restart_loans(),
        lambda: world.restart_host(),
        lambda: guest(dice.choice(list(GuestState))),
        lambda: guest(GuestState.UP),
        lambda: fail(dice.choice(GPUS)),
        lambda: world.sim.mend(dice.choice(GPUS)),
        lambda: world.host.failed.add(dice.choice(GPUS)),
        lambda: world.host.failed.clear(),
        lambda: world.host.contexts.update({dice.choice(GPUS): ("bert",)}),
        lambda: world.host.contexts.clear(),
        lambda: setattr(world.journal, "away", dice.random() < 0.5),
        lambda: world.turn(dice.randrange(1, 100)),
    ]

    def guest(state: GuestState) -> None:
        node = dice.choice(NODES)
        if state is not GuestState.UP:
            world.stops([gpu for gpu, holder in world.sim.held().items() if holder == node])
        world.sim.says(node, state)

    def fail(gpu: str) -> None:
        world.stops([gpu])
        world.sim.fail(gpu)

    def give_back(share: float) -> None:
        for loan in world.loans.opened():
            if dice.random() < share:
                world.release(loan.id)

    for _ in range(40):
        dice.choice(ops)()
        world.turn(dice.randrange(1, 12))
    world.host.contexts.clear()
    give_back(dice.choice([0, 1]))
    world.all_comes_back()
    return world


@pytest.mark.rest
def test_random_troubles_lose_no_gpu_and_lend_none_twice(tmp_path: Path) -> None:
    for seed in range(_QUICK):
        folder = tmp_path / str(seed)
        folder.mkdir()
        _sequence(folder, seed).database.close()


@pytest.mark.slow(part="loans")
@pytest.mark.parametrize("first", range(_QUICK, 1000, 98))
def test_more_random_troubles_lose_no_gpu_and_lend_none_twice(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 98):
        folder = tmp_path / str(seed)
        folder.mkdir()
        _sequence(folder, seed).database.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.database.close()


def _lent(world: World, node: str = NODES[0], **wish: object) -> GpuLoan:
    loan = world.request(node, **wish)
    assert loan is not None
    world.turn(8)
    assert world.loans.loan(loan.id).state is LoanState.IN_GUEST
    return world.loans.loan(loan.id)


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize(("late", "host_too"), [(False, False), (True, True)])
def test_a_crash_at_any_write_of_the_journal_is_finished_or_undone(tmp_path: Path, late: bool, host_too: bool) -> None:
    """The process, or the whole machine, is gone just before something is written down, or just after."""
    write, crashed = 0, True
    while crashed:
        write += 1
        folder = tmp_path / str(write)
        folder.mkdir()
        world = World(folder)
        world.crash_soon(write, late=late)
        restart = world.restart_host if host_too else world.restart_loans
        world.restart_crashed = restart
        world.request(NODES[0])
        world.turn(6)
        for loan in world.loans.opened():
            world.release(loan.id)
        world.turn(12)
        crashed = world.crashes > 0
        world.all_comes_back()
        assert write < 100
        world.database.close()
    assert write > 16


def test_the_journal_is_the_same_in_every_database(tmp_path: Path, url: str) -> None:
    """Loans go all the way, over a restart; what was used is added up; a GPU can't be written into two loans."""
    world = World(tmp_path, url=url)
    loan = _lent(world, told=1.5)
    world.compute(loan.gpus[0], 900)
    world.restart_loans()
    assert world.loans.opened() == [loan]
    with pytest.raises(LendingDatabaseError):
        world.journal.new(replace(loan, node=NODES[1]), world.loans.now)
    world.turn(4)
    world.release(loan.id)
    world.turn(20)
    over = world.loans.loan(loan.id)
    assert (over.busy, over.told, over.open) == (900, 1.5, False)
    assert world.loans.used_by_gpu() == {loan.gpus[0]: (1, 900, 0.0)}
    assert [each.id for each in world.loans.latest(5)] == [loan.id]
    assert world.loans.latest(5, NODES[3]) == []
    world.database.close()


def test_a_second_server_on_the_same_database_fences_the_first_off(world: World) -> None:
    first, loan = world.loans, _lent(world)
    world.restart_loans()
    with pytest.raises(LendingDatabaseError, match="another server lends GPUs by this database now"):
        first.request(LoanWish(NODES[1], "training"))
    with pytest.raises(LendingDatabaseError, match="another server"):
        first.release(loan.id)
    first.turn()
    assert _lent(world, NODES[1]).gpus != loan.gpus
    assert world.loans.loan(loan.id) == loan


def test_a_machine_that_restarts_gives_guests_their_gpus_again(world: World) -> None:
    """Also when nothing has been counted yet; and the clock by which idle GPUs are looked at goes on."""
    loan = _lent(world)
    world.turn(IDLE.period // STEP // 2)
    written = world.journal.cycle()
    world.restart_host()
    assert world.loans.now >= written > IDLE.period // 3
    assert not world.sim.held()
    world.turn(30)
    again = world.loans.loan(loan.id)
    assert (again.state, again.released) == (LoanState.IN_GUEST, False)
    assert world.sim.held() == {loan.gpus[0]: NODES[0]}
    world.turn((IDLE.period + IDLE.grace) // STEP)
    assert world.loans.loan(loan.id).reason == "idle"


def test_a_guest_that_restarts_gets_the_same_gpu(world: World) -> None:
    loan, other = _lent(world), _lent(world, NODES[1])
    world.sim.says(NODES[0], GuestState.DOWN)
    world.turn(30)
    assert set(world.sim.held()) == set(other.gpus)
    assert world.loans.loan(loan.id).state is LoanState.IN_GUEST
    world.sim.says(NODES[0], GuestState.UP)
    world.turn(30)
    assert world.sim.held()[loan.gpus[0]] == NODES[0]


def test_a_host_that_restarts_finds_out_what_guests_hold(world: World) -> None:
    """Also what nobody has written down: that is taken back, and scrubbed."""
    loan = _lent(world)
    stray = next(gpu for gpu in GPUS if gpu not in loan.gpus)
    world.sim.bind(stray)
    world.pass_time(2)
    world.sim.bind(stray)
    world.sim.attach(stray, NODES[3])
    world.pass_time(2)
    assert world.sim.attach(stray, NODES[3])
    world.sim.write(NODES[3], stray, 0, b"secret")
    world.restart_loans()
    found = world.loans.of(stray)
    assert found is not None
    assert (found.node, found.released) == (NODES[3], True)
    for _ in range(40):
        world.pass_time(1)
        world.loans.turn()
    assert world.loans.of(stray) is None
    assert world.sim.held() == {loan.gpus[0]: NODES[0]}
    assert not world.sim.dirty(stray)


def test_a_gpu_with_contexts_is_not_lent_and_its_holders_are_named(world: World) -> None:
    world.host.contexts = {gpu: (f"app-{gpu}", "nn") for gpu in GPUS}
    with pytest.raises(LoanRefused) as refused:
        world.loans.request(LoanWish(NODES[0], "training", gpu="a.2"))
    assert "a.2: app-a.2, nn" in str(refused.value)
    assert refused.value.holders == {"a.2": ("app-a.2", "nn")}
    del world.host.contexts["a.1"]
    assert _lent(world).gpus == ("a.1",)


def test_contexts_that_come_while_it_drains_undo_the_loan(world: World) -> None:
    loan = world.request(NODES[0])
    assert loan is not None
    world.host.contexts = {loan.gpus[0]: ("late",)}
    world.turn(20)
    over = world.loans.loan(loan.id)
    assert not over.open
    assert over.bound is None
    assert world.host.state[loan.gpus[0]] == "here"


def test_nothing_free_says_when_something_may_be(world: World) -> None:
    for node in NODES:
        _lent(world, node)
    with pytest.raises(LoanRefused) as refused:
        world.loans.request(LoanWish("i-00000099", "training"))
    assert refused.value.cycles is not None
    told, since = refused.value.cycles, world.loans.now
    while (free := world.loans.idle(GPUS[0])) != "free" or world.loans.of(GPUS[0]) is not None:
        assert free in ("away", "free")
        world.turn()
        assert world.loans.now - since <= told + 20 * STEP


def test_a_guest_that_asks_twice_has_one_loan(world: World) -> None:
    loan = _lent(world)
    again, new = world.loans.request(LoanWish(NODES[0], "inference"))
    assert (again.id, new) == (loan.id, False)


def test_an_idle_gpu_is_looked_at_twice(world: World) -> None:
    """It computes between the first look and the second: it stays, and is taken back later."""
    loan = _lent(world)
    world.turn(IDLE.period // STEP)
    assert world.loans.loan(loan.id).grace
    world.compute(loan.gpus[0], 1000)
    world.turn(IDLE.grace // STEP + 1)
    assert not world.loans.loan(loan.id).released
    world.turn((IDLE.period + IDLE.grace) // STEP + 20)
    assert world.loans.loan(loan.id).reason == "idle"
    assert world.loans.loan(loan.id).busy == 1000


def test_a_loan_has_what_its_guest_computed_and_no_other(world: World) -> None:
    for cycles in (1000, 500):
        loan = _lent(world, gpu="a.1")
        world.compute("a.1", cycles)
        world.turn(cycles // STEP + 1)
        assert world.loans.used(world.loans.loan(loan.id))[0] == cycles
        world.release(loan.id)
        world.turn(20)
        assert world.loans.loan(loan.id).busy == cycles


def test_of_a_gpu_that_tells_nobody_what_it_does_none_is_taken_for_idle(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    loan = _lent(world)
    monkeypatch.setattr(world.sim, "meters", lambda gpu: AttachedMeters(known=False))
    for _ in range(3 * (IDLE.period + IDLE.grace) // STEP):
        world.pass_time(1)
        world.loans.turn()
    assert world.loans.loan(loan.id).open
    assert not world.loans.loan(loan.id).released


def test_each_step_is_written_down_before_and_after(world: World) -> None:
    loan = _lent(world)
    world.release(loan.id)
    world.turn(20)
    steps = [(step, did) for _, step, did in world.journal.steps(loan.id)]
    assert steps == [(str(step), did) for step in LoanStep for did in ("begun", "done")]
    assert [cycle for cycle, _, _ in world.journal.steps(loan.id)] == sorted(
        cycle for cycle, _, _ in world.journal.steps(loan.id)
    )


@pytest.mark.parametrize("groups", [("0", "0", "2", "3"), ("0", "1", "1", "1")])
def test_a_whole_iommu_group_is_lent_or_none_of_it(tmp_path: Path, groups: tuple[str, ...]) -> None:
    world = World(tmp_path, groups)
    together = tuple(gpu for gpu, group in zip(GPUS, groups, strict=True) if groups.count(group) > 1)
    world.host.contexts = {together[-1]: ("bert",)}
    assert world.request(NODES[0], gpu=together[0]) is None
    world.host.contexts = {}
    assert _lent(world, gpu=together[0]).gpus == together
    world.database.close()


def test_a_mapping_lends_the_gpus_of_its_name_only(world: World) -> None:
    world.loans.mappings = {"video": frozenset({"a.2"})}
    assert _lent(world, mapping="video").gpus == ("a.2",)
    assert world.request(NODES[1], mapping="video") is None
    with pytest.raises(LoanRefused, match="there are: video"):
        world.loans.request(LoanWish(NODES[1], "training", mapping="audio"))


def test_gpus_of_an_emulated_server_are_pci_devices_each_once() -> None:
    """Two that are said to share an IOMMU group do; no two have an address in common."""
    found = sim_gpus(loads("server: {cards: {a: {gpus: 40}, b: {gpus: 3, types: {default: T4}}}}"), [("a.1", "b.2")])
    assert [gpu.name for gpu in found] == [*(f"a.{gpu}" for gpu in range(40)), "b.0", "b.1", "b.2"]
    groups = {gpu.name: gpu.group for gpu in found}
    assert groups["a.1"] == groups["b.2"]
    assert len(set(groups.values())) == len(found) - 1
    functions = [address for gpu in found for address in gpu.functions]
    assert len(set(functions)) == len(functions) == 2 * len(found)
    assert found[-1].pci_id == "10de:1eb8"
