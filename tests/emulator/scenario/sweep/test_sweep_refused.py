"""A wrong sweep gets one line: where, what was found, what is allowed. § marks the place to blame."""

import pytest
from tests.emulator.scenario.samples import HERE

from ringhil.emulator.scenario import (
    ScenarioError,
    loads,
    loads_variants,
)

from .test_sweep import DEAD, RING, swept

GPU = "timeline: [{at: 1, fault: dead, gpu: '${gpu}'}]\n"
WRONG = [
    ("sweep: §{}\n" + RING, "sweep: found an empty mapping; allowed is a mapping of parameters to their values"),
    ("sweep: §3\n" + RING, "sweep: found 3; allowed is a mapping"),
    ("§sweep:\n" + RING, "sweep: found nothing; allowed is a mapping"),
    ("sweep: {§1x: [1]}\n" + RING, "sweep: key '1x'; allowed is a parameter name (a letter or '_'"),
    ("sweep: {§a-b: [1]}\n" + RING, "sweep: key 'a-b'"),
    ("sweep: {x: [1], §x: [2]}\n" + RING, "sweep: duplicate key 'x'; line 1 has it already"),
    (
        "sweep: {§x: [1]}\n" + RING,
        "sweep: parameter 'x' is used nowhere; write ${x} where its values belong",
    ),
    (
        "sweep: {gpus: [1]}\nseed: ${gpus}\n" + RING + GPU.replace("'${gpu}'", "§'${gpu}'"),
        "timeline[0].gpu: unknown parameter 'gpu'; did you mean 'gpus'? allowed: gpus",
    ),
    ("sweep: {x: §[]}\nseed: ${x}\n" + RING, "sweep.x: no value at all; allowed is at least one"),
    ("sweep: {x: §4}\nseed: ${x}\n" + RING, "found 4; allowed is a list of at least 1 item, each a whole"),
    ("sweep: {x: [1, §1.5]}\nseed: ${x}\n" + RING, "sweep.x[1]: found 1.5; allowed is a whole number, -92"),
    ("sweep: {x: [1, §[2]]}\nseed: ${x}\n" + RING, "sweep.x[1]: found a list of length 1; allowed is"),
    ("sweep: {x: [§'a,b']}\nseed: ${x}\n" + RING, "one line of text without commas, at most 100 characters"),
    ("sweep: {x: [1, §1]}\nseed: ${x}\n" + RING, "sweep.x[1]: '1' stands here twice; each may once"),
    ("sweep: {x: [1, §'1']}\nseed: ${x}\n" + RING, "sweep.x[1]: '1' stands here twice"),
    ("sweep: {x: §{}}\nseed: ${x}\n" + RING, "found an empty mapping; allowed is a list of values or exactly one"),
    (
        "sweep: {x: §{card: a}}\nseed: ${x}\n" + RING,
        "of these keys with its own: from, gpus, links, boundary_links, choose",
    ),
    ("sweep: {x: §{from: 1}}\nseed: ${x}\n" + RING, "sweep.x: key 'to' is missing; needed is a whole number"),
    (
        "sweep: {x: {from: 1, to: 2, step: §0}}\nseed: ${x}\n" + RING,
        "sweep.x.step: found 0; allowed is a whole number, 1 ..",
    ),
    ("sweep: {x: {from: 1, to: §b}}\nseed: ${x}\n" + RING, "sweep.x.to: found 'b'; allowed is a whole number"),
    ("sweep: {x: {from: 1, to: 2, §by: 1}}\nseed: ${x}\n" + RING, "sweep.x: unknown key 'by'; allowed: from, to, step"),
    ("sweep: {x: §{from: 3, to: 2}}\nseed: ${x}\n" + RING, "sweep.x: no value at all"),
    ("sweep: {gpu: {gpus: §c}}\n" + RING + GPU, "sweep.gpu.gpus: unknown card 'c'; allowed: a, b"),
    ("sweep: {gpu: {gpus: a, §links: a}}\n" + RING + GPU, "sweep.gpu: unknown key 'links'; allowed: gpus, except"),
    ("sweep: {gpu: {gpus: a, except: [§b.1]}}\n" + RING + GPU, "unknown GPU 'b.1'; card a has a.0 .. a.7"),
    ("sweep: {gpu: {links: §c}}\n" + RING + GPU, "sweep.gpu.links: unknown card 'c'"),
    ("sweep: {gpu: {boundary_links: §some}}\n" + RING + GPU, "sweep.gpu.boundary_links: found 'some'; allowed is all"),
    (
        "sweep: {gpu: §{boundary_links: all}}\nserver: {cards: {a: {gpus: 4}}}\n" + GPU,
        "sweep.gpu: no value at all; allowed is at least one",
    ),
    ("sweep: {gpu: {choose: §{gpus: a}}}\n" + RING + GPU, "sweep.gpu.choose: key 'number' is missing"),
    (
        "sweep: {gpu: {choose: {gpus: a, number: [1, §9]}}}\n" + RING + GPU,
        "number[1]: found 9; there are 8 GPUs to choose from",
    ),
    ("sweep: {gpu: {choose: {gpus: a, number: [1, §1]}}}\n" + RING + GPU, "number[1]: 1 stands here twice"),
    (
        "sweep: {gpu: {choose: {gpus: a, number: §0}}}\n" + RING + GPU,
        "number: found 0; allowed is a whole number, 1 .. 1024",
    ),
    (
        "sweep: §{gpu: {choose: {gpus: a, number: 8}}}\nserver: {cards: {a: {gpus: 100}}}\n" + GPU,
        "sweep: 186,087,894,300 variants; allowed are at most 100,000",
    ),
    (
        "sweep: §{gpu: {choose: {gpus: a, number: 512}}}\nserver: {cards: {a: {gpus: 1024}}}\n" + GPU,
        "sweep: more than 10^15 variants; allowed are at most 100,000",
    ),
    (
        "sweep: §{x: {from: 1, to: 1000}, y: {from: 1, to: 101}}\nseed: '${x + y}'\n" + RING,
        "sweep: 101,000 variants; allowed are at most 100,000",
    ),
    (
        "sweep: §{x: {from: 1, to: 1000}, y: {from: 1, to: '${x}'}}\nseed: '${x + y}'\n" + RING,
        "sweep: 500,500 variants; allowed are at most 100,000",
    ),
    (
        "sweep: §{x: {from: 1, to: 4611686018427387904}, y: {from: 1, to: '${x}'}}\nseed: '${x + y}'\n" + RING,
        "sweep: more than 10^15 variants",
    ),
    (
        "sweep: §{x: {from: 1, to: 1000}, y: {from: 1, to: '${x}'}, z: [1, 2, 3]}\nseed: '${x + y + z}'\n" + RING,
        "sweep: 1,501,500 variants",
    ),
    (
        "sweep: §{x: {from: 1, to: 9000}, y: {from: '${x}', to: '${x + 19}'}, z: {from: 0, to: '${y}'}}\n"
        "seed: '${x + y + z}'\n" + RING,
        "sweep: at least 180,000 variants",
    ),
    (
        "sweep: {x: {from: 1, to: 60000}, y: {from: '${x}', to: '${x}'}, z: §{from: 0, to: '${y}'}}\n"
        "seed: '${x + y + z}'\n" + RING,
        "sweep.z: it depends on those before it in more ways than are looked at, 100,000 in all",
    ),
    (
        "sweep: {x: {from: 1, to: §'${y}'}, y: [2]}\nseed: ${x}\n" + RING,
        "parameter 'y' has no value yet; allowed are those before",
    ),
    ("sweep: {x: [§'${x}']}\nseed: ${x}\n" + RING, "parameter 'x' has no value yet"),
    (
        "sweep: {gpu: §{gpus: a}, n: [4, 5]}\nserver: {cards: {a: {gpus: '${n}'}}}\n" + GPU,
        "sweep.gpu: this needs parameter 'n', which comes later in 'sweep'; put it first",
    ),
    (
        "sweep: {i: [1, 2], j: {from: §'${i // 0}', to: 2}}\nseed: ${j}\n" + RING,
        "sweep.j.from: 1 // 0 has no value (with i=1)",
    ),
    (
        "sweep: {i: [1, 2], j: §{from: 1, to: '${2 - i}'}}\nseed: ${j}\n" + RING,
        "no value at all; allowed is at least one (with i=2)",
    ),
    (
        "sweep: {n: [4, 1], gpu: {gpus: a}}\nserver: {cards: {a: {gpus: §'${n}'}}}\n" + GPU,
        "found 1; allowed is a whole number, 2 .. 1024 (with n=1)",
    ),
    ("sweep: {i: [1]}\nseed: §${i +}\n" + RING, "seed: a value is missing in '${i +}'"),
    ("sweep: {i: [1]}\nseed: §a ${i\n" + RING, "seed: '${' without '}'"),
    (
        "sweep: {i: [a.1, a.2]}\nseed: §${i + 1}\n" + RING,
        "seed: parameter 'i' is 'a.1'; arithmetic takes whole numbers (with i=a.1)",
    ),
    (
        "sweep: {i: [1, 2]}\nseed: §${i - 2}\n" + RING,
        "seed: found -1; allowed is a whole number, 0 .. 4294967295 (with i=1)",
    ),
    (
        "sweep: {i: [1, 2]}\nseed: §x${i}\n" + RING,
        "seed: found 'x1'; allowed is a whole number, 0 .. 4294967295 (with i=1)",
    ),
    ("sweep: {i: [1, 2]}\nseed: ${i}\nsever: 1\n" + RING, "unknown key 'sever'"),
    (
        "sweep: {i: [0, 1]}\nserver: {cards: {a: {gpus: 4, weights: {1: 2, §'${i + 1}': 3}}}}\n",
        "server.cards.a.weights: duplicate key '1' (with i=0)",
    ),
    (
        "sweep: {i: [9, 1]}\nserver: {cards: {a: {gpus: 4, weights: {§'${i}': 3}}}}\n",
        "server.cards.a.weights: unknown GPU 9; card a has 0 .. 3 (with i=9)",
    ),
]


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize(("text", "words"), WRONG, ids=[words[:60] for _, words in WRONG])
def test_a_wrong_sweep_is_told_where_and_what_is_allowed(text: str, words: str) -> None:
    before = text.partition(HERE)[0].split("\n")
    with pytest.raises(ScenarioError) as caught:
        loads_variants(text.replace(HERE, ""), "some.yaml")
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    if HERE in text:
        assert (caught.value.line, caught.value.column) == (len(before), len(before[-1]) + 1), str(caught.value)


def test_an_error_that_one_variant_has_names_its_parameters_and_one_that_all_have_does_not() -> None:
    variants = swept("  i: {from: 5, to: 9}", 'timeline: [{at: 1, fault: dead, gpu: "a.${i}"}]')
    assert [variants[n].parameters for n in range(3)] == [(("i", "5"),), (("i", "6"),), (("i", "7"),)]
    with pytest.raises(ScenarioError) as caught:
        variants[3]
    assert str(caught.value) == (
        "folder/some.yaml:9:38: timeline[0].gpu: unknown GPU 'a.8'; card a has a.0 .. a.7 (with i=8)"
    )
    with pytest.raises(ScenarioError) as caught:
        swept("  i: {from: 5, to: 9}", 'timeline: [{at: 1, fault: dead, gpu: c.1}]\nseed: "${i}"')
    assert str(caught.value).endswith("unknown card 'c'; cards are a, b")


def test_a_parameter_in_braces_without_quotes_is_told_so() -> None:
    with pytest.raises(ScenarioError, match=r"within brackets and braces, \$\{\.\.\.\} needs quotes around it"):
        swept("  gpu: {gpus: a}", "timeline: [{at: 2000, fault: dead, gpu: ${gpu}}]")


def test_a_parameter_without_a_sweep_is_told_so() -> None:
    with pytest.raises(ScenarioError, match=r"found '\$\{gpu\}'; .* \$\{\.\.\.\} is for the parameters of a 'sweep'"):
        loads(RING + DEAD)
