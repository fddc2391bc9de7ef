"""Tasks that follow one another on a GPU (W1 to W7), by policies that can be compared. See docs/howto/switching.md."""

from ringhil.emulator.host.switching.pipelined import Pipelined
from ringhil.emulator.host.switching.pipeswitch import PipeSwitch
from ringhil.emulator.host.switching.policy import SwitchPolicy
from ringhil.emulator.host.switching.resident import Resident
from ringhil.emulator.host.switching.stop_start import StopStart

# By the name that a scenario file uses (`switching.policy`).
SWITCH_POLICIES: dict[str, type[SwitchPolicy]] = {
    "pipelined": Pipelined,
    "pipeswitch": PipeSwitch,
    "stop_start": StopStart,
    "resident": Resident,
}

__all__ = ["SWITCH_POLICIES"]
