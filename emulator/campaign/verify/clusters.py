"""Cluster files: each policy of which a file expects something is a variant, played on the table fleet."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ringhil.emulator.campaign.verify.verdict import Failure
from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.expect import judge
from ringhil.emulator.cluster.play import play
from ringhil.emulator.cluster.policies import POLICIES
from ringhil.emulator.cluster.read import load_cluster
from ringhil.emulator.cluster.saturate import saturate
from ringhil.emulator.scenario import ScenarioError


@dataclass(frozen=True)
class ClusterVariant:
    """A policy on a cluster, whose `expect` has what is expected of this policy alone."""

    number: int
    policy: str
    scenario: GpuCluster

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """As a sweep over policies would have them."""
        return (("policy", self.policy),)

    @property
    def text(self) -> str:
        """`policy=pack-first`."""
        return f"policy={self.policy}"


class ClusterVariants:
    """All policies of which the file at `path` expects something. Raises ScenarioError."""

    def __init__(self, path: Path) -> None:
        try:
            self._cluster = load_cluster(path)
        except ScenarioError as error:
            if error.path == str(path):
                raise
            raise ScenarioError(str(path), None, None, str(error)) from None  # of a list: the place is not in this file
        self._policies = list(dict.fromkeys(each.policy for each in self._cluster.expect))
        if not self._policies:
            raise ScenarioError(str(path), None, None, "there is no 'expect'; needed is what is expected of a policy")

    def __len__(self) -> int:
        return len(self._policies)

    def __getitem__(self, number: int) -> ClusterVariant:
        policy, cluster = self._policies[number], self._cluster
        mine = tuple(each for each in cluster.expect if each.policy == policy)
        name = f"{cluster.name} [policy={policy}]"
        return ClusterVariant(number, policy, replace(cluster, name=name, expect=mine))

    def __iter__(self) -> Iterator[ClusterVariant]:
        return (self[number] for number in range(len(self)))


def failed(variant: ClusterVariant, seed: int) -> tuple[Failure, ...]:
    """Play it and judge."""
    cluster, policy = variant.scenario, POLICIES[variant.policy]
    filling = cluster.saturation
    run = play(cluster, policy, seed) if filling is None else saturate(cluster, filling, policy, seed)
    return tuple(
        Failure("expectation", each.text, each.bound.line, sort=f"expectation: {variant.policy}: {each.bound.what}")
        for each in judge(cluster.expect, run, filled=filling is not None)
        if not each.ok
    )
