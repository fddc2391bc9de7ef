"""The rows of a recording as they are wanted on a screen: a few pages are kept, however long it is."""

from collections import OrderedDict
from pathlib import Path

from ringhil.emulator.debug.items import RecordedItem
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import Recording

PAGE = 128  # rows
KEPT = 32  # pages


class Rows:
    """Messages and events by their number, 1 .. `count`. `read`: how many were read from the file until now. Raises
    RecordingError for a file that can't be read; `damaged`: what is wrong with a page, of which no row is there."""

    def __init__(self, path: Path) -> None:
        self.recording = Recording(path)
        self.count = self.recording.last_number
        self.read = 0
        self.damaged: RecordingError | None = None
        self._pages: OrderedDict[int, dict[int, RecordedItem]] = OrderedDict()

    def grown(self) -> None:
        """There may be more of them than before."""
        self._pages.pop(self.count // PAGE, None)  # it wasn't full
        self.count = self.recording.last_number

    def get(self, number: int) -> RecordedItem | None:
        """None: there is none of this number."""
        if not 1 <= number <= self.count:
            return None
        page = number // PAGE
        if page in self._pages:
            self._pages.move_to_end(page)
        else:
            try:
                found = {item.number: item for item in self.recording.all(page * PAGE, page * PAGE + PAGE - 1)}
            except RecordingError as error:
                found, self.damaged = {}, error
            self.read += len(found)
            self._pages[page] = found
            if len(self._pages) > KEPT:
                self._pages.popitem(last=False)
        return self._pages[page].get(number)

    @property
    def kept(self) -> int:
        """Rows in memory."""
        return sum(map(len, self._pages.values()))

    def reopen(self) -> None:
        """The run is over: its outcome is in the file, or what it was about to write is taken back."""
        path = self.recording.path
        self.recording.close()
        self.recording = Recording(path)
        self.grown()

    def close(self) -> None:
        """Close the file."""
        self.recording.close()
