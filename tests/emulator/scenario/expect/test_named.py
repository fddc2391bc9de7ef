"""The readers of `suspects`, `links`, `shares` and `fencing`: what is written is what is held."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.scenario.samples import HERE, SERVER, refused, unhurried

from ringhil.emulator.scenario import dumps, loads

WORK = SERVER + "workload: {units: 30, size: 64}\n"
GPUS = {"a": 8, "b": 6, "pair": 2}

cards = st.sampled_from([*GPUS])
indices = cards.flatmap(lambda card: st.tuples(st.just(card), st.sets(st.integers(0, GPUS[card] - 1)).map(list)))
links = cards.flatmap(
    lambda card: st.tuples(
        st.just(card),
        st.none() | st.integers(0, GPUS[card] - 1).map(lambda i: f"{card}.{i}-{card}.{(i + 1) % GPUS[card]}"),
    )
)
names = cards | cards.flatmap(lambda card: st.integers(0, GPUS[card] - 1).map(lambda i: f"{card}.{i}"))
units = st.integers(0, 30) | st.lists(st.integers(0, 30), min_size=2, max_size=2).map(sorted)
limits = (
    st.lists(st.integers(0, 9), min_size=2, max_size=2)
    .map(sorted)
    .map(lambda p: dict(zip(("least", "most"), p, strict=True)))
)
checks = st.fixed_dictionaries(
    {},
    optional={
        "suspects": st.lists(indices, min_size=1).map(dict),
        "links": st.dictionaries(st.sampled_from(["slow", "noisy"]), st.lists(links, min_size=1).map(dict), min_size=1),
        "shares": st.dictionaries(names, units, min_size=1),
        "fencing": limits | st.builds(lambda key, n: {key: n}, st.sampled_from(["least", "most"]), st.integers(0, 9)),
    },
).filter(bool)


def plain(written: dict[str, object]) -> dict[str, object]:
    """The same, with what may be written in two ways written in one."""
    result = json.loads(json.dumps(written))
    for gpus in result.get("suspects", {}).values():
        gpus.sort()
    shares = result.get("shares", {})
    result |= (
        {"shares": {k: v[0] if isinstance(v, list) and v[0] == v[1] else v for k, v in shares.items()}}
        if shares
        else {}
    )
    return dict(result)


@unhurried
@given(checks)
def test_what_is_written_is_what_is_held(written: dict[str, object]) -> None:
    scenario = loads(WORK + f"expect: {json.dumps([{'end': True, **written}])}\n")
    entry: dict[str, object] = {}
    for check in scenario.expect[0].checks:
        check.write(entry)
        assert str(check)
    assert json.loads(json.dumps(entry)) == plain(written)
    assert loads(dumps(scenario)).expect[0].checks == scenario.expect[0].checks


@pytest.mark.parametrize(
    ("check", "says"),
    [
        ("suspects: {a: [§9]}", "unknown GPU 9; card a has 0 .. 7"),
        ("suspects: {§c: [0]}", "unknown card 'c'"),
        ("suspects: {a: [1, §1]}", "GPU 1 stands here twice; each may once"),
        ("links: §{}", "nothing to check; allowed: slow, noisy"),
        ("links: {§fast: {a: null}}", "unknown key 'fast'"),
        ("links: {slow: {a: §a.2-a.4}}", "no ring link 'a.2-a.4'; a.2 is linked with a.1, a.3"),
        ("links: {slow: {b: §a.2-a.3}}", "a.2 is not on card b"),
        ("links: {slow: §{}}", "a mapping of 1 or more"),
        ("shares: {§a.9: 3}", "unknown GPU 'a.9'; card a has a.0 .. a.7"),
        ("shares: {§c: 3}", "unknown card 'c'"),
        ("shares: {§a.x: 3}", "key 'a.x'; allowed is a card or a GPU, such as a or a.3"),
        ("shares: {a: §31}", "found 31; the workload has 30 units"),
        ("shares: {a: §[5, 3]}", "found [5, 3]; allowed is the fewest, then the most"),
        ("shares: {a: §[5]}", "a whole number, 0 .. 4294967295 or a list of 2 items, each a whole number"),
        ("shares: {a: §true}", "found true; allowed is a whole number"),
        ("fencing: §{}", "nothing to check; allowed: least, most"),
        ("fencing: {least: 3, most: §2}", "found 2; allowed is 3 ('least') or more"),
        ("fencing: {most: §-1}", "a whole number, 0 .. 4294967295"),
    ],
)
def test_what_cannot_be_is_refused(check: str, says: str) -> None:
    error = refused(WORK + f"expect:\n  - {{end: true, {check}}}\n".replace("§", HERE))
    assert says in str(error)
