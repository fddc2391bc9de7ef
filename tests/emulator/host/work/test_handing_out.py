"""Whom a unit goes to that has failed."""

from tests.emulator.host.desk import SIZE, Desk


def test_who_has_failed_last_is_not_asked_first_when_all_have() -> None:
    """Then everybody may be asked again, but that one."""
    few = Desk(units=2 * SIZE)
    few.count()
    unit, out = few.work()[0], few.cpu._out
    here = ("ab"[unit.card], unit.destination)
    out._tried[unit.unit] = {(name, gpu) for name in "ab" for gpu in range(SIZE)} - {here}
    out._retry(unit.unit)
    assert out._tried[unit.unit] == {here}
    few.close()
