"""Files to text."""

from pathlib import Path

from ringhil.emulator.files import open_input, reason_of
from ringhil.emulator.scenario.yaml.errors import ScenarioError
from ringhil.emulator.scenario.yaml.events import MAX_BYTES
from ringhil.emulator.scenario.yaml.marks import place_after


def read_text(path: Path) -> str:
    """The text of a file, UTF-8. Raises ScenarioError."""
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
