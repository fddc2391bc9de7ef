"""Somebody at the keys of the screen of `ringhil step`, and the run that is looked at."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Static

from ringhil.emulator.debug.growing import Growing
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.front.tui.app import StepScreen
from ringhil.emulator.front.tui.listing import Listing
from ringhil.emulator.front.tui.panes import Pane

SERVER = """
server: {cards: {a: {gpus: 5, host_links: [0, 1]}}}
workload: {units: 20, size: 600}
timeline:
- {at: 9000, fault: dead, gpu: a.3}
- {at: 20000, fault: dead, gpu: a.0}
until: 40000
"""


LIMIT = 120.0  # seconds


_KEYS = {" ": "space", "=": "equals_sign", "/": "slash", ":": "colon", ".": "full_stop", "_": "underscore"}
_KEYS |= {"<": "less_than_sign", ">": "greater_than_sign", "?": "question_mark", ",": "comma", "-": "minus"}
_KEYS |= {"[": "left_square_bracket", "]": "right_square_bracket", "(": "left_parenthesis"}


class Hand:
    """At the keys."""

    def __init__(self, screen: StepScreen, pilot: "Pilot[None]") -> None:
        self.screen, self.pilot = screen, pilot

    async def begin(self, *keys: str) -> None:
        """All at once, as a slow line has them; what they ask for has begun."""
        for key in keys:
            self.screen.post_message(Key(_KEYS.get(key, key), key if len(key) == 1 else None))
        await self.pilot.pause(0)
        while self.screen.typing:
            await asyncio.sleep(0)

    async def press(self, *keys: str) -> None:
        """The same, and wait for what they ask for."""
        await self.begin(*keys)
        await self.rest()

    async def type(self, text: str) -> None:
        """And Enter."""
        await self.press(*text, "enter")

    async def look(self) -> None:
        """Wait for the state of the GPU, and for the frame's hops."""
        await self.rest(lambda: not self.screen.looking)

    async def rest(self, until: Callable[[], bool] = lambda: True) -> None:
        """Wait for what was asked."""

        async def quiet() -> None:
            await self.pilot.pause(0)
            while self.screen.busy or not until():
                await asyncio.sleep(0.01)
            await self.pilot.pause(0)

        await asyncio.wait_for(quiet(), LIMIT)

    def lines(self) -> list[str]:
        """Of the list, as they are on the screen."""
        listing = self.screen.query_one(Listing)
        height = listing.scrollable_content_region.height
        return [listing.render_line(y).text.rstrip() for y in range(height)]

    def pane(self, name: str) -> str:
        """What a pane holds."""
        return self.screen.query_one(f"#{name}", Pane).text.plain

    def marked(self, name: str) -> set[str]:
        """What in a pane is reversed."""
        text = self.screen.query_one(f"#{name}", Pane).text
        return {text.plain[span.start : span.end].strip() for span in text.spans if "reverse" in str(span.style)}

    @property
    def said(self) -> str:
        """The answer to a command: a pane where it is long."""
        return self.pane("said") if self.screen.query_one("#said", Pane).display else self.status

    @property
    def shown(self) -> str:
        """The whole screen."""
        return "\n".join(strip.text for strip in self.screen.screen._compositor.render_strips())

    @property
    def status(self) -> str:
        """The last line."""
        return str(self.screen.query_one("#status", Static).render())


def looking_at(
    path: Path,
    does: Callable[[Hand], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
    growing: Growing | None = None,
) -> None:
    """The screen of a recording, and somebody who does this."""

    async def played() -> None:
        screen = StepScreen(path, lambda: DebugSession(path, cells_library()), growing)
        try:
            async with screen.run_test(size=size) as pilot:
                hand = Hand(screen, pilot)
                await hand.rest()
                await does(hand)
        finally:
            screen.close()

    asyncio.run(played())
