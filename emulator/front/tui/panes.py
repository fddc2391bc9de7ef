"""Panes of text: the frame, the rings, the state of a GPU, the time line."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Click
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from ringhil.emulator.debug.commands import indented, shown_register
from ringhil.emulator.debug.desk import Looked
from ringhil.emulator.debug.marks import TimeMark, strongest
from ringhil.emulator.front.tui.words import folded


class Pane(VerticalScroll, can_focus=True):
    """Text that can be scrolled."""

    ALLOW_MAXIMIZE = True
    BINDINGS: ClassVar[list[BindingType]] = [Binding("j", "scroll_down"), Binding("k", "scroll_up")]

    def __init__(self, name: str, title: str) -> None:
        self._shown = Static(id=f"{name}-text", markup=False)
        super().__init__(self._shown, id=name)
        self.border_title = title
        self.text = Text()

    def show(self, text: Text, title: str | None = None) -> None:
        """This, and nothing else."""
        self.text = text
        self._shown.update(text)
        if title is not None:
            self.border_title = title

    @property
    def inside(self) -> int:
        """Letters of a line."""
        return max(10, self.scrollable_content_region.width - 1)


class Rings(Pane):
    """A click at a GPU chooses it."""

    class Chosen(Message):
        """A GPU."""

        def __init__(self, gpu: str) -> None:
            super().__init__()
            self.gpu = gpu

    places: dict[tuple[int, int], str]  # line and column: the GPU there

    def on_click(self, event: Click) -> None:
        """Where the mouse is."""
        place = event.get_content_offset(self)
        if place is not None:
            gpu = self.places.get((place.y + round(self.scroll_y), place.x))
            if gpu is not None:
                self.post_message(self.Chosen(gpu))


class TimeLine(Widget):
    """Two lines: what happened when, and where we are. A click goes there."""

    class Asked(Message):
        """A cycle."""

        def __init__(self, cycle: int) -> None:
            super().__init__()
            self.cycle = cycle

    def __init__(self) -> None:
        super().__init__(id="timeline")
        self._marks: Sequence[TimeMark] = ()
        self._here, self._last, self._said = 0, 0, ""

    def show(self, marks: Sequence[TimeMark], here: int, last: int, said: str) -> None:
        """The cycle where we are, the last one, the last mark before here in words."""
        self._marks, self._here, self._last, self._said = marks, here, last, said
        self.refresh()

    def column(self, cycle: int) -> int:
        """Of a cycle."""
        return min(cycle, self._last) * (self.size.width - 1) // max(1, self._last)

    def render(self) -> Text:
        """Both lines."""
        width = max(1, self.size.width)
        places: dict[int, list[TimeMark]] = {}
        for mark in self._marks:
            places.setdefault(self.column(mark.cycle), []).append(mark)
        text = Text(no_wrap=True, overflow="crop", end="")
        here = self.column(self._here)
        for place in range(width):
            sign = strongest(places[place]) if place in places else "─"
            text.append(sign, "reverse" if place == here else "bold" if place in places else "dim")
        said = f"▲ {self._here}{f'  last: {self._said}' if self._said else ''}"
        start = here if here + len(said) <= width else max(0, width - len(said))
        if start < here:
            said = said[2:] + " ▲"
            start = max(0, here + 1 - len(said))
        text.append("\n" + " " * start + said[:width])
        return text

    def on_click(self, event: Click) -> None:
        """Where the mouse is."""
        self.post_message(self.Asked(event.x * self._last // max(1, self.size.width - 1)))


_IN_BITS = ("control", "status")


def state(looked: Looked, width: int) -> Text:
    """Registers, firmware, card; registers that are 0 together."""
    text = Text()

    def lines(*found: str, style: str = "") -> None:
        text.append("".join(f"{line}\n" for line in folded(found, width)), style)

    lines("registers", style="bold")
    registers = looked.registers[looked.gpu]
    for name in _IN_BITS:
        lines(f" {name} {shown_register(name, registers[name])}")
    others = {name: value for name, value in registers.items() if name not in _IN_BITS}
    lines(*(f" {name} {value}" for name, value in others.items() if value))
    lines(f" 0: {', '.join(name for name, value in others.items() if not value)}", style="dim")
    lines("firmware", style="bold")
    lines(*indented(looked.firmware or "none, or failed", " "))
    lines(f"CPU: card {looked.gpu.partition('.')[0]}", style="bold")
    lines(*indented(looked.card, " "))
    return text
