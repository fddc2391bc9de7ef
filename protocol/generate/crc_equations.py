"""The CRC of `crc.py` as linear equations over GF(2), for hardware that takes a whole flit per cycle.

With `state` the running register (initial value all ones, final exclusive-or all ones):
bit i of the next state = parity of (mask_i & (data ^ state)), where the state lies over the first 32 bits
that are sent. `masks(n)` gives the masks for n bits of data (32 or 64), most significant byte first.

`division(n)` gives the same map as two products of polynomials, which a simulator works out with few
shifts of whole words instead of n-bit parities. With w = the data, first bit sent in bit 0, with the state laid
over its low 32 bits: q = the upper 32 of n bits of the exclusive or of w << s for s in `quotient`, and the next
state = exclusive or of q >> s for s in `remainder`.
"""

from ringhil.protocol.crc import POLYNOMIAL

_REFLECTED = int(f"{POLYNOMIAL:032b}"[::-1], 2)


def step(state: int, data: bytes) -> int:
    """Bitwise reference: the running register after `data`."""
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = (state >> 1) ^ (_REFLECTED if state & 1 else 0)
    return state


def masks(bits: int) -> list[int]:
    """Which bits of the data word each bit of the next state depends on."""
    result = [0] * 32
    for position in range(bits):
        column = step(0, (1 << position).to_bytes(bits // 8, "big"))
        for i in range(32):
            if column >> i & 1:
                result[i] |= 1 << position
    return result


def division(bits: int) -> tuple[list[int], list[int]]:
    """Shifts `(quotient, remainder)` for `bits` bits of data: the power series 1/P and the terms of P but its one."""
    polynomial = _REFLECTED << 1 | 1
    quotient, rest = [], 1
    for shift in range(bits):
        if rest >> shift & 1:
            quotient.append(shift)
            rest ^= polynomial << shift
    return quotient, [32 - term for term in range(32, 0, -1) if polynomial >> term & 1]


def byte_swap(word: int) -> int:
    """The running register as the data word that it lies over: sent byte order, 32 bits."""
    return int.from_bytes(word.to_bytes(4, "little"), "big")
