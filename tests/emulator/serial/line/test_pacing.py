"""A ring in real time, by a clock of the test's."""

from ringhil.emulator.serial.line.pacing import Pacing


class Clock:
    """Seconds that pass only where somebody sleeps, or is told to take long."""

    def __init__(self) -> None:
        self.now, self.slept = 100.0, list[float]()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.slept.append(round(seconds, 6))
        self.now += seconds


def test_a_cycle_comes_when_it_is_time() -> None:
    clock = Clock()
    pacing = Pacing(1000, clock, clock.sleep)
    for cycle in (20, 20, 30, 530):
        pacing.wait(cycle)
    assert clock.slept == [0.01, 0.5]


def test_what_is_late_catches_up_and_beyond_a_second_it_does_not() -> None:
    clock = Clock()
    pacing = Pacing(1000, clock, clock.sleep)
    pacing.begin(0)
    clock.now += 0.9
    pacing.wait(100)
    pacing.wait(1000)
    assert clock.slept == [0.1]
    clock.now += 1.5
    pacing.wait(1100)  # its clock stands there now
    pacing.wait(1200)
    assert clock.slept == [0.1, 0.1]


def test_one_that_runs_says_where_it_should_be() -> None:
    clock = Clock()
    pacing = Pacing(1000, clock)
    pacing.begin(7)
    clock.now += 0.25
    assert pacing.due(7, 64) == 257
    clock.now += 1.0
    assert pacing.due(257, 64) == 1257
    clock.now += 1.0
    assert pacing.due(257, 64) == 321
    assert pacing.behind == 2.0
    clock.now += 0.5
    assert pacing.due(321, 64) == 821
    assert pacing.behind == 2.0 - 0.064 + 0.5  # what was given up is not caught up
    clock.now += 0.1
    pacing.due(921, 64)
    assert round(pacing.behind, 9) == 2.0 - 0.064
