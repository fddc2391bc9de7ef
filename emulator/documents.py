"""JSON that is read back: a file as a checked object, or one line that says where, what was found, what is allowed."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ringhil.emulator.errors import printable
from ringhil.emulator.files import open_input, reason_of

M = TypeVar("M", bound="Document")
_MOST = 300  # letters of what somebody else says


class Document(BaseModel):
    """What a file holds, or a part of it: these keys, no others, of exactly these types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


def read(path: Path, model: type[M], most: int, error: type[ValueError]) -> M:
    """A file of at most `most` bytes; raises `error`."""
    size(path, most, error)
    try:
        with open_input(path) as file:
            return model.model_validate_json(file.read())
    except OSError as reason:
        raise error(f"{path}: cannot be read: {reason_of(reason)}") from None
    except ValidationError as reason:
        raise error(f"{path}: {explained(reason)}") from None


def size(path: Path, most: int, error: type[ValueError]) -> int:
    """Bytes of a file that may have at most `most`; raises `error`."""
    try:
        found = path.stat().st_size
    except OSError as reason:
        raise error(f"{path}: cannot be read: {reason_of(reason)}") from None
    if found > most:
        raise error(f"{path}: {found:,} bytes; allowed are {most:,}")
    return found


def explained(error: ValidationError, whole: str = "the file") -> str:
    """The first thing that is wrong, as one line. `whole`: what it is in."""
    detail = error.errors(include_url=False)[0]
    found, context = detail["input"], detail.get("ctx", {})
    *above, last = detail["loc"] or ("",)
    match detail["type"]:
        case "json_invalid":
            return f"not JSON: {context['error']}"
        case "missing":
            keys = sorted(found) if isinstance(found, dict) else found
            return f"{place(above) or whole}: found {shown(keys)}; needed is {shown(last)} as well"
        case "extra_forbidden":
            return f"{place(above) or whole}: found a key {shown(last)}; no such key is allowed"
        case "value_error":
            allowed = str(context["error"])
        case "literal_error":
            allowed = context["expected"]
        case "string_pattern_mismatch":
            allowed = f"what matches {context['pattern']}"
        case "too_long":
            allowed = f"a list of at most {context['max_length']:,}"
        case _:
            allowed = detail["msg"].removeprefix("Input should be ")
    return wrong(place(detail["loc"]) or whole, found, allowed)


def wrong(where: str, found: object, allowed: str) -> str:
    """One line about a value."""
    return f"{where}: found {shown(found)}; allowed is {allowed}"


def place(steps: "list[int | str] | tuple[int | str, ...]") -> str:
    """`crosses[0].hits[2]`."""
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return words.removeprefix(".")


def one(word: str) -> str:
    """`a statistics`, `an election`."""
    return f"an {word}" if word.lower().startswith(tuple("aeiou")) else f"a {word}"


def shown(found: object, limit: int = 60) -> str:
    """What was found, short enough for a line."""
    return one_line(repr(found), limit)


def one_line(text: str, limit: int = _MOST) -> str:
    """What a board, a file or somebody's program says, fit to be a part of a line: escaped, and no longer than that."""
    text = printable(" ".join(text[: 4 * limit].split()))
    return text if len(text) <= limit else text[: limit - 3] + "..."
