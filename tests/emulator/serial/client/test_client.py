"""A client against an emulated card: what it reads is what the engine has, and a bad line makes no wrong answer."""

import errno
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import serial

from ringhil.emulator.scenario import EventAction, GpuRef, TimelineEvent
from ringhil.emulator.serial.client import CardClient, CardError, RefusedError, SilentError
from ringhil.emulator.serial.handlers.protocol_emulated import EmulatedLine
from ringhil.emulator.serial.port import port
from ringhil.emulator.serial.words import address_of, event_document
from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.management import MAJOR, MINOR, EventKind, LineFault, Refusal
from ringhil.protocol.line.messages import HelloReply, MissedEvent, ReadRequest
from ringhil.protocol.wire import CensusVerdict, Port

SERVER = "server: {cards: {a: {gpus: 6, host_links: [0, 1]}, b: {gpus: 3}}}\n"


@pytest.fixture
def url(tmp_path: Path) -> str:
    (tmp_path / "server.yaml").write_text(SERVER)
    return f"emulated://{tmp_path}/server.yaml"


@pytest.fixture
def card(url: str) -> Iterator[CardClient]:
    with CardClient.open(url) as card:
        yield card


def behind(card: CardClient) -> EmulatedLine:
    line: EmulatedLine = card._line.line
    return line


def test_who_works_is_not_known_where_nobody_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "server.yaml").write_text("server: {cards: {a: {gpus: 6}}, settings: {records: never}}\n")
    with CardClient.open(f"emulated://{tmp_path}/server.yaml") as card:
        assert (card.census().count, card.census().members) == (6, None)


def test_ids_begin_again_behind_the_last(card: CardClient) -> None:
    card._id = 0xFFFE
    assert card.now() <= card.now() <= card.now()
    assert card._id == 2


class Chatty:
    """A line on which nothing is answered, and events come without end. Its time is how often it was read."""

    timeout, in_waiting, reads = 0.0, 1, 0

    def monotonic(self) -> float:
        return self.reads / 10

    def write(self, data: bytes) -> int:
        return len(data)

    def read(self, size: int = 1) -> bytes:
        self.reads += 1
        assert self.reads < 1000
        return wrap(encode(MissedEvent(0, 1)))


class ChattyLater(Chatty):
    """It answers hello, behind nonsense."""

    def read(self, size: int = 1) -> bytes:
        data = super().read(size)
        hello = HelloReply(1, 1, 0, 0, 4, 0, 1000, 0, 0, 0, b"a")
        return data if self.reads > 1 else b"\0junk\0" + wrap(encode(hello))


def test_nonsense_from_before_is_not_why_there_is_no_answer() -> None:
    card = CardClient(ChattyLater(), timeout=1, tries=2)  # type: ignore[arg-type]
    with pytest.raises(CardError, match=r"no answer to time in 2 tries of 1 s: \d+ events of a ringhil card came$"):
        card.now()


def test_events_without_end_are_no_answer() -> None:
    said = r"no answer to hello in 2 tries of 1 s: \d\d+ events of a ringhil card came$"
    with pytest.raises(SilentError, match=said):
        CardClient(Chatty(), timeout=1, tries=2)  # type: ignore[arg-type]


def test_it_says_what_it_is(url: str) -> None:
    with CardClient.open(f"{url}?clock=500000#b") as card:
        info = card.info
    assert (info.card, info.gpus, info.version, info.clock) == (1, 3, f"{MAJOR}.{MINOR}", 500_000)
    assert info.name == "b"
    assert {"census", "send", "events", "faults"} <= set(info.capabilities)


def test_registers_are_those_of_the_engine(card: CardClient) -> None:
    engine = behind(card).run.engine
    assert card.read(4, "watchdog") == engine.peek(4, "watchdog") == 64
    assert card.read(4, "forwarded") == engine.peek(4, "forwarded") > 0
    now = card.now()
    assert card.write(4, "weight", 7) == now + 1
    assert engine.peek(4, "weight") == card.read(4, "weight") == 7
    assert engine.peek(3, "weight") == 1
    assert card.read(4, 3) == 64


@pytest.mark.parametrize(
    ("what", "why", "text"),
    [
        (lambda card: card.read(6, "status"), Refusal.NO_SUCH_GPU, "GPU 6: the card has 0 .. 5"),
        (lambda card: card.read(0, 0x1F), Refusal.NO_SUCH_REGISTER, "there is no register at 0x1F"),
        (lambda card: card.write(0, "status", 1), Refusal.READ_ONLY, "status can only be read"),
        (lambda card: card.fault(LineFault.HOST_LINK_CUT, 2), Refusal.BAD_VALUE, "GPU 2 has no link to the CPU"),
        (lambda card: card.fault(LineFault.KEEPALIVE_LOSS, 2), Refusal.BAD_VALUE, "GPU 2 sends no keepalives"),
        (lambda card: card.fault(LineFault.DEAD, 1, value=3), Refusal.BAD_VALUE, "dead takes no value; found 3"),
        (lambda card: card.fault(LineFault.LINK_BIT_ERRORS, 1, value=70_000), Refusal.BAD_VALUE, "1 .. 65535"),
        (lambda card: card.fault(LineFault.DEAD, 6), Refusal.NO_SUCH_GPU, "GPU 6"),
        (lambda card: card.clear(LineFault.DEAD, 1), Refusal.BAD_VALUE, "dead of GPU 1 is not set"),
        (lambda card: card.send(1, Port.CW, b"12345678"), Refusal.BAD_VALUE, "this is no frame: kind 0x31"),
        (lambda card: card.subscribe(0x100), Refusal.BAD_VALUE, "events 0x0100"),
    ],
)
def test_what_is_wrong_is_refused_with_a_reason(card: CardClient, what: object, why: Refusal, text: str) -> None:
    assert callable(what)
    with pytest.raises(RefusedError, match=text) as error:
        what(card)
    assert error.value.why is why
    assert card.line().refused == 1


def test_a_census_counts_now_and_the_last_one_is_kept(card: CardClient) -> None:
    before = card.last_census()
    asked_at = card.now()
    census = card.census()
    assert (census.count, census.size, census.members) == (6, 6, (0, 1, 2, 3, 4, 5))
    assert (census.verdict, census.break_after) == (CensusVerdict.RING, None)
    assert census.cycle > census.sent_at == asked_at > before.cycle > before.sent_at
    assert census.sequence == before.sequence + 1
    assert card.last_census() == census


def test_faults_change_the_count_and_are_told(card: CardClient) -> None:
    card.subscribe(EventKind.FAULTS | EventKind.COUNTS)
    card.fault(LineFault.DEAD, 4)
    card.fault(LineFault.LINK_CUT, 1)
    card.fault(LineFault.LINK_DELAY, 3, value=5)
    events = [event_document(event) for event in card.events(0.02)]
    faults = [(e["fault"], e["gpu"], e["injection"], e["value"]) for e in events if e["event"] == "fault"]
    assert faults == [("dead", 4, "set", 0), ("link_cut", 1, "set", 0), ("link_delay", 3, "set", 5)]
    last = [e for e in events if e["event"] == "count"][-1]
    assert last["members"] == (0, 1, 2, 3, 5)
    assert (last["verdict"], last["break_after"], last["break_before"]) == ("arms", 1, 2)
    assert card.last_census().members == (0, 1, 2, 3, 5)
    card.clear(LineFault.LINK_CUT, 1)
    card.clear(LineFault.DEAD, 4)
    list(card.events(0.02))
    assert card.census().members == (0, 1, 2, 3, 4, 5)
    with pytest.raises(RefusedError, match="dead of GPU 4 is not set"):
        card.clear(LineFault.DEAD, 4)
    card.fault(LineFault.DEAD, 4)


def test_events_are_those_of_the_card(card: CardClient) -> None:
    card.subscribe(EventKind.FAULTS)
    at = behind(card).now
    server = behind(card).run.server
    server.strike([TimelineEvent(at, EventAction.FAULT, "dead", GpuRef(name, 1), None, 0) for name in "ba"])
    assert [(e["event"], e["gpu"]) for e in map(event_document, card.events(0.001))] == [("fault", 1)]


def test_an_answer_to_an_earlier_request_is_not_taken_for_this_one(card: CardClient) -> None:
    card._line.write(wrap(encode(ReadRequest(0xFFF0, 4, address_of("weight")))))
    assert card.read(4, "watchdog") == 64


def test_a_card_of_another_version_is_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port, "MAJOR", 2)
    with pytest.raises(CardError, match=rf"speaks version 2\.{MINOR} of the protocol; this program speaks 1\.{MINOR}"):
        CardClient.open(url)


def test_the_url_may_say_the_seed(url: str) -> None:
    with CardClient.open(f"{url}?seed=7") as card:
        assert behind(card).run.scenario.seed == 7


def test_roles_are_told_when_the_entry_gpu_fails(card: CardClient) -> None:
    card.subscribe(EventKind.ROLES)
    card.fault(LineFault.DEAD, 0)
    roles = [event_document(event) for event in card.events(0.1)]
    elected = [(e["gpu"], e["role"]) for e in roles if e["holds"]]
    assert elected == [(1, "entry")]
    assert card.census().members == (1, 2, 3, 4, 5)


def test_without_an_entry_gpu_nobody_counts(card: CardClient) -> None:
    for gpu in (0, 1):
        card.fault(LineFault.DEAD, gpu)
    list(card.events(0.1))
    with pytest.raises(RefusedError, match="no GPU is elected to count"):
        card.census()


def test_a_frame_is_sent_into_the_ring_and_seen_where_it_goes(card: CardClient) -> None:
    card.subscribe(EventKind.FRAMES)
    frame = codec.encode(Keepalive(0, 0, 8, 5, 1, 77, 1, 0, 2, 0, 3, 0, 500, 0, 0, 0))
    card.send(2, Port.CW, frame)
    seen = [event_document(event) for event in card.events(0.001)]
    ours = [(e["way"], e["gpu"]) for e in seen if e["event"] == "frame" and e["frame"][16:32] == frame[8:16].hex()]
    assert ours == [("from_firmware", 2), ("to_firmware", 5)]


def test_nothing_is_told_that_nobody_asked_for(card: CardClient) -> None:
    card.subscribe(EventKind.ROLES)
    card.census()
    assert list(card.events(0.02)) == []
    assert card.line().events == 0


def test_a_run_with_a_client_is_the_same_every_time(url: str) -> None:
    def session() -> list[object]:
        with CardClient.open(url) as card:
            card.subscribe(EventKind.FRAMES | EventKind.COUNTS)
            card.fault(LineFault.SLOW, 2)
            return [card.census(), *card.events(0.003), card.line()]

    assert session() == session()


class Noise:
    """Between a client and its line, both ways: one byte in so many is changed, lost or doubled."""

    def __init__(self, line: "serial.SerialBase", seed: int, share: float) -> None:
        self._line, self._rng, self._share = line, random.Random(seed), share
        self.damaged = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._line, name)

    def _through(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            if self._rng.random() >= self._share:
                out.append(byte)
                continue
            self.damaged += 1
            how = self._rng.randrange(3)
            out += (bytes([byte ^ self._rng.randrange(1, 256)]), b"", bytes([byte, byte]))[how]
        return bytes(out)

    def read(self, size: int) -> bytes:
        return self._through(self._line.read(size))

    def write(self, data: bytes) -> int:
        self._line.write(self._through(data))
        return len(data)


@pytest.mark.parametrize("share", [1e-4, 1e-2])
def test_noise_makes_no_wrong_answer_and_nothing_is_done_twice(url: str, share: float) -> None:
    line = serial.serial_for_url(url, timeout=0.001)
    noise = Noise(line, 5, share)
    card = CardClient(noise, timeout=0.001, tries=20)  # type: ignore[arg-type]
    engine, rng = line.line.run.engine, random.Random(1)
    wanted = dict.fromkeys(range(6), 1)
    for n in range(1000):
        gpu = rng.randrange(6)
        if n % 2:
            card.write(gpu, "weight", n)
            wanted[gpu] = n
        else:
            line.line.pass_time(1)
            assert card.read(gpu, "weight") == wanted[gpu] == engine.peek(gpu, "weight")
    assert noise.damaged > 0
    assert noise.damaged < 40 or card.line().damaged > 0
    line.close()


def test_a_repeated_request_is_done_once(card: CardClient) -> None:
    """The answer is lost: the fault that was set is not refused as set already."""
    line = card._line
    read, lost = line.read, []

    def losing(size: int = 1) -> bytes:
        data = bytes(read(size))
        if not lost and data:
            lost.append(data)
            return b""
        return data

    line.read = losing
    card._timeout = 0.001
    card.fault(LineFault.DEAD, 2)
    line.read = read
    assert lost
    assert (card.line().refused, card.line().requests) == (0, 4)  # hello, the fault, and these two


WORKING = "server: {cards: {a: {gpus: 4}}}\nworkload: {data: work, size: 256}\n"


def test_work_that_can_not_be_read_any_more_ends_the_line(tmp_path: Path) -> None:
    (tmp_path / "server.yaml").write_text(WORKING)
    (tmp_path / "work").write_bytes(bytes(3_000_000))
    with CardClient.open(f"emulated://{tmp_path}/server.yaml") as card:
        (tmp_path / "work").write_bytes(b"")
        with pytest.raises(CardError, match=r"the line is gone: .*/work: has become shorter"):
            list(card.events(1))


def test_who_is_there_but_no_card_is_named(tmp_path: Path) -> None:
    loop = serial.serial_for_url("loop://", timeout=0.01)
    with pytest.raises(CardError, match=r"no answer to hello in 4 tries of 0\.01 s: \d+ bytes came"):
        CardClient(loop, timeout=0.01)
    with pytest.raises(CardError, match=r"ttyUSB0: cannot be opened: No such file or directory$"):
        CardClient.open(str(tmp_path / "ttyUSB0"))


@pytest.fixture
def forbidden(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A port that may not be opened, by root either. It is ours: its mode is not whatever the machine gives."""

    def refused(*_: object, **__: object) -> None:
        raise serial.SerialException(errno.EACCES, "could not open port: [Errno 13] Permission denied")

    monkeypatch.setattr(serial, "serial_for_url", refused)
    ends = os.openpty()
    yield Path(os.ttyname(ends[1]))
    for end in ends:
        os.close(end)


def test_no_permission_says_which_group_may(forbidden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "group", lambda path: f"those of {path.name}")  # not every number has a name everywhere
    forbidden.chmod(0o660)
    why = f"^{forbidden}: cannot be opened: Permission denied; group those of {forbidden.name} may, join it"
    with pytest.raises(CardError, match=why):
        CardClient.open(str(forbidden))


def test_no_permission_names_no_group_that_has_none(forbidden: Path) -> None:
    for mode in (0o600, 0o620):  # its group may not read it
        forbidden.chmod(mode)
        with pytest.raises(CardError, match=f"^{forbidden}: cannot be opened: Permission denied$"):
            CardClient.open(str(forbidden))


def test_what_came_before_hello_is_for_nobody(url: str) -> None:
    line = serial.serial_for_url(url)
    with CardClient(line) as card:
        card.subscribe(EventKind.FRAMES)
        list(card.events(0.05))
        line.line.pass_time(20_000)
        again = CardClient(line)
        assert list(again.events(0.05)) == []


def test_a_name_is_shown_on_a_line(card: CardClient, monkeypatch: pytest.MonkeyPatch) -> None:
    behind(card).wire._port._name = "a\nb\x1b[0m"  # type: ignore[union-attr]
    assert card._hello().name == "a\ufffdb\ufffd[0m"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ("#c", "no card 'c'; there are a, b"),
        ("?clock=0", "clock: found '0'; allowed is a whole number from 1 to 4294967295"),
        ("?baud=49", "baud: found '49'; allowed is a whole number from 50 to 100000000"),
        ("?baud=9600&baud=1200", "baud: found '9600&1200'; allowed is a whole number from 50 to 100000000"),
        ("?uart=2", "uart: found '2'; allowed is a whole number from 1 to 1"),
        ("?speed=3", r"allowed is emulated:///PATH\[\?clock=HZ&baud=N&uart=1&seed=N\]\[#CARD\]"),
    ],
)
def test_a_wrong_url_is_one_line(url: str, more: str, text: str) -> None:
    with pytest.raises(CardError, match=text):
        CardClient.open(url + more)
    with pytest.raises(CardError, match=r"none\.yaml: cannot be read"):
        CardClient.open("emulated://none.yaml")


def test_a_census_says_who_counted(card: CardClient) -> None:
    assert card.census().entry == 0
    card.fault(LineFault.DEAD, 0)
    behind(card).pass_time(40_000)
    assert card.census().entry == 1


def test_faults_of_lines_strike_when_the_timeline_says(tmp_path: Path) -> None:
    lines = "timeline: [{at: 100000, fault: line_cut, card: a}, {at: 300000, clear: line_cut, card: a}]\n"
    (tmp_path / "server.yaml").write_text(SERVER + lines)
    with CardClient.open(f"emulated://{tmp_path}/server.yaml", timeout=0.01) as card:
        behind(card).pass_time(100_000 - behind(card).now - 1)
        assert card.now() == 99_999
        behind(card).pass_time(2)
        with pytest.raises(CardError, match=r"no answer to time in 4 tries of 0\.01 s: nothing came"):
            card.now()
        behind(card).pass_time(200_000)
        assert card.now() > 300_000
    with CardClient.open(f"emulated://{tmp_path}/server.yaml#b", timeout=0.01) as other:
        behind(other).pass_time(150_000)
        assert other.now() > 150_000


def test_a_line_with_a_speed_takes_its_time(url: str) -> None:
    """A request of 9 bytes and its reply of 17: 260 bits."""
    with CardClient.open(f"{url}?baud=9600", timeout=2) as card:
        before = card.now()
        assert 260 / 9600 <= (card.now() - before) / 1e6 < 300 / 9600


def test_who_waits_for_less_than_a_cycle_comes_to_an_end(url: str) -> None:
    with CardClient.open(f"{url}?clock=100") as card:
        before = card.now()
        assert list(card.events(0.001)) == []
        assert card.now() == before + 1
        assert list(card.events(0.5)) == []
        assert card.now() == before + 51


def test_how_much_of_its_clock_a_ring_keeps_is_measured(url: str) -> None:
    """By the client, so of any card; here in the emulated time of a line that is in this process. What comes meanwhile
    is kept for who asks later."""
    with CardClient.open(f"{url}?clock=50000#b") as card:
        card.subscribe(EventKind.FRAMES)
        assert card.kept(0.05) == pytest.approx(1, abs=0.02)
        assert next(card.events(0.01)) is not None
        card.info = replace(card.info, clock=200_000)
        assert card.kept(0.05) == pytest.approx(0.25, abs=0.02)
        card.info = replace(card.info, capabilities=())
        assert card.kept() is None
