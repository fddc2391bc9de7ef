"""Policies order servers as P1 to P6 and the published definitions say, on the vectors and on random clusters."""

import math
import random

import numpy as np
import pytest

from ringhil.emulator.cluster.cluster import WHOLE, ClusterServer, ClusterTask, TaskNeeds
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.cluster.scheduler import Scheduler
from ringhil.emulator.cluster.servers import Servers
from ringhil.emulator.cluster.workload import TargetWorkload

from .clusters import ONE, cluster, order, random_servers, scheduler, server


def with_sum(name: str, idle: int, watts: int) -> ClusterServer:
    """So many idle GPUs, which draw that together, beside one that is taken."""
    rest = [1] * min(idle - 1, watts) + [0] * max(0, idle - 1 - watts)
    return server(name, [7, watts - sum(rest), *rest], busy=[0])


def test_servers_with_too_few_idle_gpus_are_dropped() -> None:
    """P1: three are needed; of `b` one is taken, and `d` is too small."""
    servers = [server("a", [1] * 3), server("b", [1] * 3, busy=[1]), server("c", [1] * 5), server("d", [1] * 2)]
    assert order("pack-first", servers, TaskNeeds(3, WHOLE, 0, 0, ())) == "a c"


def test_power_first_is_in_the_order_of_its_vector() -> None:
    """P3, with first power values from a table by type (P2)."""
    idle = {"a": (8, 10), "b": (6, 14), "c": (4, 14), "d": (9, 8), "e": (3, 14)}
    servers = [with_sum(name, *each) for name, each in idle.items()]
    assert order("power-first", servers) == "d a e c b"


def test_pack_first_takes_groups_by_their_number_of_idle_gpus() -> None:
    """P4: whatever they draw."""
    counts = {"w6": 8, "w2": 5, "w1": 1, "w7": 8, "w3": 5, "w4": 5, "w5": 5}
    names = order("pack-first", [server(name, [9 - n] * n) for name, n in counts.items()]).split()
    assert [{*names[:1]}, {*names[1:5]}, {*names[5:]}] == [{"w1"}, {"w2", "w3", "w4", "w5"}, {"w6", "w7"}]


def test_pack_first_orders_a_group_by_second_power_values() -> None:
    """P4: the sum over a server's idle GPUs; its cards of 2, 7, 9 and 12 watts make 30."""
    sums = {"a": 18, "b": 20, "c": 5, "d": 7}
    assert order("pack-first", [with_sum(name, 4, watts) for name, watts in sums.items()]) == "c d a b"
    cards = [with_sum("less", 4, 29), server("cards", [3, 2, 7, 9, 12], busy=[0]), with_sum("more", 4, 31)]
    assert order("pack-first", cards) == "less cards more"


def test_an_unused_server_counts_the_standby_power_of_its_cpu() -> None:
    """P5: 36 and 25 make 61, behind 50."""
    servers = [with_sum("n1", 3, 15), with_sum("n2", 3, 20), server("n3", [12] * 3, 25.0), with_sum("n4", 3, 50)]
    assert order("pack-first", servers) == "n1 n2 n4 n3"
    asleep = [with_sum("n1", 3, 15), with_sum("n2", 3, 20), server("n3", [10] * 3, 31.0), with_sum("n4", 3, 50)]
    assert order("pack-first", asleep) == "n1 n2 n4 n3"
    assert order("power-first", asleep) == "n1 n2 n3 n4"


def could_use(needs: TaskNeeds, free: list[int], kinds: list[str]) -> list[int]:
    """GPUs, from the words."""
    allowed = [not needs.types or kind in needs.types for kind in kinds]
    return [gpu for gpu, left in enumerate(free) if allowed[gpu] and left >= needs.share]


def fragments(free: list[int], kinds: list[str], cpus: int, likely: list[TaskNeeds]) -> float:
    """From the words of the paper, GPU by GPU; each of the needs is as likely as another."""
    total = 0
    for needs in likely:
        fit = could_use(needs, free, kinds)
        useless = not needs.gpus or cpus < needs.cpus or len(fit) < needs.gpus
        total += sum(left for gpu, left in enumerate(free) if useless or gpu not in fit)
    return total / len(likely)


def random_tasks(draw: random.Random) -> list[ClusterTask]:
    """One of each kind, so that all are in the target workload but for the rarest."""
    needs = {
        TaskNeeds(gpus, share, 1000 * draw.randint(0, 8), 0, types)
        for gpus, share in [(0, WHOLE), (1, 300), (1, 500), (1, WHOLE), (2, WHOLE)]
        for types in [(), draw.choice(((), ("w1",), ("w2", "w5")))]
    }
    ordered = sorted(needs, key=lambda each: (each.gpus, each.share, each.cpus, each.types))
    return [ClusterTask(f"t{n}", each, 0.0, 1.0) for n, each in enumerate(ordered)]


def test_fgd_loses_least_to_fragmentation_on_random_clusters() -> None:
    """Against every GPU of every server tried by hand, with scores cut to whole numbers as in the paper's program."""
    draw = random.Random(1)
    for _ in range(25):
        servers, tasks = random_servers(draw), random_tasks(draw)
        servers.append(server("last", [1, 2, 5]))
        given = cluster(servers, tasks)
        made = scheduler("fgd", given)
        likely = list(TargetWorkload(tasks, tuple(given.power)).likely)
        for _ in range(12):
            needs = draw.choice(tasks).needs
            best = None
            for place, each in enumerate(servers):
                free, cpus = made.servers.free[place].tolist()[: len(each.types)], int(made.servers.cpus_free[place])
                fit = could_use(needs, free, list(each.types))
                if cpus < needs.cpus or len(fit) < needs.gpus:
                    continue
                choices = [(g,) for g in fit] if needs.share < WHOLE else [tuple(fit[: needs.gpus])]
                before = fragments(free, list(each.types), cpus, likely)
                for gpus in choices:
                    then = [f - needs.share * (g in gpus) for g, f in enumerate(free)]
                    less = before - fragments(then, list(each.types), cpus - needs.cpus, likely)
                    score = math.floor(100 / (1 + math.exp(-less / 1000)) + 1e-9)
                    if best is None or score > best[0]:
                        best = (score, place, gpus)
            placed = made.choose(needs)
            assert (None if placed is None else (placed.server, placed.gpus)) == (best and best[1:])
            if placed is not None:
                made.take(placed, needs)


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "random"])
def test_what_was_kept_of_servers_is_what_is_computed_anew(policy: str) -> None:
    """After any tasks that came and went, for each policy; no GPU is ever given beyond what it has."""
    draw = random.Random(policy)
    servers, tasks = [*random_servers(draw), server("last", [1, 2, 5])], random_tasks(draw)
    given = cluster(servers, tasks)
    made, there = scheduler(policy, given), []
    workload = TargetWorkload(tasks, tuple(given.power))
    for _ in range(60):
        needs = draw.choice(tasks).needs
        anew = Scheduler(made.servers, POLICIES[policy](workload, np.random.default_rng(0)))
        placed = made.choose(needs)
        assert made.order(needs) == anew.order(needs)
        assert placed == anew.choose(needs)
        if placed is not None:
            assert placed.server == made.order(needs)[0]
            made.take(placed, needs)
            there.append((placed, needs))
        if there and draw.random() < 0.4:
            made.give_back(*there.pop(draw.randrange(len(there))))
        assert made.servers.free.min() >= 0
    for each in there:
        made.give_back(*each)
    fresh = Servers.of(given)
    assert (made.servers.free == fresh.free).all()
    assert (made.servers.held == 0).all()


def test_least_more_power_is_where_a_gpu_is_awake_already() -> None:
    servers = [server("cold", [9]), server("warm", [9, 9]), server("cheap", [5])]
    made = scheduler("pwr", cluster(servers))
    half = TaskNeeds(1, 500, 0, 0, ())
    made.take(made.on(1, half), half)
    placed = made.choose(half)
    assert placed is not None
    assert (placed.server, placed.gpus) == (1, (0,))
    assert made.order(ONE)[0] == 2


def test_random_draws_by_its_seed() -> None:
    given = cluster([server(f"s{n}", [1]) for n in range(40)])
    orders = {}
    for number in range(10):
        policy = POLICIES["random"](TargetWorkload(given.tasks, ("w1",)), np.random.default_rng(number % 5))
        orders[number] = tuple(Scheduler(Servers.of(given), policy).order(ONE))
    assert len({*orders.values()}) == 5
    assert all(orders[n] == orders[n + 5] for n in range(5))


def test_packing_takes_a_server_in_use_then_the_smallest_unused() -> None:
    servers = [server("large", [1, 1]), server("small", [1]), server("used", [1, 1, 1], busy=[0])]
    assert order("packing", servers) == "used small large"


def test_dot_product_takes_where_least_is_free() -> None:
    servers = [server("three", [1, 1, 1]), server("one", [1]), server("two", [1, 1])]
    assert order("dot-product", servers) == "one two three"


def test_clustering_takes_where_tasks_of_its_kind_are_alone_then_among_others() -> None:
    servers = [server(name, [1] * 4) for name in ("another", "none", "both", "same")]
    made, two = scheduler("clustering", cluster(servers)), TaskNeeds(2, WHOLE, 0, 0, ())
    for row, needs, gpus in ((0, two, [0, 1]), (2, ONE, [0]), (2, two, [1, 2]), (3, ONE, [0])):
        made.servers.take(row, needs, gpus)
    assert [servers[row].name for row in made.order(ONE)] == ["same", "both", "none", "another"]
