"""Words that people type for what a management port knows by number. Each raises ValueError with what is allowed."""

from ringhil.emulator.documents import shown
from ringhil.emulator.scenario.file.faults import FAULTS, PartKind
from ringhil.emulator.scenario.file.names import split_gpu
from ringhil.emulator.scenario.file.topology import LinkRef
from ringhil.protocol import registers
from ringhil.protocol.line.management import EventKind, LineFault
from ringhil.protocol.wire import Port

EVENTS = {kind.name.lower(): kind for kind in EventKind}
_MOST = 0xFFFFFFFF
_REGISTERS = {register.address: register.name for register in registers.REGISTERS}


def number_of(text: str) -> int:
    """A number of 32 bits."""
    try:
        number = int(text, 0)
    except ValueError:
        number = -1
    if not 0 <= number <= _MOST:
        raise ValueError(f"found {text!r}; allowed is a number from 0 to 0x{_MOST:X}, decimal or 0x...")
    return number


def address_of(register: str | int) -> int:
    """Address of a register, by its name, or as a number, in digits too."""
    if isinstance(register, int):
        return register
    if register[:1].isdigit():
        return number_of(register)
    try:
        return registers.ADDRESS[register]
    except KeyError:
        raise ValueError(f"register: found {register!r}; allowed are {', '.join(registers.ADDRESS)}") from None


def register_of(text: str) -> str:
    """Name of a register, by its name or its address. An address that isn't known stays as it was typed: a card may
    have more registers than we know."""
    return _REGISTERS.get(address_of(text), text)


def bytes_of(text: str) -> bytes:
    """Bytes in hexadecimal."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError(f"found {shown(text)}; allowed are pairs of hexadecimal digits") from None


def port_of(text: str) -> Port:
    """A port of a mailbox."""
    try:
        return Port.parse(text)
    except ValueError:
        raise ValueError(f"found {shown(text)}; allowed are {', '.join(Port)}") from None


def fault_of(text: str) -> LineFault:
    """A fault that can be injected."""
    try:
        return LineFault.parse(text)
    except ValueError:
        raise ValueError(f"found {shown(text)}; allowed are {', '.join(LineFault)}") from None


def gpu_of(text: str, card: str) -> int:
    """Number of a GPU of the card called `card`: `3`, or `a.3`."""
    if text[:1].isdigit():
        return number_of(text)
    name, gpu = split_gpu(text)
    if name != card:
        raise ValueError(f"found {text!r}; this is card {card}")
    return gpu


def place_of(fault: str, text: str, card: str, gpus: int) -> int:
    """Where a fault strikes a card of so many GPUs: a GPU, or a link `a.5-a.6`, by the GPU before it."""
    if "-" not in text:
        return gpu_of(text, card)
    if FAULTS[fault].target is not PartKind.LINK:
        raise ValueError(f"found {text!r}; {fault} strikes a GPU, such as {card}.3")
    link = LinkRef.parse(text, gpus)
    if link.card != card:
        raise ValueError(f"found {text!r}; this is card {card}")
    return link.index


def event_kinds(names: str) -> int:
    """Kinds of events, with commas between."""
    kinds = 0
    for name in names.split(","):
        if name not in EVENTS:
            raise ValueError(f"found {name!r}; allowed are {', '.join(EVENTS)}")
        kinds |= EVENTS[name]
    return kinds
