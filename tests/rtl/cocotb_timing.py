"""Records the timing diagrams of the hardware page, as WaveDrom, from a node of ours; RINGHIL_TIMING: file to write."""

import json
import os
from pathlib import Path
from typing import Any

import cocotb

from ringhil.emulator.testbench.bus import Pin
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.node import NodeBench
from ringhil.protocol.frames import Acknowledgement, Statistics
from ringhil.protocol.wire import LinkBit

STATISTICS = RingFrame.of(Statistics(0, 0, 4, 0, 1, 1, 1, 4, 4, 0))
ANSWER = RingFrame.of(Acknowledgement(0, 0, 4, 3, 0, 7, 0, 0, 0, 0, 0))
CYCLES = 14
Lane = tuple[str, Pin, int]  # name, pin, bit
Word = tuple[str, Pin, int, Pin]  # of data: what says that there is a flit, and the data


def lanes(bench: NodeBench, *ways: str) -> tuple[list[Lane], list[Word]]:
    """Of each way of a link ("p1_rx"): its valid, sof, eof and credit, and its data."""
    found: list[Lane] = []
    words: list[Word] = []
    for way in ways:
        end = "i" if way.endswith("rx") else "o"
        ctl = bench.pins.pin(f"{way}_ctl_{end}", 8)
        bits = (LinkBit.VALID, LinkBit.SOF, LinkBit.EOF, LinkBit.CREDIT)
        found += [(f"{way}_ctl_{end}.{bit.word}", ctl, int(bit)) for bit in bits]
        words.append((f"{way}_data_{end}", ctl, int(LinkBit.VALID), bench.pins.pin(f"{way}_data_{end}", 64)))
    return found, words


async def recorded(bench: NodeBench, found: tuple[list[Lane], list[Word]]) -> dict[str, Any]:
    """Bits as levels, those that never rise left out; flits by their number."""
    bits, words = found
    waves: dict[str, str] = {name: "" for name, _, _ in bits}
    flits: dict[str, str] = {name: "" for name, *_ in words}
    for _ in range(CYCLES):
        await bench.edge
        for name, pin, bit in bits:
            waves[name] += "1" if pin.read() & bit else "0"
        for name, pin, bit, _data in words:
            flits[name] += "=" if pin.read() & bit else "0"
    signal: list[dict[str, Any]] = [{"name": "clk_i", "wave": "p" + "." * (CYCLES - 1)}]
    for name, wave in (*waves.items(), *flits.items()):
        if set(wave) != {"0"}:
            held = [bit if not i or bit != wave[i - 1] or bit == "=" else "." for i, bit in enumerate(wave)]
            signal.append({"name": name, "wave": "".join(held)})
            if "=" in wave:
                signal[-1]["data"] = [str(number) for number in range(wave.count("="))]
    return {"signal": signal}


@cocotb.test()
async def timing(dut: Any) -> None:
    bench = NodeBench(dut)
    found: dict[str, Any] = {}
    for name, ways in (("passes", ("p1_rx", "p2_tx")), ("mailbox", ("p2_tx",)), ("credit", ("p1_rx", "p2_tx"))):
        await bench.start()
        await bench.wait(20)
        bits, words = lanes(bench, *ways)
        if name == "mailbox":
            bench.mailbox.send_nowait(0, STATISTICS.data)
            written = [(f"mtx_{n}", bench.pins.pin(f"mtx_{n}", 1), 1) for n in ("valid_i", "sof_i", "eof_i", "ready_o")]
            bits = written + bits
            words = [("mtx_data_i", written[0][1], 1, bench.pins.pin("mtx_data_i", 64)), *words]
        else:
            bench.ports["p1"].source.send_nowait(ANSWER if name == "credit" else STATISTICS)
        if name == "credit":
            others, _ = lanes(bench, "p1_tx", "p2_rx")
            bits += [lane for lane in others if lane[0].endswith("credit")]
        found[f"timing-{name}"] = await recorded(bench, (bits, words))
    Path(os.environ["RINGHIL_TIMING"]).write_text(json.dumps(found))
