"""The timing diagrams of the hardware page are what a node of ours does.

`python -m tests.rtl.test_timing` draws them anew, with the package `wavedrom` where that is installed.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from ringhil.emulator.testbench.build import build_bench, node_sources
from ringhil.emulator.testbench.runner import run_bench

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "reference" / "hardware.md"


def simulated(folder: Path) -> dict[str, dict[str, Any]]:
    """The diagrams by their names, as a simulation has them."""
    file = folder / "timing.json"
    bench = build_bench("verilator", "node_bench", node_sources())
    settings = {"RINGHIL_TIMING": str(file)}
    run = run_bench(bench, ["cocotb_timing"], folder / "run", paths=[Path(__file__).parent], settings=settings)
    assert not run.failed, run.failed[0].told
    found: dict[str, dict[str, Any]] = json.loads(file.read_text())
    return found


def source(diagram: dict[str, Any]) -> str:
    """As it stands in the page: a line for each signal."""
    lines = ",\n".join(f"  {json.dumps(signal)}" for signal in diagram["signal"])
    return f'{{"signal": [\n{lines}\n]}}'


def digest(text: str) -> str:
    return f"<!-- WaveDrom {hashlib.sha256(text.encode()).hexdigest()} -->"


def test_each_diagram_is_what_a_node_does(tmp_path: Path) -> None:
    page = PAGE.read_text()
    for name, diagram in simulated(tmp_path).items():
        text = source(diagram)
        assert f"```json\n{text}\n```" in page, f"{name}: not what the simulation shows:\n{text}"
        assert f"](../img/{name}.svg)" in page
        assert digest(text) in (DOCS / "img" / f"{name}.svg").read_text(), f"{name}: not drawn from it"


def draw() -> None:
    """Write the pictures, and print what has to stand in the page."""
    import wavedrom  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder:
        for name, diagram in simulated(Path(folder)).items():
            text = source(diagram)
            drawn = wavedrom.render(text).tostring()
            (DOCS / "img" / f"{name}.svg").write_text(f"{drawn}\n{digest(text)}\n")
            print(f"{name}\n```json\n{text}\n```")


if __name__ == "__main__":
    sys.exit(draw())
