"""Who plays the parts of a campaign: processes of this machine, or whatever else implements `Pool`."""

from ringhil.emulator.campaign.pool.local import LocalPool
from ringhil.emulator.campaign.pool.pool import Answered, Heard, Lost, Pool

__all__ = ["Answered", "Heard", "LocalPool", "Lost", "Pool"]
