"""The list of messages and events: only the lines on the screen are read."""

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ringhil.emulator.debug.shown import line
from ringhil.emulator.front.tui.rows import Rows

_CURSOR, _EVENT, _BAD, _HEAD = Style(reverse=True), Style(italic=True, dim=True), Style(bold=True), Style(bold=True)


class Listing(ScrollView, can_focus=True):
    """Line `number - 1` is that of a message or event. `here` 0: before the first one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)"),
        Binding("up,k", "move(-1)"),
        Binding("pagedown,ctrl+f", "page(1)"),
        Binding("pageup,ctrl+b", "page(-1)"),
        Binding("home", "to(1)"),
        Binding("end,G", "to(0)"),
    ]

    class Moved(Message):
        """To a message or event."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, rows: Rows) -> None:
        super().__init__(id="listing")
        self._rows, self.here = rows, 0
        self.border_title = "messages and events"

    def on_mount(self) -> None:
        """At first."""
        self.grown()

    def on_resize(self, event: Resize) -> None:
        """What is selected stays on the screen."""
        self.grown()
        self.go(self.here)

    def grown(self) -> None:
        """There are more lines."""
        self.virtual_size = Size(1, self._rows.count)

    def go(self, number: int) -> None:
        """Select it, and have it on the screen."""
        self.here = number
        place, height = max(0, number - 1), max(1, self.size.height)
        top = round(self.scroll_y)
        if place < top or place >= top + height:
            near = top - height < place < top + 2 * height
            top = (place if place < top else place - height + 1) if near else place - height // 2
            self.scroll_to(y=max(0, top), animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width, number = self.scrollable_content_region.width, round(self.scroll_y) + y + 1
        told = self._rows.get(number)
        if told is None:
            return Strip.blank(width, self.rich_style)
        found = line(told, self._rows.recording.gpus)
        digits = len(str(self._last_cycle()))
        gpus = max(map(len, self._rows.recording.gpus))
        kind = f"{found.kind}{'!' if found.bad else ''}"
        text = f" {found.cycle:>{digits}}  {found.way:<5}  {found.gpu:<{gpus}}  {kind:<15}  {found.said}"
        style = self.rich_style
        if found.bad:
            style += _BAD
        elif found.way.strip() == "•":
            style += _EVENT
        if number == self.here:
            style += _CURSOR
        strip = Strip([Segment(text, style)])
        if strip.cell_length > width:
            strip = Strip([Segment(text[: width - 1] + "…", style)])
        return strip.extend_cell_length(width, style)

    def _last_cycle(self) -> int:
        last = self._rows.get(self._rows.count)
        return 0 if last is None else last.cycle

    def action_move(self, lines: int) -> None:
        """By so many, down or up."""
        self._to(self.here + lines)

    def action_page(self, pages: int) -> None:
        """By so many screens."""
        self._to(self.here + pages * max(1, self.size.height - 1))

    def action_to(self, number: int) -> None:
        """To the first one; 0: to the last."""
        self._to(number or self._rows.count)

    def _to(self, number: int) -> None:
        if self._rows.count:
            self.here = min(max(1, number), self._rows.count)  # now: the next key may be there before the message
            self.post_message(self.Moved(self.here))

    def on_click(self, event: Click) -> None:
        """A line is chosen by the mouse."""
        place = event.get_content_offset(self)
        if place is not None and (number := round(self.scroll_y) + place.y + 1) <= self._rows.count:
            self._to(number)
