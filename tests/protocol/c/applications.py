"""Scripts of applications that share a GPU: played by the C driver at a card's port, and by the one in Python."""

import subprocess
from pathlib import Path

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.contexts.command import Command, ContextRef, Reply
from ringhil.emulator.scenario import loads
from ringhil.emulator.server import LiveServer
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

GPU, PATIENCE = 2, 150  # ms for an answer
Said = tuple[str, int, int]  # why, digest, cycles
_DATA = bytes(i * 7 % 256 for i in range(5000))
_ANSWERS, _REFUSALS = ({s.code: s.value for s in kind} for kind in (ResultStatus, AckStatus))
LOST = ("lost", 0, 0)


def by_c(
    program: Path, port: str, script: list[str], gpu: int = GPU, patience: int = PATIENCE
) -> tuple[list[Said], int]:
    """What became of each command, and how often one had to go out again."""
    command = [program, port, str(gpu), str(patience)]
    done = subprocess.run(command, input="\n".join(script), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return [_said(line.split()) for line in done.stdout.splitlines()], int(done.stderr.split()[-1])


def _said(words: list[str]) -> Said:
    told, status, refusal = (int(word) for word in words[:3])
    assert told in (0, 1, 2), words
    if told == 2:
        return LOST
    return _known(_REFUSALS[refusal] if refusal else _ANSWERS[status], int(words[3], 16), int(words[4]))


def _known(why: str, digest: int, cycles: int) -> Said:
    """How far a launch came until it was cancelled depends on when that was; with what it lacks it is all of it."""
    return (why, digest + cycles, 0) if why == "cancelled" else (why, digest, cycles)


class ByPython:
    """A server and its own driver; a launch is heard of when it is over."""

    def __init__(self, text: str) -> None:
        self._server = LiveServer(loads(text), cells_library())
        self._launches: dict[int, list[Reply]] = {}
        self._server.start()
        while not self._server.cpu.cards[0].members:
            self._server.run_to(self._server.kernel.now + 100)

    def close(self) -> None:
        self._server.engine.close()

    def play(self, script: list[str]) -> list[Said]:
        return [said for line in script if (said := self._line(line))]

    def _line(self, line: str) -> Said | None:
        what, *numbers = line.split()
        number, amount, more = ([int(n) for n in numbers] + [0, 0])[:3]
        if what == "wait":
            return self._until(self._launches.pop(number))
        replies: list[Reply] = []
        data = _DATA[:more] if what == "copy" else b""
        command = Command(Compute.parse(what), 1000 + number, amount, 0 if data else more, data=data)
        self._server.cpu.driver.ask(ContextRef(0, GPU, number), command, replies.append)
        if what == "launch":
            self._launches[number] = replies
            return None
        return self._until(replies)

    def _until(self, replies: list[Reply]) -> Said:
        while not replies:
            self._server.run_to(self._server.kernel.now + 20)
        reply = replies[0]
        return LOST if reply.status is None else _known(reply.status.value, reply.digest, reply.cycles)
