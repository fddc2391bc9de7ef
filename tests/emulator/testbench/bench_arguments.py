"""Every argument of the kit that can be wrong, given wrong once: one line that says what is allowed."""

import re
from collections.abc import Callable
from typing import Any

import cocotb
import pytest

from ringhil.emulator.testbench.arguments import KitError
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.node import NodeBench
from ringhil.protocol.frames import Statistics

FRAME = RingFrame.of(Statistics(0, 0, 4, 0, 1, 1, 1, 4, 4, 0))


def wrong(bench: NodeBench) -> dict[Callable[[], Any], str]:
    port, mailbox = bench.ports["p1"], bench.mailbox
    return {
        lambda: bench.set_fault("ded", True): "fault: found 'ded'; allowed are dead, hang, ",
        lambda: bench.ports["p3"]: "ports: found 'p3'; allowed are p1, p2, host, boundary",
        lambda: port.source.send_nowait(FRAME.message()): "frame: found Statistics; allowed is a RingFrame",  # type: ignore[arg-type]
        lambda: port.source.send_nowait(RingFrame(b"\x11", "control")): "frame: found 1 bytes; allowed are whole flits",
        lambda: mailbox.send_nowait(4, FRAME.data): "port: found 4; allowed are whole numbers from 0 to 3",
        lambda: mailbox.send_nowait(0, FRAME.data[:-1]): "frame: found 39 bytes; allowed are whole flits",
        lambda: FRAME.with_bit_flip(8 * len(FRAME.data)): "bit: found 320; allowed are whole numbers from 0 to 319",
        lambda: FRAME.truncated(6): "flits: found 6; allowed are whole numbers from 1 to 5",
        lambda: FRAME.headless(5): "flits: found 5; allowed are whole numbers from 1 to 4",
        lambda: FRAME.with_ttl(-1): "ttl: found -1; allowed are whole numbers from 0 to 65535",
    }


@cocotb.test()
async def one_line_for_each(dut: Any) -> None:
    bench = NodeBench(dut)
    with pytest.raises(KitError, match=re.escape("ports 'p1': there is none yet; `await bench.start()` first")):
        bench.ports["p1"]
    for strap, value in (("card", 256), ("node", 1024), ("size", 1), ("now", -1)):
        with pytest.raises(KitError, match=f"{strap}: found {value}; allowed are whole numbers from "):
            await bench.start(**{strap: value})
    await bench.start()
    for call, says in wrong(bench).items():
        with pytest.raises(KitError, match=f"^{re.escape(says)}"):
            call()
    with pytest.raises(KitError, match="register: found 'forwardd'; allowed are "):
        await bench.registers.read("forwardd")
    with pytest.raises(KitError, match="value: found 4294967296; allowed are whole numbers from 0 to 4294967295"):
        await bench.registers.write("control", 1 << 32)
