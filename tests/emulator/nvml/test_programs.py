"""Programs that ask NVML, unmodified, see the emulated GPUs; in an application, what it was given."""

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.command import ringhil

from .served import HELD, MIB, TEXT, Monitored


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(package) is None, reason=f"{package} isn't installed")


WHAT_IT_SEES = """
def bus_addresses(pci):
    short = f"{pci.bus:x}:{pci.device:x}"
    whole = f"{pci.domain:x}:{short}"
    return pci.busId, pci.busIdLegacy, whole, f"{whole}.0", whole if pci.domain else short
n.nvmlInit()
seen = []
for i in range(n.nvmlDeviceGetCount()):
    d = n.nvmlDeviceGetHandleByIndex(i)
    m, v2 = n.nvmlDeviceGetMemoryInfo(d), n.nvmlDeviceGetMemoryInfo(d, version=n.nvmlMemory_v2)
    assert (m.total, m.free, m.used, 0) == (v2.total, v2.free, v2.used, v2.reserved)
    for again in (n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(d)),
                  n.nvmlDeviceGetHandleBySerial(n.nvmlDeviceGetSerial(d)),
                  *(n.nvmlDeviceGetHandleByPciBusId(bus) for bus in bus_addresses(n.nvmlDeviceGetPciInfo(d)))):
        assert n.nvmlDeviceGetIndex(again) == i
    p = [[x.pid, x.usedGpuMemory, n.nvmlSystemGetProcessName(x.pid)] for x in n.nvmlDeviceGetComputeRunningProcesses(d)]
    assert p == [[x.pid, x.usedGpuMemory, n.nvmlSystemGetProcessName(x.pid)]
                 for x in n.nvmlDeviceGetComputeRunningProcesses_v2(d)]
    busy = n.nvmlDeviceGetUtilizationRates(d)
    samples = n.nvmlDeviceGetProcessUtilization(d, 0) if p else []
    shares = [x.smUtil for x in samples]
    for x in samples:
        assert n.nvmlDeviceGetProcessUtilization(d, x.timeStamp - 1)
        try:
            later = n.nvmlDeviceGetProcessUtilization(d, x.timeStamp)
            assert later[0].timeStamp > x.timeStamp, "there was another one meanwhile"
        except n.NVMLError as error:
            assert error.value == n.NVML_ERROR_NOT_FOUND
    seen.append([n.nvmlDeviceGetName(d), n.nvmlDeviceGetSerial(d), m.total, m.free, m.used, p, busy.gpu, shares])
print(json.dumps(seen))
"""
SERIALS = ["a.0", "a.1", "a.2", "b.0", "b.1", "b.2"]


@needs("pynvml")
def test_outside_of_applications_a_program_sees_all_gpus(monitored: Monitored) -> None:
    seen = monitored.python(WHAT_IT_SEES)
    assert [gpu[1] for gpu in seen] == SERIALS
    whole = 22528 * MIB
    for name, serial, *rest in seen:
        if serial != "b.1":
            assert (name, rest) == ("ringhil generic", [whole, whole, 0, [], 0, []])
    name, _, total, free, used, processes, busy, shares = seen[4]
    assert (name, total, used, free) == ("ringhil H200", whole, sum(HELD.values()) * MIB, whole - used)
    assert [(memory, called) for _, memory, called in processes] == [(HELD[n] * MIB, n) for n in HELD]
    # One works half of its time when it is alone, the other a tenth, and they are in each other's way. Samples of
    # different times differ by a launch, of 2,000 and of 1,000 cycles: 6 and 3 percent of 33,333.
    assert 40 <= shares[0] <= 50
    assert 8 <= shares[1] <= 13
    assert sum(shares) - 3 <= busy <= sum(shares) + 12  # switches are nobody's


@needs("pynvml")
def test_in_an_application_a_program_sees_what_that_was_given(monitored: Monitored) -> None:
    """6 GB of 22, and nobody else: the others may hold what they like."""
    (gpu,) = monitored.python(WHAT_IT_SEES, name="one")
    _, serial, total, free, used, ((pid, memory, called),), busy, (share,) = gpu
    assert (serial, total, free, used) == ("b.1", 6144 * MIB, (6144 - HELD["one"]) * MIB, HELD["one"] * MIB)
    assert (memory, called) == (HELD["one"] * MIB, "one")
    assert pid != os.getpid()
    assert 40 <= busy <= 50, "of the same time but for what passes between two questions"
    assert 40 <= share <= 50
    ((_, _, total, _, used, ((_, memory, called),), busy, _),) = monitored.python(WHAT_IT_SEES, name="two")
    assert (total, used, memory, called) == (4096 * MIB, *[HELD["two"] * MIB] * 2, "two")
    assert 8 <= busy <= 13


@needs("pynvml")
def test_the_process_of_an_application_is_the_program_that_is_in_it(monitored: Monitored) -> None:
    code = """
n.nvmlInit()
(p,) = n.nvmlDeviceGetComputeRunningProcesses(n.nvmlDeviceGetHandleByIndex(0))
print(json.dumps([p.pid, os.getpid()]))
"""
    shown, own = monitored.python(code, name="one")
    assert shown == own


@needs("pynvml")
def test_who_came_before_stands_for_its_application_again_when_the_last_one_has_ended(monitored: Monitored) -> None:
    inner = monitored.command(sys.executable, "-c", "import os; print(os.getpid())", name="two")
    code = f"""
import subprocess
n.nvmlInit()
def shown():
    return [p.pid for p in n.nvmlDeviceGetComputeRunningProcesses(n.nvmlDeviceGetHandleByIndex(0))]
before = shown()
other = int(subprocess.run({inner!r}, capture_output=True, text=True, check=True).stdout)
print(json.dumps([before, shown(), os.getpid(), other]))
"""
    before, after, own, other = monitored.python(code, name="two")
    assert before == after == [own] != [other]


@needs("pynvml")
def test_a_place_in_memory_for_something_else_is_not_written_to(monitored: Monitored) -> None:
    code = """
import ctypes
n.nvmlInit()
lib, gpu = ctypes.CDLL("libnvidia-ml.so.1"), n.nvmlDeviceGetHandleByIndex(0)
found = []
for version in (0, 1, n.nvmlMemory_v2 - 8, n.nvmlMemory_v2 + (1 << 24), n.nvmlMemory_v2):
    memory = n.c_nvmlMemory_v2_t(version=version, total=7)
    found.append([lib.nvmlDeviceGetMemoryInfo_v2(gpu, ctypes.byref(memory)), memory.total >> 20])
print(json.dumps(found))
"""
    assert monitored.python(code) == [[25, 0]] * 4 + [[0, 22528]]


@needs("pynvml")
def test_what_is_not_modelled_is_said_to_be_not_supported(monitored: Monitored) -> None:
    code = """
from functools import partial
n.nvmlInit()
d = n.nvmlDeviceGetHandleByIndex(4)
calls = [(n.nvmlDeviceGetTemperatureThreshold, 0), (n.nvmlDeviceGetFanSpeed,),
         (n.nvmlDeviceGetPcieThroughput, 0), (n.nvmlDeviceGetPersistenceMode,),
         (n.nvmlDeviceGetClockInfo, 0), (n.nvmlDeviceGetEccMode,)]
found = []
for call, *more in calls:
    try:
        found.append(call(d, *more))
    except n.NVMLError as error:
        found.append(str(error))
for wrong in (lambda: n.nvmlDeviceGetHandleByIndex(6), lambda: n.nvmlDeviceGetName(None),
              lambda: n.nvmlDeviceGetHandleByUUID("GPU-0"), lambda: n.nvmlDeviceGetHandleByUUID("x" * 4000),
              *(partial(n.nvmlDeviceGetHandleByPciBusId, each) for each in ("9:9.0", "0", "1:02:00.0.0", "x:00.0")),
              lambda: n.nvmlSystemGetProcessName(1)):
    try:
        found.append(wrong())
    except n.NVMLError as error:
        found.append(str(error))
n.nvmlShutdown()
try:
    n.nvmlDeviceGetCount()
except n.NVMLError as error:
    found.append(str(error))
print(json.dumps(found))
"""
    wrong = ["Invalid Argument", "Invalid Argument", "Not Found", "Invalid Argument"]
    wrong += ["Not Found", *["Invalid Argument"] * 3, "Not Found"]
    assert monitored.python(code) == ["Not Supported"] * 6 + wrong + ["Uninitialized"]


@pytest.mark.rest
@needs("gpustat")
def test_gpustat_shows_them(monitored: Monitored) -> None:
    document = json.loads(monitored.run(sys.executable, "-m", "gpustat", "--json").stdout)
    assert [gpu["memory.used"] for gpu in document["gpus"]] == [0, 0, 0, 0, sum(HELD.values()), 0]
    done = monitored.run(sys.executable, "-m", "gpustat", "--no-color", "--no-header", name="one")
    assert (done.returncode, done.stderr) == (0, "")
    assert f" {HELD['one']} /  6144 MB | " in done.stdout
    assert f"({HELD['one']}M)" in done.stdout
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.rest
@needs("nvitop")
def test_nvitop_shows_them(monitored: Monitored) -> None:
    done = monitored.run(sys.executable, "-m", "nvitop", "--once")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("ringhil generic") == 5
    assert "9215MiB / 22.00GiB" in done.stdout
    assert [f"{held}MiB" in done.stdout for held in HELD.values()] == [True, True]
    done = monitored.run(sys.executable, "-m", "nvitop", "--once", name="two")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{HELD['two']}MiB / 4096MiB" in done.stdout
    assert "generic" not in done.stdout


def test_settings_for_a_shell(monitored: Monitored) -> None:
    done = subprocess.run(monitored.command()[:-1], capture_output=True, text=True, check=True)
    shell = subprocess.run(["sh", "-c", f"{done.stdout}\necho $RINGHIL_NVML; ls $LD_LIBRARY_PATH"], capture_output=True)
    socket, *files = shell.stdout.decode().split()
    assert socket == str(monitored.socket)
    assert "libnvidia-ml.so.1" in files


ENERGY = """
n.nvmlInit()
def told(ask):
    try:
        return ask(gpu)
    except n.NVMLError_NotSupported:
        return None
asked = n.nvmlDeviceGetPowerUsage, n.nvmlDeviceGetPerformanceState, n.nvmlDeviceGetTotalEnergyConsumption
found = []
for gpu in map(n.nvmlDeviceGetHandleByIndex, range(n.nvmlDeviceGetCount())):
    found.append([told(ask) for ask in asked])
print(json.dumps(found))
"""


@needs("pynvml")
def test_what_a_gpu_takes_is_told_to_those_who_see_all_of_it(monitored: Monitored) -> None:
    found = monitored.python(ENERGY)
    power, state, energy = found[4]
    while not energy:  # a millijoule takes some 11,000 cycles of it
        power, state, energy = monitored.python(ENERGY)[4]
    assert power < 0.4 * 700_000  # a cycle is a microsecond, and 200,000 of them take a second
    assert state in (0, 8)
    assert found[0] == [None, 8, None]
    ((mine, state, taken),) = monitored.python(ENERGY, name="one")
    assert 0 < mine < power + 20_000
    assert state is None
    assert 0 < taken < monitored.python(ENERGY)[4][2]


FIELDS = """
n.nvmlInit()
gpu = n.nvmlDeviceGetHandleByIndex(4)
asked = [n.NVML_FI_DEV_ENERGY, n.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, n.NVML_FI_DEV_POWER_AVERAGE,
         n.NVML_FI_DEV_POWER_INSTANT, n.NVML_FI_DEV_POWER_MAX_LIMIT, n.NVML_FI_DEV_MEMORY_TEMP,
         (n.NVML_FI_DEV_POWER_AVERAGE, n.NVML_POWER_SCOPE_MEMORY)]
found = [[x.nvmlReturn, x.value.uiVal, x.timestamp] for x in n.nvmlDeviceGetFieldValues(gpu, asked)]
others = n.nvmlDeviceGetEnforcedPowerLimit(gpu), n.nvmlDeviceGetTemperature(gpu, 0), n.nvmlDeviceGetComputeMode(gpu)
kinds = [n.nvmlDeviceGetArchitecture(n.nvmlDeviceGetHandleByIndex(i)) for i in (4, 0)]
print(json.dumps([found, others, kinds]))
"""


@needs("pynvml")
def test_fields_are_told_one_by_one_and_what_kind_of_gpu_it_is(monitored: Monitored) -> None:
    found, (limit, temperature, mode), kinds = monitored.python(FIELDS)
    energy, again, average, instant, most, *_ = found
    assert 0 < energy[1] <= again[1] <= energy[1] + 10_000
    assert [each[0] for each in found] == [0, 0, 0, 0, 0, 3, 3]  # 3: not supported
    assert 0 < average[1] < most[1]
    assert 0 < instant[1] < most[1]
    assert 0 <= again[2] - energy[2] < 1_000_000
    assert limit == most[1] == 700_000
    assert 30 <= temperature < 79
    assert mode == 0  # several processes at a time
    assert kinds == [9, 0xFFFFFFFF]  # Hopper, and none that NVML knows


@needs("pynvml")
def test_each_function_that_the_bindings_know_is_there(monitored: Monitored) -> None:
    """Whoever calls one that isn't answered is told so."""
    code = """
import ctypes, re
lib, found = ctypes.CDLL("libnvidia-ml.so.1"), re.findall(r'FunctionPointer\\("(nvml\\w+)"', open(n.__file__).read())
print(json.dumps([len(set(found)), [name for name in found if not hasattr(lib, name)]]))
"""
    known, missing = monitored.python(code)
    assert known > 200
    assert missing == []


LATE = """
import time
n.nvmlInit()
gpu = n.nvmlDeviceGetHandleByIndex(4)
n.nvmlDeviceGetPowerUsage(gpu)
time.sleep(1.2)  # what is averaged is behind the start
began, before, powers = time.monotonic(), n.nvmlDeviceGetTotalEnergyConsumption(gpu), []
while time.monotonic() < began + 8:  # each power is that of the second before: longer than that
    time.sleep(0.02)
    powers.append(n.nvmlDeviceGetPowerUsage(gpu))
energy, took = n.nvmlDeviceGetTotalEnergyConsumption(gpu) - before, time.monotonic() - began
print(json.dumps([energy / took, sum(powers) / len(powers)]))
"""


@needs("pynvml")
@pytest.mark.slow(part="benches")  # the machine's time is what it is about
def test_power_and_energy_agree_when_the_server_is_behind_and_it_says_so(tmp_path: Path) -> None:
    """A clock that nothing can keep, and a machine that does something else half of the time."""
    with Monitored(tmp_path, TEXT, "--clock", "500000000") as served:
        with served.halting(0.1):
            measured, told = served.python(LATE)
        assert told == pytest.approx(measured, rel=0.25)
        done = json.loads(ringhil("card", served.ports["b"][0], "info", "--json").stdout)
        assert 0 < done["kept"] < 0.1
        assert served.end(signal.SIGTERM)[0] == 0
        behind = [json.loads(line)["behind"] for line in served.said.splitlines()]
        assert behind == sorted(behind)
        assert behind[0] >= 1
        assert behind[-1] > 2
