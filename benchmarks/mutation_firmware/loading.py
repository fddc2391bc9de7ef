"""Has Python load one module from other text than its file's."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from benchmarks.mutation_firmware.mutant import Mutant

MUTATED = ("ringhil.firmware", "ringhil.emulator.host")


class _Loader(SourceFileLoader):
    """Compiles the text that it is given: no bytecode of the file is used, or written."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._text, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, module: str, text: str) -> None:
        self._module, self._text = module, text

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(fullname, spec.origin, self._text)
        return spec


def loaded() -> list[str]:
    """Modules of the mutated packages that this process has loaded: a mistake in them would come too late."""
    return sorted(name for name in sys.modules if name.startswith(MUTATED))


def plant(mutant: Mutant | None, texts: dict[str, str]) -> None:
    """From now on this process loads the mutant; None: what the files hold. Raises RuntimeError if it is too late."""
    if names := loaded():
        raise RuntimeError(f"loaded already: {', '.join(names)}")
    if mutant is not None:
        sys.meta_path.insert(0, _Finder(mutant.module, mutant.applied(texts[mutant.file])))


def check(mutant: Mutant) -> None:
    """Raises RuntimeError when this process has loaded the module without the mistake that was planted."""
    module = sys.modules.get(mutant.module)
    if module is not None and not isinstance(module.__loader__, _Loader):
        raise RuntimeError(f"{mutant.module} was loaded by {type(module.__loader__).__name__}, without the mistake")
