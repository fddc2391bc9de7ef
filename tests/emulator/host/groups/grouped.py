"""A server with a group tree, and what its files say as numbers."""

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.groups.live import LiveGroups
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

SERVER = """
server:
  cards: {a: {gpus: 4, host_links: [0, 1]}}
  settings: {device_memory: 1000, default_slice: 1000}
"""


class Grouped(LiveGroups):
    """The server of a text, begun."""

    def __init__(self, text: str) -> None:
        self.run = Run(loads(SERVER + text), cells_library())
        self.run.start()
        super().__init__(self.run)

    def __enter__(self) -> "Grouped":
        return self

    def __exit__(self, *error: object) -> None:
        self.run.close()

    def to(self, cycle: int) -> None:
        self.run.run_to(cycle)

    def stat(self, path: str) -> dict[str, int]:
        """The numbers of a `gpu.stat`."""
        return {name: int(value) for name, value in (line.split() for line in self.read(path).splitlines())}

    def contexts(self, path: str = "gpu.contexts") -> dict[str, dict[str, str]]:
        """The lines of a `gpu.contexts`, by the name of the process."""
        lines = (dict(word.split("=") for word in line.split()[1:]) for line in self.read(path).splitlines())
        return {line["name"]: line for line in lines}

    def pid(self, path: str) -> str:
        """Of the only process there."""
        return self.read(f"{path}/cgroup.procs").strip()


def number(act: object, *arguments: str) -> int | None:
    """Of the error; None: it is done."""
    assert callable(act)
    try:
        act(*arguments)
    except OSError as error:
        return error.errno
    return None
