"""A node's register port: named registers, one access a cycle."""

from cocotb.triggers import Lock, RisingEdge
from cocotb.utils import get_sim_time

from ringhil.emulator.testbench.arguments import one_of, within
from ringhil.emulator.testbench.bus import Pin, Pins
from ringhil.protocol import registers

_STATUS = registers.ADDRESS["status"]


class RegisterPort:
    """The firmware's access to a node's registers.

    Reads and writes by name (see the register map) or by word address, one after the other.

    Between accesses the address is that of `status`, so that a bench may watch it (`rdata`).
    """

    def __init__(self, pins: Pins, clock: Pin) -> None:
        self._edge = RisingEdge(clock.handle)
        self._we, self._addr = pins.pin("reg_we_i", 1), pins.pin("reg_addr_i", 8)
        self._wdata, self.rdata = pins.pin("reg_wdata_i", 32), pins.pin("reg_rdata_o", 32)
        self._lock, self._log = Lock(), pins.log("registers")
        self._ended = -1.0  # simulated time at which the last access ended
        self._we.write(0)
        self._addr.write(_STATUS)
        self._wdata.write(0)

    async def write(self, register: str | int, value: int) -> None:
        """Holds from the cycle after this one's end on. Raises KitError."""
        address = _address(register)
        within("value", value, 0, 0xFFFFFFFF)
        async with self._lock:
            self._log.debug("write %s = 0x%X", register, value)
            self._addr.write(address)
            self._wdata.write(value)
            self._we.write(1)
            await self._edge
            self._ended = get_sim_time("step")
            self._we.write(0)
            self._addr.write(_STATUS)

    async def read(self, register: str | int) -> int:
        """The value in the cycle that ends at the next clock edge. Raises KitError."""
        address = _address(register)
        async with self._lock:
            self._addr.write(address)
            await self._edge
            self._ended = get_sim_time("step")
            value = self.rdata.read()
            self._log.debug("read %s: 0x%X", register, value)
            self._addr.write(_STATUS)
            return value

    @property
    def watching(self) -> bool:
        """`rdata` shows `status`, as it was in the cycle that ends now."""
        return not self._lock.locked() and self._ended != get_sim_time("step")


def _address(register: str | int) -> int:
    if isinstance(register, int):
        return within("register", register, 0, 255)
    return registers.ADDRESS[one_of("register", register, registers.ADDRESS)]
