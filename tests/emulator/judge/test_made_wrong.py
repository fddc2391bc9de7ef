"""A scenario file that is made wrong in one place never passes without a word: it is refused, fails, or is not judged.

Files are drawn with one fault or two, and expect all that follows from them, before and after: so each of the changes
below makes them wrong.
"""

import copy
import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.scenario import FAULTS, ScenarioError, loads

from .playing import play

Document = dict[str, Any]
Change = Callable[[Document, random.Random], None]

_STRUCK, _LOOKED, _END = 3000, 12_900, 13_000  # cycles: a fault, the last look before the run ends


def drawn(dice: random.Random) -> Document:
    """A file that passes. Card a has a fault, of which all is known; nothing happens to card b."""
    gpus, other = dice.randint(4, 7), dice.randint(2, 5)
    out, at = dice.randrange(2, gpus), _STRUCK + dice.randrange(1000)
    kind = dice.choice(["dead", "hang", "switch_stuck_bypass", "link_cut", "host_link_cut"])
    where: Document = {"gpu": f"a.{out}"}
    after: Document = {"count": {"a": gpus}, "members": {"a": [*range(gpus)]}, "break": {"a": None}}
    after |= {"isolated": {"a": []}, "entry": {"a": "a.0"}, "stranded": {"a": []}}
    before = copy.deepcopy(after) | {"count": {"a": gpus, "b": other}}
    if kind == "link_cut":
        where = {"link": f"a.{out - 1}-a.{out}"}
        after["break"] = {"a": where["link"]}
    elif kind == "host_link_cut":
        where = {"gpu": "a.0"}
        after["entry"] = {"a": "a.1"}
    else:
        after["members"] = {"a": [gpu for gpu in range(gpus) if gpu != out]}
        after["count"] = {"a": gpus - 1}
        after["isolated"] = {"a": [out] if kind == "switch_stuck_bypass" else []}
    after |= {"epoch": {"b": 1}, "reachable": {"a": True, "b": True}, "work": {"completed": 20, "lost": 0}}
    expect = [{"at": at - 1, **before}, {"at": _LOOKED, **after}, {"end": True, **copy.deepcopy(after)}]
    always = {"always": True, "from": _LOOKED - 900, "until": _LOOKED, "count": copy.deepcopy(after["count"])}
    return {
        "server": {
            "cards": {"a": {"gpus": gpus, "host_links": [0, 1]}, "b": {"gpus": other}},
            "settings": {"census_period": 1200, "wait_to_restore": 1500},
        },
        "workload": {"units": 20, "size": 64},
        "timeline": [{"at": at, "fault": kind, **where}],
        "until": _END,
        "expect": [*expect, always],
    }


# ----------------------------------------------------------------------------------------------------- what is wrong


def _pick(found: list[Any], dice: random.Random) -> Any:
    return found[dice.randrange(len(found))]


def _typo(word: str, dice: random.Random) -> str:
    """A letter more, less, doubled or in upper case."""
    place = dice.randrange(len(word))
    letter = word[place]
    return word[:place] + dice.choice(["", letter * 2, letter.upper(), f"{letter}q"]) + word[place + 1 :]


def fault_late(file: Document, dice: random.Random) -> None:
    file["timeline"][0]["at"] = _END + dice.randrange(10**6)


def fault_early(file: Document, dice: random.Random) -> None:
    """Before the look that must find nothing of it. The entry GPU keeps its role for long without its link."""
    late = 1 if file["timeline"][0]["fault"] == "host_link_cut" else 1500
    file["timeline"][0]["at"] = dice.randrange(late)
    file["expect"][0]["at"] = 8000


def fault_gone(file: Document, dice: random.Random) -> None:
    del file["timeline"][0]


def fault_twice(file: Document, dice: random.Random) -> None:
    file["timeline"].append(file["timeline"][0] | {"at": file["timeline"][0]["at"] + dice.randrange(3)})


def fault_over_at_once(file: Document, dice: random.Random) -> None:
    event = dict(file["timeline"][0])
    file["timeline"].append({"clear": event.pop("fault"), **event})


def fault_over(file: Document, dice: random.Random) -> None:
    event = dict(file["timeline"][0])
    file["timeline"].append({"clear": event.pop("fault"), **event, "at": event["at"] + dice.randrange(1, 500)})


def repaired_unbroken(file: Document, dice: random.Random) -> None:
    file["timeline"].append({"at": dice.randrange(_END), "clear": _pick(sorted(FAULTS), dice), "gpu": "b.1"})


def fault_elsewhere(file: Document, dice: random.Random) -> None:
    event = file["timeline"][0]
    event.pop("link", None)
    event |= {"fault": "dead", "gpu": "b.1"}


def fault_misspelt(file: Document, dice: random.Random) -> None:
    event = file["timeline"][0]
    event["fault"] = _typo(event["fault"], dice)


def no_such_gpu(file: Document, dice: random.Random) -> None:
    event = file["timeline"][0]
    event.pop("link", None)
    event |= {"fault": "dead", "gpu": dice.choice(["a.7", "c.1", "A.1", "b.5", "a", "a.-1", "a.01"])}


def no_such_card(file: Document, dice: random.Random) -> None:
    entry = _pick(file["expect"], dice)
    entry["count"][dice.choice(["c", "A", "aa"])] = 4


def smaller_card(file: Document, dice: random.Random) -> None:
    file["server"]["cards"]["a"]["gpus"] = 3


def larger_card(file: Document, dice: random.Random) -> None:
    file["server"]["cards"]["a"]["gpus"] += dice.randint(1, 3)


def card_gone(file: Document, dice: random.Random) -> None:
    del file["server"]["cards"]["b"]


def key_misspelt(file: Document, dice: random.Random) -> None:
    inside = _pick([file, file["server"], file["timeline"][0], *file["expect"], file["workload"]], dice)
    key = _pick(sorted(inside), dice)
    inside[_typo(key, dice)] = inside.pop(key)


def end_early(file: Document, dice: random.Random) -> None:
    file["until"] = dice.randrange(1, _LOOKED)


def look_late(file: Document, dice: random.Random) -> None:
    entry = _pick(file["expect"], dice)
    entry[dice.choice(["until", "from"]) if "always" in entry else "at"] = _END + dice.randrange(1, 10**6)
    entry.pop("end", None)


def look_early(file: Document, dice: random.Random) -> None:
    """What is after the fault is expected before it, or before anything is known."""
    file["expect"][1]["at"] = dice.randrange(file["timeline"][0]["at"])


def look_at_the_end(file: Document, dice: random.Random) -> None:
    """What was before the fault."""
    del file["expect"][0]["at"]
    file["expect"][0]["end"] = True


def expected_otherwise(file: Document, dice: random.Random) -> None:
    entry = _pick(file["expect"][1:3], dice)
    key = _pick(sorted(set(entry) - {"at", "end"}), dice)
    if key == "work":
        entry[key] = dice.choice([{"completed": 19}, {"lost": 1}, {"duplicated": 1}, {"completed": 21}])
        return
    card = _pick(sorted(entry[key]), dice)
    entry[key][card] = _other(entry[key][card], file["server"]["cards"][card]["gpus"], card, key, dice)


def _other(value: Any, gpus: int, card: str, key: str, dice: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return _pick([other for other in range(gpus + 2) if other != value], dice)
    if isinstance(value, list):
        one = dice.randrange(gpus)
        return [other for other in value if other != one] if one in value else [*value, one]
    if key == "entry":
        return dice.choice(["a.1" if value == "a.0" else "a.0", None, "a.2"])
    return f"{card}.0-{card}.1" if value is None else None


CHANGES: list[Change] = [
    fault_late,
    fault_early,
    fault_gone,
    fault_twice,
    fault_over_at_once,
    fault_over,
    repaired_unbroken,
    fault_elsewhere,
    fault_misspelt,
    no_such_gpu,
    no_such_card,
    smaller_card,
    larger_card,
    card_gone,
    key_misspelt,
    end_early,
    look_late,
    look_early,
    look_at_the_end,
    expected_otherwise,
    expected_otherwise,
    expected_otherwise,
]


@cache
def right(seed: int) -> Outcome:
    """The file as it was drawn, played."""
    return play(loads(json.dumps(drawn(random.Random(seed)))), cells_library())


def ended(seed: int) -> str:
    """How the file ends that was made wrong with this seed: `refused`, `fail`, `not judged` or `passed`."""
    file = drawn(random.Random(seed))
    CHANGES[seed % len(CHANGES)](file, random.Random(-seed))
    try:
        scenario = loads(json.dumps(file), "file.json")
    except ScenarioError as error:
        said = str(error)
        return "refused" if said.startswith("file.json:") and len(said.splitlines()) == 1 else said
    outcome = play(scenario, cells_library())
    return outcome.verdict if outcome.verdict != "pass" else "not judged" if outcome.not_judged else "passed"


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("seed", sampled(range(200), "alarms", 21))
def test_a_file_made_wrong_in_one_place_does_not_pass_without_a_word(seed: int) -> None:
    assert right(seed).failures == ()
    assert right(seed).not_judged == ()
    assert ended(seed) != "passed", CHANGES[seed % len(CHANGES)].__name__
