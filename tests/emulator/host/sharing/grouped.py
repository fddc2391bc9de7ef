"""A server with a group tree: reads and writes that let time pass until the GPUs have answered."""

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.sharing.groups import GroupTree
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

_STEP, _MOST = 50, 20_000  # cycles

SERVER = """
server:
  cards: {a: {gpus: 4, host_links: [0, 1]}}
  settings: {device_memory: 1000, default_slice: 1000}
"""


class Grouped:
    """The server of a text, begun."""

    def __init__(self, text: str) -> None:
        self.run = Run(loads(SERVER + text), cells_library())
        self.run.start()
        self.tree: GroupTree = self.run.server.process_groups

    def __enter__(self) -> "Grouped":
        return self

    def __exit__(self, *error: object) -> None:
        self.run.close()

    def to(self, cycle: int) -> None:
        self.run.run_to(cycle)

    def read(self, path: str) -> str:
        found = list[str]()
        self.tree.read(path, found.append)
        self._wait(found)
        return found[0]

    def write(self, path: str, text: str) -> None:
        done = list[bool]()
        self.tree.write(path, text, lambda: done.append(True))
        self._wait(done)

    def refused(self, path: str, text: str) -> int | None:
        """The number of the error; None: it is taken."""
        try:
            self.tree.write(path, text, lambda: None)
        except OSError as error:
            return error.errno
        return None

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

    def _wait(self, answered: list[str] | list[bool]) -> None:
        end = self.run.kernel.now + _MOST
        while not answered:
            assert self.run.kernel.now < end, "nobody has answered"
            self.run.run_to(self.run.kernel.now + _STEP)
