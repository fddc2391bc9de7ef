"""What the registers of all nodes hold, and what each GPU's firmware is told, when a server is powered up."""

from dataclasses import asdict

from ringhil.emulator.engine.engine import Engine
from ringhil.emulator.scenario import Server, Settings, power_of
from ringhil.emulator.server.times import ATTEMPTS, Times
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.boot import Boot
from ringhil.firmware.census import CensusConfig
from ringhil.firmware.election import GroupConfig
from ringhil.firmware.gpu import CrossingConfig
from ringhil.protocol import registers, wire
from ringhil.protocol.wire import Port, Role

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
    """Write the registers that differ from what they hold after reset."""
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


class BootPlan:
    """What each GPU's firmware is told when it boots: its groups, its times, its way to other cards."""

    def __init__(self, wiring: Wiring, settings: Settings, times: list[Times], seed: int) -> None:
        self._wiring, self._settings, self._times, self._seed = wiring, settings, times, seed

    def draw_jitter(self, seed: int) -> None:
        """What boots from now on has the jitter of another seed."""
        self._seed = seed

    def boot(self, card: int, gpu: int, boots: int, memory: int) -> Boot:
        """For a GPU's `boots`-th boot; `memory` is what its switch has kept."""
        described = self._wiring.cards[card]
        crossing = self._wiring.crossings.get(self._wiring.cell(card, gpu))
        hop = None if crossing is None else self._wiring.hops[card, crossing.peer_card]
        return Boot(
            card=card,
            gpu=gpu,
            gpus=described.gpus,
            boots=boots,
            memory=memory,
            seed=self._seed,
            census=self._census(card, gpu),
            entry=self.entry_group(card, gpu, boots) if gpu in described.host_links else None,
            boundary=None if crossing is None else self.boundary_group(card, gpu, boots),
            asks=crossing is not None and crossing.leads,
            crossing=CrossingConfig(crossing.peer_card, hop.cards, hop.from_above) if crossing and hop else None,
            behind={other: h.cards for (own, other), h in self._wiring.hops.items() if own == card},
        )

    def _census(self, card: int, gpu: int) -> CensusConfig:
        described, s = self._wiring.cards[card], self._settings
        return CensusConfig(
            card=card,
            node=gpu,
            size=described.gpus,
            epoch=0,  # the election's
            period=s.census_period,
            timeout=self._times[card].timeout,
            records=s.records != "never",
            refresh=self._times[card].refresh,
            attempts=ATTEMPTS,
            entry_capable=gpu in described.host_links,
            weight=described.weights[gpu],
            gpu_type=wire.GpuType.parse(described.types[gpu]).code,
        )

    def entry_group(self, card: int, gpu: int, boots: int) -> GroupConfig:
        """R10: the GPUs of a card with a link to the CPU."""
        members = self._wiring.cards[card].host_links
        return self._group(Role.ENTRY, card, gpu, members, boots, uplink=Port.CPU, far=(card, gpu))

    def boundary_group(self, card: int, gpu: int, boots: int) -> GroupConfig:
        """R9: the GPUs of a card that are wired to another card's."""
        crossing = self._wiring.crossings[self._wiring.cell(card, gpu)]
        far = (crossing.peer_card, crossing.peer_gpu)
        return self._group(Role.BOUNDARY, card, gpu, crossing.members, boots, uplink=Port.BOUNDARY, far=far)

    def _group(
        self,
        role: Role,
        card: int,
        gpu: int,
        members: tuple[int, ...],
        boots: int,
        *,
        uplink: Port,
        far: tuple[int, int],
    ) -> GroupConfig:
        times = self._times[card].election
        if role is Role.BOUNDARY:
            times = max(times, self._times[far[0]].election, key=lambda t: t.interval)
        return GroupConfig(
            role=role,
            card=card,
            me=gpu,
            rank=members.index(gpu),
            members=members,
            ring_size=self._wiring.cards[card].gpus,
            uplink=uplink,
            uplink_card=far[0],
            uplink_home=far[1],
            **asdict(times),
            lease=times.lease,
            boots=boots,
            seed=self._seed,
        )
