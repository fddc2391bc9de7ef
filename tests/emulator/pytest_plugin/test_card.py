"""The fixture `card`: the same tests on emulated cards and on others, by a pytest of its own."""

import json
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.emulator.serial.served import Served
from tests.protocol.c import library as c
from tests.sampled import sampled

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "hil.md").read_text()
SECTION = PAGE.split("## Tests that run on both", 1)[1].split("\n## ", 1)[0]
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
FOUR = "server: {cards: {a: {gpus: 4}, b: {gpus: 3}}}\n"
PATIENT = "--card-timeout=20"  # seconds: of a busy machine

TIMES = """
import pytest

@pytest.mark.parametrize("n", range(2))
def test_times(card, n, record_property):
    card.write(0, "weight", card.read(0, "weight") + 1)
    found = card.census()
    record_property("seen", [found.accepted, found.cycle, card.read(0, "weight"), card.now()])
    print("seen", [found.accepted, found.cycle, card.read(0, "weight"), card.now()])
"""
HOW_MANY = "def test_how_many(card): print('found', card.info.name, card.info.gpus)\n"


class Ran:
    """A run of pytest on the text of a test file."""

    def __init__(self, pytester: pytest.Pytester, text: str, *options: str, workers: int = 0) -> None:
        (pytester.path / "test_it.py").write_text(text)
        result = pytester.runpytest_subprocess(
            f"-n{workers}", "-rsfEP", "--strict-markers", "-W", "error::pytest.PytestWarning", *options
        )
        self.code, self.outcomes = int(result.ret), result.parseoutcomes() if result.ret != 4 else {}
        self.text, self.errors = result.stdout.str(), result.stderr.str()

    @property
    def refusal(self) -> str:
        """The one line of a run that ends before its first test."""
        assert (self.code, " passed" in self.text, "Traceback" in self.text + self.errors) == (4, False, False)
        (line,) = filter(None, self.errors.splitlines())
        return line.removeprefix("ERROR: ")


@pytest.fixture
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a served card."""
    folder = tmp_path_factory.mktemp("served")
    with Served(folder, FOUR, "--listen", "tcp://127.0.0.1:0", "--clock", "200000") as served:
        yield served.ports["a"][0]


@pytest.fixture
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The URL of a card in C that has no capability, each connection a card; and a file of their process numbers."""
    folder = tmp_path_factory.mktemp("device")
    program, processes = c.program("device", folder, *c.SANITIZED), folder / "processes"
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    peer, _ = listening.accept()
                except OSError:
                    return
                with peer, subprocess.Popen([program], stdin=peer, stdout=peer) as process, processes.open("a") as file:
                    file.write(f"{process.pid}\n")
                    file.flush()

        threading.Thread(target=serve, daemon=True).start()
        yield f"socket://127.0.0.1:{listening.getsockname()[1]}", processes
        listening.shutdown(socket.SHUT_RDWR)


# --------------------------------------------------------------------------------------------------- emulated cards


@pytest.mark.rest
def test_the_example_passes_on_the_card_that_is_always_there(pytester: pytest.Pytester) -> None:
    ran = Ran(pytester, EXAMPLE)
    assert (ran.code, ran.outcomes) == (0, {"passed": 2})
    assert "found a 8" in Ran(pytester, HOW_MANY).text


@pytest.mark.slow(part="benches")
def test_the_setting_names_a_server(pytester: pytest.Pytester) -> None:
    (pytester.path / "four.yaml").write_text(FOUR)
    pytester.makeini("[pytest]\nringhil_card_server = four.yaml\n")
    assert "found a 4" in Ran(pytester, HOW_MANY).text


@pytest.mark.slow(part="benches")
def test_the_setting_names_a_card_of_a_server_from_the_root(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("my servers")
    (folder / "four.yaml").write_text(FOUR)
    pytester.makeini("[pytest]\nringhil_card_server = my servers/four.yaml#b\n")
    pytester.mkdir("deep")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(pytester.path / "deep")
        assert "found b 3" in Ran(pytester, HOW_MANY, "../test_it.py").text
    assert "found a 8" in Ran(pytester, HOW_MANY, f"--card=emulated://{_eight(pytester)}").text, "the option goes first"


def _eight(pytester: pytest.Pytester) -> Path:
    (pytester.path / "eight.yaml").write_text("server: {cards: {a: {gpus: 8}}}\n")
    return pytester.path / "eight.yaml"


@pytest.mark.rest
@pytest.mark.parametrize(("named", "workers"), sampled([(False, 0), (True, 0), (False, 2), (True, 2)], "benches", 4))
def test_each_test_has_a_card_of_its_own_the_same_every_time(
    pytester: pytest.Pytester, named: bool, workers: int
) -> None:
    options = [f"--card=emulated://{_eight(pytester)}"] if named else []
    ran = Ran(pytester, TIMES, *options, workers=workers)
    assert ran.outcomes == {"passed": 2}
    one, two = (json.loads(line) for line in re.findall(r"^seen (.*)$", ran.text, re.MULTILINE))
    assert one == two
    assert one[0] >= 1


# --------------------------------------------------------------------------------------------------- other cards


@pytest.mark.rest
def test_the_example_passes_on_a_served_card(pytester: pytest.Pytester, url: str) -> None:
    ran = Ran(pytester, EXAMPLE, f"--card={url}", PATIENT)
    assert (ran.code, ran.outcomes) == (0, {"passed": 2})


KEPT = """
import pytest
from ringhil.emulator.serial.client import RefusedError
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.management import EventKind, Injection, LineFault
from ringhil.protocol.line.messages import InjectRequest

def test_one(card):
    card.write(0, "weight", 9)
    card.subscribe(EventKind.FRAMES)
    card.census()
    card.fault(LineFault.SLOW, 3)
    card.exchange(encode(InjectRequest(0, Injection.CLEAR.code, LineFault.SLOW.code, 3, 0)))  # its end is refused later
    card.fault(LineFault.DEAD, 1)
    with pytest.raises(RefusedError):
        card.fault(LineFault.DEAD, 1)  # and is still to be ended
    card.fault(LineFault.HANG, 2)
    card.clear(LineFault.HANG, 2)
    card.close()
    assert 0, "failed on purpose"

def test_two(card):
    assert card.read(0, "weight") == 9
    assert list(card.events(0.2)) == []
    card.fault(LineFault.DEAD, 1)  # it would be refused, were it set
"""


@pytest.mark.slow(part="benches")
def test_what_a_test_leaves_on_a_card_that_stays(pytester: pytest.Pytester, url: str) -> None:
    """Registers; but no subscription, no events, no fault, and an open port."""
    ran = Ran(pytester, KEPT, f"--card={url}", PATIENT)
    assert (ran.outcomes, "failed on purpose" in ran.text) == ({"passed": 1, "failed": 1}, True), ran.text


CAN = """
import pytest

@pytest.mark.card_can("census", "faults")
def test_both(card): assert 0

@pytest.mark.card_can("faults")
class TestMore:
    def test_one(self, card): assert 0
    def test_late(self, request): request.getfixturevalue("card")

@pytest.mark.card_can("faults")
def test_without(): pass

def test_name(card): assert card.info.name == "a card in C"
"""


@pytest.mark.slow(part="benches")
def test_a_card_that_can_not(pytester: pytest.Pytester, device: tuple[str, Path]) -> None:
    ran = Ran(pytester, CAN, f"--card={device[0]}", PATIENT)
    assert ran.outcomes == {"passed": 2, "skipped": 3}
    assert f"the card at {device[0]} lacks the capability census" in ran.text
    assert f"the card at {device[0]} lacks the capability faults" in ran.text
    assert len(device[1].read_text().split()) == 1, "the port is opened once"


LOST = """
import os, signal, time
from pathlib import Path

def test_the_line_goes(card):
    assert card.info.name == "a card in C"
    os.kill(int(Path(PROCESSES).read_text().split()[-1]), signal.SIGKILL)
    while True:
        card.now()

def test_the_next(card):
    card.now()
"""


@pytest.mark.slow(part="benches")
def test_a_port_that_fails_one_test_is_opened_again(
    pytester: pytest.Pytester, device: tuple[str, Path], tmp_path: Path
) -> None:
    url, processes = device
    text = LOST.replace("PROCESSES", repr(str(processes)))
    ran = Ran(pytester, text, f"--card={url}", PATIENT)
    assert (ran.outcomes, "the line is gone" in ran.text) == ({"passed": 1, "failed": 1}, True)
    assert len(processes.read_text().split()) == 2
    # A recording holds one opening: what comes after it is told, each in a line.
    ran = Ran(pytester, text, f"--card={url}", PATIENT, f"--card-record={tmp_path}/session.jsonl")
    assert ran.outcomes == {"failed": 1, "errors": 1}
    assert re.search(rf"^--card {re.escape(url)}: the line is gone: ", ran.text, re.MULTILINE)
    assert len(processes.read_text().split()) == 3


@pytest.mark.slow(part="benches")
def test_a_run_is_recorded_and_replayed_without_the_card(pytester: pytest.Pytester, url: str, tmp_path: Path) -> None:
    session = tmp_path / "session.jsonl"
    ran = Ran(pytester, EXAMPLE + TIMES, f"--card={url}", PATIENT, f"--card-record={session}")
    assert ran.outcomes == {"passed": 4}
    times = re.findall(r"^seen (.*)$", ran.text, re.MULTILINE)
    assert len(set(times)) == 2, "time goes on from test to test"
    again = Ran(pytester, EXAMPLE + TIMES, f"--card=replay://{session}", PATIENT)
    assert again.outcomes == {"passed": 4}
    assert re.findall(r"^seen (.*)$", again.text, re.MULTILINE) == times
    part = Ran(pytester, EXAMPLE + TIMES, f"--card=replay://{session}", PATIENT, "-k", "test_times")
    assert part.outcomes == {"failed": 1, "errors": 1, "deselected": 2}
    assert "the program sends ReadRequest(id=2, gpu=0, address=" in part.text
    assert "recorded is CensusRequest(id=2)" in part.text


# --------------------------------------------------------------------------------------------------- refusals


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("options", "setting", "said"),
    sampled(
        [
            (["--card=/dev/nothing"], "", "--card /dev/nothing: cannot be opened: No such file or directory"),
            (
                ["--card=emulated:///no.yaml"],
                "",
                "--card emulated:///no.yaml: cannot be opened: no.yaml: cannot be read: ",
            ),
            (["--card=nix://x"], "", "--card nix://x: cannot be opened: "),
            (["--card=replay://test_it.py"], "", "--card replay://test_it.py: test_it.py, line 1: found "),
            (
                ["--card=loop://", "--card-timeout=0.01"],
                "",
                "--card loop://: no answer to hello in 4 tries of 0.01 s: ",
            ),
            ([], "no.yaml", "ringhil_card_server no.yaml: cannot be opened: "),
            ([], "four.yaml#z", "ringhil_card_server four.yaml#z: cannot be opened: "),
        ],
        "benches",
        3,
    ),
)
def test_a_card_that_is_not_there_is_one_line(
    pytester: pytest.Pytester, options: list[str], setting: str, said: str
) -> None:
    (pytester.path / "four.yaml").write_text(FOUR)
    if setting:
        pytester.makeini(f"[pytest]\nringhil_card_server = {setting}\n")
    line = Ran(pytester, EXAMPLE, *options).refusal
    assert line.startswith(said)
    if "#z" in setting:
        assert line.endswith("no card 'z'; there are a, b")


@pytest.mark.slow(part="benches")
def test_a_card_is_asked_only_when_a_test_wants_it(pytester: pytest.Pytester) -> None:
    missing = "--card=/dev/nothing"
    assert Ran(pytester, "def test_nothing(): pass", missing).outcomes == {"passed": 1}
    assert Ran(pytester, EXAMPLE, missing, "--collect-only").code == 0
    late = Ran(pytester, "def test_late(request): request.getfixturevalue('card')", missing)
    assert late.outcomes == {"failed": 1}
    assert "--card /dev/nothing: cannot be opened: No such file" in late.text


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("emulated:///no.yaml", "cannot be opened: no.yaml: cannot be read: No such file or directory"),
        ("loop://", "one card takes one test after the other; run pytest without -n"),
    ],
)
def test_workers_refuse_in_one_line(pytester: pytest.Pytester, url: str, said: str) -> None:
    assert Ran(pytester, EXAMPLE, f"--card={url}", workers=2).refusal == f"--card {url}: {said}"


ALLOWED = "allowed: census, send, events, faults, paced, contexts"


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("'fault'", f"unknown capability 'fault'; did you mean 'faults'? {ALLOWED}"),
        ("'census', 5", f"unknown capability '5'; {ALLOWED}"),
        ("", f"takes names of capabilities; {ALLOWED}"),
        ("capability='faults'", f"takes names of capabilities; {ALLOWED}"),
    ],
)
def test_an_unknown_capability_is_one_line(pytester: pytest.Pytester, words: str, said: str) -> None:
    workers = 2 if words == "'fault'" else 0
    text = f"import pytest\n@pytest.mark.card_can({words})\ndef test_it(card): pass\n"
    assert Ran(pytester, text, workers=workers).refusal == f"test_it.py::test_it: card_can: {said}"


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize(
    ("options", "said"),
    sampled(
        [
            (["--card-record=x"], "--card-record: an emulated card is new for each test"),
            (
                ["--card-record=x", "--card=emulated:///eight.yaml"],
                "--card-record: an emulated card is new for each test",
            ),
            (
                ["--card-record=no/x", "--card=loop://"],
                "--card loop://: no/x: cannot be written: No such file or directory",
            ),
            (["--card-baud=9"], "found '9'; allowed is a whole number from 50 to 100000000"),
            (["--card-timeout=nan"], "found 'nan'; allowed are 0.001 to 3600 seconds"),
            (["--card-timeout=x"], "found 'x'; allowed are 0.001 to 3600 seconds"),
        ],
        "benches",
        4,
    ),
)
def test_options_that_can_not_be(pytester: pytest.Pytester, options: list[str], said: str) -> None:
    ran = Ran(pytester, EXAMPLE, *options)
    assert (ran.code, "Traceback" in ran.errors) == (4, False)
    assert said in ran.errors
    assert not (pytester.path / "x").exists()


@pytest.mark.slow(part="benches")
def test_a_card_fixture_of_ones_own_is_left_alone(pytester: pytest.Pytester) -> None:
    text = "import pytest\n@pytest.fixture\ndef card(): return 'queen'\ndef test_it(card): assert card == 'queen'\n"
    assert Ran(pytester, text).outcomes == {"passed": 1}
