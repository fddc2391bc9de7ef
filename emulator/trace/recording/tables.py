"""The tables of a recording, and what its header says.

SQLite: one file that grows in batches, each there whole or not at all, whatever becomes of its writer; read from any
language without us, by index, with little memory. Messages and events are numbered together, in the order in which
they happened.
"""

from typing import Annotated

from pydantic import Field

from ringhil.emulator.documents import Document

VERSION = 5
VERSIONS = (2, 3, 4, 5)  # that are read; the second knew no sessions, the third no samples, the fourth no hashes
APPLICATION = 0x72696E72  # "rinr": says whose file it is
MAGIC = b"SQLite format 3\0"

WAYS = ("to_firmware", "from_firmware", "to_cpu", "from_cpu")

TABLES = """
CREATE TABLE about (header TEXT NOT NULL, outcome TEXT);
CREATE TABLE gpus (cell INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE ways (way INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE messages (
    number INTEGER PRIMARY KEY,
    cycle INTEGER NOT NULL,
    cell INTEGER NOT NULL,
    way INTEGER NOT NULL,
    port INTEGER NOT NULL,
    bad INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    frame BLOB NOT NULL
);
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    cycle INTEGER NOT NULL,
    cell INTEGER,
    kind TEXT NOT NULL,
    fields TEXT NOT NULL
);
CREATE TABLE states (cycle INTEGER PRIMARY KEY, number INTEGER NOT NULL, hash BLOB NOT NULL);
CREATE TABLE outside (number INTEGER PRIMARY KEY, fields TEXT NOT NULL);
CREATE VIEW trace AS
    SELECT number, cycle, gpus.name AS gpu, ways.name AS way, port, bad, kind, hex(frame) AS frame
    FROM messages JOIN gpus USING (cell) JOIN ways USING (way);
"""
# Made when the run is over: while it goes on they would cost as much as the rows.
INDEXES = """
CREATE INDEX messages_by_cycle ON messages (cycle);
CREATE INDEX messages_by_kind ON messages (kind);
CREATE INDEX messages_by_cell ON messages (cell);
CREATE INDEX events_by_kind ON events (kind);
"""

_Choice = Annotated[str, Field(max_length=1000)]


class RunChange(Document):
    """What was done to the run from outside, before anything else in a cycle: an event, as a file's `timeline` has it;
    a register of a GPU that was set; or a frame, in hexadecimal, that a GPU's firmware was made to send by a port."""

    cycle: Annotated[int, Field(ge=0, lt=2**63)]
    strike: Annotated[str, Field(max_length=1 << 13)] | None = None
    gpu: _Choice | None = None
    set: _Choice | None = None
    value: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    port: _Choice | None = None
    frame: Annotated[str, Field(max_length=1 << 16, pattern="^([0-9a-f]{2})*$")] | None = None


class About(Document):
    """What was run. `scenario`: the text of a scenario file; `rtl`: its hash; `firmware` and `nodes`: whose runs where,
    and whose hardware is outside, as it was written; `changes`: what was done to it besides, in order of time;
    `edited`: the cycle in which firmware's source was exchanged, after which it can't be run again, only read;
    `clock`: of a session with clients, what its ports said of it in Hz, 0: nothing; None: it is none. `samples`: cycles
    after which monitoring asks the GPUs again what contexts have had of them; None: it doesn't. `hashes`: of scenario,
    RTL and firmware, by name."""

    ringhil: Annotated[str, Field(max_length=100)]
    rtl: Annotated[str, Field(max_length=100)]
    name: Annotated[str, Field(max_length=1000)]
    scenario: Annotated[str, Field(max_length=1 << 24)]
    firmware: Annotated[list[_Choice], Field(max_length=1000)]
    nodes: Annotated[list[_Choice], Field(max_length=1000)]
    changes: Annotated[list[RunChange], Field(max_length=10_000)] = Field(default_factory=list)
    edited: Annotated[int, Field(ge=0)] | None = None
    clock: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    samples: Annotated[int, Field(ge=1, lt=2**32)] | None = None
    hashes: Annotated[dict[_Choice, _Choice], Field(max_length=1000)] = Field(default_factory=dict)
