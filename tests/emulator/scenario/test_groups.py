"""Groups of applications in a file: what is wrong is told with its place, what is right comes out as it went in."""

import pytest

from ringhil.emulator.scenario import ApplicationGroup, dumps, json_schema, loads
from ringhil.emulator.scenario.file.sharing import MOST_GROUPS
from ringhil.protocol.wire import FIRST_COMMAND

from .samples import refused

HEAD = "server: {cards: {a: {gpus: 4}}, settings: {device_memory: 900}}\nsharing:\n"
ONE = "  applications: {x: {gpu: a.1, steps: 1, compute: 9%s}}\n"
GOOD = (
    HEAD
    + """\
  groups:
    team:
      memory: 600
      groups: {first: {slice: 500, priority: 7}, second: {groups: {third: {slice: 80}}}}
    other: {}
  applications:
    x: {gpu: a.1, steps: 1, compute: 9, group: team/first, slice: 400}
    y: {gpu: a.1, steps: 1, compute: 9, group: team/second/third, slice: 100}
    z: {gpu: a.1, steps: 1, compute: 9, slice: 90}
    w: {gpu: a.1, steps: 1, compute: 9}
"""
)


def groups(text: str, application: str = "") -> str:
    return f"{HEAD}  groups: {text}\n{ONE % application}"


def nested(levels: int, inmost: str = "{}") -> str:
    text = inmost
    for level in reversed(range(levels)):
        text = f"{{g{level}: {text if level == levels - 1 else f'{{groups: {text}}}'}}}"
    return text


def test_groups_come_out_one_behind_the_one_around_it() -> None:
    sharing = loads(GOOD).sharing
    assert sharing is not None
    assert sharing.groups == (
        ApplicationGroup("team", 600, 0, None),
        ApplicationGroup("team/first", None, 500, 7),
        ApplicationGroup("team/second", None, 0, None),
        ApplicationGroup("team/second/third", None, 80, None),
        ApplicationGroup("other", None, 0, None),
    )
    assert [each.group for each in sharing.applications] == ["team/first", "team/second/third", "", ""]
    assert [sharing.slice_of(each) for each in sharing.applications] == [400, 80, 90, 0]


def test_they_are_written_as_they_were() -> None:
    scenario = loads(GOOD)
    assert loads(dumps(scenario)) == scenario
    inner = "groups: {first: {slice: 500, priority: 7}, second: {groups: {third: {slice: 80}}}}"
    assert f"  groups: {{team: {{memory: 600, {inner}}}, other: {{}}}}" in dumps(scenario).splitlines()


def test_a_name_is_not_taken_for_the_beginning_of_another() -> None:
    sharing = loads(groups("{te: {slice: 20}, team: {}}", ", group: team")).sharing
    assert sharing is not None
    assert sharing.slice_of(sharing.applications[0]) == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (groups("{team: {}}", ", group: §teem"), "unknown group 'teem'; did you mean 'team'? groups are team"),
        (groups("{}", ", group: §team"), "unknown group 'team'; there are none"),
        (groups("{t: {groups: {second: {}}}}", ", group: §second"), "did you mean 't/second'? groups are t, t/second"),
        (groups("{team: {}}", ", group: §team/"), "allowed is the names of groups from the outermost on, such as"),
        (groups("{team: {}}", ", group: §/team"), "found '/team'; allowed is the names of groups"),
        (groups("{team: {§memry: 3}}"), "unknown key 'memry'; did you mean 'memory'? allowed: memory, slice"),
        (groups("{team: {groups: {u: {§slices: 3}}}}"), "sharing.groups.team.groups.u: unknown key 'slices'"),
        (groups("{team: {memory: §901}}"), "found 901; the GPU has 900 pages (device_memory)"),
        (groups("{team: {memory: §0}}"), "found 0; allowed is a whole number, 1 .."),
        (groups("{team: {memory: §-1}}"), "found -1; allowed is a whole number, 1 .."),
        (groups("{team: {slice: §15}}"), "found 15; allowed are 16 cycles or more, or 0: none"),
        (groups("{team: {priority: §256}}"), "found 256; allowed is a whole number, 0 .. 255"),
        (groups("{team: §7}"), "found 7; allowed is a mapping with the keys memory, slice, priority, groups"),
        (groups("{§gpu.slice: {}}"), "key 'gpu.slice'; allowed is a name (a letter"),
        (groups("{%s: {}}" % ("§" + "n" * 256)), "found a name of 256 letters; allowed are 255"),
        (groups("{x: {}}").replace("{x: {gpu", "{§x: {gpu"), "'x' is a group; the application's own group would have"),
        (groups(nested(8).replace("g7", "§g7")), "is 8 groups deep; allowed are 7"),
        (
            groups("{t: {groups: {x: {}}}}", ", group: t").replace("{x: {gpu", "{§x: {gpu"),
            "'t/x' is a group; the application",
        ),
        (HEAD + ONE.replace("x:", "§" + "n" * 256 + ":") % "", "found a name of 256 letters"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, words: str) -> None:
    assert words in str(refused(text))


def test_as_many_as_there_may_be_load_and_one_more_does_not() -> None:
    names = [f"g{n}: {{}}" for n in range(MOST_GROUPS)]
    assert loads(groups("{" + ", ".join(names[:-1]) + "}")).sharing is not None
    names[-1] = "§" + names[-1]
    error = refused(groups("{" + ", ".join(names) + "}"))
    assert f"allowed are {MOST_GROUPS} groups, with one for each application" in str(error)


def test_the_deepest_load_and_the_schema_has_them() -> None:
    assert loads(groups(nested(7), ", group: g0/g1/g2/g3/g4/g5/g6")).sharing is not None
    group = json_schema()["$defs"]["ApplicationGroup"]
    assert set(group["properties"]) == {"memory", "slice", "priority", "groups"}


def test_names_may_be_long_and_those_of_other_groups() -> None:
    long = "n" * 255
    sharing = loads(groups(f"{{{long}: {{}}, x: {{}}}}", f", group: {long}")).sharing
    assert sharing is not None
    assert [(each.name, each.group) for each in sharing.applications] == [("x", long)]


def test_there_are_as_many_units_beside_applications_as_have_numbers() -> None:
    text = HEAD + ONE % ""
    assert loads(f"{text}workload: {{units: {FIRST_COMMAND}}}\n").workload is not None
    error = refused(f"{text}workload: {{units: §{FIRST_COMMAND + 1}}}\n")
    assert f"found {FIRST_COMMAND + 1}; beside applications allowed are {FIRST_COMMAND} at most" in str(error)
