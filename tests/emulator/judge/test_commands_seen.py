"""A command is read off its first frame field by field; of anything else there is none."""

from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.host.work import segments
from ringhil.emulator.judge.contexts.commands_seen import SeenCommand, seen_command
from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Result
from ringhil.protocol.wire import FIRST_COMMAND, Compute

BYTE, SHORT, STATE, WORD = (st.integers(0, 256**size - 1) for size in (1, 2, 3, 4))
COMMAND_BYTES = wire.COMMAND_FLITS * wire.FLIT_BYTES


@st.composite
def commands(draw: st.DrawFn) -> SeenCommand:
    """Any that a driver may send."""
    return SeenCommand(
        unit=draw(st.integers(FIRST_COMMAND, 2**32 - 1)),
        attempt=draw(SHORT),
        gpu=(draw(BYTE), draw(SHORT)),
        context=draw(SHORT),
        compute=draw(st.sampled_from(Compute)),
        key=draw(WORD),
        amount=draw(WORD),
        slice=draw(WORD),
        priority=draw(BYTE),
        state=draw(STATE),
        data_bytes=draw(st.integers(0, 600)),
    )


def frames(command: SeenCommand) -> list[bytes]:
    """As the protocol's definitions build it."""
    fields = {name: getattr(command, name) for name in ("key", "amount", "slice", "priority", "state")}
    data = wire.Command.build(fields) + bytes(command.data_bytes)
    built = []
    for number, start in enumerate(range(0, len(data), wire.SEGMENT_BYTES)):
        part = data[start : start + wire.SEGMENT_BYTES]
        head = {"card": command.gpu[0], "flags": 0, "ttl": 9, "destination": command.gpu[1], "epoch": 7}
        about = {"unit": command.unit, "source": 5, "attempt": command.attempt, "segment": number}
        size = {"segment_bytes": len(part), "length": len(data), "payload": part + bytes(-len(part) % 8)}
        asks = {"compute": str(command.compute), "source_card": 3, "context": command.context}
        built.append(wire.Work.build({**head, **about, **size, **asks, "e2e_crc": 0, "link_crc": 0}))
    return built


@given(commands())
def test_a_command_is_read_field_by_field(command: SeenCommand) -> None:
    first, *others = frames(command)
    assert seen_command(first) == command
    assert command.place == (*command.gpu, command.context)
    assert [seen_command(frame) for frame in others] == [None] * len(others)


@given(commands(), st.integers(0, FIRST_COMMAND - 1))
def test_plain_work_is_none(command: SeenCommand, unit: int) -> None:
    assert seen_command(frames(command._replace(unit=unit))[0]) is None


def test_an_unknown_computation_has_no_name() -> None:
    route = segments.Route(0, 0, 0, 3, False, 9, 1)
    frame = bytearray(segments.segments(FIRST_COMMAND, 1, bytes(COMMAND_BYTES), route, Compute.QUERY, 2)[0])
    frame[28] = 0xFF  # `compute`
    seen = seen_command(bytes(frame))
    assert seen is not None
    assert (seen.compute, seen.context) == (None, 2)


def test_an_answer_is_none() -> None:
    assert seen_command(codec.encode(Result(0, 0, 9, 0, 1, FIRST_COMMAND, 3, 1, 0, 0, 0, 0, 16, 0))) is None


@given(commands(), st.integers(0))
def test_what_is_cut_short_is_none(command: SeenCommand, at: int) -> None:
    needed = wire.WORK_HEADER_FLITS * wire.FLIT_BYTES + COMMAND_BYTES
    assert seen_command(frames(command)[0][: at % needed]) is None


@given(commands(), st.integers(0, COMMAND_BYTES - 1))
def test_one_with_less_payload_than_a_command_has_is_none(command: SeenCommand, here: int) -> None:
    """The hardware calls it incomplete."""
    frame = bytearray(frames(command)[0])
    frame[22:24] = here.to_bytes(2)
    assert seen_command(bytes(frame)) is None


@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_are_read_or_are_none(data: bytes, work: bool) -> None:
    seen = seen_command(bytes([wire.Kind.WORK.code]) + data if work else data)
    assert seen is None or seen.unit >= FIRST_COMMAND
