"""What other hardware flows read of `rtl/`: every source file once, and the registers as they are defined."""

import subprocess
from pathlib import Path

import yaml
from systemrdl import RDLCompiler
from systemrdl.node import RegNode

from ringhil.emulator.build.node_rtl import modules
from ringhil.emulator.engine.library import RTL
from ringhil.protocol.registers import REGISTERS

from .tools import environment, verilator

THERE = {file.name for file in RTL.glob("*.sv")}


def test_the_file_list_is_enough_for_verilator(tmp_path: Path) -> None:
    words = [verilator().binary, "--lint-only", "--quiet", "-Wall", "--top-module", "gpu_node", "-F", RTL / "ringhil.f"]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_core_and_the_manifest_have_every_file_once_and_the_package_first() -> None:
    core, manifest = (yaml.safe_load((RTL / name).read_text()) for name in ("ringhil.core", "Bender.yml"))
    listed = [line for line in (RTL / "ringhil.f").read_text().splitlines() if not line.startswith("//")]
    for files in (core["filesets"]["rtl"]["files"], manifest["sources"], listed):
        assert (len(files), {*files}, files[0]) == (len(THERE), THERE, "ringhil_pkg.sv")
    tops = {target["toplevel"] for target in core["targets"].values()}
    assert tops <= {*modules(tuple(RTL / name for name in THERE))}


def test_the_register_description_is_the_register_map() -> None:
    compiler = RDLCompiler()
    compiler.compile_file(str(RTL / "ringhil.rdl"))
    found = [each for each in compiler.elaborate().top.registers() if isinstance(each, RegNode)]
    assert [(each.inst_name, each.absolute_address // 4) for each in found] == [(r.name, r.address) for r in REGISTERS]
    for node, register in zip(found, REGISTERS, strict=True):
        fields = node.fields()
        assert sum(field.get_property("reset") << field.low for field in fields) == register.reset
        assert {field.is_sw_writable for field in fields} == {register.access == "rw"}
