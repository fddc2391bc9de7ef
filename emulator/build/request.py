"""What a model is built from, and what of it is refused at once."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ringhil.emulator.build.errors import BuildError

_LITERAL = re.compile(r"[1-9]\d*'h[0-9a-f]+", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class Usual:
    """What a register or an input mostly is before an edge: its bits in `mask` (None: all of them) are `value`.

    `path` leads from the top module, "u_part.g_of[2].u_leaf.state_q"; one that isn't there is passed over.
    """

    path: str
    value: int = 0
    mask: int | None = None


@dataclass(frozen=True)
class Edge:
    """How edges of a model are used: `late` outputs are looked at apart from them.

    `usual` are values in levels: those of a level mostly hold where those of the levels before it do.
    """

    late: tuple[str, ...] = ()
    usual: tuple[tuple[Usual, ...], ...] = ()


@dataclass(frozen=True)
class BuildRequest:
    """What to build.

    | field | |
    |---|---|
    | `top` | SystemVerilog top module |
    | `rtl` | `.sv` files, packages first; `.vlt` waivers may stand among them |
    | `cpp` | our C++ sources, compiled together with the model |
    | `headers` | what those include; their directories are searched |
    | `parameters` | of `top`; 32 bits, signed; or wider, as a sized literal such as 96'h0123 |
    | `defines` | for the C++ compiler |
    | `trace` | the model can write waveforms |
    | `prefix` | name of the emitted C++ class |
    | `optimise` | C++ optimisation of all that runs every cycle |
    | `program` | an executable, whose `main` is in `cpp` and which keeps the time itself, instead of a library |
    | `assertions` | those inside the RTL are checked in every cycle; one that fails stops the model |
    | `options` | further options of Verilator |
    | `link` | further options of the linker |
    | `apart` | outputs of `top` that are looked at apart from edges; where some are named, the model comes with its \
      edges in halves (halves.py) if it can, and the C++ sources are told by MODEL_EDGE, 1 or 0 |
    """

    top: str
    rtl: tuple[Path, ...]
    cpp: tuple[Path, ...]
    headers: tuple[Path, ...] = ()
    parameters: tuple[tuple[str, int | str], ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    trace: Literal["", "vcd", "fst"] = ""
    prefix: str = "Vdut"
    optimise: str = "-O3"
    program: bool = False
    assertions: bool = False
    options: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    edge: Edge | None = None


def check(request: BuildRequest) -> None:
    """Refuse what would be misread further on, by the tools or in an `#include`."""
    named = (*request.parameters, *request.defines)
    for name in (request.top, request.prefix, *(name for name, _ in named)):
        if not _IDENTIFIER.fullmatch(name):
            raise BuildError(f"{name!r} isn't a name (letters, digits and '_', no digit first)")
    for name, value in request.parameters:
        if isinstance(value, str):
            if not _LITERAL.fullmatch(value):
                raise BuildError(f"parameter {name}={value!r} is no sized literal (such as 96'h0123)")
        elif not -(2**31) <= value < 2**31:
            raise BuildError(f"parameter {name}={value} is out of range (32 bits, signed)")
    if not re.fullmatch(r"-O\w*", request.optimise):
        raise BuildError(f"optimise is {request.optimise!r}; allowed are -O0, -O1, -O2, -O3, -Os and -Ofast")
    if request.trace not in ("", "vcd", "fst"):
        raise BuildError(f"trace is {request.trace!r}; allowed are '', 'vcd' and 'fst'")
    if not request.rtl:
        raise BuildError(f"no RTL files given for {request.top}")
    check_names((*request.rtl, *request.cpp, *request.headers))


def check_names(files: Iterable[Path]) -> None:
    """Refuse paths that Verilator and compilers can't be told of."""
    for file in files:
        if re.search(r'["\\\n]', str(file.absolute())):
            raise BuildError(f"{str(file)!r} has a quote, backslash or line break in its name; rename it")
