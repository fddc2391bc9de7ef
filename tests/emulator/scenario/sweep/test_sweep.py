"""A file with a sweep is one scenario for each combination of its parameters."""

import itertools
import pickle
from pathlib import Path

import pytest

from ringhil.emulator.scenario import (
    GpuRef,
    LinkRef,
    ScenarioError,
    Variants,
    dumps,
    load,
    load_variants,
    loader,
    loads,
    loads_variants,
)
from ringhil.emulator.scenario.yaml.parse import parse

RING = """\
name: ring
server:
  cards:
    a: {gpus: 8, host_links: [0, 1]}
    b: {gpus: 6}
  boundary_links: [{from: [a.4, a.5], to: [b.3, b.2]}]
"""


def swept(sweep: str, rest: str = "", server: str = RING) -> Variants:
    return loads_variants(f"sweep:\n{sweep}\n{server}{rest}", "folder/some.yaml")


def targets(variants: Variants) -> list[list[str]]:
    return [[event.where for event in variant.scenario.timeline] for variant in variants]


DEAD = 'timeline: [{at: 2000, fault: dead, gpu: "${gpu}"}]'
CUT = 'timeline: [{at: 2000, fault: link_cut, link: "${link}"}]'


def test_a_file_without_a_sweep_is_one_variant_without_parameters(tmp_path: Path) -> None:
    file = tmp_path / "plain.yaml"
    file.write_text(RING)
    variants = load_variants(str(file))
    assert (variants.path, len(variants)) == (file, 1)
    assert [(v.number, v.parameters, v.text, v.scenario) for v in variants] == [(0, (), "", load(file))]


def test_there_is_one_for_each_combination_the_first_parameter_slowest() -> None:
    rest = 'timeline: [{at: "${at}", fault: "${kind}", gpu: "a.${i}"}]'
    variants = swept("  kind: [dead, hang]\n  i: {from: 2, to: 7, step: 2}\n  at: [100, 50]", rest)
    expected = list(itertools.product(["dead", "hang"], [2, 4, 6], [100, 50]))
    assert len(variants) == len(expected) == 12
    for number, (variant, (kind, i, at)) in enumerate(zip(variants, expected, strict=True)):
        assert variant.number == number
        assert variant.parameters == (("kind", kind), ("i", str(i)), ("at", str(at)))
        assert variant.scenario.name == f"ring [kind={kind}, i={i}, at={at}]"
        (event,) = variant.scenario.timeline
        assert (event.kind, event.target, event.at) == (kind, GpuRef("a", i), at)


def test_a_variant_is_the_file_with_its_values_written_out() -> None:
    rest = "timeline: [{at: 5, fault: dead, gpu: %s}]\nexpect: [{end: true, count: {a: %s}}]\nseed: %s\n"
    for variant in swept("  s: [1, 2, 3]", rest % ("'a.${s + 2}'", "'${8 - 1}'", "${s}")):
        s = int(variant.parameters[0][1])
        server = RING.replace("name: ring", f"name: ring [s={s}]")
        assert variant.scenario == loads(server + rest % (f"a.{s + 2}", 7, s))


def test_variants_are_reached_by_number_from_either_end_and_again() -> None:
    variants = swept("  gpu: {gpus: a}", DEAD)
    assert variants[-1] == variants[7] == list(variants)[7]
    for number in (8, -9):
        with pytest.raises(IndexError):
            variants[number]


def test_variants_can_be_sent_to_another_process() -> None:
    variants = swept("  gpu: {choose: {gpus: b, number: 2}}", DEAD)
    assert list(pickle.loads(pickle.dumps(variants))) == list(variants)


@pytest.mark.parametrize(
    ("sweep", "expected"),
    [
        ("{gpus: b}", [[f"b.{i}"] for i in range(6)]),
        ("{gpus: b, except: b.0}", [[f"b.{i}"] for i in range(1, 6)]),
        ("{gpus: b, except: [b.5, b.1]}", [["b.0"], ["b.2"], ["b.3"], ["b.4"]]),
        ("[b.1, a.1]", [["b.1"], ["a.1"]]),
        ("{choose: {gpus: b, number: 5, except: b.0}}", [["b.1", "b.2", "b.3", "b.4", "b.5"]]),
        (
            "{choose: {gpus: b, number: [1, 2]}}",
            [[f"b.{i}"] for i in range(6)] + [[f"b.{i}", f"b.{j}"] for i in range(6) for j in range(i + 1, 6)],
        ),
    ],
)
def test_gpus_are_swept_one_by_one_or_in_sets(sweep: str, expected: list[list[str]]) -> None:
    assert targets(swept(f"  gpu: {sweep}", DEAD)) == expected


def test_links_are_swept() -> None:
    variants = swept("  link: {links: a}", CUT)
    assert [variant.scenario.timeline[0].target for variant in variants] == [LinkRef("a", i, 8) for i in range(8)]
    assert targets(swept("  link: {boundary_links: all}", CUT.replace("link_cut", "boundary_link_cut"))) == [
        ["a.4-b.3"],
        ["a.5-b.2"],
    ]


def test_both_links_of_a_ring_of_two_are_swept() -> None:
    server = "server: {cards: {a: {gpus: 2}}}\n"
    variants = swept("  link: {links: a}", CUT, server)
    assert [variant.scenario.timeline[0].target for variant in variants] == [LinkRef("a", 0, 2), LinkRef("a", 1, 2)]


def test_a_set_stands_where_a_list_of_gpus_may_and_is_text_in_a_name() -> None:
    server = """\
name: pair ${pair}
server:
  cards: {a: {gpus: 5}, b: {gpus: 4}}
  boundary_links: [{from: "${pair}", to: [b.1, b.2]}]
"""
    variants = swept("  pair: {choose: {gpus: a, number: 2, except: [a.0, a.3]}}", server=server)
    with pytest.raises(ScenarioError, match=r"GPU 4 is no neighbour of GPU 1 .*\(with pair=a\.1\+a\.4\)"):
        variants[1]
    assert variants[0].scenario.name == "pair a.1+a.2 [pair=a.1+a.2]"
    assert variants[0].scenario.server.boundary_links[0].from_ == (GpuRef("a", 1), GpuRef("a", 2))


def test_a_topology_is_swept_and_what_is_swept_of_it() -> None:
    server = "server: {cards: {a: {gpus: '${n}'}}}\n"
    rest = DEAD + '\nexpect: [{end: true, count: {a: "${n - 1}"}}]'
    variants = swept("  n: {from: 2, to: 5}\n  gpu: {gpus: a}", rest, server)
    assert [v.text for v in variants] == [f"n={n},gpu=a.{i}" for n in range(2, 6) for i in range(n)]
    assert [v.scenario.server.card("a").gpus for v in variants] == [2] * 2 + [3] * 3 + [4] * 4 + [5] * 5


def test_a_parameter_may_depend_on_those_before_it() -> None:
    rest = 'timeline: [{at: 1, fault: dead, gpu: "a.${i}"}, {at: 2, fault: hang, gpu: "a.${j}"}]'
    variants = swept('  i: {from: 0, to: 6}\n  j: {from: "${i + 1}", to: 7}', rest)
    assert targets(variants) == [[f"a.{i}", f"a.{j}"] for i, j in itertools.combinations(range(8), 2)]


def test_a_card_is_swept_by_its_name() -> None:
    rest = DEAD + '\nexpect: [{end: true, count: {"${card}": 1}}]'
    found = [variant.text for variant in swept('  card: [a, b]\n  gpu: {gpus: "${card}"}', rest)]
    assert found == [f"card={c},gpu={c}.{i}" for c, gpus in (("a", 8), ("b", 6)) for i in range(gpus)]


def test_sets_are_swept_within_another_parameter() -> None:
    variants = swept("  at: [1, 2, 3]\n  gpu: {choose: {gpus: b, number: [1, 6]}}", DEAD.replace("2000", '"${at}"'))
    sets = [*(f"b.{i}" for i in range(6)), "b.0+b.1+b.2+b.3+b.4+b.5"]
    assert [variant.text for variant in variants] == [f"at={at},gpu={gpus}" for at in (1, 2, 3) for gpus in sets]


def test_all_failures_of_one_and_two_gpus_of_a_ring_of_64() -> None:
    server = "server: {cards: {a: {gpus: 64, host_links: [0, 1]}}}\n"
    variants = swept("  gpu: {choose: {gpus: a, number: [1, 2]}}", DEAD, server)
    found = {frozenset(event.target for event in variant.scenario.timeline) for variant in variants}
    assert len(variants) == len(found) == 64 + 64 * 63 // 2 == 2080


def test_what_is_written_of_a_variant_loads_to_it() -> None:
    for variant in swept("  gpu: {choose: {gpus: b, number: [1, 2]}}", DEAD):
        assert loads(dumps(variant.scenario)) == variant.scenario


def test_values_keep_their_types() -> None:
    rest = 'expect: [{end: true, reachable: {a: "${r}"}, entry: {a: "${e}"}, count: {a: "${c}"}}]'
    variants = swept("  r: [true, false]\n  e: [null, a.1]\n  c: [3]", rest)
    assert [v.text for v in variants][1:3] == ["r=true,e=a.1,c=3", "r=false,e=null,c=3"]


def test_dollar_and_brace_are_text_when_the_dollar_is_doubled() -> None:
    (variant,) = swept("  i: [1]", 'seed: "${i}"', RING.replace("name: ring", "name: costs $${i} ${i}"))
    assert variant.scenario.name == "costs ${i} 1 [i=1]"


def test_without_a_sweep_nothing_is_replaced() -> None:
    assert loads(RING.replace("name: ring", "name: costs ${i}")).name == "costs ${i}"


@pytest.mark.parametrize("text", ["kind=hang,i=3", " i=3 , kind=hang", "i=3,kind=hang"])
def test_a_variant_is_found_by_its_parameters(text: str) -> None:
    variants = swept("  kind: [dead, hang]\n  i: [2, 3]", 'timeline: [{at: 1, fault: "${kind}", gpu: "a.${i}"}]')
    assert variants.find(text) == variants[3]


def test_every_variant_is_found_by_its_text_and_the_parameters_in_doubt_are_enough() -> None:
    variants = swept("  at: [9]\n  gpu: {choose: {gpus: b, number: [1, 2]}}", DEAD.replace("2000", '"${at}"'))
    assert [variants.find(variant.text) for variant in variants] == list(variants)
    assert variants.find("gpu=b.1+b.3").number == variants.find("at=9,gpu=b.1+b.3").number


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpus=b.1", "no variant 'gpus=b.1': unknown parameter 'gpus'; did you mean 'gpu'? allowed: at, gpu"),
        ("gpu", "allowed is each parameter once, such as at=8,gpu=b.0"),
        ("gpu=b.1,gpu=b.2", "allowed is each parameter once"),
        ("gpu=b.9", "there is none among 12, such as at=8,gpu=b.0"),
        ("gpu=b.1", "2 variants; to choose one, say at"),
        ("", "unknown parameter ''"),
    ],
)
def test_a_variant_that_is_not_there_is_told(text: str, words: str) -> None:
    variants = swept("  at: [8, 9]\n  gpu: {gpus: b}", DEAD.replace("2000", '"${at}"'))
    with pytest.raises(ScenarioError) as caught:
        variants.find(text)
    assert words in str(caught.value)
    assert str(caught.value).startswith("folder/some.yaml:2:3: sweep: ")


def test_a_file_with_a_sweep_is_not_one_scenario_and_says_how_to_choose(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text(f"sweep: {{gpu: {{gpus: a}}}}\n{RING}{DEAD}\n")
    with pytest.raises(ScenarioError) as caught:
        load(file)
    assert str(caught.value) == (
        f"{file}:1:1: top level: the file has 8 variants, and one scenario is wanted; `ringhil verify` plays them all, "
        "and load_variants(path).find('gpu=a.0') is one of them"
    )
    with pytest.raises(ScenarioError, match="8 variants"):
        loads(file.read_text())


def test_the_text_is_read_once_for_all_variants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "some.yaml"
    file.write_text(f"sweep: {{gpu: {{choose: {{gpus: a, number: [1, 2]}}}}}}\n{RING}{DEAD}\n")
    texts: list[str] = []
    monkeypatch.setattr(loader, "parse", lambda text, path: texts.append(text) or parse(text, path))
    assert len(list(load_variants(file))) == 8 + 28
    assert texts == [file.read_text()]


def test_a_relative_data_path_starts_at_the_folder_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "some.yaml"
    file.write_text(RING + "sweep: {i: [1, 2]}\nworkload: {data: 'in/${i}.bin'}")
    assert [v.scenario.workload.data for v in load_variants(file) if v.scenario.workload] == [
        tmp_path / "in/1.bin",
        tmp_path / "in/2.bin",
    ]
