"""Short words for what is on a link: the control byte, the kind of a frame, the events of `ring_view`."""

from itertools import combinations

from ringhil.protocol import registers, wire

NO_FRAME, UNKNOWN = 0x00, 0xFF  # kinds of `ring_view`, beside those of the protocol

# As `ring_view` numbers them. C_, D_: control and data channel.
EVENTS = (
    *("IDLE", "DOWN", "FAULT", "CREDIT", "C_SOF", "C_BODY", "C_EOF", "C_BAD", "C_SINGLE"),
    *("D_SOF", "D_BODY", "D_EOF", "D_BAD", "D_SINGLE"),
)


def kinds() -> dict[int, str]:
    """Value of `c_kind` and `d_kind` -> its name."""
    return {
        NO_FRAME: "NO_FRAME",
        **{kind.code: kind.name for kind in wire.Kind},
        UNKNOWN: "UNKNOWN",
    }


def events() -> dict[int, str]:
    """Value of `link_event` -> its name."""
    return dict(enumerate(EVENTS))


def flags() -> dict[int, str]:
    """Every value of a frame's flags that can occur -> its words, and how many boundary links it has crossed."""
    found = {}
    for crossed in range(wire.MAX_CROSSINGS + 1):
        for value in range(1 << len(wire.Flag)):
            bits = [flag for place, flag in enumerate(wire.Flag) if value >> place & 1]
            words = [bit.word for bit in bits] + ([f"crossed {crossed}"] if crossed else [])
            found[sum(bits) | crossed << wire.CROSSINGS_SHIFT] = " ".join(words) or "none"
    return dict(sorted(found.items()))


def faults() -> dict[int, str]:
    """Values of the fault port with at most two faults at once -> their names."""
    found = {0: "none"}
    for count in (1, 2):
        for bits in combinations(registers.FaultBit, count):
            found[sum(bits)] = " ".join(bit.word for bit in bits)
    return dict(sorted(found.items()))


def register_names() -> dict[int, str]:
    """Word address -> name of the register."""
    return {address: name for name, address in registers.ADDRESS.items()}


def controls() -> dict[int, str]:
    """Every control byte that a link can carry -> what it says.

    `down`, `up`, `credit`, `fault`; or the channel (C, D) and the place of the flit in its frame, such as `C sof`,
    `D body`, `D eof err credit`. A link without carrier is all zero; a byte without a flit has no sof, eof or err.
    """
    return {byte: _control(bits) for byte in range(256) if (bits := _bits(byte)) == [] or _sound(set(bits))}


def _bits(byte: int) -> list[str]:
    return [bit.word for bit in wire.LinkBit if byte & bit]


def _sound(bits: set[str]) -> bool:
    flit = "valid" in bits or not bits & {"data", "sof", "eof", "err"}
    return "up" in bits and flit and ("err" not in bits or "eof" in bits)


def _control(bits: list[str]) -> str:
    if "up" not in bits:
        return "down"
    words = [name for name in ("sof", "eof", "err", "credit", "fault") if name in bits]
    if "valid" in bits:
        place = [] if "sof" in bits or "eof" in bits else ["body"]
        return " ".join(["D" if "data" in bits else "C", *place, *words])
    return " ".join(words) or "up"
