"""What KubeVirt reads of GPUs that can be lent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from ringhil.emulator.lending.kubevirt import KubevirtError, permitted_host_devices

_IDS = st.dictionaries(
    st.integers(0, 9).map(lambda gpu: f"a.{gpu}"), st.sampled_from(["10de:1eb8", "10de:2335", "1234:11e8"]), min_size=1
)


@given(_IDS, st.data())
def test_each_kind_of_gpu_has_one_selector_and_a_name_means_its_gpus_only(
    ids: dict[str, str], data: st.DataObject
) -> None:
    gpus = data.draw(st.sets(st.sampled_from(sorted(ids)), min_size=1))
    kinds = {ids[gpu] for gpu in gpus}
    beside = {gpu for gpu, found in ids.items() if found in kinds} - gpus
    if beside:
        with pytest.raises(KubevirtError, match="tells GPUs apart by vendor and device"):
            permitted_host_devices(ids, {"video": sorted(gpus)})
        return
    found = YAML(typ="safe").load(permitted_host_devices(ids, {"video": sorted(gpus)}))
    devices = found["permittedHostDevices"]["pciHostDevices"]
    assert sorted(each["pciVendorSelector"] for each in devices) == sorted({each.upper() for each in ids.values()})
    named = {each["pciVendorSelector"].lower() for each in devices if each["resourceName"] == "ringhil/video"}
    assert named == kinds


def test_two_names_of_the_same_gpus_are_refused() -> None:
    with pytest.raises(KubevirtError, match="both have 10de:1eb8"):
        permitted_host_devices({"a.0": "10de:1eb8"}, {"video": ["a.0"], "audio": ["a.0"]})
