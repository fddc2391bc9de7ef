"""Our node's word on a stimulus: does it keep all rules with it? Then the contract allows it.

Two simulations talk over a socket, a line of JSON each way: the one with the node under test asks, ours answers.
"""

import json
import os
import socket
from collections.abc import Iterator
from typing import Any

import cocotb

from ringhil.emulator.conformance.rule import RuleCase, all_rules, cases_of
from ringhil.emulator.conformance.suite import CaseJudge
from ringhil.emulator.testbench.node import NodeBench
from ringhil.emulator.testbench.player import StimulusPlayer
from ringhil.emulator.testbench.stimulus import Stimulus

SOCKET = "RINGHIL_CHECK_SOCKET"  # environment: the number of the file descriptor


class Cases:
    """The cases of rules for one seed and effort, made once."""

    def __init__(self, seed: int, effort: int) -> None:
        self._seed, self._effort = seed, effort
        self._made: dict[str, list[RuleCase]] = {}

    def __call__(self, rule: str, number: int) -> RuleCase:
        if rule not in self._made:
            self._made[rule] = list(cases_of(all_rules()[rule], self._seed, self._effort))
        return self._made[rule][number]


class Referee:
    """The asking end."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._answers = self._socket.makefile("r", encoding="utf-8")

    def close(self) -> None:
        """No more questions: the other simulation comes to its end."""
        self._answers.close()
        self._socket.close()

    def passes(self, rule: str, number: int, stimulus: Stimulus) -> bool:
        """Our node breaks no rule in this case when `stimulus` is played in place of the case's own. False, too, when
        the other simulation has gone."""
        line = json.dumps({"rule": rule, "number": number, "stimulus": stimulus.to_json()}) + "\n"
        try:
            self._socket.sendall(line.encode(), getattr(socket, "MSG_NOSIGNAL", 0))
        except OSError:
            return False
        return self._answers.readline() == "passes\n"


@cocotb.test()
async def referee(dut: Any) -> None:
    """Answers until the other end has gone."""
    judge = CaseJudge(StimulusPlayer(NodeBench(dut)))
    cases = Cases(int(os.environ["RINGHIL_CHECK_SEED"]), int(os.environ["RINGHIL_CHECK_EFFORT"]))
    with socket.socket(fileno=int(os.environ[SOCKET])) as end:
        for line in _lines(end):
            asked = json.loads(line)
            stimulus = Stimulus.from_json(asked["stimulus"])
            breaches = await judge(cases(asked["rule"], asked["number"]), stimulus)
            end.sendall(b"breaks\n" if breaches else b"passes\n", getattr(socket, "MSG_NOSIGNAL", 0))


def _lines(end: socket.socket) -> Iterator[str]:
    with end.makefile("r", encoding="utf-8") as lines:
        yield from lines
