"""Quantities for people, each in the unit that fits it, with four digits where it isn't whole: so in tables of commands
and pages. Charts choose units alike (view/page/src/ticks.ts)."""

_TIMES = (
    (3 * 86400, 86400, "d"),
    (3 * 3600, 3600, "h"),
    (600, 60, "min"),
    (1, 1, "s"),
    (1e-3, 1e-3, "ms"),
    (1e-6, 1e-6, "us"),
    (0, 1e-9, "ns"),
)
_MEMORY = ((1 << 40, 1 << 40, "TiB"), (1 << 30, 1 << 30, "GiB"), (1 << 20, 1 << 20, "MiB"), (1 << 10, 1 << 10, "KiB"))
_ENERGY = ((3.6e6, 3.6e6, "kWh"), (1e3, 1e3, "kJ"), (1, 1, "J"), (0, 1e-3, "mJ"))
_DIGITS = 4


def seconds(value: float | None) -> str:
    """A time: `1.5 ms`; None: a dash."""
    return _fitting(value, _TIMES, "s")


def milliseconds(value: float | None) -> str:
    """A time that is given in milliseconds."""
    return seconds(None if value is None else value / 1000)


def memory(size: float | None) -> str:
    """Bytes: `1.500 GiB`; None: a dash."""
    return _fitting(size, _MEMORY, "B")


def joules(value: float | None) -> str:
    """Energy: `1.205 kJ`; None: a dash."""
    return _fitting(value, _ENERGY, "J")


def _fitting(value: float | None, units: tuple[tuple[float, float, str], ...], base: str) -> str:
    """`units`: from how much on each fits, and how much of `base` it is."""
    if value is None:
        return "-"
    most = abs(_rounded(value))
    size, unit = next(((size, unit) for least, size, unit in units if most and most >= least), (1, base))
    shown = _rounded(value / size)
    digits = 0 if shown.is_integer() else max(0, _DIGITS - len(str(int(abs(shown)))))
    return f"{shown:,.{digits}f} {unit}"


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
