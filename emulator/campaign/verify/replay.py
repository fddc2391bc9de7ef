"""The command that plays one variant again, as it was played."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice


@dataclass(frozen=True)
class Replay:
    """What was given on the command line beside the files. `rtl`: directory and module; None: ours. `firmware`: whose
    runs where."""

    seed: int | None = None
    rtl: tuple[Path, str] | None = None
    firmware: FirmwareChoice = OURS

    def options(self) -> list[str]:
        """Words of the command that stand for seed, firmware and RTL."""
        words = [] if self.seed is None else ["--seed", str(self.seed)]
        for text in self.firmware.given:
            words += ["--firmware", text]
        return words + ([] if self.rtl is None else ["--rtl", str(self.rtl[0]), "--top", self.rtl[1]])

    def command(self, file: Path, variant: str) -> str:
        """`ringhil verify dead.yaml --select '[gpu=a.3]'`."""
        select = ["--select", f"[{variant}]"] if variant else []
        return shlex.join(["ringhil", "verify", str(file), *select, *self.options()])
