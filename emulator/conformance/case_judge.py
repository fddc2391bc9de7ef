"""Plays a case to the node of a bench and judges what it did."""

from ringhil.emulator.conformance.coverage import collector, sample
from ringhil.emulator.conformance.general import general_breaches
from ringhil.emulator.conformance.rule import RuleCase
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import StimulusPlayer
from ringhil.emulator.testbench.stimulus import Stimulus


class CaseJudge:
    """Plays a case and judges it; remembers whether the node ever claimed to rest."""

    def __init__(self, player: StimulusPlayer) -> None:
        self._player = player
        self.rested = False
        self.coverage = collector()

    async def __call__(self, case: RuleCase, stimulus: Stimulus) -> list[Breach]:
        """Play `stimulus` in place of the case's own; what is wrong, earliest first."""
        observed = await self._player.play(stimulus)
        sample(self.coverage, stimulus, observed)
        self.rested |= observed.rests
        breaches = [*case.judge(stimulus, observed), *general_breaches(stimulus, observed)]
        if case.compare is not None and not breaches:
            leaping = await self._player.play(stimulus, leap=True)
            self.rested |= leaping.leaped > 0
            breaches = case.compare(observed, leaping)
        return sorted(breaches, key=lambda b: b.cycle)
