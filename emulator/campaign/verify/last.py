"""What has failed last, for `--last-failed`: ids in a hidden file beside what failing variants leave."""

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ringhil.emulator.campaign.verify.discover import VerifyError
from ringhil.emulator.campaign.verify.report import VerifyReport
from ringhil.emulator.documents import Document, read
from ringhil.emulator.files import reason_of, write_whole

NAME = ".last-failed"
_FORMAT = "ringhil last failed"
_MOST = 1 << 26  # bytes


class _Kept(Document):
    format: Literal["ringhil last failed"]
    version: Literal[1]
    failed: list[Annotated[str, Field(max_length=1 << 16)]]


def last_failed(out: Path) -> frozenset[str]:
    """Ids of what did not pass when it was last played; none when nothing is kept. Raises VerifyError."""
    file = out / NAME
    return frozenset(read(file, _Kept, _MOST, VerifyError).failed) if file.exists() else frozenset()


def keep_failed(out: Path, report: VerifyReport, *, all_: bool) -> None:
    """Keep that for the next time; what was not played stays as it was, unless `all_` was. Raises VerifyError."""
    before = frozenset[str]() if all_ else last_failed(out)
    played, bad = {verdict.id for verdict in report.results}, {verdict.id for verdict in report.bad()}
    left, file = sorted((before - played) | bad), out / NAME
    try:
        if left:
            out.mkdir(parents=True, exist_ok=True)
            write_whole(file, json.dumps({"format": _FORMAT, "version": 1, "failed": left}, indent=1) + "\n")
        else:
            file.unlink(missing_ok=True)
    except OSError as error:
        raise VerifyError(f"{file}: cannot be written: {reason_of(error)}") from error
