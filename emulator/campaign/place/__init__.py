"""Policies compared on a cluster. A pool plays runs, by load, policy and seed, or parts of the servers of one."""

from ringhil.emulator.campaign.place.run import PlaceError, PlaceRun, RunResult
from ringhil.emulator.campaign.place.servers import PlaceAnswer, PlaceTask, ServersTask
from ringhil.emulator.campaign.place.sweep import RunPlayer, play_all

__all__ = ["PlaceAnswer", "PlaceError", "PlaceRun", "PlaceTask", "RunPlayer", "RunResult", "ServersTask", "play_all"]
