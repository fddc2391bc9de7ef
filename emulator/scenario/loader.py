"""Files and text to scenarios."""

import os
from pathlib import Path

from ringhil.emulator.errors import printable
from ringhil.emulator.scenario.file.scenario import Scenario
from ringhil.emulator.scenario.sweep.variants import Variants
from ringhil.emulator.scenario.yaml.events import read_text
from ringhil.emulator.scenario.yaml.parse import parse


def load(path: str | os.PathLike[str]) -> Scenario:
    """The scenario in the file at `path`, UTF-8.

    Raises ScenarioError, also when the file can't be read, or has a sweep: then `load_variants` is for it.
    """
    return load_variants(path).only()


def loads(text: str, name: str = "<string>") -> Scenario:
    """The scenario in `text`; `name` stands for the path in messages, relative data paths stay as they are.

    Raises ScenarioError.
    """
    return loads_variants(text, name).only()


def load_variants(path: str | os.PathLike[str]) -> Variants:
    """The variants of the file at `path`; one without parameters when it has no `sweep`.

    Raises ScenarioError.
    """
    path = Path(path)
    return Variants(path, parse(read_text(path), str(path)), name=printable(path.stem), folder=path.parent)


def loads_variants(text: str, name: str = "<string>", folder: Path = Path()) -> Variants:
    """The variants of the file whose text is `text`, which lies in `folder`; otherwise as `load_variants`."""
    path = Path(name)
    return Variants(path, parse(text, name), name=printable(path.stem), folder=folder)
