"""The one line of a tool's output that names the mistake.

| tool | line that is picked |
|---|---|
| Verilator | first `%Error` with a place, else first `%Warning` (all are fatal), else first `%Error` |
| C++ compiler | first `file:line:column: error:` |
| linker | first `undefined reference` |

Each answers "" when the output holds no such line.
"""

import re

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
