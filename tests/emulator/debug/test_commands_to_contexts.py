"""Commands to contexts can be looked for, and read, by name."""

from pathlib import Path

import pytest

from ringhil.emulator.debug.commands import Commands, in_words
from ringhil.emulator.debug.items import OF_COMMANDS, decoded
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads
from ringhil.protocol import codec
from ringhil.protocol.frames import Work

SERVER = """
server:
  cards: {a: {gpus: 3, host_links: [0]}}
  settings: {device_memory: 1000}
until: 40000
sharing:
  applications:
    one: {gpu: a.1, memory: 600, wants: 0, slice: 200, priority: 3, state: 70, steps: 2, host: 100, compute: 300}
"""


def test_they_have_fields_of_their_own(tmp_path: Path) -> None:
    record_run(tmp_path / "r", loads(SERVER), cells_library())
    with DebugSession(tmp_path / "r", cells_library()) as session:
        commands = Commands(session)
        created = commands.do("until command == create and priority == 3")
        assert created["moved"]
        about = created["message"]
        assert [about[name] for name in OF_COMMANDS if name != "key"] == ["create", 600, 200, 3, 70]
        assert "  command: create" in in_words(commands.do("show"))
        assert commands.do("until command == launch and amount == 300")["moved"]
        with pytest.raises(DebugError, match=r"found 'lanch'; allowed are create, destroy, .*, query"):
            commands.do("until command == lanch")


@pytest.mark.parametrize(("compute", "segment", "size"), [(0, 0, 16), (0x0F, 0, 16), (0x16, 1, 16), (0x16, 0, 15)])
def test_plain_work_and_what_is_no_beginning_has_none(compute: int, segment: int, size: int) -> None:
    work = Work(
        card=0, flags=0, ttl=4, destination=2, epoch=1, unit=1, source=0, attempt=1, segment=segment,
        segment_bytes=size, length=32, compute=compute, source_card=0, context=1, payload=bytes(16),
    )  # fmt: skip
    assert not {*OF_COMMANDS} & {*decoded(codec.encode(work))[1]}
