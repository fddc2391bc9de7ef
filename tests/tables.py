"""Writes tables and schemas of docs/ that follow from definitions, and the public names: `python -m tests.tables`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ringhil.emulator.conformance.check import ALWAYS
from ringhil.emulator.conformance.rule import all_rules
from ringhil.emulator.front.printed import FORMS, published
from ringhil.emulator.lending.lent_card import CardRegister
from ringhil.emulator.scenario import FAULTS, LINE_FAULTS, PARAMETERS
from ringhil.emulator.scenario.file.faults import FaultTarget
from ringhil.emulator.scenario.file.policies import SwitchPolicyName, WorkPolicyName
from ringhil.emulator.scenario.file.types import MAX_REGISTER
from ringhil.protocol.registers import FaultBit

from . import events, labels, public, rooms

DOCS = Path(__file__).resolve().parents[1] / "docs"
SCHEMAS = DOCS / "reference" / "schemas"
END = "<!-- End of what is generated. -->\n"


@dataclass(frozen=True)
class Table:
    """What stands in `page` between two marks: `rows`, as `source` has it."""

    page: str
    source: str
    rows: Callable[[], list[str]]

    @property
    def begin(self) -> str:
        return f"<!-- Generated from {self.source} by `make generate`: change it there. -->\n"

    def put(self, text: str) -> str:
        """The page with its table as it must be. Raises ValueError without the two marks."""
        before, begin, rest = text.partition(self.begin)
        _, end, after = rest.partition(END)
        if not (begin and end):
            raise ValueError(f"{self.page}: no lines {self.begin!r} and {END!r}")
        return "\n".join((before + begin, *self.rows(), "", END + after))


_HITS = {
    FaultTarget.GPU: "`gpu`",
    FaultTarget.HOST_LINKED: "`gpu` with a host link",
    FaultTarget.KEEPING_ALIVE: "`gpu` with keepalives",
    FaultTarget.RING_LINK: "ring `link`",
    FaultTarget.BOUNDARY_LINK: "boundary `link`",
    FaultTarget.LINK: "ring or boundary `link`",
}


def _faults() -> list[str]:
    takes: dict[str, str] = {key: f"`{key}`: {p.low} .. {p.high}, default {p.default}" for key, p in PARAMETERS.items()}
    takes["count"] = f"`count`: 1 .. {MAX_REGISTER}, without it until cleared"
    lines = ["| fault | hits | parameter | effect | what must be seen |", "|---|---|---|---|---|"]
    for name, fault in FAULTS.items():
        parameter = "".join(f" {takes[key]}" for key in fault.takes)
        lines.append(f"| `{name}` | {_HITS[fault.hits]} |{parameter} | {fault.effect} | {fault.seen} |")
    return lines


def _line_faults() -> list[str]:
    rate = PARAMETERS["rate"]
    lines = ["| fault | hits | parameter | effect |", "|---|---|---|---|"]
    for name, fault in LINE_FAULTS.items():
        parameter = f" `rate`: {rate.low} .. {rate.high}, default {rate.default}" if fault.rated else ""
        lines.append(f"| `{name}` | `card` |{parameter} | {fault.effect} |")
    return lines


def _reactions() -> list[str]:
    lines = ["| fault | what the hardware or firmware does |", "|---|---|"]
    return lines + [f"| `{name}` | {fault.reaction} |" for name, fault in FAULTS.items()]


def _fault_port() -> list[str]:
    lines = ["| port, bit | engine call, and in scenarios | what the GPU does |", "|---|---|---|"]
    return lines + [f"| `fault_i` {bit} | `{n}` | {FAULTS[n].effect} |" for n, bit in FaultBit.places().items()]


def _rules() -> list[str]:
    lines = ["| rule | the node | requirement |", "|---|---|---|"]
    lines += [f"| `{name}` | {demands} | |" for name, demands in ALWAYS.items()]
    for rule in all_rules().values():
        lines.append(f"| `{rule.name}` | {rule.demands} |{rule.requirement and ' '}{rule.requirement} |")
    return lines


def _policies(names: type[WorkPolicyName] | type[SwitchPolicyName]) -> list[str]:
    return ["| policy | what it does |", "|---|---|", *(f"| `{name}` | {name.doc} |" for name in names)]


def _card_registers() -> list[str]:
    lines = ["| offset | register | | |", "|---|---|---|---|"]
    rows = [(each, "write" if each.writable else "read") for each in CardRegister]
    return lines + [f"| {each:#x} | `{each.name.lower()}` | {access} | {each.doc} |" for each, access in rows]


def _documents() -> list[str]:
    lines = ["| printed by | schemas |", "|---|---|"]
    first = dict.fromkeys(name.partition("-")[0] for name in FORMS)
    for word in first:
        mine = [name for name in FORMS if name.partition("-")[0] == word]
        lines.append(f"| `{word}` | {', '.join(f'[{name}](schemas/{name}.json)' for name in mine)} |")
    return lines


TABLES = (
    Table("explanation/architecture.md", "pyproject.toml", rooms.table),
    Table("howto/conformance.md", "emulator/conformance/rules/", _rules),
    *(Table("reference/events.md", source, rows) for source, rows in events.TABLES),
    Table("reference/hardware.md", "emulator/scenario/file/faults.py", _fault_port),
    Table("reference/host.md", "emulator/scenario/file/policies.py", partial(_policies, WorkPolicyName)),
    Table("reference/commands.md", "emulator/front/printed/", _documents),
    Table("explanation/reliability.md", "emulator/scenario/file/faults.py", _reactions),
    Table("howto/lending.md", "emulator/lending/lent_card.py", _card_registers),
    *(
        Table("reference/python.md", f"the docstrings of {title}", partial(public.table, title))
        for title in public.GROUPS
    ),
    Table("requirements.md", "labels cited in code and tests", labels.table),
    Table("howto/switching.md", "emulator/scenario/file/policies.py", partial(_policies, SwitchPolicyName)),
    Table("reference/scenarios.md", "emulator/scenario/file/faults.py", _faults),
    Table("reference/scenarios.md", "LINE_FAULTS of emulator/scenario/file/faults.py", _line_faults),
)

if __name__ == "__main__":
    for table in TABLES:
        file = DOCS / table.page
        file.write_text(table.put(file.read_text()))
    public.write()
    SCHEMAS.mkdir(exist_ok=True)
    for name in FORMS:
        (SCHEMAS / f"{name}.json").write_text(published(name))
