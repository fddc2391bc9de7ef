"""Tries a library in a process of its own: what crashes in it ends that process.

    python trial.py LIBRARY MOST_STATE ROOM REQUEST SECONDS

Says on stdout what it does next. What can be told without a crash is left to whoever has started this. It has so many
seconds of processor time, also when nobody waits for it any more. It imports nothing of ours, so that it begins at
once.
"""

import ctypes
import resource
import signal
import sys
from contextlib import suppress


def _tried(path: str, most_state: int, room: int, request: bytes, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own waits for the library
    _say("load")
    library = ctypes.CDLL(path)
    size, answer = library.rhf_size, library.rhf_answer
    size.restype = answer.restype = ctypes.c_size_t
    _say("rhf_size")
    state = size()
    if not 0 < state <= most_state:
        return
    answer.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    _say("rhf_answer")
    answer(ctypes.create_string_buffer(state), request, len(request), ctypes.create_string_buffer(room), room)


def _say(what: str) -> None:
    print(what, flush=True)


if __name__ == "__main__":
    with suppress(OSError, AttributeError):
        _tried(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), bytes.fromhex(sys.argv[4]), int(sys.argv[5]))
    _say("end")
