"""A bench in, something that cocotb can run out: built once, cached with the engine's libraries.

Verilator's binary is called directly (so Perl isn't needed) and only the pins of the top are made visible, which
makes the model three times as fast as with everything visible. Icarus compiles in a second or two.
"""

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ringhil.emulator.build.build import BuildError, BuildRequest, build, cache_dir, rtl_hash
from ringhil.emulator.build.cache import BuildStore
from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.node_rtl import NODE, OURS, cell_sources, sources
from ringhil.emulator.build.processes import run
from ringhil.emulator.documents import shown

Simulator = Literal["verilator", "icarus"]
SIMULATORS: tuple[Simulator, ...] = ("verilator", "icarus")
HDL = Path(__file__).resolve().parent / "hdl"
_RECIPE = 2  # of Icarus builds; raise it when this file begins to make something else of the same sources


@dataclass(frozen=True)
class Bench:
    """A built bench: `directory` holds what `simulator` runs, `top` is its module. `rtl` is the digest of the sources,
    "sha256:..."; `from_cache`: it had been built before."""

    simulator: Simulator
    top: str
    directory: Path
    rtl: str  # "sha256:..."
    from_cache: bool


def node_sources(rtl: Path = OURS) -> list[Path]:
    """Sources of `node_bench` around a node in directory `rtl`; for one that isn't called gpu_node, pass
    `defines={"RINGHIL_NODE": "its_name"}` when building. Raises BuildError."""
    return [*sources(rtl), HDL / "ring_view.sv", HDL / "node_bench.sv"]


def card_sources(rtl: Path = OURS, top: str = NODE) -> list[Path]:
    """Sources of `card_bench`, a whole card, with the node `top` of directory `rtl`. Raises BuildError."""
    cells = cell_sources(rtl, top)
    added = [] if any(f.name == "card_top.sv" for f in cells) else [OURS / "card_top.sv"]
    return [*cells, *added, HDL / "card_bench.sv"]


def build_bench(
    simulator: Simulator,
    top: str,
    sources: Sequence[Path],
    *,
    defines: Mapping[str, str] | None = None,
    parameters: Mapping[str, int] | None = None,
    coverage: bool = False,
    waves: bool = False,
    optimise: str = "-O1",
    progress: Callable[[str], None] | None = None,
) -> Bench:
    """Build `top` of `sources` (packages first). Raises BuildError with one line that says what to do.

    `waves`: the run can write a wave file. `coverage`: the run writes Verilator's line and toggle counts.
    """
    if simulator not in SIMULATORS:
        raise BuildError(f"simulator: found {shown(simulator)}; allowed are {', '.join(SIMULATORS)}")
    given = dict(defines or {})
    if simulator == "icarus":
        if coverage:
            raise BuildError("Icarus counts no coverage; use verilator")
        return _icarus(top, sources, given, dict(parameters or {}), waves)
    return _verilator(top, sources, given, dict(parameters or {}), coverage, waves, optimise, progress)


def _verilator(
    top: str,
    sources: Sequence[Path],
    defines: dict[str, str],
    parameters: dict[str, int],
    coverage: bool,
    waves: bool,
    optimise: str,
    progress: Callable[[str], None] | None,
) -> Bench:
    import cocotb_tools.config  # slow to import, and only needed here

    public = _public(top)
    main = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
    libraries = cocotb_tools.config.libs_dir
    options = ["--vpi", "-Wno-fatal", "-Wno-WIDTH", "-Wno-style", "--timescale", "1ns/1ps"]
    options += [f"-D{name}={value}" for name, value in defines.items()]
    options += ["--coverage-line", "--coverage-toggle"] if coverage else []
    request = BuildRequest(
        top=top,
        rtl=(public, *sources),
        cpp=(main,),
        parameters=tuple(parameters.items()),
        trace="vcd" if waves else "",
        prefix="Vtop",
        optimise=optimise,
        program=True,
        assertions=True,
        options=tuple(options),
        link=(f"-Wl,-rpath,{libraries}", f"-L{libraries}", "-lcocotbvpi_verilator"),
    )
    built = build(request, progress=progress)
    return Bench("verilator", top, built.path.parent, rtl_hash(sources), built.from_cache)


def _public(top: str) -> Path:
    """A control file that shows the pins of `top` to cocotb; written once into the cache."""
    text = f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n'
    folder = cache_dir() / "public"
    file = folder / f"{top}.vlt"
    if not file.is_file() or file.read_text() != text:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = file.with_suffix(f".{hashlib.sha256(text.encode()).hexdigest()[:8]}")
        draft.write_text(text)
        draft.replace(file)
    return file


def _icarus(
    top: str, sources: Sequence[Path], defines: dict[str, str], parameters: dict[str, int], waves: bool
) -> Bench:
    if shutil.which("iverilog") is None:
        raise BuildError("Icarus Verilog isn't installed; install it, e.g. 'apt-get install iverilog'")
    digest = rtl_hash(sources)
    recipe = repr((_RECIPE, digest, top, sorted(defines.items()), sorted(parameters.items()), waves))
    key = "icarus-" + hashlib.sha256(recipe.encode()).hexdigest()
    store = BuildStore(cache_dir())
    entry = store.find(key)
    if entry is not None:
        return Bench("icarus", top, entry, digest, True)
    with store.claim(key) as claim:
        if claim.existing is not None:
            return Bench("icarus", top, claim.existing, digest, True)
        out = claim.work / "sim.vvp"
        time = claim.work / "time.f"
        time.write_text("+timescale+1ns/1ps\n")
        command = ["iverilog", "-g2012", "-o", str(out), "-s", top, "-f", str(time)]
        command += [f"-D{name}={value}" for name, value in defines.items()]
        command += [f"-P{top}.{name}={value}" for name, value in parameters.items()]
        files = [str(source.absolute()) for source in sources]
        if waves:
            dump = claim.work / "dump.v"
            dump.write_text(_DUMP.format(top=top))
            files.append(str(dump))
            command += ["-s", "ringhil_dump"]
        (finished,) = run([[*command, *files]], env=child_environment())
        if finished.returncode != 0:
            lines = [line for line in finished.output.splitlines() if "error" in line.lower()] or ["it said nothing"]
            raise BuildError(f"Icarus: {lines[0]}", finished.output)
        return Bench("icarus", top, claim.commit([out]), digest, False)


_DUMP = """module ringhil_dump;
  initial begin
    $dumpfile("dump.vcd");
    $dumpvars(0, {top});
  end
endmodule
"""
