"""pytest plugin: scenario files are tests, and the fixture `ringhil` drives a server from a test. The fixture `card` is
in `card_plugin.py`.

| a file is collected when its top level has `server`, or `cluster` and `expect`, and |
|---|
| its name fits `test_*.yaml`, `*_test.yaml` (or .yml) and it has `cards` or a cluster: others have files with servers |
| or its name or path fits a pattern of the setting `ringhil_scenarios`, which stands for that default |
| or it is named on the command line |
| or `--ringhil-scenarios` is given: all below the paths, as `ringhil verify` finds them |

Each variant of a sweep is a test. Nothing of ringhil is loaded before such a file or the fixture comes up.
"""

from collections.abc import Callable, Generator, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ringhil.emulator.pytest_plugin.driven import Driven
    from ringhil.emulator.scenario import Scenario

pytest_plugins = ["ringhil.emulator.pytest_plugin.card_plugin"]

_DEFAULT = ("test_*.yaml", "test_*.yml", "*_test.yaml", "*_test.yml")
_ALL, _SEED, _RTL, _TOP = "--ringhil-scenarios", "--ringhil-scenario-seed", "--ringhil-rtl", "--ringhil-top"
_RECORD, _FIRMWARE = "--ringhil-record", "--ringhil-firmware"
_SETTING = "ringhil_scenarios"


_driven = pytest.StashKey["list[Driven]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which files, which seed, whose RTL, what is left."""
    group = parser.getgroup("ringhil")
    group.addoption(_ALL, action="store_true", help="collect every scenario file below the paths")
    group.addoption(_SEED, type=int, default=None, metavar="N", help="seed of scenarios, instead of the files' own")
    group.addoption(_RTL, type=Path, default=None, metavar="DIR", help="play scenarios on the RTL of this directory")
    group.addoption(_TOP, default=None, metavar="MODULE", help="the node in that directory")
    group.addoption(
        _FIRMWARE,
        action="append",
        default=[],
        metavar="GPU=FIRMWARE",
        help="run MODULE:CLASS or a library as the firmware of a GPU, or of all (*); may be repeated",
    )
    group.addoption(
        _RECORD, type=Path, default=None, metavar="DIR", help="leave a recording of each failed test there, and a page"
    )
    parser.addini(
        _SETTING, type="args", default=None, help=f"patterns of scenario files' names (default: {' '.join(_DEFAULT)})"
    )


def pytest_configure(config: pytest.Config) -> None:
    """What is left has a place, and there is such firmware."""
    folder = config.getoption(_RECORD)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise pytest.UsageError(f"{_RECORD} {folder}: it is no folder; name one for recordings")
    if given := config.getoption(_FIRMWARE):
        from ringhil.emulator.errors import RinghilError
        from ringhil.emulator.pytest_plugin.items import firmware_chosen

        try:
            firmware_chosen(tuple(given))
        except RinghilError as error:
            raise pytest.UsageError(f"--ringhil-{str(error).removeprefix('--')}") from error


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A scenario file as a collection of tests."""
    if file_path.suffix not in (".yaml", ".yml", ".json"):
        return None
    config = parent.config
    patterns = config.getini(_SETTING)
    named = parent.session.isinitpath(file_path)
    chosen = named or config.getoption(_ALL) or any(_fits(file_path, config.rootpath, p) for p in patterns or ())
    guessed = not chosen and not patterns and any(fnmatch(file_path.name, p) for p in _DEFAULT)
    if not chosen and not guessed:
        return None
    from ringhil.emulator.campaign.verify.discover import broken, is_cluster, looks_like_scenario, speaks_of_cards

    ours = looks_like_scenario(file_path) or (named and is_cluster(file_path))
    ours = ours or ((named or config.getoption(_ALL)) and broken(file_path))
    if not ours or (guessed and not speaks_of_cards(file_path)):
        return None
    from ringhil.emulator.pytest_plugin.items import ScenarioFile

    return ScenarioFile.from_parent(parent, path=file_path)


def _fits(file: Path, root: Path, pattern: str) -> bool:
    relative = file.relative_to(root).as_posix() if file.is_relative_to(root) else file.as_posix()
    return fnmatch(file.name, pattern) or fnmatch(relative, pattern)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Of a test that failed, the servers of its fixture are left as recordings; its report says where."""
    report = yield
    folder = item.config.getoption(_RECORD)
    servers = item.stash.get(_driven, [])
    if folder is not None and servers and call.when == "call" and call.excinfo is not None and report.failed:
        from ringhil.emulator.pytest_plugin.recorded import leave

        lines = [*leave(folder, item.nodeid, call.excinfo.exconly(tryshort=True), servers)]
        item.user_properties += [(word, rest) for word, _, rest in (line.partition(": ") for line in lines)]  # of JUnit
        report.sections.append(("recorded by ringhil", "\n".join(lines)))
    return report


@pytest.fixture
def ringhil(request: pytest.FixtureRequest, tmp_path: Path) -> "Iterator[Callable[..., Driven]]":
    """A function `ringhil(source, variant=None, seed=None)` that powers a server up and gives it to the test.

    `source`: a Scenario, the path of a file (a relative one starts beside the test file), or the text of one.
    """
    from ringhil.emulator.pytest_plugin.driven import Driven, scenario_of
    from ringhil.emulator.pytest_plugin.items import firmware_chosen, library_of
    from ringhil.emulator.server.hashes import hashes

    started = request.node.stash[_driven] = list[Driven]()
    said = request.node.user_properties  # the fixture `record_property` warns with --junitxml

    def start(source: "Scenario | Path | str", *, variant: str | None = None, seed: int | None = None) -> Driven:
        chosen = request.config.getoption(_SEED) if seed is None else seed
        scenario = scenario_of(source, request.path.parent, variant, chosen)
        library = library_of(request.config.getoption(_RTL), request.config.getoption(_TOP))
        firmware = firmware_chosen(tuple(request.config.getoption(_FIRMWARE)))
        said.extend([("seed", scenario.seed), *hashes(scenario, library.rtl, firmware).items()])
        server = Driven(scenario, library, tmp_path / f"scenario-{len(started) + 1}.yaml", firmware)
        started.append(server)
        return server

    yield start
    for server in started:
        said.append(("cycles", server.now))
        server.close()
