"""Overheads of switching over pairs of networks and speeds of the link, as the table of docs/howto/switching.md.

    python -m benchmarks.switching [--write docs/howto/switching.md]

A task trains one network, and inference of another one follows, by every policy, as in the published measurements of
PipeSwitch (Bai, Zhang, Zhu, Jin, OSDI 2020). `PUBLISHED` are the latencies of the log that is in its repository
(netx-repo/PipeSwitch, log-1019.txt, figure 5), less those of a model that is ready on the GPU; milliseconds.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.judge.switching.outcome import SwitchingOutcome
from ringhil.emulator.scenario import Scenario, SwitchPolicyName, load

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "switching-pairs.yaml"
LINKS = {"PCIe 3.0 x8": 7877, "PCIe 3.0 x16": 15754, "PCIe 4.0 x16": 31508}  # MB/s
NETWORKS = ("resnet", "inception", "bert")
# What a ready model takes, PipeSwitch, and a process that is stopped and another one that is started.
PUBLISHED = {
    "resnet": (37.06, 43.45, 5678.19),
    "inception": (40.54, 40.59, 6276.42),
    "bert": (39.33, 53.85, 7243.10),
}
BEGIN, END = "<!-- Written by `python -m benchmarks.switching --write docs/howto/switching.md`. -->", "<!-- End. -->"


@dataclass(frozen=True)
class Pair:
    """What training of `before` and inference of `after` cost on a link, by policy."""

    before: str
    after: str
    link: str
    outcomes: dict[SwitchPolicyName, SwitchingOutcome]

    def overhead(self, policy: SwitchPolicyName) -> float:
        """Milliseconds."""
        found = self.outcomes[policy].overhead_ms
        assert found is not None
        return found

    @property
    def share(self) -> float:
        """PipeSwitch's overhead as a part of that of stopping and starting."""
        return self.overhead(SwitchPolicyName.PIPESWITCH) / self.overhead(SwitchPolicyName.STOP_START)


def published_share(network: str) -> float:
    """The same, from the published latencies."""
    ready, pipeswitch, stopped = PUBLISHED[network]
    return (pipeswitch - ready) / (stopped - ready)


def scenario(before: str, after: str, link: int) -> Scenario:
    """The pair on a link, as the example has the tasks."""
    whole = load(EXAMPLE)
    switching = whole.switching
    assert switching is not None
    requests = tuple(replace(switching.requests[0], task=task) for task in (f"train-{before}", after))
    return replace(whole, switching=replace(switching, link=link, requests=requests))


def measure(links: dict[str, int]) -> Iterator[Pair]:
    """Every pair of two different networks on each link."""
    library = cells_library()
    for link, speed in links.items():
        for before, after in permutations(NETWORKS, 2):
            played = scenario(before, after, speed)
            outcomes = {}
            for policy in SwitchPolicyName:
                assert played.switching is not None
                run = Run(replace(played, switching=replace(played.switching, policy=policy)), library)
                outcome = run.run()
                run.close()
                assert outcome.failures == ()
                assert outcome.switching is not None
                outcomes[policy] = outcome.switching
            yield Pair(before, after, link, outcomes)


def rows(pairs: list[Pair]) -> list[str]:
    """The table."""
    names = [name.replace("_", "-") for name in SwitchPolicyName]
    lines = [
        f"| link | training | inference | {' | '.join(names)} | PipeSwitch of stop-start | published |",
        "|---|---|---|" + "---:|" * (len(names) + 2),
    ]
    for pair in pairs:
        figures = [f"{pair.overhead(policy):,.2f} ms" for policy in SwitchPolicyName]
        used = [f"{100 * (pair.outcomes[policy].utilisation or 0):.1f} %" for policy in SwitchPolicyName]
        cells = " | ".join(f"{ms}, {share}" for ms, share in zip(figures, used, strict=True))
        shares = f"{100 * pair.share:.3f} % | {100 * published_share(pair.after):.3f} %"
        lines.append(f"| {pair.link} | {pair.before} | {pair.after} | {cells} | {shares} |")
    return lines


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    page = parser.parse_args().write
    table = "\n".join(rows(list(measure(LINKS))))
    if page is None:
        print(table)
        return
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}")


if __name__ == "__main__":
    main()
