"""Guests of QEMU get emulated GPUs and compute on their RTL (V1, V5, V7)."""

import gc
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from tests.command import refusal, started

from ringhil.emulator.engine.library import Library
from ringhil.emulator.lending.agent import ringhil_agent
from ringhil.emulator.lending.attachment import AttachmentError, GuestState, LendableGpu
from ringhil.emulator.lending.proxy_probe import why_no_proxy
from ringhil.emulator.lending.qemu import QemuAttachment, qemu_gpus
from ringhil.emulator.lending.tokens import node_token

from .guests import NODE, QEMU, Guest, Relay, digest, guest, kernel, needs_qemu, pattern

GPUS = qemu_gpus([LendableGpu("a.0", (), "0"), LendableGpu("a.1", (), "1")], memory=4 << 20)
ONE_CARD = Path(__file__).resolve().parents[3] / "examples" / "one-card.yaml"
BYTES, SEED = 700, 7


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_qemu()
    return kernel(tmp_path_factory)


@pytest.fixture
def bus(library: Library, tmp_path: Path) -> Iterator[QemuAttachment]:
    with closing(QemuAttachment(GPUS, tmp_path, library, tell=print)) as attachment:
        yield attachment


def until(done: Callable[[], object], limit: float = 20.0) -> None:
    """Asks again, as whoever lends does."""
    end = time.monotonic() + limit
    while not done():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)


def right(shown: Guest) -> None:
    """What the GPU has answered to the example is what the oracle says."""
    copied = digest(pattern(SEED, BYTES))
    shown.wait_for("computed")
    assert shown.wait_for("digest")[:2] == ["0000", copied]
    assert shown.wait_for("allocate")[:2] == ["0000", "0000000400000004"]
    assert shown.wait_for("copy")[0] == "0000"
    assert shown.wait_for("launch") == ["0000", "0000000000000000", f"{5000:08x}"]


# ------------------------------------------------------------------------------------------------------ the whole cycle


@pytest.mark.rest
def test_a_guest_borrows_a_gpu_computes_on_it_and_gives_it_back(elf: Path, tmp_path: Path) -> None:
    """Within 10 seconds after it has booted, with data of the server's in the GPU's memory as it was there; then the
    census counts the GPU again."""
    handed = tmp_path / "data"
    handed.mkdir()
    content = pattern(SEED + 1, 3000)
    (handed / "weights.bin").write_bytes(content)
    words = ("lend", "serve", ONE_CARD, "--attachment", "qemu", "--guests", tmp_path, "--json", "--data", handed)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with started(*words, "--database", f"sqlite:///{tmp_path}/lending.db", **pipes) as server:
        assert server.stdout is not None
        try:
            ready = json.loads(server.stdout.readline())
            before = _states(ready)
            host = ready["url"].removeprefix("http://")
            asks = {"host": host, "node": NODE, "kind": "training", "token": node_token(ready["token"], NODE)}
            asks |= {"data": "weights.bin"}
            with guest(elf, tmp_path, api=host, bytes=BYTES, seed=SEED, **asks) as running:
                running.wait_for("done")
                right(running)
                assert running.wait_for("data")[:2] == ["0000", digest(content)]
                assert running.at("done") - running.at("booted") < 10
                (name,) = running.wait_for("loan")
            assert before[name] == "free"
            until(lambda: _states(ready) == before)
            number = _asked(ready, "/v1/loans")["loans"][0]["id"]
            told = _agent(host, node_token(ready["token"], NODE), "status", str(number))
            assert (told["gpu"], told["state"]) == (name, "free")
            used = {row["gpu"]: row for row in _asked(ready, "/v1/usage")["usage"]}[name]
            assert used["loans"] == 1
            assert used["busy_s"] > 5000e-6
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate()


def _agent(server: str, token: str, *words: str) -> dict[str, object]:
    """That in Python."""
    command = [sys.executable, "-I", "-S", ringhil_agent.__file__, server, NODE, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"RINGHIL_TOKEN": token})
    found: dict[str, object] = json.loads(done.stdout)
    return found


def _asked(ready: dict[str, str], path: str) -> dict[str, list[dict[str, object]]]:
    with urlopen(Request(ready["url"] + path, headers={"Authorization": f"Bearer {ready['token']}"})) as answer:
        found: dict[str, list[dict[str, object]]] = json.load(answer)
        return found


def _states(ready: dict[str, str]) -> dict[object, object]:
    return {gpu["gpu"]: gpu["state"] for gpu in _asked(ready, "/v1/gpus")["gpus"]}


# ----------------------------------------------------------------------------------------------------------- its steps


def test_each_step_may_be_asked_again(elf: Path, bus: QemuAttachment, tmp_path: Path) -> None:
    """And a GPU that a guest has is kept from another one, from a reset and from being scrubbed."""
    assert bus.guest(NODE) is GuestState.UNKNOWN
    with guest(elf, tmp_path, bytes=BYTES, seed=SEED, stay=1) as running:
        running.wait_for("booted")
        assert bus.guest(NODE) is GuestState.UP
        for _ in range(2):
            assert bus.bind("a.0")
            until(lambda: bus.attach("a.0", NODE))
            assert bus.bound() == {"a.0"}
            assert bus.held() == {"a.0": NODE}
        right(running)
        assert bus.meters("a.0").busy > 5000
        with guest(elf, tmp_path, node="i-0000002e") as other:
            other.wait_for("booted")
            for refused in (
                lambda: bus.attach("a.0", "i-0000002e"),
                lambda: bus.reset("a.0"),
                lambda: bus.scrub("a.0"),
            ):
                with pytest.raises(AttachmentError, match=f"{NODE} has it; detach it first"):
                    refused()
        for _ in range(2):
            until(lambda: bus.detach("a.0"))
            assert bus.held() == {}
            assert bus.reset("a.0")
            assert bus.scrub("a.0")
        busy = bus.meters("a.0").busy
        for _ in range(2):
            assert bus.unbind("a.0")
            assert bus.bound() == frozenset()
        assert bus.meters("a.0").busy == busy
        with pytest.raises(AttachmentError, match=r"a\.0: the server's driver has it; bind it first"):
            bus.attach("a.0", NODE)


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("when", ["booted", "card", "digest", "copy", "launch"])
def test_a_guest_that_is_killed_leaves_nothing(elf: Path, library: Library, tmp_path: Path, when: str) -> None:
    """No process, no open file, no shared memory; and the GPU can be lent again."""
    before = _open_files()
    with closing(QemuAttachment(GPUS, tmp_path, library, probe=lambda program: "")) as bus:
        bus.bind("a.0")
        with guest(elf, tmp_path, bytes=BYTES, seed=SEED, stay=1) as running:
            running.wait_for("booted")
            until(lambda: bus.attach("a.0", NODE))
            running.wait_for(when)
            running.process.kill()
            running.process.wait()
            assert bus.guest(NODE) is GuestState.DOWN
            assert bus.held() == {}
            assert bus.detach("a.0")
            assert bus.reset("a.0")
            assert bus.scrub("a.0")
        with guest(elf, tmp_path, bytes=BYTES, seed=SEED) as again:
            again.wait_for("booted")
            until(lambda: bus.attach("a.0", NODE))
            again.wait_for("done")
            right(again)
    assert _open_files() == before


def _open_files() -> list[str]:
    gc.collect()  # sockets of tests before
    found = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # that of the list itself
            found.append(str(each.readlink()))
    return sorted(name.partition(":[")[0] for name in found if name.startswith(("/memfd:ringhil", "socket:")))


def test_a_guest_that_does_not_let_go_loses_the_gpu(elf: Path, library: Library, tmp_path: Path) -> None:
    """The card is pulled out, and what the guest still writes is no other guest's memory."""
    told, now = [], [0.0]
    with closing(QemuAttachment(GPUS, tmp_path, library, tell=told.append, monotonic=lambda: now[0])) as bus:
        bus.bind("a.0")
        with guest(elf, tmp_path, bytes=BYTES, seed=SEED, deaf=1) as running:
            running.wait_for("booted")
            until(lambda: bus.attach("a.0", NODE))
            running.wait_for("deaf")
            assert not bus.detach("a.0")
            now[0] += 11
            assert bus.detach("a.0")
            assert told == [f"a.0: {NODE} did not let it go within 10 s; it was pulled out"]
            assert bus.held() == {}
            assert bus.reset("a.0")
            assert bus.scrub("a.0")
            time.sleep(0.05)  # in which the guest writes on
            assert bytes(bus.card("a.0").bytes) == bytes(GPUS[0].memory)
            with guest(elf, tmp_path, node="i-0000002e", bytes=BYTES, seed=SEED, stay=1) as other:
                other.wait_for("booted")
                until(lambda: bus.attach("a.0", "i-0000002e"))
                right(other)
                assert bus.held() == {"a.0": "i-0000002e"}
                assert running.process.poll() is None


def test_a_host_that_restarts_finds_out_who_has_what(elf: Path, library: Library, tmp_path: Path) -> None:
    """And gives the guest its GPU again."""
    with guest(elf, tmp_path, bytes=BYTES, seed=SEED, again=1) as running:
        running.wait_for("booted")
        with closing(QemuAttachment(GPUS, tmp_path, library, tell=print)) as before:
            before.bind("a.0")
            until(lambda: before.attach("a.0", NODE))
            right(running)
        with closing(QemuAttachment(GPUS, tmp_path, library, tell=print)) as after:
            assert after.held() == {"a.0": NODE}
            assert after.bound() == frozenset()
            after.bind("a.0")
            until(lambda: after.attach("a.0", NODE))
            running.wait_for("done")
            assert after.meters("a.0").busy > 5000


def test_without_registers_a_guest_has_a_mailbox(elf: Path, library: Library, tmp_path: Path) -> None:
    """Where QEMU would crash with the card's device, one line says so, and the memory alone is plugged in."""
    told: list[str] = []
    crashes = "it crashes with a card behind x-pci-proxy-dev (SIGSEGV)"
    with closing(QemuAttachment(GPUS, tmp_path, library, tell=told.append, probe=lambda program: crashes)) as bus:
        bus.bind("a.0")
        with guest(elf, tmp_path, bytes=BYTES, seed=SEED) as running:
            running.wait_for("booted")
            until(lambda: bus.attach("a.0", NODE))

            def done() -> bool:
                bus.attend()
                return "done" in running.said or running.process.poll() is not None

            until(done)
            right(running)
    (line,) = told
    assert line.endswith(f"{crashes}; guests get memory alone, and reach registers by a mailbox in it")


def test_a_throwaway_guest_tells_whether_qemu_can_have_registers(tmp_path: Path) -> None:
    """It is asked a QEMU that can, and programs that can't."""
    needs_qemu()
    assert why_no_proxy(QEMU) == ""
    broken = tmp_path / "qemu"
    broken.write_text("#!/bin/sh\nkill -SEGV $$\n")
    broken.chmod(0o755)
    assert why_no_proxy(str(broken)) == "it crashes with a card behind x-pci-proxy-dev (SIGSEGV)"
    assert why_no_proxy("no-such-qemu") == "there is no such program"


def test_direct_access_carries_nothing_and_is_fast(elf: Path, bus: QemuAttachment, tmp_path: Path) -> None:
    """Faster than a server that carries all data by a serial port of virtio: twice where both have a processor each,
    more where others are at work."""
    megabytes = 48
    ratios = []
    for number in range(3):  # other processes are at work, too
        relay = Relay(tmp_path / f"relay{number}")
        bus.bind("a.0")
        with guest(elf, tmp_path, *relay.options, bytes=BYTES, seed=SEED, megabytes=megabytes) as running:
            running.wait_for("booted")
            until(lambda: bus.attach("a.0", NODE))
            card = bus.card("a.0")
            relay.begin(memoryview(card.bytes), 1 << 20)
            direct = int(running.wait_for("direct")[0], 16)
            through = int(running.wait_for("relay")[0], 16)
            running.wait_for("done")
            assert relay.carried == megabytes << 20  # all of it by the relay, nothing of what went directly
            assert card.accesses < 1000  # to registers; 48 MiB would be millions
            ratios.append(through / direct)
        relay.end()
        until(lambda: bus.detach("a.0"))
        if ratios[-1] > 1.3:
            break
    assert max(ratios) > 1.3


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("qemu",), "ringhil: --guests: wanted with --attachment qemu, and only with that"),
        (("sim", "--guests", "."), "ringhil: --guests: wanted with --attachment qemu, and only with that"),
        (("qemu", "--guests", "none"), "ringhil: --guests: none: found no such folder"),
    ],
)
def test_guests_are_in_a_folder(tmp_path: Path, words: tuple[str, ...], line: str) -> None:
    """It is given with this attachment alone."""
    assert refusal("lend", "serve", ONE_CARD, "--attachment", *words, cwd=tmp_path) == line
