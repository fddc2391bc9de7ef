"""The verbs of `ringhil step`, for scripts and people: a line in, a document out."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from ringhil.emulator.debug.condition import Condition, ConditionError, parse
from ringhil.emulator.debug.doomed import MOST_TRIES, TRIES, Progress
from ringhil.emulator.debug.items import RecordedItem, said
from ringhil.emulator.debug.memory import plain
from ringhil.emulator.debug.names import MESSAGES as MESSAGES
from ringhil.emulator.debug.names import NAMES as NAMES
from ringhil.emulator.debug.names import values as values
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.errors import printable
from ringhil.emulator.events.recorded import KINDS
from ringhil.emulator.forks import processors
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.waves.values import SignalValue
from ringhil.protocol.enums import Bits
from ringhil.protocol.registers import ControlBit, StatusBit

Document = dict[str, Any]

_BITS: dict[str, type[Bits]] = {"control": ControlBit, "status": StatusBit}
_MOST = 2000  # letters of a line
_MOST_BREAKS = 100
_DIGITS = 20
_WATCHED = 1 << 20  # cycles, unless the line says how many


Counting = Callable[[str], AbstractContextManager[Progress]]


def _uncounted(what: str) -> AbstractContextManager[Progress]:
    return nullcontext(lambda done, total: None)


class Commands:
    """Of one session. `do` raises DebugError for a line that can't be done; then nothing has changed. `counting` shows
    how far something is that takes long."""

    def __init__(self, session: DebugSession, counting: Counting = _uncounted) -> None:
        self._session, self._counting = session, counting
        self._verbs: dict[str, Callable[[str], Document]] = {
            "step": lambda rest: self._moved(session.step(_number(rest))),
            "back": lambda rest: self._moved(session.back(_number(rest))),
            "next": lambda rest: self._moved(session.until(_kind(rest))),
            "previous": lambda rest: self._moved(session.back_until(_kind(rest))),
            "until": lambda rest: self._moved(session.until(self._condition(rest))),
            "back-until": lambda rest: self._moved(session.back_until(self._condition(rest))),
            "assert": self._assert,
            "show": _show,
            "state": lambda rest: {"registers": session.registers(rest), "firmware": session.firmware(rest)},
            "card": lambda rest: {"card": session.card(rest)},
            "signal": self._signal,
            "go": lambda rest: self._moved(session.go(_whole(rest, "a cycle", 0))),
            "row": lambda rest: self._moved(session.go_to(_whole(rest, "the number of a message or event", 1))),
            "elsewhere": lambda rest: {"elsewhere": session.elsewhere()},
            "failures": lambda rest: {"failures": plain(session.failures)},
            "failure": self._failure,
            "doomed": self._doomed,
            "who": lambda rest: {"hops": [hop._asdict() for hop in session.who(rest)]},
            "why": lambda rest: {"chain": [self._document(item) for item in session.why(rest)]},
            "diff": lambda rest: {"differs": _differs(session.differs(_whole(rest, "the number of a message", 1)))},
            "compare": self._compare,
            "inject": lambda rest: {"changes": plain(session.inject(rest).model_dump(exclude_none=True))},
            "set": self._set,
            "send": self._send,
            "branch": lambda rest: {"branch": rest, "verdict": session.branch(_file(rest))},
            "edit": self._edit,
            "watch": self._watch,
            "break": self._break,
            "delete": self._delete,
            "breaks": lambda rest: {"breaks": list(self._breaks)},
            "continue": lambda rest: self._moved(session.until(self._any())),
            "reverse": lambda rest: self._moved(session.back_until(self._any())),
        }
        self._breaks: dict[str, Condition] = {}  # by what was written

    def do(self, line: str) -> Document:
        """`command`, `cycle` and `message` (or event) where the session is then, and what was asked for: `moved`,
        whether there was such a place; `holds`, whether what is asserted is so; `registers` and `firmware`; `signals`;
        `card`."""
        if len(line) > _MOST:
            raise DebugError(f"found {len(line)} letters; allowed are {_MOST}")
        verb, rest = (*line.split(maxsplit=1), "", "")[:2]
        if verb not in self._verbs:
            raise DebugError(f"found {verb!r}; allowed are {', '.join(self._verbs)}")
        found = self._verbs[verb](rest.strip())
        here = self._session.here
        message = None if here is None else self._document(here)
        return {"command": line.strip(), "cycle": self._session.cycle, "message": message, **found}

    @property
    def verbs(self) -> tuple[str, ...]:
        """What a line may begin with."""
        return tuple(self._verbs)

    def _document(self, item: RecordedItem) -> Document:
        found: Document = plain(self._session.fields(item))
        return found

    def _condition(self, text: str) -> Condition:
        try:
            return parse(text, NAMES, values(self._session.recording.gpus))
        except ConditionError as error:
            raise DebugError(str(error)) from None

    def _assert(self, rest: str) -> Document:
        condition, here = self._condition(rest), self._session.here
        fields = {} if here is None else self._session.fields(here)
        found = {name: value for name, value in fields.items() if _named(name, rest)}
        return {"holds": condition(fields), "found": plain(found)}

    def _compare(self, rest: str) -> Document:
        try:
            found = self._session.compare(_file(rest))
        except RecordingError as error:
            raise DebugError(str(error)) from None
        if found is None:
            return {"moved": False, "same": self._session.recording.last_number}
        return {"moved": True, "differs": _differs(found)}

    def _failure(self, rest: str) -> Document:
        """Goes to what a failure of the run was found by; without a number, of the first one."""
        failures = self._session.failures
        if not failures:
            raise DebugError("nothing that the run has recorded broke an invariant")
        found = failures[_whole(rest or "1", "the number of a failure", 1, len(failures)) - 1]
        return {**self._moved(self._session.failure(found)), "failure": plain(found)}

    def _doomed(self, rest: str) -> Document:
        """Goes to where the failure became likely; without a number, any failure."""
        number, tries = (*rest.split(), "", "")[:2] if len(rest.split()) < 3 else _words(rest, "N FUTURES", 2)
        which = _whole(number, "the number of a failure", 1) if number not in ("", "any") else None
        each = _whole(tries or str(TRIES), "a number of futures", 2, MOST_TRIES)
        with self._counting("futures") as progress:
            found = self._session.doomed(which, tries=each, jobs=processors(), progress=progress)
        return {"doomed": found.to_json(self._document)}

    def _set(self, rest: str) -> Document:
        gpu, register, value = _words(rest, "GPU REGISTER VALUE", 3)
        change = self._session.set(gpu, register, _whole(value, "a value", 0, 2**32 - 1))
        return {"changes": change.model_dump(exclude_none=True)}

    def _send(self, rest: str) -> Document:
        gpu, port, sent = _words(rest, "GPU PORT FRAME", 3)
        return {"changes": self._session.send(gpu, port, sent).model_dump(exclude_none=True)}

    def _signal(self, rest: str) -> Document:
        gpu, pattern = _words(rest, "GPU NAME", 2)
        found = self._session.signals(gpu, pattern)
        return {"signals": {name: signal._asdict() for name, signal in found.items()}}

    def _edit(self, rest: str) -> Document:
        """Goes to the first message that the new source makes otherwise."""
        path = _file(rest)
        verdict, modules, misfits = self._session.edit(path)
        found = self._compare(rest)
        return {**found, "branch": rest, "verdict": verdict, "modules": modules, "misfits": misfits}

    def _break(self, rest: str) -> Document:
        condition = self._condition(rest)
        if len(self._breaks) >= _MOST_BREAKS:
            raise DebugError(f"there are {len(self._breaks)} breakpoints, which are all that may be; delete one")
        self._breaks[rest] = condition
        return {"breaks": list(self._breaks)}

    def _delete(self, rest: str) -> Document:
        names = list(self._breaks)
        number = _whole(rest, "the number of a breakpoint", 1)
        if number > len(names):
            there = f"is {len(names)} breakpoint" if len(names) == 1 else f"are {len(names)} breakpoints"
            raise DebugError(f"found {number}; there {there}")
        del self._breaks[names[number - 1]]
        return {"breaks": list(self._breaks)}

    def _any(self) -> Condition:
        if not self._breaks:
            raise DebugError("there is no breakpoint; `break CONDITION` makes one")
        conditions = list(self._breaks.values())
        return lambda fields: any(condition(fields) for condition in conditions)

    def _watch(self, rest: str) -> Document:
        """Goes on to the first message or event at which the register, or value of the firmware, is another."""
        gpu, _, more = rest.partition(" ")
        name, _, cycles = more.strip().partition(" ")
        if not name:
            raise DebugError(f"found {rest[:50]!r}; wanted is GPU REGISTER [CYCLES], or a value of firmware")
        limit = _whole(cycles.strip(), "a number of cycles", 1) if cycles.strip() else _WATCHED
        found = self._session.changes(gpu, name, limit)
        if found is None:
            return {"moved": False}
        cycle, value = found
        return {"moved": self._session.go_on(cycle), "changed": {"cycle": cycle, "gpu": gpu, name: value}}

    @staticmethod
    def _moved(moved: bool) -> Document:
        return {"moved": moved}


def _named(name: str, condition: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", condition) is not None


def in_vain(document: Document) -> bool:
    """Whether the command has found nothing: no such place, or no cause."""
    return (document.get("moved") is False and "same" not in document) or document.get("chain") == []


def _show(rest: str) -> Document:
    if rest:
        raise DebugError(f"found 'show {rest}'; allowed is show, which is of the present message")
    return {}


def lines(text: str) -> Iterator[tuple[int, str]]:
    """The commands of a script, each with the number of its line; `#` begins a comment."""
    for number, line in enumerate(text.split("\n"), 1):  # `splitlines` would also end them at a form feed
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line


def in_words(document: Document) -> str:
    """For people."""
    about = dict(document["message"] or {})
    head = f"{about.pop('number')}: " if about else ""
    where = [about.pop(name) for name in ("gpu", "way", "kind") if name in about]
    about.pop("cycle", None)
    found = [f"{head}cycle {document['cycle']} {' '.join(map(str, where)) or 'before the first message'}"]
    if "same" in document:
        found.insert(0, f"the same: {document['same']} messages and events")
    elif in_vain(document):
        found.insert(0, "no more" if "moved" in document else "nothing up to here")
    if "holds" in document:
        values = ", ".join(f"{name} {value}" for name, value in document["found"].items())
        found.append(f"  {'holds' if document['holds'] else 'does not hold'}{f': {values}' if values else ''}")
    found += [f"  {name}: {value}" for name, value in about.items() if document["command"].split()[0] == "show"]
    found += [f"  changed: {name}" for name in document.get("modules", ())]
    found += [f"  does not fit: {text}" for text in document.get("misfits", ())]
    if "branch" in document:
        found.append(f"  {document['branch']}: verdict {document['verdict']}")
    if "doomed" in document:
        found += [f"  {text}" for text in lost_since(document["doomed"])]
    found += [f"  {tool}: {command}" for tool, command in document.get("elsewhere", {}).items()]
    if document.get("failures") == []:
        found.append("  no failure")
    found += [
        f"  {number}. {each.get('invariant')}: {each.get('text')}"
        for number, each in enumerate(document.get("failures", ()), 1)
    ]
    if "registers" in document:
        found += ["registers:", *(f"  {name}: {shown_register(name, n)}" for name, n in document["registers"].items())]
    for part in ("firmware", "card", "changed", "changes", "failure"):
        if part in document:
            found += [f"{part}:", *indented(document[part], "  ")]
    signals = document.get("signals", {})
    found += [f"  {name}: {SignalValue(**signal)}" for name, signal in signals.items()]
    found += [f"  {number}. {condition}" for number, condition in enumerate(document.get("breaks", ()), 1)]
    found += _hops(document.get("hops", ()))
    found += [f"  {_line(item)}" for item in document.get("chain", ())]
    found += [
        f"  {each['where'] or 'there and here'}: {each['there']} -> {each['here']}"
        for each in document.get("differs", ())
    ]
    return "\n".join(map(printable, found))


def shown_register(name: str, value: int) -> str:
    """Its number, and the words of the bits that are set."""
    bits = bits_set(name, value)
    return f"{value}{': ' if bits else ''}{' '.join(bits)}"


def lost_since(doom: Document) -> Iterator[str]:
    """The document of `doomed` in lines."""
    yield doom["failure"]
    yield "moment before cycle  futures that fail so"
    for each in doom["curve"]:
        share = f"{each['failed']} of {each['tries']}"
        yield f"{each['cycle']:>19}  {share:<9} {100 * each['low']:3.0f} to {100 * each['high']:3.0f} %"
    yield from turns(doom)


def turns(doom: Document) -> Iterator[str]:
    """Since when a run was likely to fail, and certain: of the document of `doomed`, a line each."""
    for word, most in (("likely", "halfway to certain"), ("certain", "all futures fail")):
        turn = doom[word]
        if turn is None:
            yield f"{word}: not before it was found ({most})"
        elif turn["after"] is None:
            yield f"{word}: from the beginning on ({most})"
        else:
            what = _line(turn["main"]) if turn["main"] else f"nothing was recorded up to cycle {turn['before']}"
            more = f", and {len(turn['items']) - 1} more" if len(turn["items"]) > 1 else ""
            yield f"{word}: from cycle {turn['after']} on ({most}): {what}{more}"


def bits_set(name: str, value: int) -> list[str]:
    """The words of the bits that are set, of a register whose bits have words."""
    return [bit.word for bit in _BITS.get(name, ()) if value & bit]


def _hops(hops: Sequence[Document]) -> Iterator[str]:
    before: object = None
    for number, hop in enumerate(hops):
        mark = " *" if number and hop["value"] != before else ""
        yield f"  cycle {hop['cycle']} {hop['gpu']} {hop['link']}: {hop['value']}{mark}"
        before = hop["value"]


def _line(about: Document) -> str:
    """One message or event: where it is, and the fields that tell it from others."""
    where = [str(about[name]) for name in ("gpu", "way", "kind") if name in about]
    # What was done to a link, and what the CPU says of a card, has no GPU.
    what = [] if "gpu" in about else [printable(f"{name} {about[name]}") for name in ("link", "card") if name in about]
    fields = ", ".join(filter(None, (said(about), *what)))
    return f"{about['number']}: cycle {about['cycle']} {' '.join(where)}{': ' if fields else ''}{fields}"


def _differs(found: Iterable[tuple[str, object, object]]) -> list[Document]:
    return [{"where": where, "there": there, "here": here} for where, there, here in found]


def indented(value: Any, space: str) -> Iterator[str]:
    """A document as lines, what is inside of something further to the right."""
    if not isinstance(value, dict):
        yield f"{space}{value}"
        return
    for name, each in value.items():
        if isinstance(each, dict) and each:
            yield f"{space}{name}:"
            yield from indented(each, f"{space}  ")
        else:
            yield f"{space}{name}: {each}"


def _number(text: str) -> int:
    return _whole(text, "a number of messages", 1, 10**9) if text else 1


def _whole(text: str, what: str, least: int, most: int = 10**18) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS or not least <= int(text) <= most:
        raise DebugError(f"found {text[:50]!r}; allowed is {what} from {least} to {most:,}")
    return int(text)


def _file(text: str) -> Path:
    if not text:
        raise DebugError("found no FILE; wanted is its name")
    return Path(text)


def _words(text: str, wanted: str, number: int) -> list[str]:
    found = text.split()
    if len(found) != number:
        raise DebugError(f"found {text[:50]!r}; wanted is {wanted}")
    return found


def _kind(text: str) -> Condition:
    if text not in MESSAGES and text not in KINDS:
        raise DebugError(f"found kind {text[:50]!r}; allowed are {', '.join([*MESSAGES, *KINDS])}")
    return parse(f"kind == {text}", NAMES)
