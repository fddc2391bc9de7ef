"""The tables of messages from which typed classes, C and reference pages are written."""

from collections.abc import Callable
from dataclasses import dataclass

from construct import GreedyBytes, GreedyRange, Renamed

from ringhil.protocol.enums import Coded
from ringhil.protocol.fields import base_field
from ringhil.protocol.line import firmware_loop, management


@dataclass(frozen=True)
class MessageTable:
    """`module`: of protocol/line/, without `.py`; `definitions`, each behind its kind; `class_name` of a kind."""

    module: str
    definitions: tuple[tuple[Coded, Renamed], ...]
    class_name: Callable[[Coded], str]


def parts(definition: object) -> tuple[list[tuple[str, int]], tuple[str, type] | None]:
    """(name, bytes) of the fixed fields after `type`; name of the tail, and what it is made of: bytes or 64-bit
    words."""
    fixed: list[tuple[str, int]] = []
    for sub in definition.subcons[1:]:  # type: ignore[attr-defined]
        inner = base_field(sub)
        if inner is GreedyBytes:
            return fixed, (str(sub.name), bytes)
        if isinstance(inner, GreedyRange):
            assert inner.subcon.sizeof() == 8
            return fixed, (str(sub.name), int)
        fixed.append((str(sub.name), int(inner.sizeof())))  # type: ignore[attr-defined]
    return fixed, None


def _words(kind: Coded) -> str:
    return "".join(word.title() for word in kind.split("_"))


def _of_management(kind: Coded) -> str:
    """`HelloRequest` of hello, `HelloReply` of hello_reply, `RefusedReply` of refused."""
    if kind is management.Type.REFUSED:
        return f"{_words(kind)}Reply"
    return f"{_words(kind)}Request" if kind in management.REQUESTS else _words(kind)


def _of_firmware_loop(kind: Coded) -> str:
    """`BootRequest` of boot, `SendAction` of send, `DoneReply` of done."""
    if kind in firmware_loop.REQUESTS:
        return f"{_words(kind)}Request"
    if kind in firmware_loop.ACTIONS:
        return f"{_words(kind)}Action"
    return _words(kind).removesuffix("Reply") + "Reply"


MANAGEMENT = MessageTable("management", tuple(management.MESSAGES.items()), _of_management)
FIRMWARE_LOOP = MessageTable(
    "firmware_loop", (*firmware_loop.MESSAGES.items(), *firmware_loop.ACTIONS.items()), _of_firmware_loop
)
