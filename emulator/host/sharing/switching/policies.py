"""The policies by their names in a file."""

from ringhil.emulator.host.sharing.switching.pipelined import Pipelined
from ringhil.emulator.host.sharing.switching.pipeswitch import PipeSwitch
from ringhil.emulator.host.sharing.switching.policy import SwitchPolicy
from ringhil.emulator.host.sharing.switching.resident import Resident
from ringhil.emulator.host.sharing.switching.stop_start import StopStart

SWITCH_POLICIES: dict[str, type[SwitchPolicy]] = {
    "pipelined": Pipelined,
    "pipeswitch": PipeSwitch,
    "stop_start": StopStart,
    "resident": Resident,
}
