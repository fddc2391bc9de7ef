"""The command that plays one variant again, as it was played."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.node_choice import ALL_HERE, NodeChoice


@dataclass(frozen=True)
class Replay:
    """What was given on the command line beside the files. `rtl`: directory and module; None: ours. `firmware`: whose
    runs where; `nodes`: whose hardware is outside."""

    seed: int | None = None
    rtl: tuple[Path, str] | None = None
    firmware: FirmwareChoice = OURS
    nodes: NodeChoice = ALL_HERE

    def options(self) -> list[str]:
        """Words of the command that stand for seed, firmware, hardware and RTL."""
        words = [] if self.seed is None else ["--seed", str(self.seed)]
        for text in self.firmware.given:
            words += ["--firmware", text]
        for text in self.nodes.given:
            words += ["--node", text]
        if self.nodes.baud is not None:
            words += ["--node-baud", str(self.nodes.baud)]
        return words + ([] if self.rtl is None else ["--rtl", str(self.rtl[0]), "--top", self.rtl[1]])

    def command(self, file: Path, variant: str) -> str:
        """`ringhil verify dead.yaml --select '[gpu=a.3]'`."""
        select = ["--select", f"[{variant}]"] if variant else []
        return shlex.join(["ringhil", "verify", str(file), *select, *self.options()])
