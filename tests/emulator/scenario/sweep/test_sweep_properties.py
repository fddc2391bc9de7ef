"""Whatever is swept, the answer is variants that load or a ScenarioError, and nothing else."""

import json
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.scenario.samples import Document, documents, unhurried
from tests.emulator.scenario.test_properties import any_tree, tokens

from ringhil.emulator.scenario import (
    Scenario,
    ScenarioError,
    dumps,
    loads,
    loads_variants,
)

from .test_sweep import RING

NAMES = ["x", "y", "gpu"]
PIECES = ["${x}", "${y}", "${gpu}", "${x + 1}", "${x % y}", "${", "}", "$${", "a.", "1", "${x*x*x*x}"]
expressions = st.lists(st.sampled_from(PIECES), max_size=3).map("".join)
ends = st.integers(-3, 10) | expressions
card = st.sampled_from(["a", "b", "c", "${x}"])
left_out = {"except": st.lists(st.sampled_from(["a.1", "b.0", "${gpu}"]))}
listed = st.integers(-3, 70) | st.booleans() | st.none() | st.floats() | expressions | st.text(max_size=3)
numbers = ends | st.lists(ends, max_size=3)
domains = (
    st.lists(listed, max_size=4)
    | st.fixed_dictionaries({"from": ends, "to": ends}, optional={"step": ends})
    | st.fixed_dictionaries({"gpus": card}, optional=left_out)
    | st.fixed_dictionaries({"links": card})
    | st.fixed_dictionaries({"boundary_links": st.sampled_from(["all", "${x}"])})
    | st.fixed_dictionaries({"choose": st.fixed_dictionaries({"gpus": card, "number": numbers}, optional=left_out)})
    | any_tree(["from", "to", "step", "gpus", "choose", "number", "except", "links", "boundary_links"])
)


def scalars(node: object) -> Iterator[tuple[list[str | int], object]]:
    """Places of all values that are neither mapping nor list."""
    children: list[tuple[str | int, object]] = []
    if isinstance(node, dict):
        children = list(node.items())
    elif isinstance(node, list):
        children = list(enumerate(node))
    else:
        yield [], node
    for step, child in children:
        for path, value in scalars(child):
            yield [step, *path], value


def look(text: str) -> None:
    """Whatever is wrong, it is a ScenarioError of one line."""
    problem = ""
    try:
        variants = loads_variants(text)
        for number in {0, len(variants) // 2, len(variants) - 1}:
            assert isinstance(variants[number].scenario, Scenario)
            if variants[number].text:
                assert variants.find(variants[number].text).number == number
    except ScenarioError as error:
        problem = str(error)
    assert problem.isprintable()


@unhurried
@given(documents(), st.dictionaries(st.sampled_from(NAMES), domains, min_size=1), st.data())
def test_any_sweep_over_any_file_loads_or_is_refused(document: Document, sweep: Document, data: st.DataObject) -> None:
    for path, _ in data.draw(st.lists(st.sampled_from(list(scalars(document))), max_size=4)):
        *parents, last = path
        here: object = document
        for step in parents:
            here = here[step]  # type: ignore[index]
        here[last] = data.draw(expressions)  # type: ignore[index]
    document["sweep"] = sweep
    if data.draw(st.booleans()):
        document["name"] = "".join(f" ${{{name}}}" for name in sweep)
    look(json.dumps(document))


SWEPT = (
    """\
sweep:
  n: [4, 8]
  i: {from: 1, to: "${n - 1}"}
  gpus: {choose: {gpus: a, number: [1, 2], except: [a.0]}}
  link: {links: a}
"""
    + RING.replace("gpus: 8", "gpus: '${n + 2}'")
    + """\
seed: ${(i + 1) % n}
timeline: [{at: "${i * 10}", fault: dead, gpu: "${gpus}"}, {at: 5, fault: link_cut, link: "${link}"}]
expect: [{always: true, from: "${i}", count: {"a": "${n - 1}"}}, {end: true, truth: [a]}]
"""
)


@unhurried
@given(st.data())
def test_a_swept_file_with_any_piece_replaced(data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(SWEPT)))
    end = data.draw(st.integers(begin, min(len(SWEPT), begin + 12)))
    piece = data.draw(
        st.lists(st.sampled_from([*PIECES, *NAMES]) | tokens, max_size=3).map("".join) | st.text(max_size=3)
    )
    look(SWEPT[:begin] + piece + SWEPT[end:])


def test_the_swept_file_loads() -> None:
    sizes = {n: (n - 1) * (n + 1 + (n + 1) * n // 2) * (n + 2) for n in (4, 8)}
    assert len(loads_variants(SWEPT)) == sum(sizes.values())


@unhurried
@given(documents(), st.data())
def test_any_value_of_a_file_can_be_swept(document: Document, data: st.DataObject) -> None:
    """With the value that it had among those swept, that variant is the file itself."""
    places = [(path, value) for path, value in scalars(document) if isinstance(value, int) or "," not in str(value)]
    path, value = data.draw(st.sampled_from([p for p in places if p[0] != ["name"]]))
    plain = loads(json.dumps(document))
    *parents, last = path
    here: object = document
    for step in parents:
        here = here[step]  # type: ignore[index]
    here[last] = "${x}"  # type: ignore[index]
    (variant,) = loads_variants(json.dumps(document | {"sweep": {"x": [value]}}))
    assert (variant.scenario.name, variant.scenario) == (f"{plain.name} [{variant.text}]", variant.scenario)
    assert dumps(variant.scenario).splitlines()[1:] == dumps(plain).splitlines()[1:]
