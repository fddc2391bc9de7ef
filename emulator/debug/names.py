"""What a condition may name: kinds of messages and events, and their fields."""

from collections.abc import Sequence
from dataclasses import fields

from ringhil.emulator.debug.condition import Values
from ringhil.emulator.debug.items import COMMANDS, NO_FRAME, OF_COMMANDS, gpus_there
from ringhil.emulator.events.recorded import KINDS
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.protocol.frames import BY_KIND

# Kinds of messages, and the names of their fields.
MESSAGES = {kind.__name__.lower(): [each.name for each in fields(kind)] for kind in BY_KIND.values()}
NAMES = frozenset(
    {"number", "cycle", "gpu", "kind", "way", "port", "bad", *(name for names in MESSAGES.values() for name in names)}
    | {*OF_COMMANDS, *(name for names in KINDS.values() for name in names)}
)


def values(gpus: Sequence[str]) -> dict[str, Values]:
    """What `kind`, `way`, `gpu` and `command` may be in a condition."""
    kinds, ways, commands = [*MESSAGES, *KINDS, NO_FRAME], [*WAYS], [*COMMANDS.values()]
    return {
        "kind": Values(kinds, ", ".join(kinds)),
        "way": Values(ways, ", ".join(ways)),
        "gpu": Values(gpus, gpus_there(gpus)),
        "command": Values(commands, ", ".join(commands)),
    }
