"""Proves that a mutant is no mistake: nobody outside can tell it from the node as it is, or only by a weaker promise.

The module that holds the mutation stands beside itself without it, both with the same inputs; modules in it are cut
out (their outputs are any inputs, their inputs are compared). Of the node around it only those inputs are known that
it ties to constants. If that proves nothing, the module around it is taken, with the module that holds the mutation in
its place, and those beside it that have no memory: what is read there only now and then needs to be right only then. In
turn, until one goes through:

| proof | says |
|---|---|
| `same step` | from every state, the same outputs and the same next state |
| `same runs` | after a reset the same outputs and states for ever, by induction over 2 cycles |
| `same outputs` | the same outputs for ever after a reset, by induction, whatever the states |
| `..., rests less` | as one of these, but it says less often that it rests, or names an earlier cycle to wake at |

Those in the module around say so: `same step, around it`. "Rests less" is what the quiescence contract allows every
node. Induction is only tried on modules with few registers.
What no proof goes through for isn't proven different.
"""

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutation.mutant import Mutant
from benchmarks.mutation.netlist import SELECT
from benchmarks.mutation.yosys import yosys

from ringhil.emulator.build.errors import BuildError

_CYCLES = 2  # of induction
_STATE = 400  # bits of registers and memories, up to which induction is tried
_SECONDS = 12  # for one call of the solver; ten times that for a proof
_PROVED = re.compile(r"SAT proof finished - no model found: SUCCESS|Induction step proven: SUCCESS")
_WIRE = re.compile(r"^  wire (.*) \\(\S+)$", re.MULTILINE)
_KINDS = ("same step", "same runs", "same outputs")


@dataclass(frozen=True)
class _Port:
    name: str
    width: int
    is_input: bool


def proof(folder: Path, mutant: Mutant) -> str:
    """Name of the proof that went through; empty if none did. `folder` holds `base.il`. Raises BuildError."""
    with tempfile.TemporaryDirectory(prefix="ringhil-proof-") as scratch:
        place = Path(scratch)
        shutil.copy(folder / "base.il", place)
        netlist = (place / "base.il").read_text()
        found = _proof(place, netlist, mutant, mutant.unit)
        outer = around(netlist, mutant.unit)
        if not found and outer:
            found = _proof(place, netlist, mutant, outer)
            found = f"{found}, around it" if found else ""
        return found


def _proof(place: Path, netlist: str, mutant: Mutant, unit: str) -> str:
    tied, module, state = constants(netlist, unit), unit.partition("$")[0], 0
    beside = within(netlist, unit) if unit != mutant.unit else []
    for kind in _KINDS:
        ports = _prepare(place, mutant, unit, beside, kind)
        if kind == "same step":
            state = sum(p.width for p in ports if p.name.endswith(".q"))
        for relaxed in (False, True):
            if mutant.port == "Q" and kind == "same step":
                break  # a register whose own wire is cut in two can't be taken out
            if relaxed and not _rest(module, {p.name for p in ports}):
                continue
            (place / "miter.v").write_text(miter(module, ports, relaxed, tied))
            if _holds(place, kind):
                return f"{kind}, rests less" if relaxed else kind
        if state > _STATE:
            break
    return ""


def within(netlist: str, unit: str) -> list[str]:
    """Modules directly in a unit that have neither memories nor modules of ours in them."""
    bodies = dict(re.findall(r"^module \\(\S+)\n(.*?)^end$", netlist, re.MULTILINE | re.DOTALL))
    inner = re.findall(r"^  cell \\(\S+) ", bodies[unit], re.MULTILINE)
    return [name for name in inner if not re.search(r"^  (memory|cell \\)", bodies[name], re.MULTILINE)]


def around(netlist: str, unit: str) -> str:
    """The module around a unit; empty for the node itself."""
    outer = unit.partition("$")[2]
    while "." in outer:
        outer = outer.rpartition(".")[0]  # a generate block is no module: then the next one
        found = re.search(rf"^module \\((?:\w+\$)?{re.escape(outer)})$", netlist, re.MULTILINE)
        if found:
            return found[1]
    return ""


def constants(netlist: str, unit: str) -> dict[str, str]:
    """Inputs of a module's one instance that are tied to a constant, with its bits."""
    found = re.search(rf"^  cell \\{re.escape(unit)} \S+\n(.*?)^  end$", netlist, re.MULTILINE | re.DOTALL)
    return dict(re.findall(r"connect \\(\w+) \d+'([01]+)$", found[1], re.MULTILINE)) if found else {}


def _prepare(place: Path, mutant: Mutant, unit: str, beside: Sequence[str], kind: str) -> list[_Port]:
    """Writes `pair.il`: the module without the mutation (gold) and with it (gate), cut open for this kind of proof."""
    opened = {
        "same step": ["expose -evert -evert-dff whole/t:*"],
        "same runs": ["expose -evert whole/t:*", "expose -dff whole/w:*"],
        "same outputs": ["expose -evert whole/t:*"],
    }
    steps = [
        "read_rtlil base.il",
        f"{mutant.command} -ctrl {SELECT} 1 1",
    ]
    if unit != mutant.unit:
        steps += ["setattr -mod -set keep_hierarchy 1 *"]
        steps += [f"setattr -mod -unset keep_hierarchy \\{name}" for name in (mutant.unit, *beside)]
        steps += [f"flatten \\{unit}", "setattr -mod -unset keep_hierarchy *"]
    steps += [
        f"rename \\{unit} whole",
        "hierarchy -top whole",
    ]
    steps += ["select whole", "memory_collect", "memory_map", "select -clear"]
    steps += opened[kind]
    steps += ["copy whole gold", "copy whole gate"]
    for name, value in (("gold", 0), ("gate", 1)):
        steps += [f"cd {name}", f"delete -input w:{SELECT}", f"connect -nounset -set {SELECT} 1'{value}", "cd"]
    yosys([*steps, "select gold gate", "opt_expr", "opt_clean", "write_rtlil -selected pair.il"], place)
    text = (place / "pair.il").read_text()
    gold = text[text.index("module \\gold") :].partition("\nend\n")[0]
    ports = []
    for options, name in _WIRE.findall(gold):
        words = options.split()
        if "input" in words or "output" in words:
            width = int(words[words.index("width") + 1]) if "width" in words else 1
            ports.append(_Port(name, width, "input" in words))
    return ports


def miter(module: str, ports: Sequence[_Port], relaxed: bool, tied: Mapping[str, str]) -> str:
    """Verilog: both modules with the same inputs; `trigger` says that their outputs aren't as they must be."""
    lines, pins, wrong = [], [], []
    connections: dict[str, list[str]] = {"gold": [], "gate": []}
    names = {p.name for p in ports}
    rules = _rest(module, names) if relaxed else {}
    for number, port in enumerate(ports):
        bits = f"[{port.width - 1}:0]"
        if port.is_input:
            wire = f"in_{port.name}" if re.fullmatch(r"\w+", port.name) else f"in_{number}"
            if port.name in tied:
                wire = f"{port.width}'b{tied[port.name]}"
            else:
                pins.append(f"input {bits} {wire}")
            for side in connections:
                connections[side].append(f".\\{port.name} ({wire})")
            continue
        for side in connections:
            lines.append(f"wire {bits} {side}_{number};")
            connections[side].append(f".\\{port.name} ({side}_{number})")
        wrong.append(rules.get(port.name, "gold_{0} != gate_{0}").format(number))
    for side in connections:
        lines.append(f"{side} {side} ({', '.join(connections[side])});")
    at = {p.name: str(i) for i, p in enumerate(ports)}
    lines.append(f"wire [{len(wrong)}:0] wrong;")
    for i, condition in enumerate([*wrong, "0"]):
        named = re.sub(r"<(\w+)>", lambda found: at[found[1]], condition)
        lines.append(f"assign wrong[{i}] = {named};")
    head = f"module miter ({', '.join([*pins, 'output trigger'])});"
    return "\n".join([head, *lines, "assign trigger = |wrong;", "endmodule", ""])


def _rest(module: str, outputs: set[str]) -> dict[str, str]:
    """By output, what is wrong about it, where it only says for how long the module rests."""
    less = "gold_{0} && !gate_{0}"  # says less often that it works, or waits
    rules = {name: less for name in ("busy_o",) if name in outputs}
    if module in ("gpu_node", "rest_monitor"):
        return {"quiescent_o": "!gold_{0} && gate_{0}", "wake_at_o": "gate_<quiescent_o> && gate_{0} > gold_{0}"}
    if "wake_at_o" in outputs:
        waiting = "waiting_o" if "waiting_o" in outputs else "muted_o"
        rules["wake_at_o"] = f"gold_<{waiting}> && gate_<{waiting}> && gate_{{0}} > gold_{{0}}"
        if waiting == "waiting_o" and module != "switch_position":  # whose change says that something happens
            rules[waiting] = less
    return rules


def _holds(place: Path, kind: str) -> bool:
    steps = [
        "read_rtlil pair.il",
        "read_verilog miter.v",
        "hierarchy -top miter",
        "proc",
        "flatten",
        "opt -full -nodffe -nosdff",
    ]
    if kind == "same step":
        steps.append(f"sat -timeout {_SECONDS} -prove trigger 0 miter")
    else:
        induction = f"-tempinduct -maxsteps {_CYCLES} -seq 1 -set-init-zero -set-at 1 in_rst_i 1"
        steps.append(f"sat -timeout {_SECONDS} {induction} -prove trigger 0 miter")
    try:
        return _PROVED.search(yosys(steps, place, patience=10.0 * _SECONDS)) is not None
    except BuildError as error:
        if "took longer" in str(error):
            return False
        raise
