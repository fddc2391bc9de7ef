"""Policies by name: one of ours, or somebody's own as MODULE:CLASS."""

import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from ringhil.emulator.cluster.cluster import TaskNeeds
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.cluster.policy import Keys, PlacementPolicy
from ringhil.emulator.cluster.servers import Rows, Servers
from ringhil.emulator.cluster.workload import TargetWorkload
from ringhil.emulator.documents import one_line, shown
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.outside_code import NAMED, load_named
from ringhil.emulator.terminated import ASKED_TO_END


class PolicyError(RinghilError, ValueError):
    """A policy that there isn't, or that does what no policy may."""


def policies_named(names: Iterable[str]) -> dict[str, type[PlacementPolicy]]:
    """By name, in that order, each once. Raises PolicyError."""
    return {name: _named(name) for name in names}


def _named(name: str) -> type[PlacementPolicy]:
    if name in POLICIES:
        return POLICIES[name]
    if not NAMED.fullmatch(name):
        raise PolicyError(f"--policy: found {shown(name)}; allowed is MODULE:CLASS or one of {', '.join(POLICIES)}")

    def wrong(problem: str) -> PolicyError:
        return PolicyError(f"--policy {name}: {problem}")

    found = load_named(name, wrong)
    if not (isinstance(found, type) and issubclass(found, PlacementPolicy)):
        raise wrong(f"{name.partition(':')[2]} doesn't derive from ringhil.emulator.cluster.PlacementPolicy")
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise wrong(f"no method {missing[0]}; needed is keys(servers, needs)")
    return _watched(found, wrong)


def _watched(policy: type[PlacementPolicy], wrong: Any) -> type[PlacementPolicy]:
    """The same; what it raises, or answers wrongly, is one line."""

    class Watched(PlacementPolicy):
        """Somebody's own policy, whose answers are looked at."""

        per_server = policy.per_server
        one_each = policy.one_each

        def __init__(self, workload: TargetWorkload, random: np.random.Generator) -> None:
            super().__init__(workload, random)
            self._policy = self._asked("__init__", policy, workload, random)

        def keys(self, servers: Servers, needs: TaskNeeds) -> Keys:
            found = self._figures("keys", len(servers), self._asked("keys", self._policy.keys, servers, needs))
            if not found:
                raise wrong("keys: found no key, which orders nothing; allowed is a list of one array at least")
            return found

        def settled(self, keys: Keys) -> Keys:
            answer = self._asked("settled", self._policy.settled, keys)
            return self._figures("settled", len(keys[0]) if keys else 0, answer)

        def gpu(self, servers: Servers, needs: TaskNeeds) -> Rows:
            answer = self._asked("gpu", self._policy.gpu, servers, needs)
            (gpus,) = self._figures("gpu", len(servers), (answer,))
            usable = servers.usable(needs)
            rows = np.arange(len(servers))
            if gpus.dtype.kind not in "iu" or not ((gpus >= 0) & (gpus < usable.shape[1])).all():
                raise wrong("gpu: found no index of a GPU; allowed is one for each server")
            if not usable[rows, gpus].all():
                raise wrong("gpu: found a GPU without room for the task; allowed are those of servers.usable(needs)")
            return np.asarray(gpus, np.int64)

        def _asked(self, method: str, call: Any, *given: Any) -> Any:
            try:
                with redirect_stdout(sys.stderr):
                    return call(*given)
            except ASKED_TO_END:
                raise
            except BaseException as error:
                raise wrong(f"{method}: {one_line(f'{type(error).__name__}: {error}')}") from error

        def _figures(self, method: str, number: int, answer: Any) -> list[Any]:
            try:
                found = [np.asarray(each) for each in answer]
            except (TypeError, ValueError) as error:
                raise wrong(f"{method}: found {shown(answer)}; allowed is a list of arrays") from error
            for each in found:
                if each.shape != (number,) or each.dtype.kind not in "biuf" or not np.isfinite(each).all():
                    shape = f"an array of shape {each.shape} and type {each.dtype}"
                    raise wrong(f"{method}: found {shape}; allowed are {number} finite numbers, one for each server")
            return found

    return Watched
