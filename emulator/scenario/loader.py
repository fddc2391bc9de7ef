"""Files and text to scenarios."""

import os
from pathlib import Path

from ringhil.emulator.files import open_input, reason_of
from ringhil.emulator.scenario.errors import ScenarioError, printable
from ringhil.emulator.scenario.marks import place_after
from ringhil.emulator.scenario.scenario import Scenario
from ringhil.emulator.scenario.variants import Variants
from ringhil.emulator.scenario.yaml_events import MAX_BYTES
from ringhil.emulator.scenario.yaml_source import parse


def load(path: str | os.PathLike[str]) -> Scenario:
    """The scenario in the file at `path`, UTF-8.

    Raises ScenarioError, also when the file can't be read, or has a sweep: then `load_variants` is for it.
    """
    return load_variants(path).only()


def loads(text: str, name: str = "<string>") -> Scenario:
    """The scenario in `text`; `name` stands for the path in messages, relative data paths stay as they are.

    Raises ScenarioError.
    """
    return loads_variants(text, name).only()


def load_variants(path: str | os.PathLike[str]) -> Variants:
    """The variants of the file at `path`; one without parameters when it has no `sweep`.

    Raises ScenarioError.
    """
    path = Path(path)
    return Variants(path, parse(read_text(path), str(path)), name=printable(path.stem), folder=path.parent)


def loads_variants(text: str, name: str = "<string>", folder: Path = Path()) -> Variants:
    """The variants of the file whose text is `text`, which lies in `folder`; otherwise as `load_variants`."""
    path = Path(name)
    return Variants(path, parse(text, name), name=printable(path.stem), folder=folder)


def read_text(path: Path) -> str:
    """The text of a file, for `loads_variants`. Raises ScenarioError."""
    try:
        with open_input(path) as file:
            data = file.read(MAX_BYTES + 1)  # one more shows that there is more; what is behind it isn't read
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = reason_of(error) if isinstance(error, OSError) else error
        raise ScenarioError(str(path), None, None, f"cannot be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise ScenarioError(str(path), 1, 1, f"the file is too large; at most {MAX_BYTES} bytes are read")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = place_after(data[: error.start].decode("utf-8"))
        problem = f"byte 0x{data[error.start]:02x} is not UTF-8; allowed is UTF-8 text"
        raise ScenarioError(str(path), *place, problem) from None
