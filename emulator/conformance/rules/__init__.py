"""The rules, by what they are about."""

from importlib import import_module

_MODULES = (
    "control",
    "switch",
    "faults",
    "link",
    "mailbox",
    "lending",
    "registers",
    "quiescence",
    "data",
    "compute",
    "crossing",
    "phases",
    "falling",
    "turns",
    "timers",
    "patience",
    "changed",
    "periods",
    "blinks",
    "crowded",
    "babbling",
    "gaps",
    "coincide",
    "begun",
    "beside",
    "begins",
    "briefly",
    "fields",
    "power",
    "contexts",
    "meets",
    "repeats",
    "everything",
    "pairs",
)


def load() -> None:
    """Import all modules of rules; each registers its own."""
    for name in _MODULES:
        import_module(f"{__name__}.{name}")
