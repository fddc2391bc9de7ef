"""The keys, on a screen of their own."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

KEYS = """\
up down j k    a line                   right l, left h  a message on, back
PgUp PgDn      a screen                 . ,  next, previous of this kind
Home, End G    the first, the last      g    go to a cycle
/ n N          search, next, previous   Tab  the next pane; arrows scroll it
:              a command                z    this pane alone, and back
[ ]            another GPU's state      f    that of the message's GPU again
< >            the frame hop by hop     Esc  close this, break that off
?              this                     q    quit

/ takes a condition, kind == statistics and count > 3, or any text of the list.
: takes the commands of a script; Tab completes, up and down recall.

List    → fw to firmware, ← cpu from the CPU, • an event, ! a damaged frame
Frame   what the last hop has changed has a * and is reversed; below the bytes
        each hop by cycle, GPU and link, with what it has changed
Rings   [3] takes part, ─3─ is bypassed; * entry GPU, ↔ boundary GPU, ✗ a fault;
        reversed: the message is here; underlined: its state is shown
Line    x a fault, o its end, E an entry role, B a boundary role, - a role lost,
        ! firmware or hardware lost, ▲ here
"""


class Help(ModalScreen[None]):
    """Closed by any of the keys that one would try."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "dismiss"),
    ]

    def compose(self) -> ComposeResult:
        """Text that scrolls."""
        with VerticalScroll(id="help"):
            yield Static(KEYS, markup=False)
