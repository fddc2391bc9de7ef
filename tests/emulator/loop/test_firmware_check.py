"""`ringhil firmware check`: ours keeps every promise, and what is wrong in one way breaks one that is about it."""

import json
import os
import random
import re
from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.firmware.c.requests import any_frame, small_frame

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.loop.alone.cases import LONE_PROMISES
from ringhil.emulator.loop.alone.servers import FirmwareRole
from ringhil.emulator.loop.checking import checked
from ringhil.emulator.loop.loading import firmware_named
from ringhil.emulator.loop.promises import PROMISES
from ringhil.emulator.pages.verdicts import RuleState
from ringhil.emulator.server.firmware_choice import Chosen
from ringhil.emulator.server.foreign import Maker
from ringhil.firmware.actions import Action
from ringhil.firmware.boot import Boot, our_program
from ringhil.firmware.commands import Remember, Send, SetTimer, Write
from ringhil.firmware.program import Firmware
from ringhil.protocol import codec
from ringhil.protocol.frames import Election, Keepalive, Report, Statistics
from ringhil.protocol.registers import ControlBit
from ringhil.protocol.wire import MAX_RING, CensusVerdict, Operation, Port, RecordFlag, Role

NOBODY = 0xFFFF


class Wrong:
    """Ours, wrong in one way."""

    def __init__(self, boot: Boot) -> None:
        self.boot, self.ours = boot, our_program(boot)

    def start(self, now: int) -> list[Action]:
        return self.said(self.ours.start(now), now)

    def on_timer(self, name: str, now: int) -> list[Action]:
        return self.said(self.ours.on_timer(name, now), now)

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        return self.said(self.ours.on_frame(frame, port, bad, now), now)

    def on_status(self, status: int) -> None:
        self.ours.on_status(status)

    def said(self, actions: list[Action], now: int) -> list[Action]:
        return [other for action in actions for other in self.instead(action, now)]

    def instead(self, action: Action, now: int) -> list[Action]:
        if isinstance(action, Send):
            message = self.message(codec.decode(action.frame), action.port)
            return [] if message is None else [Send(action.port, codec.encode(message))]
        return [action]

    def message(self, message: object, port: Port) -> object:
        return message


class AsksNever(Wrong):
    def message(self, message: object, port: Port) -> object:
        return None if isinstance(message, Election) and message.operation == Operation.CLAIM.code else message


class RenewsNever(Wrong):
    """It says nothing to its grantor once it is elected."""

    def message(self, message: object, port: Port) -> object:
        told = isinstance(message, Keepalive) and port is self.boot.entry.uplink if self.boot.entry else False
        return None if told and message.state & 3 == 2 else message  # type: ignore[attr-defined]


class AsksAtOnce(Wrong):
    """It doesn't let those before it ask first."""

    def __init__(self, boot: Boot) -> None:
        entry = None if boot.entry is None else replace(boot.entry, skew=0)
        super().__init__(replace(boot, entry=entry))


class SaysNothing(Wrong):
    """Its co-members hear nothing of it."""

    def message(self, message: object, port: Port) -> object:
        return None if isinstance(message, Keepalive) and port in (Port.CW, Port.CCW) else message


class StaysEntry(Wrong):
    """Deposed, it leaves its register as it was."""

    def instead(self, action: Action, now: int) -> list[Action]:
        if isinstance(action, Write) and action.register == "control" and now > 1000:
            return [Write("control", action.value | ControlBit.ENTRY)]
        return super().instead(action, now)


class CountsOnce(Wrong):
    """No second census."""

    def instead(self, action: Action, now: int) -> list[Action]:
        return [] if isinstance(action, SetTimer) and action.name == "period" and now > 3000 else [action]


class CountsOneWay(Wrong):
    def message(self, message: object, port: Port) -> object:
        return None if isinstance(message, Statistics) and port is Port.CCW else message


class CountsOneMore(Wrong):
    def message(self, message: object, port: Port) -> object:
        return replace(message, count=message.count + 1) if isinstance(message, Report) else message


class ForgetsTheCut(Wrong):
    def message(self, message: object, port: Port) -> object:
        if isinstance(message, Report) and message.verdict == CensusVerdict.ARMS.code:
            return replace(message, break_after=NOBODY, break_before=NOBODY)
        return message


class NamesNobody(Wrong):
    def message(self, message: object, port: Port) -> object:
        return replace(message, suspects=0, first_suspect=NOBODY) if isinstance(message, Report) else message


class NamesNoLink(Wrong):
    def message(self, message: object, port: Port) -> object:
        return replace(message, slow_link=NOBODY) if isinstance(message, Report) else message


class WeighsAlike(Wrong):
    """Who computes slowly weighs as much as others."""

    def message(self, message: object, port: Port) -> object:
        if not isinstance(message, Report):
            return message
        words = len(message.sets) // 3
        sets = (*message.sets[:words], *(0,) * words, *message.sets[2 * words :])
        return replace(message, weight=4 * message.count, sets=sets)


class OldEpoch(Wrong):
    def message(self, message: object, port: Port) -> object:
        return replace(message, epoch=max(0, message.epoch - 1)) if isinstance(message, Report) else message


class NoRecords(Wrong):
    """It leaves no room for records."""

    def message(self, message: object, port: Port) -> object:
        if isinstance(message, Statistics) and message.record_limit == MAX_RING:
            return replace(message, record_limit=3)
        return message


class NoBoundary(Wrong):
    """Elected to speak to another card, it takes nothing over."""

    def instead(self, action: Action, now: int) -> list[Action]:
        nothing = isinstance(action, Write) and action.register == "crossings"
        return [] if nothing else super().instead(action, now)


class Forgets(Wrong):
    """A warden that remembers no epoch."""

    def __init__(self, boot: Boot) -> None:
        super().__init__(replace(boot, memory=0))

    def instead(self, action: Action, now: int) -> list[Action]:
        memory = isinstance(action, Write) and action.register == "memory"
        return [] if memory or isinstance(action, Remember) else super().instead(action, now)


class GrantsNever(Wrong):
    def message(self, message: object, port: Port) -> object:
        if isinstance(message, Election) and message.operation == Operation.GRANT.code:
            return replace(message, operation=Operation.REFUSE.code, lease=100)
        return message


class AlwaysGrants(Wrong):
    """A warden that forgets at once what it has granted: a second lease begins while the first one runs."""

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        if port == Port.BOUNDARY.code and not self.boot.asks and "boundary" in self.ours.electors:
            grantor = getattr(self.ours.electors["boundary"], "grantor", None)
            if grantor is not None:
                grantor._elsewhere.clear()
                grantor.quiet_until = 0
        return super().on_frame(frame, port, bad, now)


class MarksNobody(Wrong):
    """It doesn't look who was damaged on the way."""

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        message = codec.decode(frame, check=False) if frame[0] == Statistics.KIND else None
        if isinstance(message, Statistics):
            marks = RecordFlag.ARRIVED_BAD | RecordFlag.ARRIVED_MARKED
            clean = tuple(replace(record, flags=record.flags & ~marks) for record in message.records)
            frame = codec.encode(replace(message, records=clean))
        return super().on_frame(frame, port, bad, now)


class MindsOtherEpochs(Wrong):
    """What a co-member for the boundary role says it takes for said of the entry role."""

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        by_ring = port in (Port.CW.code, Port.CCW.code)
        message = codec.decode(frame, link=False) if by_ring and frame[0] == Keepalive.KIND else None
        if isinstance(message, Keepalive) and message.role == Role.BOUNDARY.code and self.boot.entry:
            other = next(gpu for gpu in self.boot.entry.members if gpu != self.boot.gpu)
            frame = codec.encode(replace(message, role=Role.ENTRY.code, my_discriminator=other << 16 | 1))
        return super().on_frame(frame, port, bad, now)


NAMED = {  # the first promise that it breaks
    AsksNever: "election.first",
    RenewsNever: "election.first",
    AsksAtOnce: "election.waits",
    SaysNothing: "election.first",
    StaysEntry: "election.gives_up",
    CountsOnce: "census.counts",
    CountsOneWay: "census.cut",
    CountsOneMore: "census.counts",
    ForgetsTheCut: "census.cut",
    NamesNobody: "census.liar",
    NamesNoLink: "census.slow_link",
    WeighsAlike: "census.degraded",
    OldEpoch: "election.first",
    NoRecords: "census.counts",
    NoBoundary: "boundary.asks",
    Forgets: "boundary.remembers",
    GrantsNever: "boundary.grants",
    AlwaysGrants: "boundary.refuses",
    MarksNobody: "census.damage",
    MindsOtherEpochs: "lease.own_epochs",
}


def broken(made: type[Wrong], *names: str) -> list[str]:
    found = checked(Chosen("mine", made, ""), names, cells_library())
    return [each.rule for each in found if each.state is RuleState.BROKEN]


@pytest.mark.rest
def test_ours_keeps_every_promise() -> None:
    ours = firmware_named("ringhil.firmware.boot:our_program")
    found = list(checked(ours, [*PROMISES], cells_library()))
    assert [each.rule for each in found] == [*PROMISES]
    assert [(each.rule, each.failures) for each in found if each.state is not RuleState.KEPT] == []


@pytest.mark.rest
def test_being_wrapped_changes_nothing() -> None:
    assert broken(Wrong, *PROMISES) == []


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("made", NAMED, ids=lambda made: made.__name__)
def test_what_is_wrong_in_one_way_breaks_a_promise_that_is_about_it(made: type[Wrong]) -> None:
    assert broken(made, NAMED[made]) == [NAMED[made]]


class Silent:
    """It does nothing."""

    def __init__(self, boot: Boot) -> None:
        self.boot = boot

    def start(self, now: int) -> list[Action]:
        return []

    def on_timer(self, name: str, now: int) -> list[Action]:
        return []

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        return []

    def on_status(self, status: int) -> None:
        """It doesn't look."""


def one_role(role: FirmwareRole) -> Maker:
    """Ours, but only in this role; an entry GPU is a member, too."""

    def made(boot: Boot) -> Firmware:
        roles = set[FirmwareRole]()
        if boot.entry is not None:
            roles |= {FirmwareRole.MEMBER, FirmwareRole.ENTRY}
        if boot.boundary is not None:
            roles |= {FirmwareRole.BOUNDARY if boot.asks else FirmwareRole.WARDEN}
        return our_program(boot) if role in roles else Silent(boot)

    return made


class BelievesTheDamaged(Wrong):
    """It minds no CRC, and drops what is no newer than the last that it has heard of this sender, 0 at first."""

    def __init__(self, boot: Boot) -> None:
        super().__init__(boot)
        self.newest = dict[tuple[int, int], int]()

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        message = codec.decode(frame, link=False, check=False)
        if isinstance(message, Keepalive) and port in (Port.CW.code, Port.CCW.code):
            way = message.my_discriminator, port
            if message.sequence <= self.newest.get(way, 0):
                return []
            self.newest[way] = message.sequence
        return super().on_frame(codec.encode(message), port, bad=False, now=now)


def judged(made: Maker, names: Sequence[str], roles: Set[FirmwareRole]) -> dict[str, RuleState]:
    found = checked(Chosen("mine", made, ""), names, cells_library(), roles)
    return {each.rule: each.state for each in found}


QUICK = (*LONE_PROMISES, "election.waits", "election.cut", "census.liar", "boundary.takes_over", "boundary.refuses")


def test_firmware_that_does_nothing_keeps_nothing() -> None:
    assert RuleState.KEPT not in judged(Silent, QUICK, {*FirmwareRole}).values()


@pytest.mark.rest
def test_firmware_of_one_role_is_judged_in_that_role_only() -> None:
    kept = set[str]()
    for role in FirmwareRole:
        roles = {role, FirmwareRole.MEMBER} if role is FirmwareRole.ENTRY else {role}
        found = judged(one_role(role), QUICK, roles)
        assert [rule for rule, verdict in found.items() if verdict is RuleState.BROKEN] == []
        assert RuleState.NOT_JUDGED in found.values()
        kept |= {rule for rule, verdict in found.items() if verdict is RuleState.KEPT}
    assert {*QUICK} - kept == {  # firmware of several roles is asked for
        *("lease.own_epochs", "registers.entry", "reluctance.asks", "reluctance.said"),
    }


def test_what_is_damaged_is_refused_for_that_alone() -> None:
    found = judged(BelievesTheDamaged, ["keepalives.intact"], {FirmwareRole.MEMBER})
    assert found == {"keepalives.intact": RuleState.BROKEN}


class AnyFirmware:
    """It says anything, in frames of any kind and registers, whatever it is told."""

    seed = 0

    def __init__(self, boot: Boot) -> None:
        self.boot, self.dice = boot, random.Random(f"{self.seed} {boot.gpu} {boot.boots}")

    def start(self, now: int) -> list[Action]:
        return [*self.anything(), SetTimer("again", self.dice.randrange(1, 1000))]

    def on_timer(self, name: str, now: int) -> list[Action]:
        return self.start(now)

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        return self.anything()

    def on_status(self, status: int) -> None:
        """It does as it likes."""

    def anything(self) -> list[Action]:
        dice, role = self.dice, self.dice.choice((Role.ENTRY, Role.BOUNDARY))
        known = small_frame(dice, self.boot.gpus, role)
        sent = Send(dice.choice(tuple(Port)), dice.choice((known, known, any_frame(dice), dice.randbytes(64))))
        register = dice.choice(("control", "crossings", "exits", "memory"))
        return [sent, Write(register, dice.randrange(256))] if dice.random() < 0.7 else []


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("seed", range(8))
def test_whatever_firmware_does_alone_is_judged(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnyFirmware, "seed", seed)
    found = list(checked(Chosen("any", AnyFirmware, ""), [*LONE_PROMISES], cells_library()))
    assert [each.rule for each in found] == [*LONE_PROMISES]
    broken = [each for each in found if each.state is RuleState.BROKEN]
    assert len(broken) > len(found) // 2
    assert {len(each.failures) for each in broken} == {1}


MODULE = """
class Silent:
    def __init__(self, boot): pass
    def start(self, now): return []
    def on_timer(self, name, now): return []
    def on_frame(self, frame, port, bad, now): return []
    def on_status(self, status): pass
class Crash(Silent):
    def start(self, now): raise RuntimeError("no")
from ringhil.firmware.boot import our_program
class Idle(Silent):
    def __init__(self, boot): self.start = our_program(boot).start
"""


@pytest.mark.rest
def test_the_command_says_what_is_broken_and_why(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    done = ringhil("firmware", "check", "mine:Silent", "election", cwd=tmp_path)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("FAIL election.first")
    assert lines[1].strip().startswith("promised: Whoever is first of its group")
    assert "-    election.waits            the firmware has sent nothing" in lines
    assert lines[-1].startswith("mine:Silent: ")
    github = os.environ | {"GITHUB_ACTIONS": "true"}
    idle = ringhil("firmware", "check", "mine:Idle", "registers", "election", cwd=tmp_path, env=github)
    words = [line.split()[0] for line in idle.stdout.splitlines() if re.match(r"(FAIL|ok|-) ", line)]
    assert {*words} > {"FAIL"}
    assert words == sorted(words, key=lambda word: word != "FAIL")
    errors = re.findall(r"^::error title=ringhil firmware check%3A ([\w.]+)::", idle.stderr, re.MULTILINE)
    assert errors == re.findall(r"^FAIL ([\w.]+)", idle.stdout, re.MULTILINE)
    crashed = ringhil("firmware", "check", "mine:Crash", "census.cut", "--json", cwd=tmp_path)
    document = json.loads(crashed.stdout)
    assert (crashed.returncode, document["verdict"]) == (1, "fail")
    (rule,) = document["rules"]
    assert "start in cycle 0: RuntimeError: no" in rule["failures"][0]
    kept = ringhil("firmware", "check", "ringhil.firmware.boot:our_program", "census.cut", cwd=tmp_path)
    assert (kept.returncode, kept.stdout.splitlines()[0]) == (0, "ok   census.cut")
    asked = ("ringhil.firmware.boot:our_program", "keepalives.intact", "warden.boots", "--role", "member")
    as_member = ringhil("firmware", "check", *asked, cwd=tmp_path)
    assert as_member.stdout.splitlines() == [
        "ok   keepalives.intact",
        f"{'':31}not judged as warden",
        "-    warden.boots              it is about the role warden",
        "ringhil.firmware.boot:our_program: 1 kept, 0 broken, 1 not judged",
    ]


def test_the_list_and_wrong_input(tmp_path: Path) -> None:
    listed = ringhil("firmware", "check", "--list", cwd=tmp_path).stdout.splitlines()
    assert [line.split()[0] for line in listed] == [*PROMISES]
    some = ringhil("firmware", "check", "--list", "boundary", cwd=tmp_path).stdout.splitlines()
    assert all(line.startswith("boundary.") for line in some)
    assert "FIRMWARE is missing" in refusal("firmware", "check", cwd=tmp_path)
    assert "found 'nope'; allowed is MODULE:CLASS" in refusal("firmware", "check", "nope", cwd=tmp_path)
    assert "did you mean 'election'" in refusal("firmware", "check", "a:B", "electon", cwd=tmp_path)
    assert "cannot be opened" in refusal("firmware", "check", "/dev/nowhere", cwd=tmp_path)
