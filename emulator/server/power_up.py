"""What the registers of all nodes hold when a server is powered up, where that isn't what they hold after reset."""

from dataclasses import asdict

from ringhil.emulator.engine.engine import Engine
from ringhil.emulator.scenario import Server, power_of
from ringhil.emulator.server.times import Times
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol import registers, wire

_FROM_SETTINGS = (
    "watchdog",
    "heartbeat",
    "allowance",
    "link_restore",
    "gpu_restore",
    "compute_setup",
    "compute_per_flit",
    "device_memory",
    "context_switch",
    "default_slice",
)


def configure(engine: Engine, wiring: Wiring, server: Server, times: list[Times]) -> None:
    """Write them."""
    settings = server.settings
    resets = {register.name: register.reset for register in registers.REGISTERS}
    for number, card in enumerate(wiring.cards):
        for gpu in range(card.gpus):
            cell = wiring.cell(number, gpu)
            values = {name: getattr(settings, name) for name in _FROM_SETTINGS}
            values |= asdict(power_of(server.power, card.types[gpu]))
            values["gpu_type"] = wire.GpuType.parse(card.types[gpu]).code
            values["weight"] = card.weights[gpu]
            values["allowance_period"] = times[number].allowance_period
            values["allowance"] = max(settings.allowance, _allowance(wiring, times, number, gpu))
            crossing = wiring.crossings.get(cell)
            if crossing is not None:
                values["boundary_peer"] = crossing.peer_card
            for name, value in values.items():
                if value != resets[name]:
                    engine.poke(cell, name, value)


def _allowance(wiring: Wiring, times: list[Times], card: int, gpu: int) -> int:
    """Control frames that a GPU needs for its part in censuses and elections, in one allowance period."""
    hosts, crossing = wiring.cards[card].host_links, wiring.crossings.get(wiring.cell(card, gpu))
    width = 0 if crossing is None else len(crossing.members)
    return times[card].allowance(len(hosts) if gpu in hosts else 0, width)
