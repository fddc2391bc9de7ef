"""Frames as numpy structured arrays, for code that handles thousands at once: big-endian, as on the wire.

    headers = np.frombuffer(data, dtype_of(wire.Statistics))    # many headers, no copy
    headers["count"].max()

Nothing is checked here: lengths, kinds and CRCs are `codec.decode`'s.
"""

from typing import Any

import numpy as np

from ringhil.protocol import wire
from ringhil.protocol.fields import fixed_fields


def dtype_of(definition: object) -> np.dtype[Any]:
    """The numpy type of a construct definition's fixed part, field by field as on the wire.

    | definition                        | covers                               |
    |-----------------------------------|--------------------------------------|
    | without a variable field          | the whole frame, both CRCs included  |
    | statistics, work, report          | the header, up to the variable field |
    | record                            | the whole record                     |
    """
    return np.dtype([(name, f">u{size}") for name, size in fixed_fields(definition)])


RECORD_DTYPE = dtype_of(wire.Record)
