"""The firmware in C and ours say the same, whatever happens to both; and it keeps what is promised of elections."""

from collections import Counter

import pytest

from ringhil.emulator.server.foreign import Maker

from . import library
from .world import World

SAID = {
    *("Elected", "Deposed", "Granted", "Lapsed", "PeerUp", "PeerDown"),
    *("Counted", "Rejected", "Suspected", "Write", "report"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    return library.maker(tmp_path_factory)


def played(made: Maker, seeds: range) -> Counter[str]:
    seen = Counter[str]()
    for seed in seeds:
        world = World(made, seed)
        try:
            world.run(6000)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        seen.update(world.seen)
    return seen


def test_they_say_the_same_in_a_few_worlds(made: Maker) -> None:
    assert played(made, range(4))


@pytest.mark.rest
def test_they_say_the_same_in_random_worlds(made: Maker) -> None:
    seen = played(made, range(40))
    assert {*seen} == SAID
    assert min(seen.values()) > 5, seen


@pytest.mark.slow(part="models")
@pytest.mark.parametrize("first", range(1000, 11_000, 500))
def test_they_say_the_same_in_ten_thousand_worlds(made: Maker, first: int) -> None:
    """In parts, of some minutes each."""
    assert {*played(made, range(first, first + 500))} == SAID
