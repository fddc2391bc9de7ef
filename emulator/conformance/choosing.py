"""Which rules somebody has asked for: by name, by group, or by a name that is watched in every case."""

import difflib
from collections.abc import Iterable, Sequence

from ringhil.emulator.build.errors import BuildError


def choose(asked: Sequence[str], rules: Sequence[str], always: Sequence[str]) -> tuple[str, ...]:
    """The rules to play, in their order; all of them when nothing is asked for. Raises BuildError.

    `link`, `link.` and `link.*` are all rules of that group. What is watched in every case (`always`) is judged by all
    of them: asked for by its name it has all rules played, and so has a group that consists of such alone.
    """
    wanted: set[str] = set()
    for name in asked:
        group = name.removesuffix("*").removesuffix(".")
        own = {rule for rule in rules if name == rule or rule.startswith(f"{group}.")}
        if name in always or (not own and any(rule.startswith(f"{group}.") for rule in always)):
            own = set(rules)
        if not own:
            raise BuildError(_unknown(name, [*always, *rules]))
        wanted |= own
    return tuple(rule for rule in rules if rule in wanted or not asked)


def _unknown(name: str, names: Iterable[str]) -> str:
    names = list(names)
    groups = list(dict.fromkeys(known.split(".")[0] for known in names))
    close = difflib.get_close_matches(name[:40], [*names, *groups], n=3)
    meant = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return f"no rule {name!r}; {meant}groups: {', '.join(groups)}; --list shows all"
