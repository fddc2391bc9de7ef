"""Many tries from one state of a process, without a process for each."""

from ringhil.emulator.campaign.rewind.rewound import CantRewind, Rewound, can_rewind

__all__ = ["CantRewind", "Rewound", "can_rewind"]
