"""A recording as a trace for Perfetto, read back by Perfetto's own schema: every census, message and flow is there."""

import io
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema
from tests.command import ringhil
from tests.emulator.debug.test_questions import recorded

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.contexts.turn_log import MemoryWatch, ShownTurn, TurnLog
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.trace.export import write_tracks
from ringhil.emulator.trace.export.capture import end_of
from ringhil.emulator.trace.export.perfetto import COUNTER, END, INSTANT, PerfettoWriter
from ringhil.emulator.trace.identity import header, identity
from ringhil.emulator.trace.recording import RecordedMessage, Recording
from ringhil.emulator.trace.recording.tables import WAYS

from .test_capture import SERVER

_NEEDS_NAMES = schema.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
Event = dict[str, Any]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("tracks") / "r", SERVER)


@pytest.fixture
def recording(path: Path) -> Iterator[Recording]:
    with Recording(path) as found:
        yield found


def parsed(data: bytes) -> list[Event]:
    """What happens, in the order of the file, with the names of tracks from the outermost and those of all else."""
    trace = schema.Trace()
    trace.ParseFromString(data)
    tracks: dict[int, tuple[str, ...]] = {}
    events: dict[int, str] = {}
    arguments: dict[int, str] = {}
    found = []
    for number, packet in enumerate(trace.packet):
        assert packet.trusted_packet_sequence_id == 1
        assert bool(packet.sequence_flags & schema.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED) == (number == 0)
        if packet.HasField("track_descriptor"):
            about = packet.track_descriptor
            assert about.uuid not in tracks
            tracks[about.uuid] = (*(tracks[about.parent_uuid] if about.parent_uuid else ()), about.name)
        events |= {each.iid: each.name for each in packet.interned_data.event_names}
        arguments |= {each.iid: each.name for each in packet.interned_data.debug_annotation_names}
        if packet.HasField("track_event"):
            assert packet.sequence_flags == _NEEDS_NAMES
            said = packet.track_event
            found.append(
                {
                    "kind": said.type,
                    "track": tracks[said.track_uuid],
                    "time": packet.timestamp,
                    "name": events[said.name_iid] if said.name_iid else "",
                    "about": {arguments[each.name_iid]: value(each) for each in said.debug_annotations},
                    "flows": list(said.flow_ids),
                    "value": said.counter_value,
                }
            )
    return found


def value(argument: schema.DebugAnnotation) -> object:
    return getattr(argument, argument.WhichOneof("value"))


def exported(recording: Recording, folder: Path) -> list[Event]:
    write_tracks(recording, folder / "trace")
    return parsed((folder / "trace").read_bytes())


def test_every_message_and_event_is_on_its_track_with_its_fields(recording: Recording, tmp_path: Path) -> None:
    instants = [each for each in exported(recording, tmp_path) if each["kind"] == INSTANT]
    every = list(recording.all())
    assert len(instants) == len(every)
    for found, here in zip(instants, every, strict=True):
        assert (found["time"], found["about"].pop("number")) == (here.cycle, here.number)
        gpu = None if here.cell is None else recording.gpus[here.cell]
        if isinstance(here, RecordedMessage):
            assert gpu is not None
            outer = "CPU" if WAYS[here.way].endswith("cpu") else f"card {gpu[0]}"
            assert found["track"] == (outer, gpu, f"{WAYS[here.way]} {end_of(here.way, here.port)}")
            assert found["about"].pop("bad", False) == bool(here.bad)
            assert found["about"] == (header(here.frame) or {})
        else:
            assert found["track"] == (("server", "events") if gpu is None else (f"card {gpu[0]}", gpu, "events"))
            assert found["name"] == here.kind
            for name, said in here.said.items():
                plain = found["about"].get(name)
                assert (json.loads(plain) if isinstance(said, list | dict) else plain) == said


def test_each_census_is_a_slice_from_sent_to_counted_and_the_count_a_counter(
    recording: Recording, tmp_path: Path
) -> None:
    slices, open_at = [], dict[tuple[str, ...], Event]()
    found = sorted(exported(recording, tmp_path), key=lambda each: each["time"])
    for each in found:
        if each["track"][-1] != "census":
            continue
        if each["kind"] == schema.TrackEvent.TYPE_SLICE_BEGIN:
            assert each["track"] not in open_at
            open_at[each["track"]] = each
        else:
            begun = open_at.pop(each["track"])
            slices.append((begun["track"][1], begun["time"], each["time"], begun["about"]["count"], begun["name"]))
    assert not open_at
    counted = [each for each in recording.events() if each.kind == "Counted"]
    said = [json.loads(each.fields) for each in counted]
    assert len(counted) > 20
    assert sorted(slices) == sorted(
        (recording.gpus[each.cell or 0], fields["sent_at"], each.cycle, fields["count"], f"census {fields['verdict']}")
        for each, fields in zip(counted, said, strict=True)
    )
    counters = [(each["track"], each["time"], each["value"]) for each in found if each["kind"] == COUNTER]
    assert sorted(counters) == sorted(
        ((f"card {recording.gpus[each.cell or 0][0]}", "count"), each.cycle, fields["count"])
        for each, fields in zip(counted, said, strict=True)
    )


def test_a_flow_joins_all_places_of_one_message_and_no_others(recording: Recording, tmp_path: Path) -> None:
    flows, wanted = defaultdict(list), defaultdict(list)
    for each in exported(recording, tmp_path):
        for flow in each["flows"]:
            flows[flow].append(each["about"]["number"])
    for here in recording.messages():
        if (same := identity(here.frame)) is not None:
            wanted[same].append(here.number)
    assert sorted(flows.values()) == sorted(wanted.values())
    assert sum(len(flow) > 1 for flow in flows.values()) > 100


def test_a_census_message_flows_from_where_it_was_sent_to_where_it_came_home(
    recording: Recording, tmp_path: Path
) -> None:
    found = exported(recording, tmp_path)
    sent = next(each for each in found if each["name"] == "statistics" and each["track"][2] == "from_firmware cw")
    flow = [each for each in found if each["flows"] == sent["flows"]]
    assert [each["track"] for each in flow] == [sent["track"], (*sent["track"][:2], flow[1]["track"][2])]
    assert flow[1]["time"] - flow[0]["time"] > 10
    assert [each["about"]["count"] for each in flow] == [1, {"a": 6, "b": 5}[sent["track"][1][0]]]


def test_half_a_character_of_a_damaged_file_stops_nothing() -> None:
    file = io.BytesIO()
    writer = PerfettoWriter(file)
    writer.event(INSTANT, writer.track("t"), 0, "n", {"x": "\ud800"})
    assert parsed(file.getvalue())[0]["about"] == {"x": "?"}


@given(st.lists(st.tuples(st.text(max_size=5), st.one_of(st.booleans(), st.integers(-(2**63), 2**64 - 1), st.text()))))
def test_any_name_and_value_comes_back(said: list[tuple[str, object]]) -> None:
    file = io.BytesIO()
    writer = PerfettoWriter(file)
    track = writer.track("t")
    for number, (name, each) in enumerate(said):
        writer.event(INSTANT, track, number, f"n{name}", {name: each})
    found = parsed(file.getvalue())
    assert [(each["name"], each["about"]) for each in found] == [(f"n{name}", {name: each}) for name, each in said]


def test_on_the_command_line(path: Path, tmp_path: Path) -> None:
    done = ringhil("export", path, "--format", "perfetto", "-o", tmp_path / "x", "--json")
    found = json.loads(done.stdout)
    assert (found["format"], found["complete"]) == ("perfetto", True)
    instants = [each for each in parsed((tmp_path / "x").read_bytes()) if each["kind"] == INSTANT]
    assert len(instants) == found["number"]


def test_a_count_that_makes_no_sense_is_told(path: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(path.read_bytes())
    with sqlite3.connect(broken) as db:
        db.execute("""UPDATE events SET fields = '{"count":6,"sent_at":"soon"}' WHERE kind = 'Counted'""")
    done = ringhil("export", broken, "--format", "perfetto", "-o", tmp_path / "x")
    assert done.returncode == 2
    assert "is damaged: event" in done.stderr
    assert not (tmp_path / "x").exists()


SHARED = """
seed: 3
server:
  cards: {a: {gpus: 4, host_links: [0, 1]}}
  settings: {device_memory: 4096, default_slice: 700, context_switch: 150}
workload: {units: 30, size: 500}
sharing:
  applications:
    p: {gpu: a.2, steps: 6, compute: 1500, memory: 900}
    q: {gpu: a.2, steps: 6, compute: 1100, memory: 300}
    r: {gpu: a.1, steps: 4, compute: 900}
"""


def test_turns_and_memory_of_shared_gpus_are_those_of_the_run(tmp_path: Path) -> None:
    """The run is watched a second time, at the registers themselves."""
    run = Run(loads(SHARED), cells_library())
    gpus = tuple(dict.fromkeys(each.gpu for each in run.scenario.sharing.applications))
    turns, memory = TurnLog(run.server, gpus), MemoryWatch(run.server, gpus)
    assert not run.run().failures
    with Recording(recorded(tmp_path / "r", SHARED)) as recording:
        found = exported(recording, tmp_path)
    for gpu, took, held in zip(map(str, gpus), turns.turns, memory.changes, strict=True):
        engine = [each for each in found if each["track"] == ("card a", gpu, "engine")]
        slices = [(a["name"], a["time"], b["time"]) for a, b in batched(engine)]
        wanted = [piece for turn in took for piece in pieces(turn)]
        assert len(wanted) > 10
        assert slices == wanted
        counted = [each for each in found if each["track"] == ("card a", gpu, "memory held")]
        assert [(each["time"], each["value"]) for each in counted] == list(held)
        numbers = (1, 2) if gpu == "a.2" else (1,)
        assert {name for name, *_ in slices} >= {f"{what}context {n}" for n in numbers for what in ("", "switch to ")}


def test_a_turn_that_is_under_way_ends_with_the_recording(tmp_path: Path) -> None:
    text = SHARED + "until: 6000\n"
    with Recording(recorded(tmp_path / "r", text)) as recording:
        found = exported(recording, tmp_path)
        last = max(told.cycle for told in recording.all())
    for gpu in ("a.1", "a.2"):
        engine = [each for each in found if each["track"] == ("card a", gpu, "engine")]
        *_, (begun, ended) = batched(engine)
        assert begun["time"] < ended["time"]
    assert max(each["time"] for each in found if each["track"][-1] == "engine") == last


def pieces(turn: ShownTurn) -> list[tuple[str, int, int]]:
    switch = [(f"switch to context {turn.context}", turn.began, turn.works)] if turn.works > turn.began else []
    return [*switch, (f"context {turn.context}", turn.works, turn.ended)]


def batched(engine: list[Event]) -> Iterator[tuple[Event, Event]]:
    assert [each["kind"] for each in engine] == [schema.TrackEvent.TYPE_SLICE_BEGIN, END] * (len(engine) // 2)
    return zip(engine[::2], engine[1::2], strict=True)
