"""Policies compared on a cluster: each run, by load, policy and seed, is a task of a pool."""

from ringhil.emulator.campaign.place.sweep import PlaceError, PlaceRun, RunPlayer, RunResult, play_all

__all__ = ["PlaceError", "PlaceRun", "RunPlayer", "RunResult", "play_all"]
