"""The rules, a file for each theme."""

from importlib import import_module

# In the order in which they are checked: what a rule needs stands before it.
THEMES = (
    "requests",
    "framing",
    "refusals",
    "hello",
    "time",
    "registers",
    "census",
    "events",
    "frames",
    "line",
    "faults",
    "roles",
)


def load() -> None:
    """Register all."""
    for theme in THEMES:
        import_module(f"{__name__}.{theme}")
