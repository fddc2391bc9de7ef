"""Conditions mean what Python's own operators mean, and say where they can't be read."""

import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.debug.condition import ConditionError, parse

NAMES = ("kind", "gpu", "count", "bad")
OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
FIELDS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["statistics", "keepalive"]),
        "gpu": st.sampled_from(["a.2", "b.0"]),
        "bad": st.booleans(),
    },
    optional={"count": st.integers(0, 5)},
)
TESTS = st.one_of(
    st.tuples(st.just("count"), st.sampled_from(sorted(OPERATORS)), st.integers(0, 5)),
    st.tuples(st.just("kind"), st.sampled_from(["==", "!="]), st.sampled_from(["statistics", "keepalive"])),
    st.tuples(st.just("gpu"), st.sampled_from(["==", "!="]), st.sampled_from(["a.2", "b.0"])),
    st.tuples(st.just("bad"), st.sampled_from(["==", "!="]), st.booleans()),
)
TREES = st.recursive(
    TESTS,
    lambda each: st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), st.lists(each, min_size=2, max_size=3)),
        st.tuples(st.just("not"), each),
    ),
    max_leaves=6,
)


def written(tree: Any) -> str:
    match tree:
        case ("and" | "or" as word, list(parts)):
            return "(" + f" {word} ".join(map(written, parts)) + ")"
        case ("not", part):
            return f"not {written(part)}"
        case (name, sign, bool(value)):
            return f"{name}{sign}{str(value).lower()}"
        case (name, sign, int(value)):
            return f"{name} {sign} {value:#x}" if value % 2 else f"{name} {sign} {value}"
    name, sign, value = tree
    return f"{name} {sign} {value}" if len(value) % 2 else f'{name} {sign} "{value}"'


def means(tree: Any, fields: dict[str, Any]) -> bool:
    match tree:
        case ("and", list(parts)):
            return all(means(part, fields) for part in parts)
        case ("or", list(parts)):
            return any(means(part, fields) for part in parts)
        case ("not", part):
            return not means(part, fields)
    name, sign, value = tree
    return name in fields and bool(OPERATORS[sign](fields[name], value))


@given(TREES, FIELDS)
def test_it_means_what_it_says(tree: Any, fields: dict[str, Any]) -> None:
    assert parse(written(tree), NAMES)(fields) is means(tree, fields)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_and_binds_tighter_than_or(count: int) -> None:
    condition = parse("count == 1 or count == 2 and kind == x", NAMES)
    assert condition({"count": count, "kind": "y"}) is (count == 1)


@pytest.mark.parametrize(
    ("text", "says", "place"),
    [
        ("kind = x", "found '='; allowed are == != < <= > >=", 5),
        ("foo == 1", "found 'foo'; allowed are bad, count, gpu, kind", 0),
        ("count == 1 and", "found the end; allowed are bad, count, gpu, kind", 14),
        ("count >", 'found the end; wanted is a number, a name or a "text"', 7),
        ("(count > 3", "found the end; wanted is ')'", 10),
        ("count > 3)", "found ')'; wanted is 'and', 'or' or the end", 9),
        ("count > 3 $", "found '$'; wanted is 'and', 'or' or the end", 10),
        ("count == and", "found 'and'; wanted is a number, a name or a \"text\"", 9),
        ("not", "found the end; allowed are", 3),
        ("", "found the end; allowed are", 0),
        ("not " * 21 + "count > 1", "allowed are 20 conditions one inside the other", 80),
    ],
)
def test_where_it_cannot_be_read_is_marked(text: str, says: str, place: int) -> None:
    with pytest.raises(ConditionError) as error:
        parse(text, NAMES)
    first, second, mark = str(error.value).split("\n")
    assert says in first
    assert second == text
    assert mark == " " * place + "^"


def test_a_long_one_is_refused() -> None:
    with pytest.raises(ConditionError, match=r"^found 1001 letters; allowed are 1000$"):
        parse("x" * 1001, NAMES)


@given(st.text(alphabet=' ()=!<>andornotcukig.123"$\n', max_size=40))
def test_whatever_is_written_is_a_condition_or_refused(text: str) -> None:
    try:
        assert parse(text, NAMES)({"count": 1, "kind": "a"}) in (True, False)
    except ConditionError as error:
        assert str(error)  # noqa: PT017


def test_a_name_is_neither_more_nor_less_than_a_number() -> None:
    assert not parse("kind > 3 or kind <= 3", NAMES)({"kind": "x"})


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("count < 5", (True, False, False)),
        ("count <= 5", (True, True, False)),
        ("count > 5", (False, False, True)),
        ("count >= 5", (False, True, True)),
        ("count == 5", (False, True, False)),
        ("count != 5", (True, False, True)),
    ],
)
def test_numbers_below_equal_and_above(text: str, holds: tuple[bool, ...]) -> None:
    condition = parse(text, NAMES)
    assert tuple(condition({"count": count}) for count in (4, 5, 6)) == holds
