"""The CRC of `crc.py` as linear equations over GF(2), for hardware that takes a whole flit per cycle.

With `state` the running register (initial value all ones, final exclusive-or all ones):
bit i of the next state = parity of (mask_i & (data ^ state)), where the state lies over the first 32 bits
that are sent. `masks(n)` gives the masks for n bits of data (32 or 64), most significant byte first.

`division(n)` gives the same map as two products of polynomials, which a simulator works out with few
shifts of whole words instead of n-bit parities. With w = the data, first bit sent in bit 0, with the state laid
over its low 32 bits: q = the upper 32 of n bits of the exclusive or of w << s for s in `quotient`, and the next
state = exclusive or of q >> s for s in `remainder`. `shared` works out such a sum with less than half the shifts.
"""

from itertools import combinations

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


Sum = list[tuple[int, int]]
"""Terms of an exclusive or: (word, shift)."""


def shared(shifts: list[int]) -> list[Sum]:
    """Word 0 under all `shifts`, as sums to be worked out in order: sum i makes word i + 1, the last one the whole.

    Greedy: as long as two terms occur twice at the same distance, the commonest such pair becomes a word of its own.
    """
    terms = [(0, shift) for shift in shifts]
    sums: list[Sum] = []
    while True:
        places: dict[tuple[int, int, int], list[Sum]] = {}
        for low, high in combinations(sorted(terms, key=lambda term: term[1]), 2):
            places.setdefault((low[0], high[0], high[1] - low[1]), []).append([low, high])
        apart: dict[tuple[int, int, int], list[Sum]] = {}
        for pair, found in places.items():
            apart[pair] = []
            for place in found:
                if not any(term in other for term in place for other in apart[pair]):
                    apart[pair].append(place)
        pair = max(sorted(apart), key=lambda p: (len(apart[p]), p), default=(0, 0, 0))
        if len(apart.get(pair, ())) < 2:
            return [*sums, sorted(terms)]
        sums.append([(pair[0], 0), (pair[1], pair[2])])
        for low, high in apart[pair]:
            terms.remove(low)
            terms.remove(high)
            terms.append((len(sums), low[1]))


def byte_swap(word: int) -> int:
    """The running register as the data word that it lies over: sent byte order, 32 bits."""
    return int.from_bytes(word.to_bytes(4, "little"), "big")
