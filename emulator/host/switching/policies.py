"""The policies by their names in a file."""

from ringhil.emulator.host.switching.pipelined import Pipelined
from ringhil.emulator.host.switching.pipeswitch import PipeSwitch
from ringhil.emulator.host.switching.policy import SwitchPolicy
from ringhil.emulator.host.switching.resident import Resident
from ringhil.emulator.host.switching.stop_start import StopStart

SWITCH_POLICIES: dict[str, type[SwitchPolicy]] = {
    "pipelined": Pipelined,
    "pipeswitch": PipeSwitch,
    "stop_start": StopStart,
    "resident": Resident,
}
