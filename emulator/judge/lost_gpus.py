"""Which GPUs a policy has lost for its requests: the first one of its list, then the next, each from when it was its
turn (docs/howto/switching.md)."""

from collections.abc import Callable

from ringhil.emulator.host.switching.plan import SwitchPlan
from ringhil.emulator.judge.away import Away
from ringhil.emulator.judge.beginning import TasksBegin
from ringhil.emulator.judge.commands_seen import Gpu
from ringhil.emulator.judge.given_back import GivenBack
from ringhil.emulator.judge.no_entry import NoEntry
from ringhil.emulator.scenario import SwitchPolicyName


class LostGpus:
    """`plan`: None: there are no requests. `begin`: when tasks may begin. `now`: the cycle. The others are asked for
    what was seen."""

    def __init__(
        self,
        plan: SwitchPlan | None,
        begin: TasksBegin,
        now: Callable[[], int],
        *,
        given_back: GivenBack,
        away: Away,
        no_entry: NoEntry,
    ) -> None:
        self._list = () if plan is None else plan.gpus
        self._first = 0 if plan is None else _first(plan)
        self._begin, self._now = begin, now
        self._given_back, self._away, self._no_entry = given_back, away, no_entry

    def is_lost(self, gpu: Gpu) -> bool:
        """Whether anything was seen that may have cost requests this GPU, after they had lost all before it."""
        since: int | None = self._begin.cycle + self._first
        for each in self._list:
            since = None if since is None else self._lost_from(each, since)
            if each == gpu:
                break
        return since is not None

    def _lost_from(self, gpu: Gpu, since: int) -> int | None:
        seen = [self._given_back.lost_from(gpu, since), self._away.first(gpu, since)]
        if self._no_entry.excuses(gpu[0], self._now(), since):
            seen.append(since)
        return min((at for at in seen if at is not None), default=None)


def _first(plan: SwitchPlan) -> int:
    """Cycles after the tasks' begin in which a GPU is asked for something, at the earliest."""
    ahead = plan.policy in (SwitchPolicyName.PIPESWITCH, SwitchPolicyName.RESIDENT)  # before anybody comes
    return 0 if ahead else min((wanted.at for wanted in plan.requests), default=0)
