"""`${...}`: a parameter with its type, or whole-number arithmetic, or a message that says what is allowed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.scenario.samples import unhurried

from ringhil.emulator.scenario.sweep.expression import ExpressionError, Template, Value, template

VALUES: dict[str, Value] = {"i": 6, "n": 8, "gpu": "a.3", "yes": True, "none": None, "set": ("a.1", "a.2")}


def value(text: str) -> Value:
    found = template(text)
    assert isinstance(found, Template)
    return found.value(VALUES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${i}", 6),
        ("${ i }", 6),
        ("${gpu}", "a.3"),
        ("${yes}", True),
        ("${none}", None),
        ("${set}", ("a.1", "a.2")),
        ("a.${i}", "a.6"),
        ("${i}${n}", "68"),
        ("${gpu}-a.${i - 2}", "a.3-a.4"),
        ("${set} ${yes} ${none}", "a.1+a.2 true null"),
        ("${i + 3}", 9),
        ("${i-1}", 5),
        ("${i * 2}", 12),
        ("${(i + 1) % n}", 7),
        ("${(i + 2) % n}", 0),
        ("${i + 3 * 2}", 12),
        ("${(i + 3) * 2}", 18),
        ("${10 - 3 - 2}", 5),
        ("${20 // 3 // 2}", 3),
        ("${20 - 7 // 2}", 17),
        ("${-7 // 2}", -4),
        ("${-7 % 4}", 1),
        ("${--i}", 6),
        ("${n*-1}", -8),
        ("$${i}", "${i}"),
        ("$${i} ${i}", "${i} 6"),
        ("$$${i}", "$${i}"),
        ("$ ${i}", "$ 6"),
    ],
)
def test_it_has_the_value_that_it_says(text: str, expected: Value) -> None:
    found = value(text)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize("text", ["", "plain", "$", "{i}", "$i", "$ {i}", "a}b"])
def test_other_text_is_left_alone(text: str) -> None:
    assert template(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("${i", "'${' without '}' in '${i'; the text '${' itself is written '$${'"),
        ("${}", "a value is missing in '${}'; allowed are parameters, whole numbers, + - * // % and brackets"),
        ("${i +}", "a value is missing"),
        ("${i n}", "found 'n' in '${i n}'"),
        ("${(i}", "no ')'"),
        ("${i)}", "found ')'"),
        ("${i / 2}", "found '/'"),
        ("${i ** 2}", "found '*'"),
        ("${i.n}", "found '.'"),
        ("${i; n}", "found ';' in"),
        ("${\u0665}", "found '\u0665'"),
        ("${i // (n - 8)}", "6 // 0 has no value"),
        ("${i % 0}", "6 % 0 has no value"),
        ("${gpu + 1}", "parameter 'gpu' is 'a.3'; arithmetic takes whole numbers"),
        ("${yes + 1}", "parameter 'yes' is true"),
        ("${none * 2}", "parameter 'none' is nothing"),
        ("${set - 1}", "parameter 'set' is a set of GPUs"),
        ("${99999999999999999999}", "a whole number beyond 64 bits"),
        ("${123456789012345678901234567890}", "a whole number beyond 64 bits"),
        ("${4294967296 * 4294967296}", "4294967296 * 4294967296 is a whole number beyond 64 bits"),
        ("${" + "1+" * 200 + "1}", "an expression of 401 characters; allowed are 200"),
        ("${" + "(" * 30 + "i" + ")" * 30 + "}", "more than 20 brackets or signs within one another"),
        ("${" + "-" * 30 + "i}", "more than 20 brackets or signs within one another"),
        ("${i}" * 51, "51 times ${...} in one text; allowed are 50"),
    ],
)
def test_what_is_no_expression_or_has_no_value_is_refused(text: str, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        value(text)
    assert words in str(caught.value)


def trees() -> st.SearchStrategy[str]:
    leaf = st.integers(0, 99).map(str) | st.sampled_from(["i", "n"])
    return st.recursive(
        leaf,
        lambda inner: (
            st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%", " + ", " % "]), inner).map("".join)
            | inner.map("({})".format)
            | inner.map("(-{})".format)
        ),
        max_leaves=8,
    )


@unhurried
@given(trees())
def test_arithmetic_is_pythons(text: str) -> None:
    try:
        expected = eval(text, {"__builtins__": {}}, {"i": 6, "n": 8})
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="has no value"):
            value(f"${{{text}}}")
        return
    assert value(f"${{{text}}}") == expected


@unhurried
@given(st.text() | st.lists(st.sampled_from([*"${}()+-*/%$ 019", "i", "gpu", "set", "${", "//"])).map("".join))
def test_any_text_has_a_value_or_is_refused(text: str) -> None:
    problem = ""
    try:
        found = template(text)
        if found is not None and found.names <= VALUES.keys():
            found.value(VALUES)
    except ExpressionError as error:
        problem = str(error)
    assert len(problem) < 400
