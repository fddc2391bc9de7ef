"""What was asked of a group tree in a recorded session, asked again in the same cycles, without those who asked."""

from collections.abc import Callable
from functools import partial

from ringhil.emulator.groups.desk import GroupAsked, GroupReplied, carry_out, name_of
from ringhil.emulator.judge.run import Run
from ringhil.emulator.serial.server.clients import ClientError, Note

_SHOWN = 60  # letters of a text


class GroupsAgain:
    """They ask `run`. `differs` is told, once for each, what is answered otherwise than recorded. `note`, if anybody
    sets it, writes down what comes of it this time; then nothing is compared."""

    def __init__(self, run: Run, differs: Callable[[str], None]) -> None:
        self._run, self._differs = run, differs
        self.note: Note | None = None
        self._asked: dict[int, GroupAsked] = {}
        self._found: dict[int, GroupReplied] = {}
        self._recorded: dict[int, GroupReplied] = {}
        self.requests = 0

    def do(self, row: GroupAsked | GroupReplied) -> None:
        """One row. Raises ClientError for one that can't be, after those before it."""
        if isinstance(row, GroupReplied):
            if row.reply not in self._asked or row.reply in self._recorded:
                raise ClientError(f"nobody waits for reply {row.reply}")
            self._recorded[row.reply] = row
            self._compare(row.reply)
            return
        if row.request in self._asked:
            raise ClientError(f"request {row.request} comes twice")
        self._asked[row.request] = row
        self.requests += 1
        if self.note is not None:
            self.note(row.model_dump(exclude_defaults=True))
        tree = self._run.server.process_groups
        carry_out(tree, row.does, row.path, row.text, partial(self._replied, row.request))

    def end(self) -> None:
        """The session is over: all that was answered must have been."""
        missing = next((n for n in self._recorded if n not in self._found), None)
        if missing is not None and self.note is None:
            self._differs(
                f"{_place(self._asked[missing])}: found no answer, recorded {_shown(self._recorded[missing])}"
            )

    def _replied(self, number: int, error: int | None, text: str) -> None:
        cycle = self._run.kernel.now
        found = GroupReplied(cycle=cycle, reply=number, error=name_of(error), text=text)
        self._found[number] = found
        if self.note is not None:
            self.note(found.model_dump())
        self._compare(number)

    def _compare(self, number: int) -> None:
        found, recorded = self._found.get(number), self._recorded.get(number)
        if self.note is None and None not in (found, recorded) and found != recorded:
            assert found is not None
            assert recorded is not None
            place = _place(self._asked[number])
            self._differs(f"{place}: found {_shown(found)}, recorded {_shown(recorded)}")


def _place(asked: GroupAsked) -> str:
    return f"groups, cycle {asked.cycle}, {asked.does} {asked.path}"


def _shown(reply: GroupReplied) -> str:
    what = reply.error or (repr(reply.text[:_SHOWN]) if reply.text else "done")
    return f"{what} in cycle {reply.cycle}"
