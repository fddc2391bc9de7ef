"""The check passes over every transport, with both clients; and over a card's end in C."""

import json
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.command import ringhil
from tests.emulator.serial.served import ONE, Served
from tests.protocol.c import library as c
from tests.protocol.c.card_client import CClient

from ringhil.emulator.pages.verdicts import RuleState
from ringhil.emulator.serial.checks.bench import CheckedClient, LineBench, python_client
from ringhil.emulator.serial.checks.promise import all_promises
from ringhil.emulator.serial.checks.suite import PromiseFinding, run
from ringhil.emulator.serial.client import opened_port

TIMEOUT = 20.0  # seconds: of a busy machine
# How each is served, and which of the ports it has.
TRANSPORTS = {
    "pty": ("pty", 0),
    "tcp": ("tcp://127.0.0.1:0", 1),
    "rfc2217": ("rfc2217://127.0.0.1:0", 2),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Paced, so that it leaves the processor to others."""
    listening = [word for where, _ in TRANSPORTS.values() for word in ("--listen", where)]
    with Served(tmp_path_factory.mktemp("served"), ONE, *listening, "--clock", "200000") as served:
        yield served


@pytest.fixture(scope="module", params=["python", "c"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., CheckedClient]:
    if request.param == "python":
        return python_client
    built = c.shared(tmp_path_factory.mktemp("library"))
    return lambda line, timeout: CClient(built, line, timeout)


def checked(line: Any, client: Callable[..., CheckedClient], timeout: float, *names: str) -> dict[str, PromiseFinding]:
    bench = LineBench(line, timeout=timeout, faults=True, client=client)
    return {finding.rule: finding for finding in run(bench, names)}


def unjudged(found: dict[str, PromiseFinding]) -> set[str]:
    assert [finding for finding in found.values() if finding.state is RuleState.BROKEN] == []
    return {rule for rule, finding in found.items() if finding.state is RuleState.NOT_JUDGED}


@pytest.mark.rest
@pytest.mark.parametrize(
    "transport", ["pty", *(pytest.param(name, marks=pytest.mark.slow(part="benches")) for name in ("tcp", "rfc2217"))]
)
def test_over_a_process(transport: str, served: Served, client: Callable[..., CheckedClient]) -> None:
    with closing(opened_port(served.ports["a"][TRANSPORTS[transport][1]], timeout=TIMEOUT)) as line:
        rest = unjudged(checked(line, client, TIMEOUT))
    # Where a look at the line takes long, a ring that counts itself is not told from one that counts again.
    assert rest - {"census.once"} == {"refusals.cannot", "events.missed"}


@pytest.mark.slow(part="benches")
def test_bit_by_bit(tmp_path: Path, client: Callable[..., CheckedClient]) -> None:
    """Through two UARTs in RTL, whose time is the emulated card's."""
    (tmp_path / "server.yaml").write_text(ONE)
    with closing(opened_port(f"emulated://{tmp_path}/server.yaml?uart=1&baud=500000&clock=200000")) as line:
        assert unjudged(checked(line, client, 2.0)) == {"refusals.cannot", "events.missed"}


@pytest.mark.rest(but_one_in=2)
def test_in_process(tmp_path: Path, client: Callable[..., CheckedClient]) -> None:
    (tmp_path / "server.yaml").write_text(ONE)
    with closing(opened_port(f"emulated://{tmp_path}/server.yaml")) as line:
        assert unjudged(checked(line, client, 0.02)) == {"refusals.cannot", "events.missed"}
        kept = {name: line.line.run.engine.peek(gpu, name) for gpu in (0, 3) for name in ("compute_setup",)}
        assert kept == {"compute_setup": 32}
        assert line.line.run.engine.peek(0, "compute_per_flit") == 1


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a card in C; each connection is one of its own."""
    program = c.program("device", tmp_path_factory.mktemp("device"), *c.SANITIZED)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    peer, _ = listening.accept()
                except OSError:
                    return
                with peer:
                    subprocess.run([program], stdin=peer, stdout=peer, check=False)

        threading.Thread(target=serve, daemon=True).start()
        yield f"socket://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.slow(part="benches")
def test_a_card_in_c(device: str, client: Callable[..., CheckedClient]) -> None:
    """It is a card without a ring: what it can't is not judged."""
    with closing(opened_port(device, timeout=TIMEOUT)) as line:
        rest = unjudged(checked(line, client, TIMEOUT))
    impossible = ("census", "events", "frames", "faults", "roles")
    assert {rule.split(".")[0] for rule in rest} == {"registers", "refusals", "line", *impossible}
    assert {rule for rule in all_promises() if rule.startswith(impossible)} <= rest
    assert {rule for rule in rest if rule.startswith(("registers", "refusals"))} == {
        "registers.read",
        "refusals.read_only",
        "refusals.port",
    }


@pytest.mark.rest
def test_the_command_says_what_it_finds(device: str, tmp_path: Path) -> None:
    document = json.loads(ringhil("card", device, "check", "requests", "census", "--json").stdout)
    assert (document["verdict"], document["kept"], document["broken"], document["not_judged"]) == ("pass", 6, 0, 9)
    texts = {rule["rule"]: rule["text"] for rule in document["rules"]}
    assert texts["census.counts"] == "the card lacks the capability census"
    done = ringhil("card", device, "check", "census")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "none of the rules that were asked for could be judged" in done.stderr
    done = ringhil("card", device, "check", "framng")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no rule 'framng'; did you mean 'framing'" in done.stderr
    done = ringhil("card", tmp_path / "nothing", "check")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    listed = ringhil("card", tmp_path / "nothing", "check", "--list", "time")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["time.forward", "time.passes", "time.stamps"]


def test_a_broken_rule_is_exit_code_1() -> None:
    """A loop of wires answers nothing; an echo of what is asked is no answer."""
    done = ringhil("card", "--timeout", "0.01", "loop://", "check")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ringhil: no answer to hello")
