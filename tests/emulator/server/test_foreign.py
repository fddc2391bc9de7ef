"""Somebody else's firmware in a server: it does as ours where it is the same, and what is wrong in it is one line."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.command import refusal, ringhil

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.scenario import load, loads
from ringhil.emulator.server import LiveServer
from ringhil.emulator.server.firmware_choice import Chosen, FirmwareChoice
from ringhil.emulator.server.foreign import FirmwareError, ForeignFirmware
from ringhil.firmware.actions import Action
from ringhil.firmware.boot import Boot
from ringhil.firmware.census import CensusConfig
from ringhil.firmware.commands import CancelTimer, Remember, Send, SetTimer, Tell, Write
from ringhil.firmware.election import GroupConfig
from ringhil.firmware.observations import (
    Counted,
    Deposed,
    Elected,
    Granted,
    Lapsed,
    PeerDown,
    PeerUp,
    Rejected,
    Suspected,
)
from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.reasons import LeaseEnd, Rejection
from ringhil.protocol.wire import CensusVerdict, Port, Role

ROOT = Path(__file__).resolve().parents[3]
KEEPALIVE = Keepalive(0, 0, 2, 3, 0, 0, 1, 0, 3, 0, 0, 0, 1000, 0, 1, 0)
BOOT = Boot(0, 3, 4, 1, 0, 1, CensusConfig(0, 3, 4, 0, 600, 100))


class Recorded:
    """Writes down what it is told, and answers from `answers`."""

    boots: list["Recorded"]
    answers: dict[str, list[Action]]

    def __init__(self, boot: Boot) -> None:
        self.boot, self.told = boot, list[tuple[object, ...]]()
        self.boots.append(self)

    def _tell(self, what: str, *given: object) -> list[Action]:
        self.told.append((what, *given))
        return self.answers.get(what, [])

    def start(self, now: int) -> list[Action]:
        return self._tell("start", now)

    def on_timer(self, name: str, now: int) -> list[Action]:
        return self._tell(name, now)

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        return self._tell("frame", frame, port, bad, now)

    def on_status(self, status: int) -> None:
        self._tell("status", status)


@pytest.fixture
def recorded() -> type[Recorded]:
    class Mine(Recorded):
        boots, answers = [], {}

    return Mine


def choice(where: str, maker: Callable[[Boot], object]) -> FirmwareChoice:
    return FirmwareChoice((where,), {where: Chosen("mine", maker, "")})  # type: ignore[arg-type]


@pytest.mark.rest
@pytest.mark.parametrize(
    "example",
    [
        "fail-over.yaml",
        *(
            pytest.param(name, marks=pytest.mark.slow(part="benches"))
            for name in ("two-cards-faults.yaml", "chain-of-four.yaml")
        ),
    ],
)
def test_our_own_class_named_by_hand_changes_nothing(example: str) -> None:
    outcomes = []
    for firmware in (firmware_of([]), firmware_of(["*=ringhil.firmware.boot:our_program"])):
        run = Run(load(ROOT / "examples" / example), cells_library(), firmware=firmware)
        document = run.run().to_json()
        del document["engine"]
        outcomes.append(document)
        run.close()
    assert outcomes[0] == outcomes[1]


OURS = "ringhil.firmware.boot:our_program"


def test_a_gpu_has_one_firmware_and_nothing_is_loaded_where_it_has_two() -> None:
    for where, named in (("a.3", "GPU a.3"), ("*", "'*'")):
        with pytest.raises(FirmwareError) as caught:
            firmware_of([f"{where}=nowhere:None", "a.1=nowhere:None", f"{where}={OURS}"])
        assert str(caught.value) == f"--firmware {where}={OURS}: {named} has nowhere:None already; allowed is one"


@pytest.mark.rest
def test_a_gpu_that_is_named_by_itself_is_none_of_all(recorded: type[Recorded]) -> None:
    """Wherever it stands."""
    found = [firmware_of(given).chosen for given in ([f"*={OURS}", "a.1=json:loads"], ["a.1=json:loads", f"*={OURS}"])]
    assert [{where: each.text for where, each in one.items()} for one in found] == 2 * [
        {"*": OURS, "a.1": "json:loads"}
    ]
    mine = FirmwareChoice((), {"a.1": Chosen("mine", recorded, ""), "*": found[0]["*"]})  # type: ignore[arg-type]
    server = LiveServer(loads("server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}\n"), cells_library(), firmware=mine)
    server.start()
    assert [made.boot.gpu for made in recorded.boots] == [1]
    server.engine.close()


def test_a_gpu_that_has_no_firmware_of_ours_may_have_somebody_s(recorded: type[Recorded]) -> None:
    """What it asks for is done: timers, registers, frames; and it is told what there is."""
    recorded.answers["start"] = [
        SetTimer("tick", 100),
        SetTimer("never", 150),
        SetTimer("late", 400),
        Write("weight", 7),
        Remember(5),
    ]
    recorded.answers["tick"] = [CancelTimer("never"), Tell(Port.CW, KEEPALIVE)]
    server = LiveServer(loads("server: {cards: {a: {gpus: 4}}}\n"), cells_library(), firmware=choice("a.3", recorded))
    sent = list[bytes]()
    server.observations.listen_to_frames(lambda seen: sent.append(seen.frame) if seen.cell == 3 else None)
    server.start()
    server.run_to(1000)
    (firmware,) = recorded.boots
    assert (firmware.boot.gpu, firmware.boot.gpus, firmware.boot.boots, firmware.boot.memory) == (3, 4, 1, 0)
    assert firmware.boot.entry is None
    assert firmware.boot.boundary is None
    told = [(what, *given) for what, *given in firmware.told if what != "frame"]
    assert [what for what, *_ in told] == ["start", "status", "tick", "status", "late"]
    assert ("tick", 100) in told
    assert ("late", 400) in told
    assert (server.engine.peek(3, "weight"), server.engine.peek(3, "memory")) == (7, 5)
    assert codec.encode(KEEPALIVE) in sent
    server.engine.close()


def test_it_boots_afresh_when_its_gpu_is_well_again(recorded: type[Recorded]) -> None:
    recorded.answers["start"] = [Remember(9), SetTimer("tick", 3000)]
    timeline = "timeline: [{at: 500, fault: dead, gpu: a.3}, {at: 900, clear: dead, gpu: a.3}]"
    text = f"server: {{cards: {{a: {{gpus: 4}}}}}}\n{timeline}"
    server = LiveServer(loads(text), cells_library(), firmware=choice("a.3", recorded))
    server.start()
    server.run_to(10_000)
    first, second = recorded.boots
    assert ("tick", 3000) not in first.told
    assert (second.boot.boots, second.boot.memory) == (2, 9)
    assert [given for what, *given in second.told if what == "start"] == [[900]]
    server.engine.close()


def test_one_that_is_chosen_for_all_runs_where_ours_would(recorded: type[Recorded]) -> None:
    two = """
server:
  cards: {a: {gpus: 5, host_links: [0, 1]}, b: {gpus: 4}}
  boundary_links: [{from: [a.3, a.2], to: [b.2, b.3]}]
"""
    server = LiveServer(loads(two), cells_library(), firmware=choice("*", recorded))
    server.start()
    found = {(made.boot.card, made.boot.gpu): made.boot for made in recorded.boots}
    assert set(found) == {(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 2), (1, 3)}
    asks = {place for place, boot in found.items() if boot.asks}
    assert asks == {(0, 2), (0, 3)}
    assert [place for place, boot in found.items() if boot.entry is not None] == [(0, 0), (0, 1), (1, 0)]
    server.engine.close()


FRAME = codec.encode(KEEPALIVE)
WRONG_ANSWERS = {
    "found a NoneType; wanted is a list of 256 actions at most": None,
    "found 257 actions; wanted is": [Write("weight", 1)] * 257,
    "found a str; allowed are Send, Tell": ["go"],
    "port: found 'cw'; allowed are Port.CW": [Send("cw", FRAME)],  # type: ignore[arg-type]
    "Send: frame: found b'x'; allowed is a multiple of 8 bytes": [Send(Port.CW, b"x")],
    "Send: frame: found b''": [Send(Port.CW, b"")],
    "Send: frame: found 'abc'": [Send(Port.CW, "abc")],  # type: ignore[arg-type]
    "port: found 1; allowed are Port.CW": [Tell(1, KEEPALIVE)],  # type: ignore[arg-type]
    "Tell: message: found 3": [Tell(Port.CW, 3)],  # type: ignore[arg-type]
    "SetTimer: delay: found 0; allowed is a whole number from 1 to": [SetTimer("x", 0)],
    f"SetTimer: delay: found {(1 << 40) + 1}": [SetTimer("x", (1 << 40) + 1)],
    "SetTimer: delay: found 1.5": [SetTimer("x", 1.5)],  # type: ignore[arg-type]
    "SetTimer: delay: found True": [SetTimer("x", True)],
    "SetTimer: name: found 3": [SetTimer(3, 3)],  # type: ignore[arg-type]
    "CancelTimer: name: found 'xxxx": [CancelTimer("x" * 65)],
    "Write: register: found 'status'; allowed are": [Write("status", 1)],
    "Write: value: found 4294967296; allowed is": [Write("weight", 1 << 32)],
    "Remember: epoch: found -1": [Remember(-1)],
    "Elected: role: found Role.ENTRY; allowed are none, of this GPU": [Elected(Role.ENTRY, 1)],
    "Deposed: role: found 3; allowed are": [Deposed(3, 1, LeaseEnd.LEASE)],  # type: ignore[arg-type]
    "Granted: role: found Role.BOUNDARY; allowed are": [Granted(Role.BOUNDARY, 1, 0, 9)],
    "Lapsed: role: found": [Lapsed(Role.ENTRY, 1, 0, LeaseEnd.LEASE)],
    "PeerUp: role: found": [PeerUp(Role.ENTRY, 1)],
    "PeerDown: role: found": [PeerDown(Role.BOUNDARY, 1)],
    "Suspected: gpus: found 4; allowed is a whole number from 0 to 3": [Suspected((1, 4))],
    "Counted: count: found 5": [Counted(5, None, CensusVerdict.RING, None, None, 1, 1)],
    "Counted: members: found -1": [Counted(2, (1, -1), CensusVerdict.RING, None, None, 1, 1)],
    "Counted: break_after: found 4": [Counted(2, None, CensusVerdict.ARMS, 4, None, 1, 1)],
    "Counted: boundaries: card: found 99": [Counted(1, (1,), CensusVerdict.RING, None, None, 1, 1, (), ((1, 99),))],
}


def bad(value: object) -> Any:
    """What no type checker lets through."""
    return value


ENTRY = GroupConfig(Role.ENTRY, 0, 3, 1, (0, 3), 4, Port.CPU, 0, 0, 400, 3, 40, 200, 1500, 200, 200, 4000, 1, 1)
WARDENS = replace(
    ENTRY, role=Role.BOUNDARY, rank=2, members=(1, 2, 3), uplink=Port.BOUNDARY, uplink_card=1, uplink_home=9
)
MEMBER, WARDEN = replace(BOOT, entry=ENTRY), replace(BOOT, boundary=WARDENS)
LEADER = replace(WARDEN, asks=True)
COUNTED = Counted(2, (1, 3), CensusVerdict.RING, None, None, 1, 1)
WORDS, LATEST = "a whole number from 0 to 4294967295", (1 << 63) - 1
WRONG_CLAIMS: dict[str, tuple[Boot, Any]] = {
    "Elected: role: found 'entry'; allowed are Role.ENTRY": (MEMBER, Elected(bad("entry"), 1)),
    "Elected: role: found []; allowed are Role.ENTRY": (MEMBER, Elected(bad([]), 1)),
    "Elected: epoch: found -1; allowed is a whole number from 1 to 4294967295": (MEMBER, Elected(Role.ENTRY, -1)),
    "Elected: epoch: found 0; allowed is": (MEMBER, Elected(Role.ENTRY, 0)),
    "Elected: epoch: found 1099511627776; allowed is": (MEMBER, Elected(Role.ENTRY, 1 << 40)),
    "Elected: epoch: found 1.5; allowed is": (MEMBER, Elected(Role.ENTRY, bad(1.5))),
    "Deposed: epoch: found 4294967296; allowed is": (MEMBER, Deposed(Role.ENTRY, 1 << 32, LeaseEnd.LEASE)),
    "Deposed: why: found 'lease'; allowed are LeaseEnd.LEASE, ": (MEMBER, Deposed(Role.ENTRY, 1, bad("lease"))),
    "Granted: epoch: found 0; allowed is": (WARDEN, Granted(Role.BOUNDARY, 0, 1, 9)),
    "Granted: rank: found 3; allowed is a whole number from 0 to 2": (WARDEN, Granted(Role.BOUNDARY, 1, 3, 9)),
    "Granted: until: found -1; allowed is a whole number from 0 to": (WARDEN, Granted(Role.BOUNDARY, 1, 1, -1)),
    f"Granted: until: found {LATEST + 1}; allowed is": (WARDEN, Granted(Role.BOUNDARY, 1, 1, LATEST + 1)),
    "Lapsed: epoch: found 4294967296; allowed": (WARDEN, Lapsed(Role.BOUNDARY, 1 << 32, 1, LeaseEnd.LEASE)),
    "Lapsed: rank: found -1; allowed": (WARDEN, Lapsed(Role.BOUNDARY, 1, -1, LeaseEnd.LEASE)),
    "Lapsed: why: found None; allowed are LeaseEnd.LEASE": (WARDEN, Lapsed(Role.BOUNDARY, 1, 1, bad(None))),
    "PeerUp: gpu: found 1; allowed are 0": (MEMBER, PeerUp(Role.ENTRY, 1)),
    "PeerUp: gpu: found 3; allowed are 0": (MEMBER, PeerUp(Role.ENTRY, 3)),
    "PeerUp: gpu: found True; allowed are 0": (MEMBER, PeerUp(Role.ENTRY, True)),
    "PeerDown: gpu: found 900; allowed are 1, 2, 9": (WARDEN, PeerDown(Role.BOUNDARY, 900)),
    "PeerDown: gpu: found 0; allowed are 1, 2, 9": (LEADER, PeerDown(Role.BOUNDARY, 0)),
    "Rejected: reason: found 'crc'; allowed are Rejection.CRC": (MEMBER, Rejected(bad("crc"), 1)),
    f"Rejected: sequence: found -1; allowed is {WORDS}": (MEMBER, Rejected(Rejection.CRC, -1)),
    "Suspected: gpus: found [1]; allowed is a tuple of GPUs": (MEMBER, Suspected(bad([1]))),
    "Suspected: gpus: found 1; allowed is a tuple of GPUs": (MEMBER, Suspected(bad(1))),
    "Counted: members: found 3; allowed is a tuple": (MEMBER, replace(COUNTED, members=bad(3))),
    "Counted: members: found 4; allowed is a whole number from 0 to 3": (MEMBER, replace(COUNTED, members=(1, 4))),
    "Counted: verdict: found 'ring'; allowed are CensusVerdict.": (MEMBER, replace(COUNTED, verdict=bad("ring"))),
    "Counted: break_before: found -1; allowed is": (MEMBER, replace(COUNTED, break_before=-1)),
    f"Counted: sequence: found 4294967296; allowed is {WORDS}": (MEMBER, replace(COUNTED, sequence=1 << 32)),
    "Counted: sent_at: found -1; allowed is": (MEMBER, replace(COUNTED, sent_at=-1)),
    "Counted: degraded: found None; allowed is a tuple": (MEMBER, replace(COUNTED, degraded=bad(None))),
    "Counted: degraded: found 4; allowed is": (MEMBER, replace(COUNTED, degraded=(4,))),
    "Counted: boundaries: found {}; allowed is a tuple of pairs": (MEMBER, replace(COUNTED, boundaries=bad({}))),
    "Counted: boundaries: found 1; allowed is a pair of": (MEMBER, replace(COUNTED, boundaries=bad((1,)))),
    "Counted: boundaries: found (1, 2, 3); allowed is": (MEMBER, replace(COUNTED, boundaries=bad(((1, 2, 3),)))),
    "Counted: boundaries: found 4; allowed is": (MEMBER, replace(COUNTED, boundaries=((4, 1),))),
    f"Counted: weight: found -1; allowed is {WORDS}": (MEMBER, replace(COUNTED, weight=-1)),
}
CLAIMS = [
    (MEMBER, Elected(Role.ENTRY, 0xFFFFFFFF)),
    (MEMBER, Deposed(Role.ENTRY, 1, LeaseEnd.FENCED)),
    (MEMBER, PeerUp(Role.ENTRY, 0)),
    (LEADER, Elected(Role.BOUNDARY, 1)),
    (LEADER, PeerDown(Role.BOUNDARY, 2)),
    (WARDEN, PeerUp(Role.BOUNDARY, 9)),
    (WARDEN, Granted(Role.BOUNDARY, 1, 2, LATEST)),
    (WARDEN, Lapsed(Role.BOUNDARY, 1, 0, LeaseEnd.RELEASE)),
    (MEMBER, Rejected(Rejection.STALE, 0xFFFFFFFF)),
    (MEMBER, replace(COUNTED, members=None, boundaries=((3, 15),), degraded=(0,), weight=0xFFFFFFFF, sent_at=LATEST)),
]


@pytest.mark.parametrize("says", WRONG_CLAIMS)
def test_a_claim_that_can_t_be_is_told_by_its_field(recorded: type[Recorded], says: str) -> None:
    boot, claim = WRONG_CLAIMS[says]
    recorded.answers["start"] = [claim]
    with pytest.raises(FirmwareError) as caught:
        ForeignFirmware("firmware of a.3 (mine)", recorded, boot).start(7)
    assert str(caught.value).startswith(f"firmware of a.3 (mine): start in cycle 7: {says}")


@pytest.mark.parametrize(("boot", "claim"), CLAIMS)
def test_the_least_and_the_most_that_can_be_claimed_is_taken(
    recorded: type[Recorded], boot: Boot, claim: Action
) -> None:
    recorded.answers["start"] = [claim]
    assert ForeignFirmware("x", recorded, boot).start(0) == [claim]


@pytest.mark.parametrize("says", WRONG_ANSWERS)
def test_an_answer_that_none_may_give_is_told(recorded: type[Recorded], says: str) -> None:
    recorded.answers["start"] = WRONG_ANSWERS[says]  # type: ignore[assignment]
    firmware = ForeignFirmware("firmware of a.3 (mine)", recorded, BOOT)
    with pytest.raises(FirmwareError) as caught:
        firmware.start(7)
    assert str(caught.value).startswith(f"firmware of a.3 (mine): start in cycle 7: {says}")
    assert "\n" not in str(caught.value)


def test_what_may_be_answered_goes_on_as_it_is(recorded: type[Recorded]) -> None:
    named = Suspected((3,))
    recorded.answers["start"] = [Send(Port.CPU, FRAME), SetTimer("x", 1), CancelTimer("y"), Write("weight", 0), named]
    assert ForeignFirmware("x", recorded, BOOT).start(0) == recorded.answers["start"]


@pytest.mark.parametrize("answer", [[SetTimer("x" * 64, 1 << 40)], [Write("weight", 1)] * 256])
def test_the_most_that_may_be_answered_goes_on(recorded: type[Recorded], answer: list[Action]) -> None:
    recorded.answers["start"] = answer
    assert ForeignFirmware("x", recorded, BOOT).start(0) == answer


MODULE = """
from ringhil.firmware.boot import our_program as ours
class Silent:
    def __init__(self, boot): pass
    def start(self, now): return []
    def on_timer(self, name, now): return []
    def on_frame(self, frame, port, bad, now): return []
    def on_status(self, status): pass
class Crash(Silent):
    def on_frame(self, frame, port, bad, now): raise RuntimeError("two\\nlines")
class NoTimer:
    on_frame = on_status = start = None
number = 3
"""
FAR = """
from ringhil.firmware.boot import our_program
from ringhil.firmware.commands import Send
from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive
from dataclasses import replace
class Far:
    def __init__(self, boot): self.ours = our_program(boot)
    def _far(self, actions): return [self._one(each) for each in actions]
    def _one(self, action):
        if not isinstance(action, Send): return action
        try: message = codec.decode(action.frame)
        except ValueError: return action
        if not isinstance(message, Keepalive): return action
        return Send(action.port, codec.encode(replace(message, epoch=0xFFFFFFFF)))
    def start(self, now): return self._far(self.ours.start(now))
    def on_timer(self, name, now): return self._far(self.ours.on_timer(name, now))
    def on_frame(self, frame, port, bad, now): return self._far(self.ours.on_frame(frame, port, bad, now))
    def on_status(self, status): self.ours.on_status(status)
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "s.yaml").write_text("server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}\nuntil: 20000\n")
    return tmp_path


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            "a.0=mine",
            "--firmware: found 'a.0=mine'; allowed is GPU=MODULE:CLASS, GPU=LIBRARY.so or GPU=URL, such as a.3=mine:",
        ),
        ("mine:Silent", "--firmware: found 'mine:Silent'; allowed is"),
        ("a.0=../mine:Silent", "--firmware: found 'a.0=../mine:Silent'; allowed is"),
        ("a=mine:Silent", "--firmware a=mine:Silent: found 'a'; allowed is a GPU name"),
        ("a.9=mine:Silent", "--firmware: found GPU a.9; there are a.0 .. a.3"),
        ("c.0=mine:Silent", "--firmware: found GPU c.0; there are a.0 .. a.3"),
        ("a.0=yours:Silent", "yours can't be loaded: ModuleNotFoundError: No module named 'yours'"),
        ("a.0=mine.deep:Other", "mine.deep can't be loaded: ModuleNotFoundError: No module named 'mine.deep'"),
        ("a.0=mine:Other", "--firmware a.0=mine:Other: mine has no Other; allowed is what it has: "),
        ("a.0=mine:number", "--firmware a.0=mine:number: number is no class"),
        ("a.0=mine:NoTimer", "NoTimer has no method on_timer; wanted are start, on_timer, on_frame, on_status"),
    ],
)
def test_what_is_no_firmware_is_one_line(here: Path, given: str, says: str) -> None:
    said = refusal("run", "s.yaml", "--firmware", given, cwd=here)
    assert said.startswith("ringhil: ")
    assert says in said


PRINTS = """
import sys
from ringhil.firmware import our_program
print("told")
class Prints:
    out = sys.stdout
    def __init__(self, boot): print("told", file=self.out); self.ours = our_program(boot)
    def start(self, now): print("told"); return self.ours.start(now)
    def on_timer(self, name, now): print("told"); return self.ours.on_timer(name, now)
    def on_frame(self, frame, port, bad, now): print("told"); return self.ours.on_frame(frame, port, bad, now)
    def on_status(self, status): print("told"); self.ours.on_status(status)
"""
PRINTED = [
    ("run", "s.yaml"),
    ("verify", "s.yaml"),
    ("explore", "s.yaml", "--faults", "dead", "--number", "2"),
    ("replay", "r.rec"),
    ("step", "r.rec", "--script", "script"),
    ("firmware", "check", "mine:Prints", "election.first", "wait.refused"),
]


@pytest.mark.parametrize("command", PRINTED, ids=lambda command: command[0])
def test_what_it_prints_spoils_no_document(command: tuple[str, ...], here: Path) -> None:
    """It goes to standard error, as what a library prints does."""
    (here / "mine.py").write_text(PRINTS)
    (here / "script").write_text("next Elected\nstate a.1\n")
    own = () if command[0] == "firmware" else ("--firmware", "a.1=mine:Prints")
    if "r.rec" in command:
        assert ringhil("run", "s.yaml", "--record", "r.rec", *own, cwd=here).returncode == 0
    done = ringhil(*command, *own, "--json", cwd=here)
    assert done.returncode in (0, 1), done.stderr
    for line in done.stdout.splitlines() if command[0] == "step" else [done.stdout]:
        json.loads(line)
    assert "told" in done.stderr.splitlines()


def test_a_crash_is_told_with_its_place(here: Path) -> None:
    said = refusal("run", "s.yaml", "--firmware", "a.1=mine:Crash", cwd=here)
    assert said.startswith("ringhil: firmware of a.1 (mine:Crash): on_frame in cycle ")
    assert said.endswith(f": RuntimeError: two lines, {here}/mine.py:10")


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("codec.decode(b'no frame')", 7),  # raised in ringhil
        ("json.loads('no document')", 7),  # in Python
        ("helped.helper()", 2),  # in a file of one's own
        ("helped.asks()", 4),
        ("self.ours.on_frame(1, 2, 3)", 7),
        ("next(self.odd)", 5),
    ],
)
def test_a_crash_is_told_by_the_innermost_place_in_ones_own_files(call: str, line: int, here: Path) -> None:
    """However deep in others' it is raised."""
    (here / "helped.py").write_text(
        "def helper():\n    raise ValueError\ndef asks():\n    return codec.decode(b'')\n"
        "from ringhil.protocol import codec\n"
    )
    (here / "mine.py").write_text(
        "import helped, json\n"
        "from ringhil.firmware import GpuProgram, our_program\n"
        "from ringhil.protocol import codec\n"
        "class Crash:\n"
        "    def __init__(self, boot): self.ours = our_program(boot); self.odd = (codec.decode(b'') for _ in 'x')\n"
        "    def start(self, now):\n"
        f"        {call}\n"
        "    def on_timer(self, name, now): return []\n"
        "    def on_frame(self, frame, port, bad, now): return []\n"
        "    def on_status(self, status): pass\n"
    )
    said = refusal("run", "s.yaml", "--firmware", "a.1=mine:Crash", cwd=here)
    file = "helped.py" if "helped" in call else "mine.py"
    assert said.endswith(f", {here}/{file}:{line}"), said


@pytest.mark.parametrize("raised", ["SystemExit(0)", "GeneratorExit(0)", "asyncio.CancelledError(0)"])
def test_one_that_would_end_the_program_is_told_as_a_crash_is(here: Path, raised: str) -> None:
    name = raised.removeprefix("asyncio.").partition("(")[0]
    (here / "ends.py").write_text(MODULE.replace('RuntimeError("two\\nlines")', raised) + "import asyncio\n")
    said = refusal("run", "s.yaml", "--firmware", "a.1=ends:Crash", cwd=here)
    assert said.startswith("ringhil: firmware of a.1 (ends:Crash): on_frame in cycle ")
    assert f": {name}: " in said
    (here / "loads.py").write_text(f"import asyncio\nraise {raised}\n")
    said = refusal("run", "s.yaml", "--firmware", "a.1=loads:Exit", cwd=here)
    assert f"loads can't be loaded: {name}: " in said


def test_whoever_tells_of_an_epoch_that_nobody_can_follow_is_judged(here: Path) -> None:
    (here / "far.py").write_text(FAR)
    done = ringhil("run", "s.yaml", "--firmware", "a.1=far:Far", "--json", cwd=here)
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout)["verdict"] == "fail"


def test_verify_plays_with_it_and_says_how_to_play_it_again(here: Path) -> None:
    done = ringhil("verify", "s.yaml", "--firmware", "a.0=mine:Silent", "--json", cwd=here)
    (found,) = json.loads(done.stdout)["results"]
    assert (done.returncode, found["failures"][0]["kind"]) == (1, "best_holder")
    assert found["replay"] == "ringhil verify s.yaml --firmware a.0=mine:Silent"
    assert ringhil("verify", "s.yaml", "--firmware", "*=mine:ours", cwd=here).returncode == 0
    crashed = ringhil("verify", "s.yaml", "--firmware", "a.0=mine:Crash", "--json", cwd=here)
    assert crashed.returncode == 2
    assert "RuntimeError: two lines" in json.loads(crashed.stdout)["results"][0]["failures"][0]["text"]


ALL_BUT_DAMAGE = """
from ringhil.firmware.boot import our_program
class Touchy:
    def __init__(self, boot):
        ours = our_program(boot)
        self.start, self.on_timer, self.on_status = ours.start, ours.on_timer, ours.on_status
        self._on_frame = ours.on_frame
    def start(self, now): ...
    def on_timer(self, name, now): ...
    def on_status(self, status): ...
    def on_frame(self, frame, port, bad, now):
        assert not bad, "damaged"
        return self._on_frame(frame, port, bad, now)
"""


@pytest.mark.rest
def test_explore_plays_with_it_and_leaves_what_plays_it_again(here: Path) -> None:
    (here / "touchy.py").write_text(ALL_BUT_DAMAGE)
    firmware = ("--firmware", "a.0=touchy:Touchy")
    options = ("explore", "s.yaml", "--faults", "corrupt", "--places", "a.2", "--phases", 3, "--store", "kept.sqlite")
    done = ringhil(*options, *firmware, "--out", "out", "--json", cwd=here)
    assert done.returncode == 1
    document = json.loads(done.stdout)
    cases = document["run"]["played"]
    assert cases > 2
    replay = document["failing"][0]["replay"]
    assert replay.endswith(" --firmware a.0=touchy:Touchy")
    said = refusal(*replay.split()[1:], cwd=here)
    assert "firmware of a.0 (touchy:Touchy): on_frame in cycle " in said
    assert said.endswith(f"AssertionError: damaged, {here}/touchy.py:12")
    (test,) = (here / "out" / "shrunk").glob("test_*.py")
    assert "firmware=firmware_of(['a.0=touchy:Touchy'])" in test.read_text()
    # The same campaign has been played; with ours, or with another file, it is another one.
    again = ringhil(*options, *firmware, "--json", cwd=here)
    assert json.loads(again.stdout)["run"]["played"] == 0
    (here / "touchy.py").write_text(ALL_BUT_DAMAGE.replace("assert not bad, ", "0, "))
    assert json.loads(ringhil(*options, *firmware, "--json", cwd=here).stdout)["run"]["played"] == cases
    assert json.loads(ringhil(*options, "--json", cwd=here).stdout)["run"]["played"] == cases


@pytest.mark.rest
def test_one_that_never_answers_costs_verify_one_scenario(here: Path) -> None:
    loop = "from mine import Silent\nclass Loop(Silent):\n    def start(self, now):\n        while True: pass\n"
    (here / "loop.py").write_text(loop)
    done = ringhil("verify", "s.yaml", "--firmware", "a.0=loop:Loop", "--limit", "2", cwd=here)
    assert done.returncode == 2
    assert "s.yaml: it took more than 2 s; its firmware may be why: a.0=loop:Loop\n" in done.stdout
