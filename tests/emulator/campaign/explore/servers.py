"""Servers that the tests explore: short periods, so that plays are short."""

from functools import cache

from ringhil.emulator.campaign.explore.settle import bare, settle
from ringhil.emulator.campaign.explore.space import Round
from ringhil.emulator.campaign.explore.warm import Warm
from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.scenario import Scenario, loads

SHORT = "{census_period: 600, firmware_latency: 8, host_latency: 8, keepalive_interval: 400, wait_to_restore: 900}"
RING = f"server: {{cards: {{a: {{gpus: 4, host_links: [0, 1]}}}}, settings: {SHORT}}}\n"
TWO = f"""server:
  cards: {{a: {{gpus: 5, host_links: [0, 1]}}, b: {{gpus: 4, host_links: [0, 1]}}}}
  boundary_links: [{{from: [a.3, a.2], to: [b.2, b.3]}}]
  settings: {SHORT}
"""
WORKING = TWO + "workload: {units: 60, size: 300, across: 30}\n"
# Without records a GPU that does not count itself is believed: every such case fails.
LYING = RING.replace("census_period", "records: never, census_period")


@cache
def library() -> Library:
    return cells_library()


def warm(text: str) -> tuple[Scenario, Warm, dict[str, Round]]:
    """A settled server, and the rounds that its faults strike in."""
    scenario = bare(loads(text))
    return (scenario, *settle(scenario, library()))
