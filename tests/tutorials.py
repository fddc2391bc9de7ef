"""A tutorial as its reader follows it: one shell saves the page's files, runs its commands and shows what they say.

A code block is saved as the file that the line before it names (`bench.py`:). Of a block `console`, a line with `$ ` is
a command, and what follows is what it prints: a line `...` stands for any lines, and times and ports may differ. Other
blocks are not run. `python -m tests.tutorials PAGE FOLDER` prints what the commands say.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "tutorials"
_BLOCK = re.compile(r"(?:`([\w./-]+)`[^\n`]*:\n\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_MARK = "----- command "
_DIFFERS = {r"\b\d+\.\d+ ?s\b": "T s", r"in \d+\.\d+s": "in T s", r"/dev/pts/\d+": "PORT", r"/tmp/[\w./-]*/": "/tmp/"}


@dataclass(frozen=True)
class Command:
    """A command of a page, and what the page says that it prints: nothing, where it doesn't show that."""

    words: str
    shown: str


def steps(page: str) -> Iterator[Command | tuple[str, str]]:
    """What a reader does: commands, and files with their text, in the order of the page."""
    for name, language, text in _BLOCK.findall(page):
        if language == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                yield Command(*part.partition("\n")[::2])
        elif name and not text.startswith("$ "):
            yield name, text


def play(page: str, folder: Path) -> list[tuple[Command, str]]:
    """Each command of a page with what it has printed, done in an empty folder."""
    lines: list[str] = []
    commands: list[Command] = []
    for step in steps(page):
        if isinstance(step, Command):
            lines += [f"printf '\\n%s\\n' '{_MARK}{len(commands)}'", step.words]
            commands.append(step)
        else:
            name, text = step
            lines += [f"mkdir -p $(dirname {name}); cat > {name} <<'END OF FILE'", text + "END OF FILE"]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        cwd=folder,
        env={name: value for name, value in environment.items() if not name.startswith(("PYTEST_", "COV_"))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1200,
        check=False,
    )
    said = re.split(rf"^{_MARK}\d+\n", done.stdout, flags=re.MULTILINE)[1:]
    return list(zip(commands, (text.removesuffix("\n") for text in said), strict=True))


def agrees(shown: str, said: str) -> bool:
    """Whether a page shows what was said, but for what may differ and what it leaves out."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in _same(shown).splitlines())
    return not shown or re.fullmatch(pattern, _same(said.rstrip("\n") + "\n")) is not None


def _same(text: str) -> str:
    for pattern, word in _DIFFERS.items():
        text = re.sub(pattern, word, text)
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


if __name__ == "__main__":
    for command, said in play(Path(sys.argv[1]).read_text(), Path(sys.argv[2])):
        print(f"$ {command.words}\n{said}", "" if agrees(command.shown, said) else "<<<<< the page shows otherwise")
