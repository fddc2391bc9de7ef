"""A recording as a packet capture: tshark reads it with the generated dissector, and finds what construct finds."""

import io
import json
import re
import shutil
import sqlite3
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command import refusal, ringhil
from tests.emulator.debug.test_questions import recorded
from tests.protocol.strategies import KINDS, built, quick, valid

from ringhil.emulator.events.recorded import KINDS as KINDS_OF_EVENTS
from ringhil.emulator.trace.export import write_capture, write_json_lines, write_tracks
from ringhil.emulator.trace.export.capture import DISSECTOR, HEADER, PcapngWriter
from ringhil.emulator.trace.recording import About, RecordedEvent, RecordedMessage, Recording, RecordingWriter
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.protocol import capture, codec, wire
from ringhil.protocol.fields import fixed_fields
from ringhil.protocol.frames import Keepalive, Report, Work

TSHARK = shutil.which("tshark")
COMMANDS = {str(each) for each in wire.Compute} - {str(wire.Compute.DIGEST)}
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
# Every kind of frame but refusals of work, damaged ones, rejected ones, and two cards.
SERVER = """
server:
  cards: {a: {gpus: 6, host_links: [0, 1]}, b: {gpus: 5}}
  boundary_links: [{from: [a.2, a.3], to: [b.2, b.3]}]
  settings: {census_period: 600}
workload: {units: 30, size: 700, across: 30}
until: 30000
timeline:
- {at: 4000, fault: skip_count, gpu: a.3}
- {at: 9000, clear: skip_count, gpu: a.3}
- {at: 9000, fault: link_bit_errors, link: a.1-a.2, rate: 4000}
- {at: 15000, fault: dead, gpu: a.0}
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("captured") / "r", SERVER)


@pytest.fixture
def recording(path: Path) -> Iterator[Recording]:
    with Recording(path) as found:
        yield found


def dissected(file: Path, *options: str) -> list[dict[str, Any]]:
    """Each packet as tshark has it."""
    assert TSHARK is not None
    found = subprocess.run(
        [TSHARK, "-X", f"lua_script:{DISSECTOR}", "-r", file, "-T", "json", "--no-duplicate-keys", *options],
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    assert b"Lua" not in found.stderr, found.stderr
    return [packet["_source"]["layers"] for packet in json.loads(found.stdout)]


def told(value: Any, found: dict[str, list[str]]) -> dict[str, list[str]]:
    """All fields of ours below a value, each with its values in the order of the packet."""
    if isinstance(value, list):
        for each in value:
            told(each, found)
    elif isinstance(value, dict):
        for name, each in value.items():
            texts = each if isinstance(each, list) else [each]
            if name.startswith("ringhil.") and all(isinstance(text, str) for text in texts):
                found.setdefault(name, []).extend(texts)
            else:
                told(each, found)
    return found


def said(packet: dict[str, Any]) -> dict[str, list[int]]:
    """The fields of a packet as numbers, without the bits of flags one by one, and without bytes."""
    texts = told(packet["ringhil"], {})
    return {
        name: [int(text, 0) for text in values]
        for name, values in texts.items()
        if name.count(".") == 2 and not name.endswith((".payload", ".event", ".names"))
    }


def parsed(frame: bytes) -> dict[str, list[int]]:
    """The same of a frame by the definitions of construct."""
    kind = next(name for name in KINDS if wire.Kind.parse(name).code == frame[0])
    found: dict[str, list[int]] = {}
    container = wire.FRAMES[kind].parse(frame)
    for name in dict.fromkeys([*(name for name, _ in fixed_fields(wire.FRAMES[kind])), "e2e_crc", "link_crc"]):
        found[f"ringhil.{kind}.{name}"] = [number(container[name], name)]
    for record in container.get("records", ()):
        for name, _ in fixed_fields(wire.Record):
            found.setdefault(f"ringhil.record.{name}", []).append(number(record[name], name))
    first = kind == "work" and container.segment == 0 and container.segment_bytes >= wire.Command.sizeof()
    if first and str(container.compute) in COMMANDS:
        command = wire.Command.parse(container.payload)
        found |= {f"ringhil.command.{each.name}": [command[each.name]] for each in wire.Command.subcons}
    if container.get("sets"):
        found["ringhil.report.sets"] = list(container["sets"])
    return found


def number(value: Any, name: str) -> int:
    if isinstance(value, dict):  # flags
        bits = wire.RecordFlag if any("arrived" in key for key in value) else wire.Flag
        return sum(code for word, code in bits.codes().items() if value[word])
    return int(value)


def known(values: dict[str, list[int]]) -> dict[str, list[int]]:
    """Without the bits of flags that mean nothing: construct drops them."""
    found = dict(values)
    for name in found:
        if name.endswith(".flags"):
            bits = wire.RecordFlag if name.startswith("ringhil.record") else wire.Flag
            mask = sum(bits.codes().values())
            found[name] = [value & mask for value in found[name]]
    return found


@needs_tshark
def test_every_message_of_a_run_is_dissected_as_construct_parses_it(recording: Recording, tmp_path: Path) -> None:
    file = tmp_path / "run.pcapng"
    every = list(recording.all())
    assert write_capture(recording, file) == len(every)
    packets = dissected(file)
    assert len(packets) == len(every)
    kinds, experts = set(), 0
    rejected = [each.number for each in every if isinstance(each, RecordedEvent) and each.kind == "Rejected"]
    damaged = [each.number for each in every if isinstance(each, RecordedMessage) and each.bad]
    for packet, here in zip(packets, every, strict=True):
        fields = said(packet)
        assert fields.pop("ringhil.seen.version") == [capture.VERSION]
        assert fields.pop("ringhil.seen.number") == [here.number]
        assert fields.pop("ringhil.seen.names_length") == [len("a,b")]
        assert fields.pop("ringhil.seen.cycle") == [here.cycle]
        frame_of = packet["frame"]
        assert frame_of["frame.time_epoch"] == f"{here.cycle / 10**9:.9f}"
        place = [fields.pop(f"ringhil.seen.{name}")[0] for name in ("card", "gpu")]
        if here.cell is None:
            assert place == [capture.NOWHERE] * 2
        else:
            card, _, gpu = recording.gpus[here.cell].partition(".")
            assert place == ["ab".index(card), int(gpu)]
        way, port, found = (fields.pop(f"ringhil.seen.{name}")[0] for name in ("way", "port", "found"))
        name = frame_of["frame.interface_id_tree"]["frame.interface_name"]
        if isinstance(here, RecordedMessage):
            assert (WAYS[way], port) == (WAYS[here.way], here.port)
            assert name.startswith(f"{recording.gpus[here.cell]} {WAYS[here.way]} ")
            assert bool(found & capture.CaptureFlag.BAD) == bool(here.bad)
            if not found & capture.CaptureFlag.WRONG_CRC:
                assert known(fields) == parsed(here.frame)
                kinds.add(here.kind)
        else:
            text = told(packet["ringhil"], {})["ringhil.event"][0]
            assert json.loads(text) == {"kind": here.kind, **here.said}
            assert bool(found & capture.CaptureFlag.REJECTED) == (here.kind == "Rejected")
        expert = "_ws.expert" in json.dumps(packet["ringhil"])  # a comment is one of its own
        assert expert == bool(found), packet
        experts += expert
    assert kinds >= {kind.code for kind in wire.Kind} - {wire.Kind.ACKNOWLEDGEMENT.code}
    assert rejected
    assert damaged
    assert experts >= len(rejected) + len(damaged)
    assert "_ws.malformed" not in json.dumps(packets)


def columns(file: Path, show: str) -> list[list[str]]:
    """Source, destination and info of each packet that is shown."""
    assert TSHARK is not None
    words = [TSHARK, "-X", f"lua_script:{DISSECTOR}", "-r", str(file), "-Y", show, "-T", "tabs"]
    found = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout
    rows = (line.split("\t") for line in found.splitlines())
    return [[row[2].strip(), row[4].strip(), row[7]] for row in rows]


@pytest.mark.rest
@needs_tshark
def test_lines_name_who_speaks_to_whom_and_what_is_said(recording: Recording, tmp_path: Path) -> None:
    file = tmp_path / "run.pcapng"
    write_capture(recording, file)
    messages = [each for each in recording.all() if isinstance(each, RecordedMessage)]
    for kind in KINDS:
        shown = columns(file, f"ringhil.{kind}")
        frames = []
        for each in messages:
            try:
                frame = codec.decode(each.frame, link=False)
            except codec.FrameError:
                continue
            if wire.Kind.parse(kind).code == frame.KIND:
                frames.append((each, frame))
        assert len(shown) == len(frames)
        for (source, destination, info), (each, frame) in zip(shown, frames, strict=True):
            assert info.startswith(f"{recording.gpus[each.cell]} {WAYS[each.way]}: ")
            if WAYS[each.way] == "from_firmware":
                assert source == recording.gpus[each.cell]
            if WAYS[each.way] == "to_cpu":
                assert destination == "CPU"
            if WAYS[each.way] == "from_cpu":
                assert source == "CPU"
            if isinstance(frame, Report):
                assert source == f"{'ab'[frame.card]}.{frame.source}"
                assert f"count {frame.count} of {frame.size}" in info
            elif isinstance(frame, Keepalive):
                state = wire.MemberState.of(frame.state & 0xF)
                assert f"keepalive, {wire.Role.of(frame.role)} {state}, epoch {frame.epoch}" in info
                if source != "CPU" and WAYS[each.way] != "from_firmware" and each.port != wire.Port.BOUNDARY.code:
                    assert source == f"{'ab'[frame.card]}.{frame.my_discriminator >> 16}"


@pytest.mark.rest
@needs_tshark
@settings(quick, max_examples=12)
@given(frames=st.lists(st.sampled_from(KINDS).flatmap(lambda kind: valid(kind).map(lambda v: (kind, v))), min_size=8))
def test_any_frame_is_dissected_as_construct_parses_it(
    tmp_path_factory: pytest.TempPathFactory, frames: list[tuple[str, dict[str, Any]]]
) -> None:
    file = tmp_path_factory.mktemp("any") / "any.pcapng"
    whole = [built(kind, values) for kind, values in frames]
    with file.open("wb") as out:
        writer = PcapngWriter(out, application="test", comment="", link_type=capture.LINK_TYPE)
        there = writer.interface("a.0 to_firmware cw", "")
        for cycle, frame in enumerate(whole):
            head = HEADER.pack(capture.VERSION, 0, 0, 0, 0, 0, cycle + 1, cycle, 0)
            writer.packet(there, cycle, head + frame)
    for packet, frame in zip(dissected(file), whole, strict=True):
        fields = {name: values for name, values in said(packet).items() if ".seen." not in name}
        assert known(fields) == parsed(frame)
        payload = told(packet["ringhil"], {}).get("ringhil.work.payload", [""])[0]
        assert bytes.fromhex(payload.replace(":", "")) == wire.FRAMES["work"].parse(frame).payload if payload else True


ASKED = {"key": 70_001, "amount": 70_002, "slice": 70_003, "priority": 201, "state": 70_004}


@pytest.mark.rest(but_one_in=5)
@needs_tshark
@pytest.mark.parametrize("command", wire.Compute, ids=str)
def test_commands_to_contexts_have_their_names_and_fields(tmp_path: Path, command: wire.Compute) -> None:
    assert TSHARK is not None
    file = tmp_path / "command.pcapng"
    work = Work(
        card=0, flags=0, ttl=4, destination=2, epoch=1, unit=1, source=0, attempt=1, segment=0, segment_bytes=16,
        length=16, compute=command.code, source_card=0, context=1, payload=wire.Command.build(ASKED),
    )  # fmt: skip
    with file.open("wb") as out:
        writer = PcapngWriter(out, application="test", comment="", link_type=capture.LINK_TYPE)
        head = HEADER.pack(capture.VERSION, 3, 0, 0, 0, 0, 1, 0, 0)
        writer.packet(writer.interface("a.0 from_cpu cw", ""), 0, head + codec.encode(work))
    words = [TSHARK, "-X", f"lua_script:{DISSECTOR}", "-r", str(file), "-O", "ringhil"]
    found = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout
    assert f"compute: {command} ({command.code})" in found
    for name, value in ASKED.items():
        assert (f"    {name}: {value}\n" in found) == (command is not wire.Compute.DIGEST), found


@needs_tshark
def test_further_segments_of_a_command_have_no_fields_of_their_own(tmp_path: Path) -> None:
    work = Work(
        card=0, flags=0, ttl=4, destination=2, epoch=1, unit=1, source=0, attempt=1, segment=1, segment_bytes=16,
        length=wire.SEGMENT_BYTES + 16, compute=wire.Compute.COPY.code, source_card=0, context=1, payload=bytes(16),
    )  # fmt: skip
    with (tmp_path / "x.pcapng").open("wb") as out:
        writer = PcapngWriter(out, application="test", comment="", link_type=capture.LINK_TYPE)
        head = HEADER.pack(capture.VERSION, 3, 0, 0, 0, 0, 1, 0, 0)
        writer.packet(writer.interface("a.0 from_cpu cw", ""), 0, head + codec.encode(work))
    (packet,) = dissected(tmp_path / "x.pcapng")
    fields = said(packet)
    assert fields["ringhil.work.segment"] == [1]
    assert not any(name.startswith("ringhil.command") for name in fields)


@pytest.mark.rest(but_one_in=2)
@needs_tshark
@pytest.mark.parametrize("cut", [1, 9, 23, 25, 40, 60])
def test_a_frame_that_ends_too_early_is_told_and_nothing_breaks(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "short.pcapng"
    whole = HEADER.pack(capture.VERSION, 0, 0, 0, 0, 0, 1, 0, 0) + bytes([0x11]) + bytes(70)
    with file.open("wb") as out:
        writer = PcapngWriter(out, application="test", comment="", link_type=capture.LINK_TYPE)
        writer.packet(writer.interface("x", ""), 0, whole[:cut])
    (packet,) = dissected(file)
    assert "ringhil.short" in json.dumps(packet)
    assert "Lua Error" not in json.dumps(packet)


@needs_tshark
def test_faults_and_the_verdict_are_comments(recording: Recording, tmp_path: Path) -> None:
    file = tmp_path / "run.pcapng"
    write_capture(recording, file)
    struck = [packet for packet in dissected(file, "-Y", "frame.comment") if "Struck" in json.dumps(packet)]
    assert len(struck) == 4
    assert '"gpu":"a.0"' in json.dumps(struck).replace("\\", "")
    assert b"verdict" in file.read_bytes()[:200]


def test_what_went_wrong_is_a_comment_and_nothing_else_is(tmp_path: Path) -> None:
    about = About(ringhil="1", rtl="0", name="n", scenario="server: {}\n", firmware=[], nodes=[])
    with RecordingWriter(tmp_path / "r", about, ["a.0"]) as writer:
        for kind in KINDS_OF_EVENTS:
            writer.event(1, 0, kind, {"marked": kind})
    with Recording(tmp_path / "r") as recording:
        write_capture(recording, tmp_path / "x.pcapng")
    data = (tmp_path / "x.pcapng").read_bytes()
    commented = {kind for kind in KINDS_OF_EVENTS if f'{kind}: {{"marked":"{kind}"}}'.encode() in data}
    wrong = {"Rejected", "Suspected", "FirmwareStopped", "FirmwareLost", "NodeLost"}
    assert commented == wrong | {"Struck", "LossOver", "NotLent"}


def test_a_gpu_that_an_event_speaks_of_has_its_name(tmp_path: Path) -> None:
    about = About(ringhil="1", rtl="0", name="n", scenario="server: {}\n", firmware=[], nodes=[])
    with RecordingWriter(tmp_path / "r", about, ["a.0", "b.0", "b.1"]) as writer:
        writer.event(1, None, "Flapped", {"card": 1, "gpu": 1, "failed": True})
    with Recording(tmp_path / "r") as recording:
        write_capture(recording, tmp_path / "x.pcapng")
        write_tracks(recording, tmp_path / "x.perfetto")
    assert b'"gpu":"b.1"' in (tmp_path / "x.pcapng").read_bytes()
    assert (tmp_path / "x.perfetto").read_bytes().count(b"b.1") == 2  # its track, and the event


def test_blocks_are_those_of_the_format(recording: Recording, tmp_path: Path) -> None:
    """Without tshark: lengths agree at both ends, and every packet names an interface that was there before."""
    file = tmp_path / "run.pcapng"
    number = write_capture(recording, file)
    data, interfaces, packets = io.BytesIO(file.read_bytes()), 0, 0
    while head := data.read(8):
        kind, length = struct.unpack("<II", head)
        body = data.read(length - 12)
        assert struct.unpack("<I", data.read(4)) == (length,)
        if kind == 1:
            interfaces += 1
        elif kind == 6:
            packets += 1
            assert struct.unpack_from("<I", body)[0] < interfaces
        else:
            assert (kind, packets) == (0x0A0D0D0A, 0)
    assert packets == number


def test_json_lines_hold_every_message_and_event(recording: Recording, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    number = write_json_lines(recording, file)
    head, *rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert head["gpus"] == recording.gpus
    assert len(rows) == number
    for row, here in zip(rows, recording.all(), strict=True):
        assert row["cycle"] == here.cycle
        if isinstance(here, RecordedMessage):
            assert (row["way"], row["port"], row["frame"]) == (WAYS[here.way], here.port, here.frame.hex())
            assert row.get("bad", False) == bool(here.bad)
        else:
            assert row["event"] == here.kind
            assert row["gpu"] == (here.said.get("gpu") if here.cell is None else recording.gpus[here.cell])
    heard = next(each for each in recording.events() if each.kind == "PeerUp")
    assert heard.cell is not None
    card, _, gpu = recording.gpus[heard.cell].partition(".")
    (row,) = [
        row for row in rows if row == {"cycle": heard.cycle, "gpu": f"{card}.{gpu}", "event": "PeerUp", **heard.said}
    ]
    assert row["peer"] == json.loads(heard.fields)["gpu"] != int(gpu)


def test_on_the_command_line(path: Path, tmp_path: Path) -> None:
    done = ringhil("export", path, "--format", "pcapng", "-o", tmp_path / "x.pcapng", "--json")
    found = json.loads(done.stdout)
    assert (found["format"], found["complete"], found["number"] > 1000) == ("pcapng", True, True)
    assert ringhil("export", "--format", "dissector", "-o", tmp_path / "x.lua").returncode == 0
    assert (tmp_path / "x.lua").read_text() == DISSECTOR.read_text()
    json_too = ringhil("export", "--format", "dissector", "-o", tmp_path / "x.lua", "--json")
    assert json.loads(json_too.stdout) == {
        "schema": "export/1",
        "format": "dissector",
        "file": str(tmp_path / "x.lua"),
    }
    streamed = ringhil("export", path, "--format", "jsonl", "-o", "-")
    assert streamed.stdout.count("\n") == found["number"] + 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["{r}", "--format", "pcap", "-o", "x"],
            "'pcap' is not one of 'pcapng', 'perfetto', ",
        ),
        (["{r}", "--format", "pcapng", "-o", "{r}"], "is the recording itself; name another file"),
        (["{r}", "--format", "pcapng", "-o", "/no/such/folder/x"], "cannot be written: No such file or directory"),
        (["{r}", "--format", "dissector", "-o", "x"], "the dissector is the same for all recordings"),
        (["--format", "jsonl", "-o", "x"], "wanted is a RECORDING"),
        (["pyproject.toml", "--format", "jsonl", "-o", "x"], "is no recording"),
        (["/no/such", "--format", "jsonl", "-o", "x"], "cannot be read: No such file or directory"),
        (["{r}", "--format", "pcapng", "-o", "{f}"], "it is a folder; name a file"),
    ],
)
def test_wrong_input_is_one_line(path: Path, tmp_path: Path, arguments: list[str], says: str) -> None:
    before = path.read_bytes()
    line = refusal("export", *(each.replace("{r}", str(path)).replace("{f}", str(tmp_path)) for each in arguments))
    assert says in line
    assert path.read_bytes() == before
    assert not Path("x").exists()


@pytest.mark.parametrize("part", [0.4, 0.8])
def test_of_one_that_was_cut_off_it_is_told_what_is_missing(path: Path, part: float, tmp_path: Path) -> None:
    whole = path.read_bytes()
    (tmp_path / "cut").write_bytes(whole[: int(len(whole) * part)])
    done = ringhil("export", "cut", "--format", "jsonl", "-o", "x.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert re.search(r"^ringhil: cut: (is damaged|breaks off after cycle \d+; \d+ messages .* is missing)", done.stderr)


def test_one_that_breaks_off_is_exported_as_far_as_it_goes(path: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(path.read_bytes())
    with sqlite3.connect(broken) as db:
        db.execute("UPDATE about SET outcome = NULL")
        db.execute("DELETE FROM messages WHERE number > 500")
        db.execute("DELETE FROM events WHERE number > 500")
    done = ringhil("export", broken, "--format", "jsonl", "-o", tmp_path / "x.jsonl")
    assert done.returncode == 0
    assert "breaks off; what there is was written" in done.stderr
    assert len((tmp_path / "x.jsonl").read_text().splitlines()) == 501


_PACKET = 6


@pytest.mark.parametrize("nanoseconds", [0, 0xFFFFFFFF, 1 << 32, (5 << 32) + 7, (1 << 63) - 1])
def test_a_time_has_64_bits_the_high_half_first(nanoseconds: int) -> None:
    file = io.BytesIO()
    writer = PcapngWriter(file, application="x", comment="y", link_type=147)
    interface = writer.interface("a.0", "a GPU")
    start = file.tell()
    writer.packet(interface, nanoseconds, b"frame")
    kind, _, where, high, low, length, _ = struct.unpack_from("<IIIIIII", file.getvalue(), start)
    assert (kind, where, high << 32 | low, length) == (_PACKET, interface, nanoseconds, 5)
