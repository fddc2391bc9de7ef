"""pytest plugin: the fixture `card`, a card on its port, so that the same tests run on emulated and on real ones.

| a run has | the card is |
|---|---|
| nothing | an emulated one of 8 GPUs, new for each test |
| the setting `ringhil_card_server` | an emulated one of that server, new for each test |
| `--card URL` | the one that answers there, real or emulated |

What is wrong with an option, a marker or the card is one line, and exit code 4, before the first test; a card is only
asked when a test has the fixture. A worker of pytest-xdist hands that line to the process that has started it. Nothing
of ringhil is loaded before the fixture, the marker or `--card` comes up.
"""

import argparse
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from ringhil.emulator.pytest_plugin.tested import CardAtHand
    from ringhil.emulator.serial.client import CardClient

_URL, _BAUD, _TIMEOUT, _RECORD = "--card", "--card-baud", "--card-timeout", "--card-record"
_SERVER = "ringhil_card_server"
_MARKER = "card_can"
_TOLD = "ringhil_card"  # by a worker
_LONGEST = 3600.0  # seconds

_at_hand = pytest.StashKey["CardAtHand"]()


def _baud(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 50 <= int(text) <= 100_000_000):
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed is a whole number from 50 to 100000000")
    return int(text)


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0.001 <= found <= _LONGEST:
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed are 0.001 to {_LONGEST:g} seconds")
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which card."""
    group = parser.getgroup("ringhil")
    group.addoption(_URL, default=None, metavar="URL", help="the card of the fixture `card`: a device or a URL")
    group.addoption(_BAUD, type=_baud, default=115_200, metavar="N", help="speed of a real port (default: 115200)")
    group.addoption(_TIMEOUT, type=_seconds, default=1.0, metavar="SECONDS", help="for an answer of it (default: 1)")
    group.addoption(_RECORD, type=Path, default=None, metavar="FILE", help="write the session with it to this file")
    parser.addini(_SERVER, default=None, help="the emulated card of the fixture `card`: SERVER.yaml[#CARD]")


def pytest_configure(config: pytest.Config) -> None:
    """The marker, and options that go together."""
    config.addinivalue_line("markers", f"{_MARKER}(capability, ...): needs a card that has these capabilities")
    url, record = config.getoption(_URL), config.getoption(_RECORD)
    if record is not None and (url is None or _each_is_new(url)):
        raise pytest.UsageError(f"{_RECORD}: an emulated card is new for each test; allowed with {_URL} of another one")
    if url is not None and not _each_is_new(url) and config.getoption("dist", "no") != "no":
        raise pytest.UsageError(f"{_URL} {url}: one card takes one test after the other; run pytest without -n")


def _each_is_new(url: str) -> bool:
    from ringhil.emulator.pytest_plugin.tested import is_emulated

    return is_emulated(url)


@pytest.hookimpl(tryfirst=True)  # before -m leaves any out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A capability that there isn't is no reason to skip."""
    marked = [item for item in items if item.get_closest_marker(_MARKER)]
    if marked:
        from ringhil.emulator.pytest_plugin.card_plugin import needed

        for item in marked:
            try:
                needed(item)
            except ValueError as error:
                _refuse(config, f"{item.nodeid}: {error}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Before the first test: whether the card that was named answers."""
    config = session.config
    named = config.getoption(_URL) or config.getini(_SERVER)
    if named and not config.option.collectonly and any("card" in _fixtures(item) for item in session.items):
        from ringhil.emulator.serial.client import CardError

        try:
            _card_at_hand(config).check()
        except CardError as error:
            _refuse(config, str(error))


def _fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


def _refuse(config: pytest.Config, text: str) -> NoReturn:
    if hasattr(config, "workeroutput"):
        config.workeroutput[_TOLD] = text
    raise pytest.UsageError(text)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_testnodedown(node: Any) -> None:
    """What a worker has refused, the whole run does."""
    text = getattr(node, "workeroutput", {}).get(_TOLD)
    if text is not None:
        raise pytest.UsageError(text)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The port is closed; what of a recorded session could not be written is told."""
    card = session.config.stash.get(_at_hand, None)
    if card is not None:
        from ringhil.emulator.serial.client import CardError

        try:
            card.close()
        except CardError as error:
            raise pytest.UsageError(str(error)) from error


def _card_at_hand(config: pytest.Config) -> "CardAtHand":
    if _at_hand not in config.stash:
        from ringhil.emulator.pytest_plugin.tested import CardAtHand, CardPlace, url_of_server

        url, server = config.getoption(_URL), config.getini(_SERVER) or None
        asked, called = f"{_URL} {url}", f"the card at {url}"
        if url is None:
            url = url_of_server(config.rootpath, server)
            asked = f"{_SERVER} {server}" if server else "the fixture card"
            called = f"the emulated card of {server}" if server else "the emulated card"
        place = CardPlace(
            url, asked, called, config.getoption(_BAUD), config.getoption(_TIMEOUT), config.getoption(_RECORD)
        )
        config.stash[_at_hand] = CardAtHand(place)
    return config.stash[_at_hand]


@pytest.fixture
def card(request: pytest.FixtureRequest) -> "Iterator[CardClient]":
    """A client of the card that this run is about, which has just said hello. The test is skipped where a capability is
    lacking that its marker `card_can` names. Faults that it begins with this client end with the test."""
    from ringhil.emulator.pytest_plugin.card_plugin import lacking
    from ringhil.emulator.serial.client import CardError

    at_hand = _card_at_hand(request.config)
    with ExitStack() as stack:
        try:
            client = stack.enter_context(at_hand.client())
        except CardError as error:
            pytest.fail(str(error), pytrace=False)
        lacks = lacking(request.node, client.info.capabilities)
        if lacks is not None:
            pytest.skip(f"{at_hand.place.called} lacks the capability {lacks}")
        yield client


def needed(item: pytest.Item) -> list[str]:
    """The capabilities that a test's markers name. Raises ValueError for what is none."""
    # Imported here: pytest loads this file in every project, also where nothing is about a card.
    from ringhil.emulator.scenario.yaml.errors import unknown
    from ringhil.protocol.line.management import Capability

    allowed = [bit.word for bit in Capability]
    found = list[str]()
    for mark in item.iter_markers(_MARKER):
        if not mark.args or mark.kwargs:
            raise ValueError(f"{_MARKER}: takes names of capabilities; allowed: {', '.join(allowed)}")
        for name in mark.args:
            if name not in allowed:
                raise ValueError(f"{_MARKER}: {unknown('capability', str(name), allowed)}")
            found.append(name)
    return found


def lacking(item: pytest.Item, able: Iterable[str]) -> str | None:
    """The first capability that a test needs and a card lacks."""
    return next((name for name in needed(item) if name not in able), None)
