"""All verdicts of a run of `ringhil verify`, and what follows from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ringhil.emulator.campaign.verify.verdict import State, Verdict


@dataclass(frozen=True)
class Report:
    """`results` in the order of files and variants. `stopped`: what ended the run early, else None."""

    results: tuple[Verdict, ...]
    rtl: str
    version: str
    seconds: float
    stopped: BaseException | None = None

    def count(self, state: State) -> int:
        """How many have this verdict."""
        return sum(v.state == state for v in self.results)

    def bad(self) -> Sequence[Verdict]:
        """Those that did not pass."""
        return [v for v in self.results if v.state != "pass"]

    @property
    def files(self) -> int:
        """Files of which something was played."""
        return len({v.file for v in self.results})

    @property
    def cycles(self) -> int:
        """Cycles simulated in all."""
        return sum(v.cycles for v in self.results)

    @property
    def verdict(self) -> State:
        """ "fail" goes before "error"."""
        return "fail" if self.count("fail") else "error" if self.count("error") else "pass"

    @property
    def exit_code(self) -> int:
        """0, 1 or 2; whoever was interrupted says 130 himself."""
        return {"pass": 0, "fail": 1, "error": 2}[self.verdict]

    @property
    def summary(self) -> str:
        """One line."""
        errors = f", {_plural(self.count('error'), 'error')}" if self.count("error") else ""
        variants = f"{_plural(len(self.results), 'variant')} of {_plural(self.files, 'file')}"
        text = f"{self.count('pass'):,} passed, {self.count('fail'):,} failed{errors}: {variants}"
        text += f", {self.cycles:,} cycles, {self.seconds:.1f} s"
        return text + (" (interrupted: not all were played)" if self.stopped else "")

    def to_json(self) -> dict[str, Any]:
        """The document of `ringhil verify --json`."""
        return {
            "ringhil": self.version,
            "rtl": self.rtl,
            "verdict": self.verdict,
            "interrupted": self.stopped is not None,
            "passed": self.count("pass"),
            "failed": self.count("fail"),
            "errors": self.count("error"),
            "variants": len(self.results),
            "files": self.files,
            "cycles": self.cycles,
            "seconds": round(self.seconds, 3),
            "results": [v.to_json() for v in self.results],
        }


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
