"""What the tools tell about their own work: files that Verilator wrote, files that the compiler read."""

import re
from pathlib import Path


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
