"""`nvidia-smi` for programs that run it instead of asking NVML: the same answers, from the same socket.

Started by a script that `ringhil nvml` puts on the PATH. It has what others read: the list of GPUs (`-L`), the table,
values of GPUs and processes as CSV, and `-q -x` in the shape of the public schema. What isn't modelled is `[N/A]`.
"""

import argparse
import difflib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NoReturn
from xml.sax.saxutils import escape

from ringhil.emulator.documents import one_line
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.nvml.client import NvmlClient
from ringhil.emulator.nvml.messages import (
    VERSION,
    GpuFacts,
    Meter,
    NvmlAnswer,
    NvmlTopic,
    ProcessUse,
    Question,
    SocketError,
    Status,
    facts_of,
    text_of,
    uses_of,
    values_of,
)

_MIB = 1 << 20
_NONE = "[N/A]"
_LEAST, _MOST = 0.1, 86_400  # seconds of --loop
_NO_ARGUMENT, _NOT_FOUND, _NO_DRIVER, _LOST, _OTHER = 2, 6, 9, 15, 255  # exit codes, as those of NVML


class SmiError(RinghilError):
    """One line, and the exit code."""

    def __init__(self, text: str, code: int = _NO_ARGUMENT) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class _Gpu:
    """All that is told of one; None: not supported. `index`: its number for who asks; `number`: as answers have it.
    Bytes, percent, milliwatt, degrees Celsius."""

    index: int
    number: int
    facts: GpuFacts
    memory: tuple[int, ...]
    busy: int | None
    meters: Mapping[Meter, int | None]
    processes: Sequence[tuple[ProcessUse, str]]

    @property
    def bus(self) -> str:
        return f"{self.facts.domain:08X}:{self.facts.bus:02X}:{self.facts.device:02X}.0"

    def watts(self, meter: Meter) -> str | None:
        value = self.meters[meter]
        return None if value is None else f"{value / 1000:.2f}"


@dataclass(frozen=True)
class _Field:
    """Of `--query-*`. `read`: its value, None: not supported; `unit`: behind it."""

    read: Callable[[_Gpu], str | None]
    unit: str = ""


def _mib(number: int) -> Callable[[_Gpu], str]:
    return lambda gpu: str(gpu.memory[number] // _MIB)


def _said(value: object | None) -> str | None:
    return None if value is None else str(value)


def _state(gpu: _Gpu) -> str | None:
    state = gpu.meters[Meter.PERFORMANCE]
    return None if state is None else f"P{state}"


_WATT = "W"
_FIELDS = {
    "index": _Field(lambda gpu: str(gpu.index)),
    "name": _Field(lambda gpu: gpu.facts.name),
    "uuid": _Field(lambda gpu: gpu.facts.uuid),
    "serial": _Field(lambda gpu: gpu.facts.serial),
    "pci.bus_id": _Field(lambda gpu: gpu.bus),
    "pci.domain": _Field(lambda gpu: f"0x{gpu.facts.domain:04X}"),
    "pci.bus": _Field(lambda gpu: f"0x{gpu.facts.bus:02X}"),
    "pci.device": _Field(lambda gpu: f"0x{gpu.facts.device:02X}"),
    "memory.total": _Field(_mib(0), "MiB"),
    "memory.free": _Field(_mib(1), "MiB"),
    "memory.used": _Field(_mib(2), "MiB"),
    "memory.reserved": _Field(_mib(3), "MiB"),
    "utilization.gpu": _Field(lambda gpu: _said(gpu.busy), "%"),
    "utilization.memory": _Field(lambda gpu: None if gpu.busy is None else "0", "%"),
    "temperature.gpu": _Field(lambda gpu: _said(gpu.meters[Meter.TEMPERATURE])),
    "power.draw": _Field(lambda gpu: gpu.watts(Meter.POWER), _WATT),
    "power.draw.average": _Field(lambda gpu: gpu.watts(Meter.POWER), _WATT),
    "power.draw.instant": _Field(lambda gpu: gpu.watts(Meter.POWER_NOW), _WATT),
    "power.limit": _Field(lambda gpu: gpu.watts(Meter.POWER_LIMIT), _WATT),
    "enforced.power.limit": _Field(lambda gpu: gpu.watts(Meter.POWER_LIMIT), _WATT),
    "power.default_limit": _Field(lambda gpu: gpu.watts(Meter.POWER_LIMIT), _WATT),
    "power.max_limit": _Field(lambda gpu: gpu.watts(Meter.POWER_LIMIT), _WATT),
    "pstate": _Field(_state),
    "compute_mode": _Field(lambda gpu: "Default"),
}
_ALSO = {"gpu_name": "name", "gpu_uuid": "uuid", "gpu_serial": "serial", "gpu_bus_id": "pci.bus_id"}
_COMMON = ("timestamp", "driver_version", "count")
# Others that the tool is asked for, which nothing here has.
_NOTHING_OF = {
    "accounting": ("buffer_size", "mode"),
    "addressing_mode": ("",),
    "clocks": (
        "applications.graphics",
        "applications.memory",
        "current.graphics",
        "current.memory",
        "current.sm",
        "current.video",
        "gr",
        "max.gr",
        "max.graphics",
        "max.mem",
        "max.memory",
        "max.sm",
        "mem",
        "sm",
        "video",
    ),
    "clocks_event_reasons": ("active",),
    "clocks_throttle_reasons": ("active",),
    "compute_cap": ("",),
    "display_active": ("",),
    "display_attached": ("",),
    "display_mode": ("",),
    "driver_model": ("current", "pending"),
    "ecc": (
        "errors.corrected.aggregate.total",
        "errors.corrected.volatile.total",
        "errors.uncorrected.aggregate.total",
        "errors.uncorrected.volatile.total",
        "mode.current",
        "mode.pending",
    ),
    "encoder": ("stats.averageFps", "stats.averageLatency", "stats.sessionCount"),
    "fan": ("speed",),
    "gom": ("current", "pending"),
    "gsp": ("mode.current",),
    "inforom": ("img", "oem"),
    "mig": ("mode.current", "mode.pending"),
    "pci": ("device_id", "sub_device_id"),
    "pcie": ("link.gen.current", "link.gen.gpucurrent", "link.gen.max", "link.width.current", "link.width.max"),
    "persistence_mode": ("",),
    "power": ("management", "min_limit"),
    "protected_memory": ("total", "used"),
    "retired_pages": ("pending",),
    "temperature": ("gpu.tlimit", "memory"),
    "utilization": ("decoder", "encoder", "jpeg", "ofa"),
    "vbios_version": ("",),
}
_NOTHING = frozenset(f"{of}.{each}".rstrip(".") for of, names in _NOTHING_OF.items() for each in names)
_OF_PROCESS = ("timestamp", "pid", "process_name", "used_memory")
_PROCESS_ALSO = _ALSO | {"name": "process_name", "used_gpu_memory": "used_memory"}


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if _LEAST <= float(text) <= _MOST:
            return float(text)
    raise argparse.ArgumentTypeError(f"found {text[:80]!r}; allowed are {_LEAST} .. {_MOST} seconds")


class _Words(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise SmiError(message)


def _words() -> argparse.ArgumentParser:
    parser = _Words(
        "nvidia-smi",
        description="Emulated GPUs, as nvidia-smi shows GPUs. Without options: a table.",
        allow_abbrev=False,
    )
    parser.add_argument("-L", "--list-gpus", action="store_true", help="a line for each GPU")
    parser.add_argument("-i", "--id", metavar="GPUS", help="only these: indices, UUIDs, serial numbers, bus addresses")
    parser.add_argument("-q", "--query", action="store_true", help="all of each GPU; with -x")
    parser.add_argument("-x", "--xml-format", action="store_true", help="as XML")
    parser.add_argument("--query-gpu", metavar="FIELDS", help=f"values of GPUs: {', '.join((*_COMMON, *_FIELDS))}")
    parser.add_argument("--query-compute-apps", metavar="FIELDS", help=f"of processes: {', '.join(_OF_PROCESS)}")
    parser.add_argument("--format", metavar="FORMAT", help="csv[,noheader][,nounits]")
    parser.add_argument("-l", "--loop", metavar="SECONDS", type=_seconds, help="again and again")
    return parser


def main(words: Sequence[str]) -> int:
    """Exit code: 0, or NVML's number of what went wrong, with a line that says it."""
    try:
        given = _words().parse_args(words)
        print_it = _wanted(given)
        client = _connected()
        while True:
            told = _Told(client, given.id)
            print("\n".join(print_it(told)), flush=True)
            if given.loop is None:
                break
            time.sleep(given.loop)
        for line in told.lost:
            print(f"nvidia-smi: {line}", file=sys.stderr)
    except SmiError as error:
        print(f"nvidia-smi: {error}", file=sys.stderr)
        return error.code
    except SocketError as error:
        print(f"nvidia-smi: {error}", file=sys.stderr)
        return _NO_DRIVER
    except (KeyboardInterrupt, BrokenPipeError):
        return 0
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still to be written would fail once more at the very end
        print(f"nvidia-smi: stdout: cannot be written: {error.strerror}", file=sys.stderr)
        return _OTHER
    except Exception as error:
        what = one_line(f"{type(error).__name__}: {error}")
        print(f"nvidia-smi: unforeseen {what}; this is a defect of ringhil: please report it", file=sys.stderr)
        return _OTHER
    return _LOST if told.lost else 0


_Printed = Callable[["_Told"], list[str]]


def _wanted(given: argparse.Namespace) -> _Printed:
    """What is to be printed. Raises SmiError before anybody is asked."""
    chosen = [given.list_gpus, given.query, given.query_gpu is not None, given.query_compute_apps is not None]
    if sum(chosen) > 1:
        raise SmiError("-L, -q, --query-gpu and --query-compute-apps: one of them is allowed")
    if given.query_gpu is not None or given.query_compute_apps is not None:
        header, units = _format(given.format)
        if given.query_gpu is not None:
            names = _names("--query-gpu", given.query_gpu, (*_COMMON, *_FIELDS), _ALSO, _NOTHING)
            return lambda told: _csv(names, header, units, [_row(told, gpu) for gpu in told.gpus])
        names = _names("--query-compute-apps", given.query_compute_apps, _OF_PROCESS, _PROCESS_ALSO)
        return lambda told: _csv(names, header, units, [r for gpu in told.gpus for r in _process_rows(told, gpu)])
    if given.format is not None:
        raise SmiError("--format: needs --query-gpu or --query-compute-apps")
    if given.query != given.xml_format:
        raise SmiError("-q: allowed is -q -x, which is XML; for people there is the table")
    return _list if given.list_gpus else _xml if given.query else _table


def _format(given: str | None) -> tuple[bool, bool]:
    """Whether there is a header, and whether values have units."""
    words = [] if given is None else [word.strip() for word in given.split(",")]
    wrong = [word for word in words if word not in ("csv", "noheader", "nounits")]
    if wrong or "csv" not in words:
        found = repr(given) if given else "nothing"
        raise SmiError(f"--format: found {found}; allowed is csv[,noheader][,nounits]")
    return "noheader" not in words, "nounits" not in words


def _names(
    option: str, given: str, known: Sequence[str], also: Mapping[str, str], nothing: frozenset[str] = frozenset()
) -> list[tuple[str, str]]:
    """As they were given, and as they are called here."""
    found = []
    for name in (word.strip() for word in given.split(",")):
        mine = name if name in known or name in nothing else also.get(name, "")
        if not mine:
            near = difflib.get_close_matches(name, (*known, *also, *nothing), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise SmiError(
                f"{option}: found {name[:80]!r}{hint}; allowed are {', '.join(known)}, and what is [N/A] here"
            )
        found.append((name, mine))
    return found


def _connected() -> NvmlClient:
    path = os.environ.get("RINGHIL_NVML")
    if not path:
        raise SmiError("RINGHIL_NVML isn't set: start the program by `ringhil nvml`", _NO_DRIVER)
    return NvmlClient(Path(path))


class _Told:
    """What the server says of the GPUs that are wanted, now; `lost`: a line for each that isn't there any more."""

    def __init__(self, client: NvmlClient, wanted: str | None) -> None:
        self._client = client
        self.version = text_of(self._ask(NvmlTopic.HELLO, number=VERSION))
        self.count = values_of(self._ask(NvmlTopic.COUNT))[0]
        self.stamp = datetime.now().astimezone()
        self.lost = list[str]()
        self.gpus = list[_Gpu]()
        for index in range(self.count):
            found = client.ask(Question(NvmlTopic.BY_INDEX, number=index))
            if found.status is Status.SUCCESS:
                self.gpus.append(self._gpu(index, found.number))
            elif wanted is None or str(index) in wanted.split(","):
                self.lost.append(f"GPU {index}: is lost")
        if wanted is not None:
            self.gpus = [self._chosen(word.strip()) for word in wanted.split(",") if not self._is_lost(word.strip())]

    def _is_lost(self, word: str) -> bool:
        return f"GPU {word}: is lost" in self.lost

    def _chosen(self, word: str) -> _Gpu:
        for gpu in self.gpus:
            if word.lower() in (str(gpu.index), gpu.facts.uuid.lower(), gpu.facts.serial.lower()):
                return gpu
        at = self._client.ask(Question(NvmlTopic.BY_BUS, text=word[:80]))  # in any of its forms
        for gpu in self.gpus if at.status is Status.SUCCESS else []:
            if gpu.number == at.number:
                return gpu
        raise SmiError(f"-i: found {word[:80]!r}; there are GPUs 0 .. {self.count - 1}", _NOT_FOUND)

    def _gpu(self, index: int, number: int) -> _Gpu:
        processes = uses_of(self._ask(NvmlTopic.PROCESSES, number))
        names = {use.pid: self._ask(NvmlTopic.PROCESS_NAME, number=use.pid) for use in processes}
        return _Gpu(
            index,
            number,
            facts_of(self._ask(NvmlTopic.GPU, number)),
            values_of(self._ask(NvmlTopic.MEMORY, number)),
            self._value(NvmlTopic.UTILISATION, number),
            {meter: self._value(NvmlTopic.METER, number, meter) for meter in Meter},
            [(use, text_of(names[use.pid]) if names[use.pid].data else _NONE) for use in processes],
        )

    def _value(self, what: NvmlTopic, gpu: int, number: int = 0) -> int | None:
        told = self._ask(what, gpu, number)
        return values_of(told)[0] if told.status is Status.SUCCESS else None

    def _ask(self, what: NvmlTopic, gpu: int = 0, number: int = 0) -> NvmlAnswer:
        told = self._client.ask(Question(what, gpu, number))
        if told.status is Status.GPU_IS_LOST:
            raise SmiError("a GPU was lost while it was asked about", _LOST)
        return told


def _row(told: _Told, gpu: _Gpu) -> dict[str, str]:
    row = {name: _with_unit(field.read(gpu), field.unit) for name, field in _FIELDS.items()}
    return {**row, "timestamp": _time(told), "driver_version": told.version, "count": str(told.count)}


def _process_rows(told: _Told, gpu: _Gpu) -> list[dict[str, str]]:
    """What it is called, and what it holds; the rest is the GPU's."""
    return [
        {**_row(told, gpu), "pid": str(use.pid), "process_name": name, "used_memory": f"{use.memory // _MIB} MiB"}
        for use, name in gpu.processes
    ]


def _time(told: _Told) -> str:
    return told.stamp.strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]


def _with_unit(value: str | None, unit: str) -> str:
    return _NONE if value is None else f"{value} {unit}".rstrip()


def _csv(names: Sequence[tuple[str, str]], header: bool, units: bool, rows: Sequence[dict[str, str]]) -> list[str]:
    """Units of values stand in the header, too; `units`: whether behind the values as well."""
    of = {name: field.unit for name, field in _FIELDS.items()} | {"used_memory": "MiB"}
    lines = [", ".join(f"{given} [{of[name]}]" if of.get(name) else given for given, name in names)] if header else []
    for row in rows:
        values = []
        for _, name in names:
            value = row.get(name, _NONE)
            unit = of.get(name)
            values.append(value.removesuffix(f" {unit}") if unit and not units else value)
        lines.append(", ".join(values))
    return lines


def _list(told: _Told) -> list[str]:
    return [f"GPU {gpu.index}: {gpu.facts.name} (UUID: {gpu.facts.uuid})" for gpu in told.gpus]


def _table(told: _Told) -> list[str]:
    rule = f"+{'-' * 39}+{'-' * 22}+{'-' * 14}+"
    lines = [
        told.stamp.strftime("%a %b %d %H:%M:%S %Y"),
        f"+{'-' * 77}+",
        f"| {'NVIDIA-SMI of ringhil':<28}{f'Driver Version: {told.version}':<28}{'CUDA Version: N/A':<20}|",
        rule,
        f"| {'GPU  Name':<38}| {'Bus-Id':<21}| {'GPU-Util':<13}|",
        f"| {'Temp  Perf  Pwr:Usage/Cap':<38}| {'Memory-Usage':<21}| {'':<13}|",
        rule.replace("-", "="),
    ]
    for gpu in told.gpus:
        temperature, state = gpu.meters[Meter.TEMPERATURE], _state(gpu) or "N/A"
        used, cap = (gpu.meters[meter] for meter in (Meter.POWER, Meter.POWER_LIMIT))
        power = "N/A" if used is None or cap is None else f"{used / 1000:.0f}W / {cap / 1000:.0f}W"
        warm = "N/A" if temperature is None else f"{temperature}C"
        memory = f"{gpu.memory[2] // _MIB}MiB / {gpu.memory[0] // _MIB}MiB"
        busy = "N/A" if gpu.busy is None else f"{gpu.busy}%"
        lines += [
            f"| {gpu.index:>3}  {gpu.facts.name:<33}| {gpu.bus:<21}| {busy:>12} |",
            f"| {warm:>4}  {state:<4}  {power:<26}| {memory:>20} | {'':<13}|",
            rule,
        ]
    lines += [
        "",
        f"+{'-' * 77}+",
        f"| {'Processes:':<76}|",
        f"| {'GPU':>3}  {'PID':>9}  {'Name':<45}{'GPU Memory':>14} |",
    ]
    for gpu in told.gpus:
        for use, name in gpu.processes:
            lines.append(f"| {gpu.index:>3}  {use.pid:>9}  {name[:44]:<45}{f'{use.memory // _MIB}MiB':>14} |")
    return [*lines, f"+{'-' * 77}+"]


_Tree = Sequence[tuple[str, "str | _Tree"]]


def _xml(told: _Told) -> list[str]:
    """In the shape of the schema nvsmi_device_v12; what it may leave out is left out."""
    lines = ['<?xml version="1.0" ?>', '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">', "<nvidia_smi_log>"]
    first: _Tree = (
        ("timestamp", told.stamp.strftime("%a %b %d %H:%M:%S %Y")),
        ("driver_version", told.version),
        ("cuda_version", "N/A"),
        ("attached_gpus", str(told.count)),
    )
    lines += _elements(first, 1)
    for gpu in told.gpus:
        lines += [f'\t<gpu id="{gpu.bus}">', *_elements(_gpu_tree(gpu), 2), "\t</gpu>"]
    return [*lines, "</nvidia_smi_log>"]


def _gpu_tree(gpu: _Gpu) -> _Tree:
    def value(name: str, unit: str = "") -> str:
        return _with_unit(_FIELDS[name].read(gpu), unit or _FIELDS[name].unit).strip("[]")

    facts, limit = gpu.facts, value("power.limit")
    return (
        ("product_name", facts.name),
        ("serial", facts.serial),
        ("uuid", facts.uuid),
        ("pci", (
            ("pci_bus", f"{facts.bus:02X}"),
            ("pci_device", f"{facts.device:02X}"),
            ("pci_domain", f"{facts.domain:04X}"),
            ("pci_bus_id", gpu.bus),
        )),
        ("fan_speed", "N/A"),
        ("performance_state", value("pstate")),
        ("fb_memory_usage", tuple((key, value(f"memory.{key}")) for key in ("total", "reserved", "used", "free"))),
        ("compute_mode", value("compute_mode")),
        ("utilization", (
            ("gpu_util", value("utilization.gpu")),
            ("memory_util", value("utilization.memory")),
            ("encoder_util", "N/A"),
            ("decoder_util", "N/A"),
        )),
        ("temperature", (("gpu_temp", value("temperature.gpu", "C")),)),
        ("gpu_power_readings", (
            ("power_state", value("pstate")),
            ("power_draw", value("power.draw")),
            ("average_power_draw", value("power.draw.average")),
            ("instant_power_draw", value("power.draw.instant")),
            ("current_power_limit", limit),
            ("default_power_limit", limit),
            ("max_power_limit", limit),
        )),
        ("clocks", tuple((f"{which}_clock", "N/A") for which in ("graphics", "sm", "mem", "video"))),
        ("max_clocks", tuple((f"{which}_clock", "N/A") for which in ("graphics", "sm", "mem", "video"))),
        ("processes", tuple(
            ("process_info", (
                ("pid", str(use.pid)),
                ("type", "C"),
                ("process_name", name),
                ("used_memory", f"{use.memory // _MIB} MiB"),
            ))
            for use, name in gpu.processes
        )),
    )  # fmt: skip


def _elements(tree: _Tree, depth: int) -> list[str]:
    lines, indent = list[str](), "\t" * depth
    for name, inside in tree:
        if isinstance(inside, str):
            lines.append(f"{indent}<{name}>{escape(inside)}</{name}>")
        else:
            lines += [f"{indent}<{name}>", *_elements(inside, depth + 1), f"{indent}</{name}>"]
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
