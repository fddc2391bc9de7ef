"""A shrunk failure as files: a scenario, and a pytest that fails by itself as long as the failure is there."""

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ringhil.emulator.campaign.minimise.shrink import Shrunk
from ringhil.emulator.files import write_whole
from ringhil.emulator.pages import render
from ringhil.emulator.scenario import Scenario, TimelineEvent, dumps
from ringhil.emulator.server.hashes import scenario_hash, short

_NAME = 60  # characters of a file's name
_NAMED = 3  # events in a name
_MARK = 6  # digits that tell files of one name apart


@dataclass(frozen=True)
class Reproduction:
    """A scenario file and a test that fail by themselves.

    The files, and the command that replays the scenario in their folder.
    """

    scenario_file: Path
    test_file: Path
    command: str


def write_reproduction(
    folder: Path, shrunk: Shrunk, *, hashes: Mapping[str, str], firmware: Sequence[str] = ()
) -> Reproduction:
    """Both files in `folder`, which is made if need be; `hashes` of what has failed, `firmware`: whose ran where, as it
    was written.

    They are named after what is left and how it fails; files of the same are replaced. Raises OSError.
    """
    scenario = shrunk.scenario
    places = _places(scenario)
    what = shrunk.failure.partition(":")[0]
    scenario = replace(scenario, name=f"{', '.join(places[:_NAMED]) or 'no fault'}: {what}")
    mark = hashlib.sha256(f"{shrunk.failure}".encode()).hexdigest()[:_MARK]  # of one invariant there are several ways
    name = f"{_file_name(' '.join([*(_thing(each) for each in scenario.timeline[:_NAMED]), what]))}_{mark}"
    scenario_file, test_file = folder / f"{name}.yaml", folder / f"test_{name}.py"
    known = {**hashes, "scenario": scenario_hash(dumps(scenario))}
    given = [word for text in firmware for word in ("--firmware", text)]
    command = shlex.join(["ringhil", "run", scenario_file.name, *given])
    comment = [
        f"Fails: {' '.join(shrunk.said.split())}",
        f"Class: {shrunk.failure}",
        f"Left: {_left(scenario)}",
        f"Where: {', '.join(places) or 'without any fault'}",
        *(f"{name}: {value}" for name, value in known.items()),
        f"Shrunk: {shrunk.tries} plays, {shrunk.steps} steps",
        f"Replay: {command}   (with --rtl DIR for the RTL of a folder)",
        f"Test: pytest {test_file.name}   (with RINGHIL_RTL=DIR in the environment for the RTL of a folder)",
    ]
    title = _quotable(f"{' '.join(shrunk.said.split())}: {', '.join(places) or 'no fault needed'}.")
    about = {"title": title, "hashes": _quotable(short(known)), "scenario": scenario_file.name, "name": name}
    test = render("reproduction.py.j2", **about, firmware=repr(list(firmware)) if firmware else "")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(scenario_file, "".join(f"# {line}\n" for line in comment) + dumps(scenario))
    write_whole(test_file, test)
    return Reproduction(scenario_file, test_file, command)


def _places(scenario: Scenario) -> Sequence[str]:
    """What strikes where and when."""
    return [f"{event.title} of {event.where} at {event.at}" for event in scenario.timeline]


def _thing(event: TimelineEvent) -> str:
    return f"{event.title} {event.where}"


def _left(scenario: Scenario) -> str:
    """What there still is, in numbers."""
    server, work = scenario.server, scenario.workload
    parts = [f"{len(scenario.timeline)} event{'' if len(scenario.timeline) == 1 else 's'}"]
    parts.append(", ".join(f"card {card.name} of {card.gpus} GPUs" for card in server.cards))
    parts += [f"{len(server.boundary_links)} links between cards"] if server.boundary_links else []
    parts += ["work" if work.units is None else f"{work.units} units of work"] if work is not None else []
    parts += [f"{len(scenario.expect)} expectations"] if scenario.expect else []
    parts += [f"ended at cycle {scenario.until}"] if scenario.until is not None else []
    return ", ".join(parts)


def _file_name(text: str) -> str:
    """A name that Python takes, too: letters, digits and underscores; never empty."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:_NAME].rstrip("_") or "failure"


def _quotable(text: str) -> str:
    """Fit for a docstring."""
    return text.replace("\\", "/").replace('"', "'")
