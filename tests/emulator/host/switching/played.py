"""Small tasks that follow one another on a GPU, and what was done when. A page is 1 MiB, a cycle 1 microsecond."""

from collections.abc import Sequence
from dataclasses import replace

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.switching.report import PhaseSpan, RequestReport, SwitchPhase
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario, SwitchPolicyName, loads

PAGES = 400
_MIB = 1 << 20
_TEXT = """
server:
  cards: {{a: {{gpus: 4, host_links: [0, 1]}}}}
  settings: {{device_memory: {pages}, context_switch: 50, host_latency: 16}}
switching:
  gpu: [a.2, a.3]
  rate: 1000
  {presets}
  tasks:
{tasks}
  requests: [{requests}]
"""

Part = tuple[int, int]  # MiB and cycles


def task(name: str, parts: Sequence[Part], more: str = "") -> str:
    """A task with a layer for each part."""
    layers = ", ".join(
        f"{{name: l{n}, weights: {size * _MIB}, operations: {cycles * 10**6}}}"
        for n, (size, cycles) in enumerate(parts)
    )
    return f"    {name}: {{subtasks: {len(parts)}, layers: [{layers}]{more}}}"


def scenario(
    tasks: Sequence[str],
    requests: Sequence[str],
    presets: Sequence[str] = (),
    *,
    pages: int = PAGES,
    timeline: str = "",
) -> Scenario:
    """Requests are names of tasks, all at the beginning."""
    wanted = ", ".join(f"{{task: {name}}}" for name in requests)
    text = _TEXT.format(pages=pages, presets="\n  ".join(presets), tasks="\n".join(tasks), requests=wanted)
    return loads(text + (f"timeline:\n{timeline}" if timeline else ""))


class Playing:
    """A run to its end."""

    def __init__(self, played: Scenario, policy: SwitchPolicyName = SwitchPolicyName.PIPELINED) -> None:
        assert played.switching is not None
        played = replace(played, switching=replace(played.switching, policy=policy))
        self.run = Run(played, cells_library())
        self.held: list[tuple[int, int]] = []
        self.outcome: Outcome = self.run.run()
        assert self.outcome.switching is not None
        self.switching = self.outcome.switching

    @property
    def reports(self) -> Sequence[RequestReport]:
        """By request."""
        return self.run.server.switching.reports

    def spans(self, request: int, phase: SwitchPhase) -> list[PhaseSpan]:
        """What was done of it, in order of its beginning."""
        found = [s for s in self.run.server.switching.spans if (s.request, s.phase) == (request, phase)]
        return sorted(found, key=lambda span: span.began)
