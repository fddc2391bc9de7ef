"""A debug adapter for a recorded run. One thread, the server; messages and lines of firmware are what it steps through.

| request | does |
|---|---|
| next, stepIn, stepOut, stepBack | see `Walk` |
| continue, reverseContinue | to a breakpoint: a line of firmware, a condition (function breakpoint), a failure |
| setVariable | sets a register, and goes on in the branch that begins with that |
| goto | a message, an event, or a line of firmware |
| evaluate | a value by its name, a condition; in the console any command of `ringhil step` |
"""

import dis
import inspect
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from pydantic import ValidationError

from ringhil.emulator.dap import arguments as given
from ringhil.emulator.dap.door import Say
from ringhil.emulator.dap.launching import Launched, Offer
from ringhil.emulator.dap.stack import Stack
from ringhil.emulator.dap.walk import Stopped, Stops, Walk
from ringhil.emulator.dap.wire import Message
from ringhil.emulator.debug.commands import NAMES, Commands, in_words, values
from ringhil.emulator.debug.condition import ConditionError, parse
from ringhil.emulator.debug.desk import READING, Breaks
from ringhil.emulator.debug.lines import line_condition
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.documents import explained
from ringhil.emulator.errors import RinghilError, printable

THREAD = 1
CAPABILITIES = {
    "supportsConfigurationDoneRequest": True,
    "supportsFunctionBreakpoints": True,
    "supportsConditionalBreakpoints": True,
    "supportsStepBack": True,
    "supportsSetVariable": True,
    "supportsRestartRequest": True,
    "supportsGotoTargetsRequest": True,
    "supportsEvaluateForHovers": True,
    "supportsTerminateRequest": True,
    "supportsExceptionInfoRequest": True,
    "supportsBreakpointLocationsRequest": True,
    "exceptionBreakpointFilters": [
        {
            "filter": "failures",
            "label": "Failures",
            "description": "Stop where something broke an invariant of the run",
            "default": True,
        }
    ],
}
# Commands of the console that name files: nobody else's may be written or read over TCP.
_OF_FILES = ("branch", "edit", "compare")
_MOST_DIGITS = 12


class Adapter:
    """See `door.Handler`. `say` sends a message, `breaks` lets `continue` be broken off."""

    def __init__(self, offer: Offer, say: Say, breaks: Breaks, folder: str) -> None:
        self._offer, self._say, self._breaks, self._folder = offer, say, breaks, folder
        self._seq = 0
        self._launched: Launched | None = None
        self._launch = given.DapLaunch()
        self._first = 1  # number of a line, as the client counts
        self._stopped = Stopped("entry")
        self._after = list[Callable[[], None]]()  # once the request is answered
        self._over = False
        self._lines = dict[str, dict[int, str]]()
        self._stops = Stops()
        self._targets = list[tuple[str, int]]()
        self._requests: dict[str, tuple[type[given.Arguments], Callable[[Any], Message | None]]] = {
            "initialize": (given.Initialize, self._initialize),
            "launch": (given.DapLaunch, self._begin),
            "configurationDone": (given.Nothing, self._configured),
            "setBreakpoints": (given.SetBreakpoints, self._set_lines),
            "breakpointLocations": (given.InSource, self._locations),
            "setFunctionBreakpoints": (given.SetFunctionBreakpoints, self._set_conditions),
            "setExceptionBreakpoints": (given.SetExceptionBreakpoints, self._set_failures),
            "exceptionInfo": (given.Nothing, self._exception),
            "threads": (
                given.Nothing,
                lambda _: {"threads": [{"id": THREAD, "name": self._walk.session.scenario.name}]},
            ),
            "stackTrace": (given.Paged, lambda asked: self._stack.frames(asked.start_frame, asked.levels, self._first)),
            "scopes": (given.OfFrame, lambda asked: {"scopes": self._stack.scopes(asked.frame)}),
            "variables": (given.OfVariables, self._variables),
            "setVariable": (given.SetVariable, self._set_variable),
            "evaluate": (given.Evaluate, self._evaluate),
            "source": (given.OfSource, self._source),
            "gotoTargets": (given.InSource, self._goto_targets),
            "goto": (given.GoTo, self._goto),
            "next": (given.Nothing, lambda _: self._moves(self._walk.next)),
            "stepIn": (given.Nothing, lambda _: self._moves(self._walk.into)),
            "stepOut": (given.Nothing, lambda _: self._moves(self._walk.out)),
            "stepBack": (given.Nothing, lambda _: self._moves(self._walk.back)),
            "continue": (given.Nothing, lambda _: self._goes(self._walk.on)),
            "reverseContinue": (given.Nothing, lambda _: self._goes(self._walk.reverse)),
            "pause": (given.Nothing, lambda _: None),  # what it was to break off has ended by now
            "restart": (given.Nothing, self._restart),
            "terminate": (given.Nothing, self._end),
            "disconnect": (given.Nothing, self._end),
        }

    # ------------------------------------------------------------------------------------------------- the protocol

    def take(self, message: Message) -> bool:
        """See `door.Handler`."""
        if message.get("type") == "malformed":
            self._output(f"ringhil: message: {message['why']}", "important")
            return True
        if message.get("type") != "request" or type(message.get("seq")) is not int:
            self._output("ringhil: message: wanted is a request with a number seq", "important")
            return True
        command = str(message.get("command"))[:50]
        answer: Message = {"type": "response", "request_seq": message["seq"], "command": command, "success": True}
        try:
            found = self._done(command, message.get("arguments"))
            if found is not None:
                answer["body"] = found
        except (RinghilError, OSError) as error:
            self._refuse(answer, " ".join(str(error).split("\n")[:1]))
        except Exception as error:  # a mistake of ours must not end the session
            self._refuse(answer, f"{type(error).__name__}: {error}")
        self._send(answer)
        after, self._after = self._after, []
        for act in after:
            act()
        return not self._over

    def _done(self, command: str, arguments: object) -> Message | None:
        if command not in self._requests:
            raise DebugError(f"found request {command!r}; there is none of this name")
        model, act = self._requests[command]
        try:
            asked = model.model_validate(arguments or {})
        except ValidationError as error:
            raise DebugError(f"{command}: {explained(error, 'arguments')}") from None
        return act(asked)

    def _refuse(self, answer: Message, text: str) -> None:
        self._after.clear()
        text = printable(text)
        error = {"id": 1, "format": "{_text}", "variables": {"_text": text}, "showUser": True}
        answer |= {"success": False, "message": text, "body": {"error": error}}

    def _send(self, message: Message) -> None:
        self._seq += 1
        self._say({"seq": self._seq, **message})

    def _event(self, name: str, body: Message | None = None) -> None:
        self._send({"type": "event", "event": name, **({} if body is None else {"body": body})})

    def _output(self, text: str, category: str = "console") -> None:
        self._event(
            "output", {"category": category, "output": "\n".join(map(printable, text.split("\n"))).rstrip() + "\n"}
        )

    # ------------------------------------------------------------------------------------------ beginning and end

    def _initialize(self, asked: given.Initialize) -> Message:
        self._first = int(asked.lines_start_at_1)
        return CAPABILITIES

    @property
    def _walk(self) -> Walk:
        if self._launched is None:
            raise DebugError("nothing was launched; launch a recording or a server's file first")
        return self._walking

    @property
    def _stack(self) -> Stack:
        assert self._walk is not None
        return self._stacking

    def _begin(self, asked: given.DapLaunch) -> None:
        if self._launched is not None:
            raise DebugError("something was launched already; restart it, or begin another session")
        self._launch = asked
        self._open()
        self._after.append(lambda: self._event("initialized"))

    def _open(self) -> None:
        asked = self._launch
        self._launched = Launched(
            self._offer, asked.program, asked.firmware, asked.branches, self._folder, self._output
        )
        self._enter()

    def _enter(self) -> None:
        """Another session than before, at its beginning or where that was."""
        assert self._launched is not None
        session = self._launched.session
        self._walking = Walk(session)
        self._stacking = Stack(self._walking)
        self._commands = Commands(session)
        if session.why_not is not None:
            self._output(f"ringhil: messages can be stepped, not states and lines: {session.why_not}", "important")

    def _configured(self, _: given.Nothing) -> None:
        assert self._walk is not None
        if self._launch.at is not None:
            self._walk.go(self._launch.at)
            self._after.append(lambda: self._stops_by(Stopped("goto")))
        elif self._launch.stop_on_entry:
            self._after.append(lambda: self._stops_by(Stopped("entry")))
        else:
            self._goes(self._walk.on)

    def _restart(self, _: given.Nothing) -> None:
        if self._launched is None:
            raise DebugError("nothing was launched; launch a recording or a server's file first")
        failures = bool(self._stops.failures)
        self._launched.close()
        self._launched = None
        self._open()
        self._stops.failures = self._failing() if failures else {}
        self._after.append(lambda: self._stops_by(Stopped("entry")))

    def _end(self, _: given.Nothing) -> None:
        self._over = True
        self._after.append(lambda: self._event("terminated"))

    def close(self) -> None:
        """See `door.Handler`."""
        if self._launched is not None:
            self._launched.close()

    # ------------------------------------------------------------------------------------------------------- moving

    def _moves(self, move: Callable[[], Stopped]) -> None:
        found = move()
        self._after.append(lambda: self._stops_by(found))

    def _goes(self, move: Callable[[Stops], Stopped]) -> Message:
        """Answers at once: it may take long."""
        self._stops.lines = {file: lines for file, lines in self._lines.items() if lines}
        self._after.append(lambda: self._run(lambda: move(self._stops)))
        return {"allThreadsContinued": True}

    def _run(self, move: Callable[[], Stopped]) -> None:
        try:
            with self._breaks.allowed():
                found = move()
        except KeyboardInterrupt:
            found = Stopped("pause")
        except RinghilError as error:
            self._output(f"ringhil: {error}", "important")
            found = Stopped("pause", str(error))
        self._stops_by(found)

    def _stops_by(self, stopped: Stopped) -> None:
        self._stopped = stopped
        self._stack.forget()
        text = {"text": printable(stopped.text), "description": printable(stopped.text)} if stopped.text else {}
        hit = {"hitBreakpointIds": list(stopped.hit)} if stopped.hit else {}
        self._event("stopped", {"reason": stopped.reason, "threadId": THREAD, "allThreadsStopped": True, **text, **hit})

    # -------------------------------------------------------------------------------------------------- breakpoints

    def _set_lines(self, asked: given.SetBreakpoints) -> Message:
        file = os.path.realpath(asked.source.path or "")
        wrong, lines, found = self._no_lines(file), dict[int, str](), list[Message]()
        for each in asked.breakpoints:
            wanted = each.line + 1 - self._first
            line = next((line for line in _code_lines(file) if line >= wanted), None) if not wrong else None
            why = wrong or ("" if line is not None else "there is no code from here on")
            try:
                line_condition(each.condition)
            except ConditionError as error:
                why = str(error).split("\n")[0]
            if why or line is None:
                found.append({"verified": False, "line": each.line, "message": printable(why)})
            else:
                lines[line] = each.condition
                found.append({"verified": True, "line": line - 1 + self._first})
        self._lines[file] = lines
        return {"breakpoints": found}

    def _no_lines(self, file: str) -> str:
        """Why there can't be a breakpoint in this file; empty: there can."""
        session = self._walk.session
        if session.why_not is not None:
            return f"no lines: {session.why_not}"
        files = {os.path.realpath(each) for each in session.sources.files()}
        return "" if file in files else "is no firmware in Python of this run"

    def _locations(self, asked: given.InSource) -> Message:
        file = os.path.realpath(asked.source.path or "")
        first, last = asked.line + 1 - self._first, (asked.end_line or asked.line) + 1 - self._first
        lines = () if self._no_lines(file) else _code_lines(file)
        return {"breakpoints": [{"line": line - 1 + self._first} for line in lines if first <= line <= last]}

    def _set_conditions(self, asked: given.SetFunctionBreakpoints) -> Message:
        """Their names are conditions on messages and events."""
        found, conditions = list[Message](), dict[int, Any]()
        known = values(self._walk.session.recording.gpus)
        for number, each in enumerate(asked.breakpoints, 1):
            text = " and ".join(f"({part})" for part in (each.name, each.condition) if part.strip())
            try:
                conditions[number] = parse(text, NAMES, known)
                found.append({"id": number, "verified": True})
            except ConditionError as error:
                found.append({"id": number, "verified": False, "message": printable(str(error).split("\n")[0])})
        self._stops.conditions = conditions
        return {"breakpoints": found}

    def _set_failures(self, asked: given.SetExceptionBreakpoints) -> None:
        unknown = [each for each in asked.filters if each != "failures"]
        if unknown:
            raise DebugError(f"filters: found {unknown[0][:50]!r}; allowed is failures")
        self._stops.failures = self._failing() if asked.filters else {}

    def _failing(self) -> dict[int, str]:
        """The number of the message or event at which each failure was found, and what it is."""
        session = self._walk.session
        here, found = session.here, dict[int, str]()
        for each in session.failures:
            if session.failure(each):
                found.setdefault(session.number, f"{each.get('invariant')}: {each.get('text')}")
        session.here = here
        return found

    def _exception(self, _: given.Nothing) -> Message:
        if self._stopped.reason != "exception":
            raise DebugError("it has not stopped at a failure")
        invariant, text = (*self._stopped.text.split(": ", 1), "")[:2]
        return {"exceptionId": invariant, "description": printable(text), "breakMode": "always"}

    # --------------------------------------------------------------------------------------------------- what is there

    def _variables(self, asked: given.OfVariables) -> Message:
        return {"variables": self._stack.variables(asked.reference, asked.start, asked.count)}

    def _set_variable(self, asked: given.SetVariable) -> Message:
        gpu = self._stack.settable(asked.reference)
        text = asked.value.strip()
        try:
            value = int(text, 16 if text[:2].lower() == "0x" else 10) if len(text) <= _MOST_DIGITS else -1
        except ValueError:
            value = -1
        if value < 0:
            raise DebugError(f"found {text[:50]!r}; allowed is a whole number of 32 bits, such as 12 or 0x0C")
        session = self._walk.session
        session.set(gpu, asked.name, value)
        assert self._launched is not None
        path, number = self._launched.branch(), session.number
        self._enter()
        self._walk.go(number)
        self._stack.overlay(gpu, asked.name, value)
        said = (
            f"{gpu}: {asked.name} is {value} from cycle {self._walk.cycle + 1 if number else 0} on: this is {path} now"
        )
        self._output(said)
        return {"value": str(value)}

    def _evaluate(self, asked: given.Evaluate) -> Message:
        text = asked.expression.strip()
        verb, _, rest = text.partition(" ")
        if asked.context == "repl" and verb in self._commands_of().verbs:
            return self._command(verb, text, rest)
        return self._stack.evaluate(text)

    def _commands_of(self) -> Commands:
        assert self._walk is not None
        return self._commands

    def _command(self, verb: str, text: str, rest: str) -> Message:
        if self._offer.fixed and verb in _OF_FILES:
            raise DebugError(f"{verb}: over TCP nobody names files; use `ringhil step` for that")
        before = self._walk.session.number
        self._walk.place = None
        try:
            with self._breaks.allowed(verb in READING):
                found = self._commands.do(text)
        except KeyboardInterrupt:
            raise DebugError(f"{verb}: broken off") from None
        if self._walk.session.number != before:
            self._after.append(lambda: self._stops_by(Stopped("goto", text)))
        return {"result": in_words(found), "variablesReference": 0}

    # ------------------------------------------------------------------------------------------------------ sources

    def _source(self, asked: given.OfSource) -> Message:
        reference = asked.source.reference if asked.source is not None else asked.reference
        return {"content": self._stack.listing(reference), "mimeType": "text/plain"}

    def _goto_targets(self, asked: given.InSource) -> Message:
        line = asked.line + 1 - self._first
        if asked.source.reference:
            number = self._stack.number_in(asked.source.reference, line)
            self._targets.append(("", number))
            return {"targets": [{"id": len(self._targets), "label": f"message {number}", "line": asked.line}]}
        file = os.path.realpath(asked.source.path or "")
        if (why := self._no_lines(file)) or line not in _code_lines(file):
            raise DebugError(f"{asked.source.path}:{line}: {why or 'there is no code'}")
        self._targets.append((file, line))
        return {"targets": [{"id": len(self._targets), "label": "the next time that it is run", "line": asked.line}]}

    def _goto(self, asked: given.GoTo) -> None:
        if not 0 < asked.target <= len(self._targets):
            raise DebugError(f"targetId: found {asked.target}; allowed is one that gotoTargets has answered")
        file, where = self._targets[asked.target - 1]
        if file:
            stops = Stops(lines={file: {where: ""}})
            self._after.append(lambda: self._run(lambda: self._walk.on(stops)._replace(reason="goto")))
            return
        self._walk.go(where)
        self._after.append(lambda: self._stops_by(Stopped("goto")))


@lru_cache(maxsize=64)
def _code_lines(file: str) -> tuple[int, ...]:
    """Those of functions, in rising order: others are run when firmware is loaded, before there is a session. The file
    is compiled, and nothing of it is run."""
    try:
        whole = compile(Path(file).read_text(encoding="utf-8"), file, "exec", dont_inherit=True)
    except (OSError, ValueError, SyntaxError):
        return ()
    found, left = set[int](), [whole]
    while left:
        code = left.pop()
        if code.co_flags & inspect.CO_OPTIMIZED:
            found |= {line for _, line in dis.findlinestarts(code) if line and line != code.co_firstlineno}
        left += [each for each in code.co_consts if isinstance(each, CodeType)]
    return tuple(sorted(found))
