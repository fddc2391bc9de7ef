"""What a failed test leaves with `--ringhil-record DIR`: its servers are played again, and written down."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from ringhil.emulator.campaign.verify.evidence import Replay
from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.documents import one_line
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.files import reason_of
from ringhil.emulator.pytest_plugin.driven import Driven
from ringhil.emulator.view.alone import leave_page

_LONGEST = 120  # letters of a file's name
_LONGEST_ERROR = 500  # letters


def leave(folder: Path, test: str, error: str, servers: Sequence[Driven]) -> Iterator[str]:
    """A recording of each, and its page; lines that say where, or why there is none. `test`: its name in pytest;
    `error`: how it failed, which is told of a run that was not itself judged to be bad."""
    name = re.sub(r"[^A-Za-z0-9_.+-]+", "-", test).strip("-.")[-_LONGEST:].lstrip("-.")
    first = error.strip().partition("\n")[0]
    failed = one_line(f"the test failed: {first}", _LONGEST_ERROR)
    for number, server in enumerate(servers, 1):
        path = folder / f"{name}{f'-{number}' if len(servers) > 1 else ''}.rec"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            test_failed = None if server.judged_bad else failed
            record_run(path, server.driven, server.library, server.firmware, test=test_failed)
        except OSError as error:
            yield f"no recording was left: {path}: cannot be written: {reason_of(error)}"
            continue
        except RinghilError as error:
            yield f"no recording was left: {error}"
            continue
        yield f"recorded: {shlex.join(['ringhil', 'step', str(path), *Replay(firmware=server.firmware).options()])}"
        page = leave_page(path, server.library, server.firmware)
        yield f"page: {page.path}" if page.path is not None else f"no page was left: {page.why}"
