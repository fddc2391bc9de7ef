"""All that the adapter says it can: each is tried; what is wrong is one line, and the session goes on."""

import subprocess
from pathlib import Path

import pytest
from tests.command import ringhil
from tests.emulator.dap.client import Client
from tests.emulator.dap.conftest import SERVER, Begin

from ringhil import firmware

_GPU = Path(firmware.__file__).resolve().parent / "gpu.py"
_LIAR = """
from dataclasses import replace

from ringhil.firmware.boot import our_program
from ringhil.firmware.commands import Send
from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive


class Liar:
    def __init__(self, boot):
        self.own = our_program(boot)

    def start(self, now):
        return self.changed(self.own.start(now))

    def on_timer(self, name, now):
        return self.changed(self.own.on_timer(name, now))

    def on_frame(self, frame, port, bad, now):
        return self.changed(self.own.on_frame(frame, port, bad, now))

    def on_status(self, status):
        self.own.on_status(status)

    def changed(self, actions):
        found = []
        for action in actions:
            if isinstance(action, Send):
                message = codec.decode(action.frame, link=False)
                if isinstance(message, Keepalive):
                    lie = replace(message, interval=99)
                    action = replace(action, frame=codec.encode(lie))
            found.append(action)
        return found
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a server's file, firmware that tells of a wrong interval, and a recording with both."""
    (tmp_path / "liar.py").write_text(_LIAR)
    (tmp_path / "server.yaml").write_text(SERVER)
    ringhil("run", "server.yaml", "--firmware", "a.1=liar:Liar", "--record", "r.rec", cwd=tmp_path)
    return tmp_path


@pytest.mark.rest
def test_every_capability_is_as_it_is_said(begin: Begin, project: Path) -> None:
    client, process = begin(cwd=project)
    says = client.ask("initialize", adapterID="ringhil")
    tried = {"supportsConfigurationDoneRequest"}
    client.ask("launch", program="r.rec", firmware=["a.1=liar:Liar"])
    client.event("initialized")
    assert [each["filter"] for each in says["exceptionBreakpointFilters"]] == ["failures"]
    client.ask("setExceptionBreakpoints", filters=["failures"])
    tried.add("exceptionBreakpointFilters")
    client.start()

    stopped = client.move("continue")
    assert (stopped["reason"], client.gpu()) == ("exception", "a.1")
    assert client.ask("exceptionInfo", threadId=1)["exceptionId"] == "rightly_told"
    tried.add("supportsExceptionInfoRequest")
    client.ask("setExceptionBreakpoints", filters=[])
    conditions = [
        {"name": "kind == keepalive", "condition": "interval == 99 and way == from_firmware and cycle > 1000"}
    ]
    assert client.ask("setFunctionBreakpoints", breakpoints=conditions)["breakpoints"][0]["verified"]
    tried.add("supportsFunctionBreakpoints")
    assert client.move("continue")["hitBreakpointIds"] == [1]
    frame = client.frames()[-1]
    assert (frame["name"], frame["source"]["path"]) == ("Liar.on_timer", str(project / "liar.py"))
    first = client.number()
    assert client.move("continue")["reason"] == "function breakpoint"
    assert client.move("reverseContinue")["reason"] == "function breakpoint"
    assert client.number() == first
    client.move("stepBack")
    tried.add("supportsStepBack")
    client.ask("setFunctionBreakpoints", breakpoints=[])

    line = next(n for n, text in enumerate(_LIAR.split("\n"), 1) if "lie =" in text)
    source = {"path": str(project / "liar.py")}
    places = client.ask("breakpointLocations", source=source, line=line - 1, endLine=line + 1)["breakpoints"]
    assert [each["line"] for each in places] == [line - 1, line, line + 1]
    tried.add("supportsBreakpointLocationsRequest")
    breakpoints = [{"line": line, "condition": "message.sequence > 3"}]
    assert client.ask("setBreakpoints", source=source, breakpoints=breakpoints)["breakpoints"][0]["verified"]
    assert client.move("continue")["reason"] == "breakpoint"
    assert client.frames()[0]["line"] == line
    assert client.ask("evaluate", expression="message.sequence", context="hover", frameId=1)["result"] == "4"
    tried |= {"supportsConditionalBreakpoints", "supportsEvaluateForHovers"}
    client.move("next")
    assert client.ask("evaluate", expression="lie.interval")["result"] == "99"
    client.ask("setBreakpoints", source=source, breakpoints=[])

    (target,) = client.ask("gotoTargets", source={"sourceReference": 1}, line=100)["targets"]
    client.ask("goto", threadId=1, targetId=target["id"])
    assert client.event("stopped")["reason"] == "goto"
    assert client.number() == 100
    (target,) = client.ask("gotoTargets", source=source, line=line)["targets"]
    client.ask("goto", threadId=1, targetId=target["id"])
    assert client.event("stopped")["reason"] == "goto"
    assert client.frames()[0]["line"] == line
    tried.add("supportsGotoTargetsRequest")
    listed = client.ask("source", sourceReference=1)["content"].splitlines()
    assert "keepalive" in listed[0]

    client.ask("restart")
    assert client.event("stopped")["reason"] == "entry"
    assert client.number() == 0
    tried.add("supportsRestartRequest")
    client.move("next")
    scopes = client.ask("scopes", frameId=1)["scopes"]
    registers = next(each for each in scopes if each["name"].startswith("Registers"))["variablesReference"]
    assert "only registers" in client.refused("setVariable", variablesReference=1, name="cycle", value="1")
    assert "found register 'status'" in client.refused(
        "setVariable", variablesReference=registers, name="status", value="1"
    )
    assert client.ask("setVariable", variablesReference=registers, name="weight", value="0x7")["value"] == "7"
    assert client.variables("Registers")["weight"] == "7"
    assert "r.branch-1.rec" in client.event("output")["output"]
    client.ask("evaluate", expression="go 100", context="repl")
    client.event("stopped")
    assert "weight: 7" in client.ask("evaluate", expression="state a.0", context="repl")["result"]
    again = ringhil("replay", "r.branch-1.rec", "--firmware", "a.1=liar:Liar", cwd=project)
    assert again.stdout.startswith("identical")
    tried.add("supportsSetVariable")

    client.ask("terminate")
    client.event("terminated")
    tried.add("supportsTerminateRequest")
    assert process.wait(10) == 0
    assert set(says) == tried


@pytest.mark.rest
def test_backwards_it_stops_at_what_it_stopped_at_forwards(begin: Begin, project: Path) -> None:
    """At messages, and at lines of firmware that handle them."""
    client, _ = begin("r.rec", cwd=project)
    client.launch(firmware=["a.1=liar:Liar"])
    line = next(n for n, text in enumerate(_LIAR.split("\n"), 1) if "self.own.on_frame" in text)
    client.ask("setBreakpoints", source={"path": str(project / "liar.py")}, breakpoints=[{"line": line}])
    condition = {"name": "way == to_firmware and gpu == a.1"}
    client.ask("setFunctionBreakpoints", breakpoints=[condition])
    client.start()

    def stops(command: str, times: int) -> list[tuple[str, int]]:
        return [(client.move(command)["reason"], client.number()) for _ in range(times)]

    there = stops("continue", 30)
    assert {reason for reason, _ in there} == {"function breakpoint", "breakpoint"}
    assert stops("reverseContinue", 29) == there[-2::-1]


def test_it_begins_at_the_message_that_launch_names(begin: Begin, project: Path) -> None:
    client, _ = begin("r.rec", cwd=project)
    client.launch(at=123, firmware=["a.1=liar:Liar"])
    assert client.start()["reason"] == "goto"
    assert client.number() == 123


def test_a_servers_file_is_run_first_and_only_that(begin: Begin, project: Path) -> None:
    client, process = begin("server.yaml", cwd=project)
    client.launch(stopOnEntry=False)
    client.ask("setFunctionBreakpoints", breakpoints=[{"name": "kind == Counted and count == 4"}])
    client.ask("configurationDone")
    assert client.event("stopped")["reason"] == "function breakpoint"
    assert client.variables("Event")["members"] == "[0, 1, 2, 4]"
    assert client.variables("Card")["count"] == "5"
    assert client.ask("evaluate", expression="card a", context="repl")["result"].startswith(str(client.number()))
    assert client.ask("evaluate", expression="go 16000", context="repl")["result"]
    assert client.event("stopped")["reason"] == "goto"
    assert client.ask("evaluate", expression="kind == Struck")["result"] == "true"
    client.ask("disconnect")
    assert process.wait(10) == 0
    assert sorted(each.name for each in project.iterdir() if each.name != "__pycache__") == [
        "liar.py",
        "r.rec",
        "server.yaml",
    ]


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        ("launch", {"program": "nothing.rec"}, "nothing.rec: cannot be read"),
        ("launch", {}, "program: found none"),
        ("launch", {"program": 5}, "launch: program: found 5; allowed is"),
        ("launch", {"program": "liar.py"}, "liar.py"),
        ("launch", {"program": "r.rec", "firmware": ["x"]}, "--firmware: found 'x'"),
        ("attach", {}, "found request 'attach'; there is none of this name"),
        ("next", {}, "nothing was launched"),
        ("threads", {}, "nothing was launched"),
    ],
)
def test_a_request_that_cannot_be_done_is_one_line(
    begin: Begin, project: Path, command: str, arguments: dict[str, object], words: str
) -> None:
    client, _ = begin(cwd=project)
    client.ask("initialize")
    assert words in client.refused(command, **arguments)
    client.launch(program="r.rec", firmware=["a.1=liar:Liar"])
    assert client.start()["reason"] == "entry"
    client.ask("disconnect")


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        ("scopes", {"frameId": 9}, "frameId: found 9; there are 1 to 1"),
        ("variables", {"variablesReference": 77}, "variablesReference: found 77"),
        ("evaluate", {"expression": "nonsense"}, "found 'nonsense'"),
        ("evaluate", {"expression": "kind == nonsense"}, "allowed are"),
        ("evaluate", {"expression": "go x", "context": "repl"}, "found 'x'; allowed is a cycle"),
        ("goto", {"targetId": 10**6}, "targetId: found 1000000"),
        ("gotoTargets", {"source": {"sourceReference": 1}, "line": 10**6}, "line: found 1000000"),
        ("gotoTargets", {"source": {"path": "/etc/passwd"}, "line": 1}, "is no firmware in Python of this run"),
        ("source", {"sourceReference": 10**6}, "there is no such page"),
        ("setExceptionBreakpoints", {"filters": ["all"]}, "found 'all'; allowed is failures"),
        ("setBreakpoints", {"source": {}, "breakpoints": [{"line": -1}]}, "setBreakpoints: breakpoints[0].line"),
        ("exceptionInfo", {}, "it has not stopped at a failure"),
    ],
)
def test_what_is_not_there_is_one_line(client: Client, command: str, arguments: dict[str, object], words: str) -> None:
    assert words in client.refused(command, **arguments)


def test_firmware_that_was_not_loaded_leaves_messages(begin: Begin, project: Path) -> None:
    """As in `ringhil step`: messages are stepped, states are refused, and why is said."""
    client, _ = begin(cwd=project)
    client.ask("initialize")
    client.ask("launch", program="r.rec")
    assert "messages can be stepped" in client.event("output")["output"]
    (answer,) = client.ask("setBreakpoints", source={"path": str(_GPU)}, breakpoints=[{"line": 90}])["breakpoints"]
    assert not answer["verified"]
    client.start()
    client.move("next")
    assert len(client.frames()) == 1
    assert client.variables("Message")["kind"] == "keepalive"
    assert "was recorded with --firmware" in client.refused(
        "variables", variablesReference=client.ask("scopes", frameId=1)["scopes"][1]["variablesReference"]
    )
    client.ask("disconnect")


def test_nothing_else_is_written_to_the_client(begin: Begin, project: Path) -> None:
    """What firmware prints goes to standard error."""
    (project / "liar.py").write_text(_LIAR.replace("found = []", "found = []; print('hello', flush=True)"))
    ringhil("run", "server.yaml", "--firmware", "a.1=liar:Liar", "--record", "r.rec", cwd=project)
    client, process = begin(cwd=project, stderr=subprocess.DEVNULL)
    client.launch(program="r.rec", firmware=["a.1=liar:Liar"])
    client.start()
    client.ask("evaluate", expression="until kind == Counted", context="repl")
    client.event("stopped")
    assert "own" in client.variables("Firmware") or client.gpu() != "a.1"
    client.ask("disconnect")
    assert process.wait(10) == 0
