"""Plays a server to the point from which its faults are explored: settled, and at the beginning of a census round."""

from dataclasses import replace

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.play import Played
from ringhil.emulator.campaign.explore.result import CaseResult, summed_up
from ringhil.emulator.campaign.explore.space import Round
from ringhil.emulator.campaign.explore.warm import PATIENCE, Warm
from ringhil.emulator.engine.library import Library
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.forks import ForkedError, forked_again
from ringhil.emulator.host.work.workload import DataError
from ringhil.emulator.judge.recovery.bounds import bounds_of
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.foreign import FirmwareError
from ringhil.emulator.server.times import times_of

_COUNTS = 2  # right ones in a row
_PERIODS = 20  # of the census, in which a server without faults has long settled


class UnsettledError(RinghilError):
    """The server doesn't come to rest without any fault; `result` is that of its whole run."""

    def __init__(self, text: str, result: CaseResult) -> None:
        super().__init__(text)
        self.result = result


def bare(scenario: Scenario) -> Scenario:
    """The server and its work; its own timeline, expectations and end are left out."""
    return replace(scenario, timeline=(), expect=(), until=None)


def settle(
    scenario: Scenario, library: Library, after: int = 0, *, firmware: FirmwareChoice = OURS
) -> tuple[Warm, dict[str, Round]]:
    """The warm server, and for each card its first round after that. Raises UnsettledError, DataError and
    FirmwareError.

    Not before cycle `after`, at the first cycle from which each card has counted all its GPUs twice and each link
    between cards is held by somebody.
    """
    warm = Warm(scenario, library, 0, firmware=firmware)
    server = warm.server
    period = _period(scenario)
    last = after + _start_up(scenario) + _PERIODS * period
    while not _settled(server) or server.kernel.now < after:
        if server.kernel.now >= last:
            # Only now is its whole run of interest.
            raise UnsettledError(f"not settled by cycle {server.kernel.now}", _whole_run(scenario, library, firmware))
        try:
            warm.run_to(server.kernel.now + max(1, period // 4))
        except (DataError, FirmwareError):
            raise
        except Exception as error:  # RTL that isn't ours may do anything
            text = f"{type(error).__name__}: {error}"
            raise UnsettledError(text, CaseResult.unplayed(text)) from error
    try:
        rounds = forked_again(lambda: _rounds(server, period), PATIENCE)
    except ForkedError as error:
        raise ExploreError(f"no census round to strike in: {error}") from error
    warm.run_to(min(round_.start for round_ in rounds.values()))
    return warm, rounds


def _whole_run(scenario: Scenario, library: Library, firmware: FirmwareChoice) -> CaseResult:
    def whole() -> CaseResult:
        return summed_up(Played(Run(scenario, library, firmware=firmware).run(), (), None))

    try:
        return forked_again(whole, PATIENCE)
    except ForkedError as error:
        return CaseResult.unplayed(str(error), hung=error.hung)


def _period(scenario: Scenario) -> int:
    return max(scenario.server.settings.census_period, *(2 * times.timeout for times in times_of(scenario.server)))


def _start_up(scenario: Scenario) -> int:
    """Cycles for all roles to be taken up for the first time."""
    return max(b.return_bound(8, across=bool(scenario.server.boundary_links)) for b in bounds_of(scenario.server))


def _settled(server: Run) -> bool:
    for card, watch in zip(server.scenario.server.cards, server.watch.cards, strict=True):
        last = watch.counts[-_COUNTS:]
        if len(last) < _COUNTS or any(counted.count != card.gpus for _, counted in last):
            return False
    return all(role.holder is not None for role in server.watch.links)


def _rounds(server: Run, period: int) -> dict[str, Round]:
    """The first rounds that begin from now on; plays the server on until all are over."""
    began, rounds = server.kernel.now, dict[str, Round]()
    for _ in range(_PERIODS):
        server.run_to(server.kernel.now + period)
        for watch in server.watch.cards:
            for at, counted in watch.counts:
                if counted.sent_at > began:
                    rounds.setdefault(watch.name, Round(counted.sent_at, at))
        if len(rounds) == len(server.watch.cards):
            return rounds
    raise ExploreError("a card has stopped counting")
