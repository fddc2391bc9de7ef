"""What requests of the Debug Adapter Protocol ask for, as far as it means anything here; other keys are passed over."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

_MOST_BREAKPOINTS = 100
_MOST_TEXT = 2000

Text = Annotated[str, Field(max_length=_MOST_TEXT)]
Whole = Annotated[int, Field(ge=0, le=2**53)]


class Arguments(BaseModel):
    """Of one request."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class Initialize(Arguments):
    lines_start_at_1: Annotated[bool, Field(alias="linesStartAt1")] = True
    invalidated: Annotated[bool, Field(alias="supportsInvalidatedEvent")] = False


class DapLaunch(Arguments):
    """`program`: a recording, or a server's file; `firmware`: as `--firmware` has it; `branches`: the folder for
    recordings that `setVariable` makes; `at`: the number of the message or event where it stops first."""

    program: Text | None = None
    firmware: Annotated[list[Text], Field(max_length=_MOST_BREAKPOINTS)] = []
    stop_on_entry: Annotated[bool, Field(alias="stopOnEntry")] = True
    branches: Text | None = None
    at: Annotated[Whole, Field(ge=1)] | None = None


class DapSource(Arguments):
    path: Text | None = None
    reference: Annotated[Whole, Field(alias="sourceReference")] = 0


class SourceBreakpoint(Arguments):
    line: Whole
    condition: Text = ""


class SetBreakpoints(Arguments):
    source: DapSource
    breakpoints: Annotated[list[SourceBreakpoint], Field(max_length=_MOST_BREAKPOINTS)] = []


class FunctionBreakpoint(Arguments):
    name: Text
    condition: Text = ""


class SetFunctionBreakpoints(Arguments):
    breakpoints: Annotated[list[FunctionBreakpoint], Field(max_length=_MOST_BREAKPOINTS)]


class SetExceptionBreakpoints(Arguments):
    filters: Annotated[list[Text], Field(max_length=_MOST_BREAKPOINTS)]


class InSource(Arguments):
    source: DapSource
    line: Whole
    end_line: Annotated[Whole | None, Field(alias="endLine")] = None


class OfSource(Arguments):
    source: DapSource | None = None
    reference: Annotated[Whole, Field(alias="sourceReference")] = 0


class Paged(Arguments):
    start_frame: Annotated[Whole, Field(alias="startFrame")] = 0
    levels: Whole = 0


class OfFrame(Arguments):
    frame: Annotated[Whole, Field(alias="frameId")]


class OfVariables(Arguments):
    reference: Annotated[Whole, Field(alias="variablesReference")]
    start: Whole = 0
    count: Whole = 0


class SetVariable(Arguments):
    reference: Annotated[Whole, Field(alias="variablesReference")]
    name: Text
    value: Text


class Evaluate(Arguments):
    expression: Text
    frame: Annotated[Whole | None, Field(alias="frameId")] = None
    context: Text = ""


class GoTo(Arguments):
    target: Annotated[Whole, Field(alias="targetId")]


class Nothing(Arguments):
    pass
