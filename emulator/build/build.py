"""SystemVerilog and C++ sources in, a cached shared library (or program) out.

`build(request)` answers at once when the same sources were built before with the same tools for
the same processor; otherwise it runs Verilator and the C++ compiler, which takes seconds. Promised:

- Same key, same library: names and contents of all sources, every option, the tools' versions and
  the processor are in the key. Only sources that the request names can be used: a header that is
  included but not listed is refused, because a change of it would go unseen.
- All or nothing: a failed or interrupted build leaves no entry and no process; concurrent builders
  share one build.
- All sources of a model, emitted and ours, are one translation unit, so that `eval` can be inlined
  into its caller. Names local to a C++ file must therefore differ between the files of `cpp`.
- Only symbols marked `__attribute__((visibility("default")))` leave the library, so that any number
  of models, even with the same class prefix, live in one process.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ringhil.emulator.build.cache import BuildStore, Claim, cache_dir
from ringhil.emulator.build.diagnostics import Emitted, compiler_complaint, included_files, verilator_complaint
from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import Finished, run, unwinding_on_termination
from ringhil.emulator.build.request import BuildRequest, check
from ringhil.emulator.build.toolchain import (
    Compiler,
    Verilator,
    cpu_identity,
    find_compiler,
    find_verilator,
)
from ringhil.emulator.forks import describe

__all__ = ["BuildError", "BuildRequest", "Built", "build", "cache_dir", "rtl_hash"]

Progress = Callable[[str], None]

# Part of every key; raise it when this file begins to make something else of the same request.
_RECIPE = 1

_JOBS = 2
_EDGE_MODULES = tuple(Path(__file__).with_name(f"{name}.py") for name in ("edge", "emitted_code", "sinking"))

# Style rules of files don't matter here, everything else that -Wall finds is fatal.
_VERILATOR_FLAGS = ["--cc", "--quiet", "--no-timing", "-O3", "-Wall", "-Wno-DECLFILENAME"]
_VERILATOR_FLAGS += ["--x-assign", "fast", "--x-initial", "fast"]
# Splitting always blocks repeats their conditions: a tenth more instructions for a ring_cell.
_VERILATOR_FLAGS += ["-fno-split"]
_CXX_FLAGS = ["-std=c++20", "-fPIC", "-pthread", "-march=native"]
_CXX_FLAGS += ["-fdiagnostics-color=never", "-DVERILATOR=1"]
# A library's time is set by the engine; a program answers Verilator's question for it, and shows its symbols to
# the libraries that it loads.
_LIBRARY_FLAGS = ["-fvisibility=hidden", "-DVL_TIME_CONTEXT"]
# GNU-unique symbols are shared between libraries, however privately they were loaded.
_GCC_FLAGS = ["-fno-gnu-unique", "-fmax-errors=20"]
_CLANG_FLAGS = ["-ferror-limit=20"]
_CLANG_LIBRARIES = ["-latomic"]  # g++ writes the operations of the runtime inline
# What runs once, constructors above all. Never more optimised than the rest: who asks for little wants a short build.
_SLOW_OPTIMISE = "-O2"
_LITTLE = ("-O0", "-O1")
_LINK_FLAGS = ["-pthread", "-Wl,-z,defs"]
_TRACE_LIBRARIES = {"": [], "vcd": [], "fst": ["-llz4", "-lz"]}


@dataclass(frozen=True)
class Built:
    """A shared library to load, or a program to run.

    `rtl_hash` names the RTL in recordings; `seconds` is what `build` took.
    """

    path: Path
    rtl_hash: str
    from_cache: bool
    seconds: float


def rtl_hash(files: Iterable[Path]) -> str:
    """`sha256:<hex>` over names (without directories) and contents of `files`, in their order.

    Raises BuildError naming the file that can't be read.
    """
    return "sha256:" + _digest([[file.name, content] for file, content in _contents(files)])


def build(request: BuildRequest, *, progress: Progress | None = None) -> Built:
    """The library for `request`, from the cache or newly built.

    `progress` gets a short line as each step of a real build begins. Raises BuildError; `str` of it
    is one line with the place of the mistake.
    """
    started = time.perf_counter()
    store = BuildStore(cache_dir())
    try:
        job = _Job(request, store, progress or (lambda _line: None))
        entry = store.find(job.key)
        from_cache = entry is not None
        if entry is None:
            with unwinding_on_termination():
                entry, from_cache = job.make()
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise BuildError(f"can't use the cache directory {store.root}: {error.strerror}{where}") from error
    return Built(entry / job.library, job.rtl_hash, from_cache, time.perf_counter() - started)


class _Job:
    """One request with the tools and the key that belong to it."""

    def __init__(self, request: BuildRequest, store: BuildStore, progress: Progress) -> None:
        check(request)
        self.request = request
        self.store = store
        self.progress = progress
        versions = store.root / "versions"
        self.verilator: Verilator = find_verilator(versions)
        self.compiler: Compiler = find_compiler(versions)
        self.rtl_hash = rtl_hash(request.rtl)
        self.sources = self._source_hashes()
        self.verilator_flags = _verilator_flags(request)
        self.cxx_flags = [*_CXX_FLAGS, *(_CLANG_FLAGS if self.compiler.is_clang else _GCC_FLAGS)]
        self.cxx_flags += [] if request.program else _LIBRARY_FLAGS
        # What our own edge is made of follows from these.
        own = rtl_hash(_EDGE_MODULES) if request.edge else ""
        options = {k: v for k, v in asdict(request).items() if k not in ("rtl", "cpp", "headers")}
        self.link_flags = [*_LINK_FLAGS, *([] if request.program else ["-shared"]), *request.link]
        self.key = self._key(
            options, own, self.rtl_hash, self.sources, self.verilator_flags, _SLOW_OPTIMISE, self.link_flags
        )
        self.library = request.top if request.program else f"lib{request.prefix}.so"

    def make(self) -> tuple[Path, bool]:
        """The entry's directory, and whether another builder made it while this one waited."""
        request = self.request
        waiting = f"waiting for another build of {request.top}"
        with self.store.claim(self.key, waiting=lambda: self.progress(waiting)) as claim:
            if claim.existing is not None:
                return claim.existing, True
            work = claim.work
            self.progress(f"translating {request.top} ({len(request.rtl)} files)")
            emitted = self._verilate(work)
            self.progress(f"compiling {request.top}")
            compile_model, objects = self._model_commands(work, emitted)
            runtime = self._compile(compile_model, emitted, work)
            self._refuse_unlisted(work, emitted)
            self.progress(f"linking {request.top}")
            library = work / self.library
            libraries = [*_TRACE_LIBRARIES[request.trace], *(_CLANG_LIBRARIES if self.compiler.is_clang else [])]
            link = [*self.compiler.argv, *objects, *runtime, *self.link_flags, "-o", library, *libraries]
            self._run_cxx([link], work)
            if self._source_hashes() != self.sources or rtl_hash(request.rtl) != self.rtl_hash:
                raise BuildError(f"sources of {request.top} changed while they were being built; build again")
            return claim.commit([library]), False

    def _key(self, *parts: object) -> str:
        tools = [self.verilator.version, self.compiler.identity, cpu_identity(), self.cxx_flags]
        return _digest([_RECIPE, tools, parts])

    def _source_hashes(self) -> list[list[str]]:
        r = self.request
        return [[kind, f.name, c] for kind, fs in (("c", r.cpp), ("h", r.headers)) for f, c in _contents(fs)]

    def _environment(self, work: Path) -> dict[str, str]:
        # Compilers that get killed leave their temporary files; inside `work` those go with it.
        return child_environment({"VERILATOR_ROOT": str(self.verilator.root), "TMPDIR": str(work)})

    def _verilate(self, work: Path) -> Emitted:
        directory = work / "emitted"
        files = [str(file.absolute()) for file in self.request.rtl]
        command = [str(self.verilator.binary), *self.verilator_flags, "--Mdir", str(directory), *files]
        (finished,) = run([command], env=self._environment(work), cwd=work)
        if finished.returncode != 0:
            complaint = verilator_complaint(finished.output)
            raise _failure("Verilator", complaint, finished)
        return Emitted(directory, (directory / f"{self.request.prefix}_classes.mk").read_text())

    def _model_commands(self, work: Path, emitted: Emitted) -> tuple[list[list[object]], list[Path]]:
        r = self.request
        directories = dict.fromkeys(file.absolute().parent for file in r.headers)
        flags: list[object] = [*self._common_flags(emitted), f"-I{emitted.directory}"]
        flags += [f"-I{directory}" for directory in directories]
        flags += [f"-D{name}={value}" for name, value in r.defines]
        edge = self._edge(emitted)
        flags.append(f"-DMODEL_EDGE={int(edge is not None)}")
        # What Verilator wrote runs seldom beside an edge of ours.
        model, seldom = ([edge], [*emitted.fast, *emitted.slow]) if edge else (emitted.fast, emitted.slow)
        fast = [*model, *(file.absolute() for file in r.cpp)]
        commands: list[list[object]] = []
        slow = r.optimise if r.optimise in _LITTLE else _SLOW_OPTIMISE
        for name, optimise, sources in (("fast", r.optimise, fast), ("slow", slow, seldom)):
            unity = work / f"{name}.cpp"
            # By its name from here, where it has one: the path of a cache may have a quotation mark in it.
            names = (source.relative_to(work) if source.is_relative_to(work) else source for source in sources)
            unity.write_bytes(os.fsencode("".join(f'#include "{name}"\n' for name in names)))
            depends = ["-MMD", "-MF", work / f"{name}.d"]
            output = ["-o", work / f"{name}.o"]
            commands.append([*self.compiler.argv, *flags, optimise, *depends, "-c", unity, *output])
        return commands, [work / "fast.o", work / "slow.o"]

    def _edge(self, emitted: Emitted) -> Path | None:
        r = self.request
        if r.edge is None or r.trace or r.optimise in _LITTLE:
            return None
        from ringhil.emulator.build.edge import write_edge  # what comes from the cache starts without it

        return write_edge(emitted.directory, r.prefix, r.top, r.edge)

    def _common_flags(self, emitted: Emitted) -> list[object]:
        include = self.verilator.root / "include"
        return [*self.cxx_flags, *emitted.defines, "-isystem", include, "-isystem", include / "vltstd"]

    def _compile(self, model: list[list[object]], emitted: Emitted, work: Path) -> list[Path]:
        """Compile the model and, unless it is cached, the runtime beside it; the runtime's objects."""
        # Verilator's own switches change the layout of the runtime's classes too.
        switches = [f"-D{n}={v}" for n, v in self.request.defines if n.startswith(("VL_", "VM_"))]
        key = self._key("runtime", emitted.runtime, emitted.defines, switches)
        names = [f"{name}.o" for name in emitted.runtime]
        entry = self.store.find(key, thorough=True)
        if entry is not None:
            self._run_cxx(model, work)
            return [entry / name for name in names]
        waiting = "waiting for another build of Verilator's runtime"
        with self.store.claim(key, thorough=True, waiting=lambda: self.progress(waiting)) as claim:
            if claim.existing is None:
                self.progress("compiling Verilator's runtime (once)")
                runtime = self._runtime_commands(emitted, switches, claim)
                # The longest first: it is what the others wait for.
                self._run_cxx([*runtime, *model], work)
                entry = claim.commit([claim.work / name for name in names])
                return [entry / name for name in names]
            entry = claim.existing
        self._run_cxx(model, work)
        return [entry / name for name in names]

    def _runtime_commands(self, emitted: Emitted, switches: list[str], claim: Claim) -> list[list[object]]:
        include = self.verilator.root / "include"
        flags = [*self._common_flags(emitted), *switches, "-O2"]
        return [
            [*self.compiler.argv, *flags, "-c", include / f"{name}.cpp", "-o", claim.work / f"{name}.o"]
            for name in emitted.runtime
        ]

    def _run_cxx(self, commands: Sequence[Sequence[object]], work: Path) -> None:
        lines = [[str(word) for word in command] for command in commands]
        last = run(lines, env=self._environment(work), cwd=work, jobs=_JOBS)[-1]
        if last.returncode == 0:
            return
        if "No space left on device" in last.output:
            raise BuildError(f"no space left in the cache directory {self.store.root}", last.output)
        complaint = compiler_complaint(last.output)
        if self.request.trace == "fst" and re.search(r"lz4|zlib|-lz\b", complaint or last.output):
            complaint = "FST waveforms need lz4 and zlib: 'apt-get install liblz4-dev zlib1g-dev'"
        if complaint.startswith("undefined"):
            complaint = f"{self.compiler.argv[0]} can't link it: {complaint}"
        raise _failure(f"the C++ compiler {self.compiler.argv[0]}", complaint, last)

    def _refuse_unlisted(self, work: Path, emitted: Emitted) -> None:
        """Every file that was read must be in the key."""
        listed = {file.resolve() for file in (*self.request.cpp, *self.request.headers)}
        own = work.resolve()
        for name in included_files(os.fsdecode((work / "fast.d").read_bytes())):
            file = (work / name).resolve()
            if file not in listed and not file.is_relative_to(own):
                raise BuildError(f"{file} is included but isn't among the headers; list it, so that a change rebuilds")


def _verilator_flags(request: BuildRequest) -> list[str]:
    flags = [*_VERILATOR_FLAGS, "--prefix", request.prefix, "--top-module", request.top]
    flags += [f"--trace-{request.trace}"] if request.trace else []
    flags += ["--assert" if request.assertions else "--no-assert"]
    return flags + [f"-G{name}={value}" for name, value in request.parameters] + [*request.options]


def _contents(files: Iterable[Path]) -> list[tuple[Path, str]]:
    """Each file with the SHA-256 of its contents."""
    answer = []
    for file in files:
        try:
            answer.append((file, hashlib.sha256(file.read_bytes()).hexdigest()))
        except OSError as error:
            raise BuildError(f"{file}: {error.strerror}") from error
    return answer


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _failure(tool: str, complaint: str, finished: Finished) -> BuildError:
    if finished.returncode < 0 and not complaint:
        complaint = f"{tool} {describe(finished.returncode)}"
    first = next((line for line in finished.output.splitlines() if line.strip()), "it said nothing")
    return BuildError(complaint or f"{tool} failed (exit {finished.returncode}): {first}", finished.output)
