"""The GPUs of an emulated server, as devices of a PCI bus that a model of it has."""

from collections.abc import Iterable

from ringhil.emulator.errors import RinghilError, printable
from ringhil.emulator.lending.attachment import LendableGpu
from ringhil.emulator.lending.pci import PciAddress
from ringhil.emulator.scenario import Scenario

_FIRST_BUS = 0x10
_SLOTS = 32
_FUNCTIONS = 2  # registers; memory
_KIB = 1024
_PAGE = 1024  # KiB, where no file says otherwise
_CYCLE = 1000  # nanoseconds, the same
# Those of NVIDIA's for the types that there are; a generic one has an id that is for tests.
_PCI_IDS = {"T4": "10de:1eb8", "V100": "10de:1db6", "A100": "10de:20f1", "H100": "10de:2331", "H200": "10de:2335"}
_GENERIC = "1234:11e8"


class SimGroupError(RinghilError, ValueError):
    """An IOMMU group of GPUs that aren't there, or are in another one."""


def sim_gpus(scenario: Scenario, together: Iterable[tuple[str, ...]] = ()) -> list[LendableGpu]:
    """All, in the order of the file, each in an IOMMU group of its own but for those that are `together` in one. Raises
    SimGroupError."""
    memory = scenario.server.settings.device_memory * _KIB
    memory *= scenario.sharing.page if scenario.sharing is not None else _PAGE
    kinds = {f"{card.name}.{gpu}": kind for card in scenario.server.cards for gpu, kind in enumerate(card.types)}
    groups = {name: str(number) for number, name in enumerate(kinds)}
    seen = set[str]()
    for names in together:
        for name in names:
            if name not in kinds or name in seen:
                problem = "is in two groups" if name in seen else "there is no such GPU"
                raise SimGroupError(f"--group: {printable(name[:40])}: {problem}; there are {', '.join(kinds)}")
            seen.add(name)
            groups[name] = groups[names[0]]
    return [
        LendableGpu(
            name,
            tuple(PciAddress(0, _FIRST_BUS + place // _SLOTS, place % _SLOTS, each) for each in range(_FUNCTIONS)),
            groups[name],
            kind,
            memory,
            _PCI_IDS.get(kind, _GENERIC),
        )
        for place, (name, kind) in enumerate(kinds.items())
    ]


def cycle_of(scenario: Scenario) -> float:
    """Seconds that a cycle of its run stands for."""
    nanoseconds = scenario.sharing.cycle if scenario.sharing is not None else _CYCLE
    return nanoseconds / 10**9
