"""Fault campaigns: every fault at every place and phase, pairs, random schedules, each from one warm state."""

from ringhil.emulator.campaign.explore.case import Case, Schedule

__all__ = ["Case", "Schedule"]
