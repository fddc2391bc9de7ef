"""Which GPU gets a loan (V2): the baselines, and what is learned from past loans."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command import refusal, ringhil

from ringhil.emulator.lending.choice import (
    CHOICES,
    Goal,
    LearnedChoice,
    LeastUsedChoice,
    LoanModel,
    ModelError,
    RoundRobinChoice,
)
from ringhil.emulator.lending.database import open_database
from ringhil.emulator.lending.learning import LearningError, keep_model, kept_model, train
from ringhil.emulator.lending.usage import MODELS

from .histories import MadeHistory, made_history

_NAMES = ("a.0", "a.1", "a.2", "a.3")
_some_gpus = st.lists(st.sampled_from(_NAMES), min_size=1, unique=True)


def _database(folder: Path, history: MadeHistory) -> str:
    url = f"sqlite:///{folder}/lending.db"
    with open_database(url) as database:
        history.write(database)
    return url


def _trained(url: str, goal: Goal = Goal.ENERGY) -> LoanModel:
    """And kept, if it is good enough."""
    with open_database(url) as database:
        trained = train(database, goal)
        if trained.better:
            keep_model(database, trained.model)
    return trained.model


def _model(url: str) -> LoanModel:
    with open_database(url) as database:
        model = kept_model(database)
    assert model is not None
    return model


@given(st.lists(st.tuples(_some_gpus, st.integers(1, 9)), max_size=30))
def test_least_used_keeps_use_together(asked: list[tuple[list[str], int]]) -> None:
    """Whoever is chosen had been used no more than any other that was free."""
    used: dict[str, float] = {}
    for gpus, amount in asked:
        chosen = LeastUsedChoice().choose("x", 1.0, gpus, used)
        assert used.get(chosen, 0.0) == min(used.get(gpu, 0.0) for gpu in gpus)
        used[chosen] = used.get(chosen, 0.0) + amount


@given(st.permutations(_NAMES), st.lists(_some_gpus, max_size=10))
def test_round_robin_gives_each_gpu_its_turn(order: Sequence[str], before: list[list[str]]) -> None:
    """Whatever was free before: in as many turns as there are GPUs, each has one."""
    choice = RoundRobinChoice()
    for gpus in before:
        assert choice.choose("x", 1.0, gpus, {}) in gpus
    assert {choice.choose("x", 1.0, order, {}) for _ in order} == {*order}


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, MadeHistory]:
    history = made_history(3, 400)
    url = _database(tmp_path_factory.mktemp("learned"), history)
    return url, history


@pytest.mark.rest
def test_the_model_takes_less_than_the_baselines(learned: tuple[str, MadeHistory]) -> None:
    """In truth, on loans that it has not learned from; and it takes no more than it says."""
    url, history = learned
    told = _trained(url)
    assert (told.trained, told.judged) == (200, 200)
    assert {*told.quality} == {"model", *CHOICES, "as lent"}
    choice, regret, right = LearnedChoice(_model(url)), 0.0, 0
    later = [*zip(history.loans, history.truth, strict=True)][200:]
    for loan, truth in later:
        chosen, best = choice.choose(loan.kind, loan.size, loan.among, {}), min(truth.values())
        regret += truth[chosen] / best - 1
        right += truth[chosen] == best
    regret, accuracy = regret / len(later), right / len(later)
    assert regret < 0.1
    assert accuracy > 0.5
    for name in CHOICES:
        assert told.quality[name].regret > 5 * regret
        assert told.quality[name].accuracy < accuracy
    assert regret < told.quality["model"].regret < min(told.quality[name].regret for name in CHOICES) / 2


def test_the_same_history_makes_the_same_model(learned: tuple[str, MadeHistory]) -> None:
    url, _ = learned
    _trained(url)
    first = _model(url).model_dump_json()
    assert {_trained(url).model_dump_json() for _ in range(3)} == {first}
    assert _model(url).model_dump_json() == first


@pytest.mark.rest
def test_text_and_json_say_the_same(learned: tuple[str, MadeHistory]) -> None:
    url, _ = learned
    done, told = (ringhil("lend", "train", "--database", url, *words) for words in ((), ("--json",)))
    assert (done.returncode, told.returncode) == (0, 0)
    document = json.loads(told.stdout)
    assert document["kept"]
    for name, each in document["quality"].items():
        (line,) = [line for line in done.stdout.splitlines() if line.startswith(f"{name} ")]
        assert line.split()[-4:] == [f"{100 * each['accuracy']:.1f}", "%", f"{100 * each['regret']:.1f}", "%"]
    for text in document["not_for"]:
        assert f"- {text}\n" in done.stdout
    assert LoanModel.parse(_model(url).model_dump_json()).quality["model"].model_dump() == document["quality"]["model"]


def test_a_model_of_time_is_another_one(learned: tuple[str, MadeHistory]) -> None:
    url, _ = learned
    energy, time = _trained(url), _trained(url, Goal.TIME)
    assert (energy.goal, time.goal, _model(url).goal) == ("energy", "time", "time")
    assert [*time.kinds] == [*energy.kinds]
    assert time.kinds != energy.kinds


@pytest.mark.rest
def test_what_has_turned_round_since_is_refused(tmp_path: Path) -> None:
    """GPUs that took most in the first half take least in the second: the model that was kept stays."""
    history = made_history(3, 200)
    url = _database(tmp_path, history.twice(turned=True))
    with open_database(url) as database:
        keep_model(database, LoanModel.parse(json.dumps(_GOOD)))
    quality = _trained(url).quality
    assert quality["model"].regret > min(quality[name].regret for name in CHOICES)
    done = ringhil("lend", "train", "--database", url)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{url}: refused: the model would have taken " in line
    assert _model(url) == LoanModel.parse(json.dumps(_GOOD))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda loans: loans[:39], "found 39 loans that are over and whose energy was measured; needed are 40"),
        (lambda loans: [replace(each, energy=None) for each in loans], "found 0 loans that are over and whose energy"),
        (lambda loans: [replace(each, kind=each.loan) for each in loans], "found no kind of work with 6 loans on 2"),
        (
            lambda loans: [replace(each, among=(each.gpu,)) for each in loans],
            "found 0 loans in the second half that",
        ),
    ],
)
def test_too_little_history_is_said(tmp_path: Path, change: Any, says: str) -> None:
    url = _database(tmp_path, MadeHistory(change(made_history(1, 60).loans), ()))
    with pytest.raises(LearningError) as refused:
        _trained(url)
    assert says in str(refused.value)
    assert str(refused.value).startswith(f"{url}: ")


def test_what_cannot_be_learned_from_is_one_line(tmp_path: Path) -> None:
    url = _database(tmp_path, MadeHistory(made_history(1, 30).loans, ()))
    assert "found 30 loans" in refusal("lend", "train", "--database", url)
    assert "there is no such file" in refusal("lend", "train", "--database", f"sqlite:///{tmp_path}/none.db")


def test_serve_takes_no_model_that_is_none(tmp_path: Path) -> None:
    file, url = tmp_path / "server.yaml", f"sqlite:///{tmp_path}/lending.db"
    file.write_text("server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}\n")
    words = ("lend", "serve", file, "--attachment", "sim", "--choice", "learned", "--database", url)
    assert f"{url}: found no model; ringhil lend train makes one" in refusal(*words)
    with open_database(url) as database, database.begin() as connection:
        connection.execute(MODELS.insert().values(number=1, document='{"model": "__import__"}'))
    assert refusal(*words).endswith("model: model: found '__import__'; allowed is 'ringhil-loans'")


def test_an_unknown_kind_or_gpu_goes_to_the_least_used(learned: tuple[str, MadeHistory]) -> None:
    url, _ = learned
    _trained(url)
    choice, used = LearnedChoice(_model(url)), {"a.0": 3.0, "a.1": 1.0, "a.2": 2.0, "b.9": 0.5}
    assert choice.choose("kind 9", 1.0, ["a.0", "a.1", "a.2"], used) == "a.1"
    assert choice.choose("kind 0", 1.0, ["a.0", "b.9", "a.1"], used) == "b.9"


_GOOD = {
    "model": "ringhil-loans",
    "version": 1,
    "goal": "energy",
    "trained": 20,
    "judged": 20,
    "quality": {"model": {"accuracy": 0.5, "regret": 0.1}},
    "kinds": {
        "x": {"centre": 1.0, "spread": 2.0, "least": 0.0, "most": 9.0, "gpus": {"a.0": [1, 2, 3], "a.1": [2.5, 0, -1]}}
    },
}
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def _places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield here
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(inner, (*here, key))


@settings(max_examples=200)
@given(st.data())
def test_a_stored_model_is_numbers_or_one_line(data: st.DataObject) -> None:
    """Any part of it may be anything."""
    made = json.loads(json.dumps(_GOOD))
    where = data.draw(st.sampled_from([*_places(_GOOD)][1:]))
    at = made
    for key in where[:-1]:
        at = at[key]
    at[where[-1]] = data.draw(_json)
    _parsed_or_one_line(json.dumps(made))


_stored = (
    st.text(max_size=60)
    | st.integers(0, 20_000).map(lambda n: "[" * n)
    | st.integers(0, 400).map(lambda n: json.dumps(_GOOD)[:n])
    | st.sampled_from(["NaN", "Infinity", "1e308", "-1e308", "1e-9"]).flatmap(
        lambda number: st.sampled_from(["1.0", "2.0", "2.5", "9.0"]).map(
            lambda old: json.dumps(_GOOD).replace(old, number)
        )
    )
)


@settings(max_examples=100)
@given(_stored)
def test_whatever_is_stored_as_a_model_is_one_line(text: str) -> None:
    _parsed_or_one_line(text)


def _parsed_or_one_line(text: str) -> None:
    try:
        model = LoanModel.parse(text)
    except ModelError as error:
        line = str(error)
    else:
        line = "fine"
        for size in (0.0, -1.0, 1e300, float("inf")):
            expected = (model.expected("x", size, gpu) for gpu in ("a.0", "a.1"))
            assert all(value is None or math.isfinite(value) for value in expected)
            assert LearnedChoice(model).choose("x", size, ["a.0", "a.1"], {}) in ("a.0", "a.1")
    assert line.isprintable()
    assert len(line) < 500
