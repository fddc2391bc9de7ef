"""Many tries from one state of a process, without a process for each."""

from ringhil.emulator.campaign.rewind.rewound import RewindError, Rewound, can_rewind

__all__ = ["RewindError", "Rewound", "can_rewind"]
