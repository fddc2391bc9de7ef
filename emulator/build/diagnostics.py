"""What the tools say of their work: the one line that names a mistake, and which files were read and written.

| tool | line that is picked |
|---|---|
| Verilator | first `%Error` with a place, else first `%Warning` (all are fatal), else first `%Error` |
| C++ compiler | first `file:line:column: error:` |
| linker | first `undefined reference` |

A complaint is "" when the output holds no such line.
"""

import re
from pathlib import Path

_VERILATOR = re.compile(r"^%(Error|Warning)(?:-(\w+))?: (?:(.+?):(\d+):(\d+): )?(.*)$", re.MULTILINE)
_VERILATOR_SUMMARY = re.compile(r"^%Error: (Exiting due to|Cannot continue|Command Failed)")
_CXX = re.compile(r"^(.+?:\d+(?::\d+)?): (?:fatal )?error: (.*)$", re.MULTILINE)
_LINK = re.compile(r"undefined (?:reference|symbol).*", re.IGNORECASE)


def verilator_complaint(output: str) -> str:
    """`file:line:column: message [CODE] (and N more)`."""
    found = [m for m in _VERILATOR.finditer(output) if not _VERILATOR_SUMMARY.match(m[0])]
    if not found:
        return ""
    # An error comes before the style warnings that it provoked, and a place before a summary.
    first = min(found, key=lambda m: (m[3] is None, m[1] != "Error"))
    place = f"{first[3]}:{first[4]}:{first[5]}: " if first[3] else ""
    code = f" [{first[2]}]" if first[2] else ""
    return f"{place}{first[6]}{code}{_others(len(found) - 1)}"


def compiler_complaint(output: str) -> str:
    """`file:line:column: message (and N more)`, for the compiler or the linker."""
    errors = _CXX.findall(output)
    if errors:
        place, message = errors[0]
        return f"{place}: {message}{_others(len(errors) - 1)}"
    undefined = list(dict.fromkeys(_LINK.findall(output)))
    return f"{undefined[0]}{_others(len(undefined) - 1)}" if undefined else ""


def _others(count: int) -> str:
    return f" (and {count} more)" if count else ""


class Emitted:
    """What Verilator wrote, by its own list (`<prefix>_classes.mk`)."""

    def __init__(self, directory: Path, listing: str) -> None:
        self.directory = directory
        lists = {
            name: [word for word in words.split() if word != "\\"]
            for name, words in re.findall(r"^(VM_\w+) \+= \\\n((?:[ \t]+\S+ \\\n)*)", listing, re.MULTILINE)
        }
        self.fast = self._files(lists["VM_CLASSES_FAST"] + lists["VM_SUPPORT_FAST"])
        self.slow = self._files(lists["VM_CLASSES_SLOW"] + lists["VM_SUPPORT_SLOW"])
        self.runtime = lists["VM_GLOBAL_FAST"] + lists["VM_GLOBAL_SLOW"]
        # The rest (VM_PARALLEL_BUILDS and so on) is for makefiles and would only split the runtime's key.
        switches = re.findall(r"^(VM_(?:COVERAGE|TIMING|TRACE\w*)) = (\d+)$", listing, re.MULTILINE)
        self.defines = [f"-D{name}={value}" for name, value in switches] + ["-DVM_SC=0"]

    def _files(self, names: list[str]) -> list[Path]:
        return [self.directory / f"{name}.cpp" for name in names]


def included_files(rule: str) -> list[str]:
    """The file names right of the colon in a compiler's `-MMD` output."""
    body = rule.replace("\\\n", " ").partition(": ")[2]
    return [re.sub(r"\\(.)", r"\1", name).replace("$$", "$") for name in re.findall(r"(?:\\.|\S)+", body)]
