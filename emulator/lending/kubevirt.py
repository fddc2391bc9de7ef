"""What KubeVirt's configuration reads to let virtual machines have GPUs: `permittedHostDevices`.

It tells GPUs apart by vendor and device id alone: a name must have all GPUs that share these ids.
"""

from collections.abc import Mapping, Sequence

from ringhil.emulator.errors import RinghilError

PREFIX = "ringhil"


class KubevirtError(RinghilError, ValueError):
    """Names that KubeVirt can't tell apart."""


def permitted_host_devices(ids: Mapping[str, str], mappings: Mapping[str, Sequence[str]]) -> str:
    """YAML. `ids`: by GPU, such as `10de:1eb8`; `mappings`: GPUs by name. GPUs without a name have their ids for one.
    Raises KubevirtError."""
    selectors: dict[str, str] = {}  # by ids, the name
    for name, gpus in mappings.items():
        for each in sorted({ids[gpu] for gpu in gpus}):
            others = sorted(gpu for gpu, found in ids.items() if found == each and gpu not in gpus)
            if others:
                why = f"KubeVirt tells GPUs apart by vendor and device, and {', '.join(others)} has {each} as well"
                raise KubevirtError(f"mapping {name}: {why}; put all of them in {name}, or leave the mapping out")
            if each in selectors:
                raise KubevirtError(f"mappings {selectors[each]} and {name}: both have {each}; KubeVirt takes one")
            selectors[each] = name
    for each in ids.values():
        selectors.setdefault(each, each.replace(":", "-"))
    lines = ["permittedHostDevices:", "  pciHostDevices:"]
    for each, name in selectors.items():
        lines += [f'  - pciVendorSelector: "{each.upper()}"', f'    resourceName: "{PREFIX}/{name}"']
    return "\n".join(lines)
