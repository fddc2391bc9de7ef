"""What tests ask about processes of others."""

import os


def alive(pid: int) -> bool:
    """Whether there is such a process; with -pid, a process of this group."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
