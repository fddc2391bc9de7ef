"""`ringhil run --node`: a GPU's hardware at the other end of a line, and `ringhil rtl bridge`, which stands for it."""

import json
import re
import shutil
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest
from tests.command import refusal, ringhil, started
from tests.emulator.engine.test_outside import Liar
from tests.emulator.loop.bridge_line import BridgeLine
from tests.emulator.serial.served import Served

from ringhil.emulator.build.node_rtl import OURS
from ringhil.protocol.line import node_loop
from ringhil.protocol.line.framing import Unwrapper, wrap
from ringhil.protocol.line.node_loop import NodeMessage

SERVER = """server:
  cards: {a: {gpus: 4}}
  power: {default: {run_power: 300, idle_power: 20, low_power: 3, low_after: 500, low_wake: 30}}
workload: {units: 8, size: 100}
timeline: [{at: 6000, fault: dead, gpu: a.2}, {at: 9000, clear: dead, gpu: a.2}, {at: 9500, fault: slow, gpu: a.3}]
until: 60000
"""


@pytest.fixture
def server(tmp_path: Path) -> str:
    file = tmp_path / "s.yaml"
    file.write_text(SERVER)
    return str(file)


class Bridge:
    """`ringhil rtl bridge` in a process of its own, until the end of `with`."""

    def __init__(self, *options: str) -> None:
        words = ("rtl", "bridge", *options, "--json")
        self.process = started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout is not None
        self.port = str(json.loads(self.process.stdout.readline() or self.process.communicate()[1])["port"])

    def __enter__(self) -> "Bridge":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def outcome(server: str, *options: str) -> tuple[dict[str, object], str]:
    """What a run comes to, without what the machine has to do with, and what was said beside it."""
    done = ringhil("run", server, "--json", *options)
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    document.pop("engine")  # how fast it was
    return document, done.stderr


OPTIONS = [
    (),
    ("--listen", "tcp://127.0.0.1:0"),
    ("--listen", "rfc2217://127.0.0.1:0"),
    pytest.param(("--uart",), marks=pytest.mark.slow(part="outside")),
]


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    "options", [*OPTIONS, pytest.param(("--uart",), marks=pytest.mark.slow(part="outside"))], ids=" ".join
)
def test_a_run_is_the_same_with_a_gpu_outside(server: str, options: tuple[str, ...]) -> None:
    with Bridge(*options) as bridge:
        assert outcome(server, "--node", f"a.2={bridge.port}") == outcome(server)
        assert outcome(server, "--node", f"a.0={bridge.port}", "--seed", "9") == outcome(server, "--seed", "9")


def test_two_gpus_are_outside(server: str) -> None:
    with Bridge() as one, Bridge() as other:
        assert outcome(server, "--node", f"a.2={one.port}", "--node", f"a.3={other.port}") == outcome(server)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_bridge_ends_by_a_signal(number: signal.Signals) -> None:
    with Bridge() as bridge:
        bridge.process.send_signal(number)
        assert bridge.process.communicate(timeout=60)[1] == ""
        assert bridge.process.returncode == 0


@pytest.mark.parametrize(("requests", "early"), [(40, True), (300, False)])
def test_a_board_that_is_lost_is_a_dead_gpu_and_the_run_goes_on(server: str, requests: int, early: bool) -> None:
    """Also where the file lets that GPU die and be well again later."""
    with BridgeLine(requests=requests) as line:
        found, said = outcome(server, "--node", f"a.2={line.path}")
    cycle = int(said.split()[3].rstrip(":"))
    assert (cycle < 6000) is early
    again = f"; --node a.2=lost@{cycle} plays this again"
    assert said == f"ringhil: a.2: cycle {cycle}: the board is gone; from here on it is a GPU that has failed{again}\n"
    assert found["verdict"] == "pass"
    assert found["cycles"] == 60000
    card = found["cards"]["a"]  # type: ignore[index]
    assert (card["count"], card["members"]) == (3, [0, 1, 3])


def test_a_line_that_doubles_everything_changes_nothing(server: str) -> None:
    """What is asked twice is done once, and an answer that comes once more is none to what is asked then."""
    there, here = Unwrapper(), Unwrapper()

    def twice(heard: Unwrapper, data: bytes) -> bytes:
        return b"".join(2 * wrap(message) for message in heard.feed(data) if isinstance(message, bytes))

    with BridgeLine(partial(twice, there), partial(twice, here)) as line:
        assert outcome(server, "--node", f"a.2={line.path}") == outcome(server)


@pytest.mark.rest
def test_a_board_that_falls_silent_is_asked_eight_times(server: str) -> None:
    heard, asked = Unwrapper(), list[bytes]()

    def silent(data: bytes) -> bytes:
        asked.extend(message for message in heard.feed(data) if isinstance(message, bytes))
        return b""

    with BridgeLine(requests=40, instead=silent) as line:
        _, said = outcome(server, "--node", f"a.2={line.path}")
    assert ": the board is silent; from here on it is a GPU that has failed; " in said
    assert asked == 8 * asked[:1]


def lost_and_again(server: str, folder: Path, gpu: str, requests: int) -> None:
    """A run that lost its board after so many requests comes out the same without it, to every message."""
    one, other = folder / "one.jsonl", folder / "other.jsonl"
    with BridgeLine(requests=requests) as line:
        found, said = outcome(server, "--node", f"{gpu}={line.path}", "--record", str(one))
    again = re.search(r"--node (\S+) plays this again", said)
    assert again is not None
    assert outcome(server, "--node", again[1], "--record", str(other))[0] == found
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.rest(but_one_in=6)
@pytest.mark.parametrize("requests", [9, 45, 46, 47, 48, 900])
def test_a_run_that_lost_its_board_is_played_again_without_it(server: str, tmp_path: Path, requests: int) -> None:
    """Of the entry GPU registers are read, too: it may be lost in the middle of what is done in a cycle."""
    lost_and_again(server, tmp_path, "a.0", requests)
    lost_and_again(server, tmp_path, "a.2", requests // 3)


@pytest.mark.slow(part="outside")
def test_a_run_whose_board_did_otherwise_can_not_be(server: str) -> None:
    with BridgeLine(requests=200, back=Liar(1, 2, groups=(10,))) as line:
        _, said = outcome(server, "--node", f"a.2={line.path}")
    lost, otherwise = said.splitlines()
    assert lost.endswith(": the board is gone; from here on it is a GPU that has failed")
    assert otherwise.startswith("ringhil: a.2: the board did otherwise than the RTL of this run in ")


@pytest.mark.slow(part="benches")
def test_so_is_one_that_lost_it_at_any_request(server: str, tmp_path: Path) -> None:
    for requests in range(3, 600, 3):
        lost_and_again(server, tmp_path, "a.0", requests)


@pytest.mark.slow(part="outside")
def test_a_board_that_does_otherwise_is_told_of(server: str, tmp_path: Path) -> None:
    """Another RTL than that of the run: it reckons another cost of a unit."""
    rtl = Path(shutil.copytree(OURS, tmp_path / "rtl"))
    file = rtl / "result_tx.sv"
    ours, another = "{length_i, cycles_i}", "{length_i, ~cycles_i}"
    text = file.read_text()
    assert ours in text
    file.write_text(text.replace(ours, another))
    with Bridge("--rtl", str(rtl)) as bridge:
        _, said = outcome(server, "--node", f"a.3={bridge.port}")
    assert said.startswith("ringhil: a.3: the board did otherwise than the RTL of this run in ")


def hello(**values: int) -> bytes:
    """A bridge's answer, with other values than ours has."""
    ours = {
        "major": node_loop.MAJOR,
        "minor": node_loop.MINOR,
        "layout": node_loop.LAYOUT,
        "slots": node_loop.SLOTS,
        "longest": node_loop.LONGEST_FRAME,
    }
    fields = {"sequence": 1, **ours, **values}
    return wrap(node_loop.MESSAGES[NodeMessage.HELLO_REPLY].build(fields))


ANOTHER = "the bridge has another GPU behind it"
OTHERS = {
    "no answer in 2 seconds; wanted is a board with rtl/hil_bridge.sv": b"",
    "what answers is no bridge: found 4c 6f 67 69 6e 3a 20 4c 6f 67 69 6e 3a 20 4c 6f": b"Login: ",
    "the bridge speaks version 2.7; wanted is 1.0": hello(major=2, minor=7),
    "what answers is no bridge: found 00 04 81 4d 01 0c 26 f2 f6 cb 03 08 05 fa 28 f0": hello(sequence=77),
    f"{ANOTHER}: layout of the ports: found 00000001; wanted is {node_loop.LAYOUT:08x}": hello(layout=1),
    f"{ANOTHER}: frames in a data buffer: found 5; wanted is 3": hello(slots=5),
    f"{ANOTHER}: flits of the longest frame: found 9; wanted is 2053": hello(longest=9),
}


@pytest.mark.rest(but_one_in=7)
@pytest.mark.parametrize("why", OTHERS)
def test_what_is_no_bridge_of_ours_is_refused(server: str, why: str) -> None:
    with BridgeLine(requests=0, instead=lambda data: OTHERS[why] if b"\1" in data else b"") as line:
        assert refusal("run", server, "--node", f"a.2={line.path}") == f"ringhil: --node a.2={line.path}: {why}"


@pytest.mark.rest
def test_a_management_port_is_no_bridge(server: str, tmp_path: Path) -> None:
    with Served(tmp_path, "server: {cards: {a: {gpus: 2}}}\n") as served:
        (port,) = served.ports["a"]
        said = refusal("run", server, "--node", f"a.2={port}")
    assert said.startswith(f"ringhil: --node a.2={port}: what answers is no bridge: found 00 ")


REFUSED = {
    ("a.2=/dev/nothing",): "--node a.2=/dev/nothing: cannot be opened: No such file or directory",
    (
        "a.2=loop://",
    ): "--node a.2=loop://: what answers is no bridge: found 00 07 01 01 7d a9 92 f8 00 00 07 01 02 2c 26 82",
    ("a.2=rfc2217://127.0.0.1:1",): "--node a.2=rfc2217://127.0.0.1:1: cannot be opened: Connection refused",
    ("/dev/ttyS0",): "--node: found '/dev/ttyS0'; allowed is GPU=URL, such as a.3=/dev/ttyUSB0 or "
    "a.3=socket://127.0.0.1:7777",
    **{
        (f"a.2={lost}",): f"--node a.2={lost}: found '{lost}'; allowed is lost@CYCLE, a number of up to 18 digits"
        for lost in ("lost@-5", "lost@x", "lost@", "lost@1.5", "lost@1000000000000000000")
    },
    ("a.2=lost@5", "a.2=lost@9"): "--node a.2=lost@9: GPU a.2 has lost@5 already",
}


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("given", REFUSED, ids=" ".join)
def test_what_is_written_wrongly_is_refused(server: str, given: tuple[str, ...]) -> None:
    options = [word for each in given for word in ("--node", each)]
    assert refusal("run", server, *options) == f"ringhil: {REFUSED[given]}"


@pytest.mark.rest
@pytest.mark.parametrize("command", ["run", "serve", "verify"])
def test_what_does_not_fit_together_is_refused_and_leaves_nothing(server: str, tmp_path: Path, command: str) -> None:
    out = ("--junit", "out") if command == "verify" else ("--record", "out.jsonl")
    with BridgeLine() as line:
        here = f"a.2={line.path}"
        for given, why in {
            ("--node", f"a.7={line.path}"): f"--node a.7={line.path}: found GPU a.7; there are a.0 .. a.3",
            ("--node", here, "--node", "a.2=x"): f"--node a.2=x: GPU a.2 has {line.path} already",
            ("--node", here, "--node", f"a.3={line.path}"): f"--node a.3={line.path}: --node {here} {LINE_OF_ITS_OWN}",
            ("--node", here, "--firmware", f"a.0={line.path}"): f"--node {here}: --firmware a.0={line.path} "
            f"{LINE_OF_ITS_OWN}",
            (
                "--node",
                here,
                "--node",
                "a.3=/dev/nothing",
            ): "--node a.3=/dev/nothing: cannot be opened: No such file or directory",
            ("--node", here, "--firmware", "a.0=/dev/nothing"): "--firmware a.0=/dev/nothing: /dev/nothing: cannot be "
            "opened: No such file or directory",
        }.items():
            if command == "verify" and "found GPU" in why:
                continue  # that is the file's affair
            assert refusal(command, server, *given, *out, cwd=tmp_path) == f"ringhil: {why}"
    report = [tmp_path / "out"] if command == "verify" else []  # which says that nothing was played
    assert sorted(tmp_path.iterdir()) == sorted([*report, Path(server)])


LINE_OF_ITS_OWN = "has that line; each board has one of its own"


def test_a_file_names_no_line(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("server: {cards: {a: {gpus: 4, node: /dev/ttyS0}}}\n")
    assert "node" in refusal("run", str(file))
