"""The check checked: every mistake of a card is found, by the rule that is about it, and a card without one passes."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.sampled import sampled

from ringhil.emulator.pages.verdicts import RuleState
from ringhil.emulator.serial.checks.bench import LineBench
from ringhil.emulator.serial.checks.promise import all_promises
from ringhil.emulator.serial.checks.suite import PromiseFinding, run
from ringhil.emulator.serial.client import opened_port
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import Capability, Refusal, Type

from . import mistaken_faults, mistaken_requests, mistaken_rings  # noqa: F401  their cards are among MISTAKES
from .mistaken import MISTAKES, Honest, Talkative, Unread

SERVER = "server: {cards: {a: {gpus: 4}}}\n"
TIMEOUT = 0.02  # seconds of the card's time


@contextmanager
def emulated(folder: Path) -> Iterator[Any]:
    (folder / "server.yaml").write_text(SERVER)
    with closing(opened_port(f"emulated://{folder}/server.yaml", timeout=TIMEOUT)) as line:
        yield line


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A card for those whose mistakes leave no trace on it."""
    with emulated(tmp_path_factory.mktemp("server")) as line:
        yield line


def checked(line: Any, *names: str) -> dict[str, PromiseFinding]:
    bench = LineBench(line, timeout=TIMEOUT, faults=True)
    return {finding.rule: finding for finding in run(bench, names)}


# Ten seconds: it is waited for what never comes.
LONG, SLOW = "TellsOfNoneMissed", pytest.mark.slow(part="benches")


@pytest.mark.rest(but_one_in=8)
@pytest.mark.parametrize(
    "name", [*sampled((name for name in MISTAKES if name != LONG), "benches", 4), pytest.param(LONG, marks=SLOW)]
)
def test_every_mistake_is_found_by_the_rule_that_is_about_it(name: str, shared: Any, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    if mistake.rule.startswith(("faults.", "roles.")):
        with emulated(tmp_path) as line:
            found = checked(mistake.card(line), mistake.rule)
    else:
        found = checked(mistake.card(shared), mistake.rule)
    finding = found[mistake.rule]
    assert finding.state is RuleState.BROKEN, finding
    assert finding.text.startswith("sent ")
    assert "; promised: " in finding.text
    assert "; came: " in finding.text
    assert "\n" not in finding.text


def test_a_card_without_a_mistake_keeps_all_promises(tmp_path: Path) -> None:
    with emulated(tmp_path) as line:
        found = checked(Unread(line))
    assert [finding for finding in found.values() if finding.state is RuleState.BROKEN] == []
    unjudged = {finding.rule: finding.text for finding in found.values() if finding.state is RuleState.NOT_JUDGED}
    assert unjudged == {"refusals.cannot": "the card has all capabilities"}


FAULTY = {rule for rule in all_promises() if rule.startswith(("faults.", "roles."))}


class Real(Honest):
    """It injects no faults, and says so."""

    says = ~Capability.FAULTS

    def asked(self, request: bytes) -> list[bytes]:
        if request[0] != Type.INJECT.code:
            return [request]
        self.reply(m.RefusedReply(int.from_bytes(request[1:3], "big"), Refusal.CANNOT.code, b"this is no emulator"))
        return []

    def told(self, message: Any) -> list[Any]:
        is_hello = isinstance(message, m.HelloReply)
        return [replace(message, capabilities=message.capabilities & self.says) if is_hello else message]


class Boasting(Real):
    """It says that it does, and refuses."""

    says = 0xFFFF


@pytest.mark.parametrize("card", [Real, Boasting])
def test_a_card_that_refuses_faults_is_not_judged_by_them(card: type[Honest], tmp_path: Path) -> None:
    with emulated(tmp_path) as line:
        found = checked(card(line))
    assert [finding for finding in found.values() if finding.state is RuleState.BROKEN] == []
    assert {found[rule].state for rule in FAULTY} == {RuleState.NOT_JUDGED}


def test_events_may_come_at_any_moment(tmp_path: Path) -> None:
    """A card that counts between any two messages keeps its promises all the same."""
    with emulated(tmp_path) as line:
        found = checked(Talkative(line))
    assert [finding for finding in found.values() if finding.state is RuleState.BROKEN] == []


def test_every_rule_finds_a_mistake() -> None:
    assert {*all_promises()} == {mistake.rule for mistake in MISTAKES.values()}
