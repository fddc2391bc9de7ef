"""How firmware and CPU keep to the protocol is judged: each mistake is named, by the invariant that it breaks."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.judge import mistakes as m
from tests.emulator.judge.playing import assert_named, play
from tests.emulator.scenario.samples import unhurried
from tests.sampled import sampled

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.judge.elections.grants import Grants
from ringhil.emulator.judge.elections.messages import Seat, seats_of
from ringhil.emulator.judge.elections.peers import Peers
from ringhil.emulator.judge.elections.roles import RoleWatch
from ringhil.emulator.judge.elections.seat_events import Booted, SeatGranted, SeatsStopped
from ringhil.emulator.judge.recovery.bounds import bounds_of
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import dumps, load_variants, loads
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.member import Member
from ringhil.firmware.observations import Granted
from ringhil.firmware.warden import Warden
from ringhil.protocol.wire import MemberState, Role

CARD = "server: {cards: {a: {gpus: 6, host_links: [0, 1]}}%s}\n"
CLEAN = CARD % "" + "workload: {units: 40, size: 256}\nuntil: 45000\n"
ALONE = CLEAN.replace("[0, 1]", "[0]")
DEAD = CLEAN + "timeline: [{at: 20300, fault: dead, gpu: a.0}]\n"
BACK = CLEAN.replace("until: 45000\n", "") + (
    "timeline: [{at: 20300, fault: dead, gpu: a.0}, {at: 50300, clear: dead, gpu: a.0}]\n"
)
CUT = CLEAN + "timeline: [{at: 20300, fault: host_link_cut, gpu: a.0}]\n"
LONG = CARD % ", settings: {gpu_restore: 900, link_restore: 900}" + (
    "timeline:\n  - {at: 20300, fault: %s}\n  - {at: 23300, clear: %s}\n"
)
LIAR = CLEAN + "timeline: [{at: 10300, fault: skip_count, gpu: a.3}]\n"
WRONG = CARD % ", settings: {compute_setup: 3000}" + (
    "workload: {units: 120, size: 256}\n"
    "timeline: [{at: 8000, fault: corrupt, gpu: a.3}, {at: 40000, clear: corrupt, gpu: a.3}]\n"
)
NOW_AND_THEN = (
    "server: {cards: {a: {gpus: 4}}}\nworkload: {units: 160}\n"
    "timeline:\n  - {at: 11000, fault: corrupt, gpu: a.2}\n  - {at: 14500, clear: corrupt, gpu: a.2}\n"
    "  - {at: 19500, fault: corrupt, gpu: a.2}\n  - {at: 23500, clear: corrupt, gpu: a.2}\n"
    "  - {at: 29000, fault: corrupt, gpu: a.2}\n  - {at: 33500, clear: corrupt, gpu: a.2}\n"
)
LEAVES = "no_early_return", "it leaves it to others, of which it hears one"


def shipped(name: str) -> str:
    """The first variant of a scenario that is shipped."""
    return dumps(next(iter(load_variants(Path("tests/scenarios", f"{name}.yaml")))).scenario)


FAIL_OVER = dumps(next(iter(load_variants(Path("examples/fail-over.yaml")))).scenario)
TWO = CLEAN.replace("a: {gpus: 6, host_links: [0, 1]}", "a: {gpus: 6}, b: {gpus: 12}")
ACROSS = (
    "server: {cards: {a: {gpus: 6}, b: {gpus: 6}}, boundary_links: [{from: [a.2, a.3], to: [b.2, b.3]}]}\n"
    "until: 45000\n"
)
AT_WORK = CLEAN.replace("units: 40", "units: 400") + "timeline: [{at: 2000, fault: dead, gpu: a.3}]\n"
SLOW = CLEAN.replace("units: 40", "units: 400") + "timeline: [{at: 2000, fault: slow, gpu: a.3}]\n"
NOISY = CARD % ", settings: {census_period: 1500}" + (
    "until: 60000\n"
    "timeline: [{at: %d, fault: link_bit_errors, link: a.2-a.3, rate: 1500}, "
    "{at: %d, clear: link_bit_errors, link: a.2-a.3}]\n"
)
BOTH = TWO.replace("units: 40", "units: 900") + "timeline: [{at: 2000, fault: dead, gpu: a.3}]\n"
TWICE = CARD % "" + (
    "timeline:\n"
    "  - {at: 20300, fault: dead, gpu: a.0}\n  - {at: 30300, clear: dead, gpu: a.0}\n"
    "  - {at: 45300, fault: dead, gpu: a.0}\n  - {at: 60300, clear: dead, gpu: a.0}\n"
)
HALVED = (NOISY % (8000, 30000)).replace("1500}", "400}")
HALF_WAY = CARD % "" + (
    "until: 20000\ntimeline: [{at: 1000, fault: link_cut, link: a.4-a.5}, {at: 12000, fault: corrupt, gpu: a.4}]\n"
)
LATE = CARD % "" + "until: 45000\ntimeline: [{at: 1, fault: link_delay, link: a.2-a.3, delay: 9}]\n"
UNRECORDED = CARD % ", settings: {records: never}" + "until: 20000\n"
REST = {
    "dead": "dead, gpu: a.3",
    "hang": "hang, gpu: a.3",
    "cut": "link_cut, link: a.2-a.3",
}
MISTAKES: dict[str, tuple[m.Mistake, str, str, str]] = {
    "renews nothing": (m.renews_nothing, CLEAN, "lease_terms", "ended; it lasts until"),
    "grants longer": (m.grants_longer, CUT.replace("[0, 1]", "[0]"), "lease_terms", "ended; it lasts until"),
    "holds on": (m.holds_on, CUT, "lease_terms", "ended, and it still holds the role"),
    "gives up late": (m.gives_up_late, CUT, "lease_terms", "gave up the lease of epoch 1, which was over at"),
    "gives up": (m.gives_up, CLEAN, "lease_terms", "gave up the lease of epoch 1, which lasts until"),
    "grants without guard": (
        m.grants_without_guard,
        CLEAN,
        "lease_terms",
        "lost its lease, which it had not given back",
    ),
    "skips epochs": (m.skips_epochs, CLEAN, "lease_terms", "was granted epoch 3; the next one of its rank is 1"),
    "takes another's epoch": (m.takes_anothers_epoch, CLEAN, "lease_terms", "epoch 2, which is another member's"),
    "last comes first": (m.last_comes_first, CLEAN, "best_holder", "GPU 1 was elected, not 0"),
    "preempts": (m.preempts, BACK, "best_holder", "GPU 0 was elected, not 1"),
    "is up at once": (m.is_up_at_once, BACK, "no_early_return", "takes GPU 0 for up at cycle"),
    "never twice as long": (
        m.never_twice_as_long,
        TWICE,
        "no_early_return",
        "it waits for 8000",
    ),
    "a GPU is back at once": (
        m.leaves_out("gpu_restore"),
        LONG % (REST["dead"], REST["dead"]),
        "no_early_return",
        "a.3 was in use again",
    ),
    "a GPU that hung is back at once": (
        m.leaves_out("gpu_restore"),
        LONG % (REST["hang"], REST["hang"]),
        "no_early_return",
        "a.3 was in use again",
    ),
    "a link is back at once": (
        m.leaves_out("link_restore"),
        LONG % (REST["cut"], REST["cut"]),
        "no_early_return",
        "a.2-a.3 was in use again",
    ),
    "asks at once": (
        m.asks_at_once,
        ALONE + "timeline: [{at: 20300, fault: dead, gpu: a.0}, {at: 25300, clear: dead, gpu: a.0}]\n",
        "no_early_return",
        "a.0 asked for the entry role at cycle 25",
    ),
    "asks again at once": (m.asks_again_at_once, CUT, "no_early_return", "after its lease ran out it waits until"),
    "forgives at once": (m.forgives_at_once, WRONG, "no_early_return", "which was wrong 3 times in a row"),
    "forgives the third": (m.forgives_the_third, WRONG, "no_early_return", "which was wrong 3 times in a row"),
    "forgets no wrong result": (m.forgets_no_wrong_result, NOW_AND_THEN, "rightly_resent", "a.2 has room at cycle"),
    "leaves room": (m.leaves_room, CLEAN, "rightly_resent", "has room at cycle"),
    "takes its turn back": (m.takes_its_turn_back, shipped("dead/back-when-the-holder-dies"), *LEAVES),
    "waits no longer the second time": (m.waits_no_longer_the_second_time, shipped("host_link_cut/twice"), *LEAVES),
    "never forgives a member": (
        m.never_forgives_a_member,
        shipped("keepalive_loss/forgiven"),
        "steady_pace",
        "should have taken GPU 2 for up at cycle",
    ),
    "trusts the silent for longer": (
        m.trusts_the_silent_for_longer,
        CLEAN.replace("45000", "90000"),
        "steady_pace",
        "it is taken for reachable",
    ),
    "is late with keepalives": (m.is_late_with_keepalives, CLEAN, "steady_pace", "1049 cycles after the last, not 923"),
    "hurries with keepalives": (m.hurries_with_keepalives, CLEAN, "steady_pace", "922 cycles after the last, not 923"),
    "falls silent": (m.falls_silent, CLEAN, "steady_pace", "has sent no keepalive of the entry role since cycle 2"),
    "tries too often": (m.tries_too_often, LIAR, "steady_pace", "cycles after the last, and after 3 attempts"),
    "counts all the time": (m.counts_all_the_time, CLEAN, "steady_pace", "cycles after the last, and after a count"),
    "stops counting": (m.stops_counting, CLEAN, "steady_pace", "no round has begun since cycle 10"),
    "gives up on cards": (m.with_config(silence=300), CLEAN, "steady_pace", "it is taken for unreachable"),
    "trusts the silent": (m.trusts_the_silent, CLEAN, "steady_pace", "it is taken for reachable"),
    "asks out of turn": (
        m.asks_after(0),
        CLEAN,
        "no_early_return",
        "a.1 asked for the entry role at cycle 0; its turn",
    ),
    "asks late": (m.asks_after(2), CLEAN, "steady_pace", "a.0 asked for the entry role at cycle"),
    "splits before all have reported": (
        m.splits_at_once,
        TWO,
        "steady_pace",
        ": card b has not reported, and 16458",
    ),
    "waits with the work": (m.splits_late, TWO, "steady_pace", "no work is split yet"),
    "tells nobody of its role": (
        m.tells_nobody(Member),
        CUT,
        "rightly_told",
        "told nobody that it holds the entry role",
    ),
    "tells nobody of its lease": (
        m.tells_nobody(Warden),
        ACROSS,
        "rightly_told",
        "told nobody that it holds the boundary role",
    ),
    "miscounts what it rejects": (m.miscounts_rejections, LIAR, "rightly_told", "it has rejected"),
    "sends again too soon": (m.with_config(patience=-900), AT_WORK, "rightly_resent", "cycles before its time at"),
    "sends to whom it failed at": (m.sends_to_whom_it_failed_at, WRONG, "rightly_resent", "which has failed at it"),
    "begins anew first": (m.begins_anew_first, AT_WORK, "rightly_resent", "which was to go out again"),
    "forgets attempts": (m.forgets_attempts, AT_WORK, "rightly_resent", "as attempt 1, after attempt 1"),
    "ignores windows": (m.ignores_windows, SLOW, "rightly_resent", "at most 1 at a time"),
    "refuses a right result": (m.refuses_a_right_result, CLEAN, "rightly_resent", "a right result of unit 7 was not"),
    "counts nothing as sent again": (
        m.keeps_no_book_of("resent"),
        AT_WORK,
        "rightly_counted",
        "the CPU's books say 0 resent; it was ",
    ),
    "counts nothing as wrong": (m.keeps_no_book_of("wrong"), WRONG, "rightly_counted", "say 0 wrong; it was "),
    "counts nothing as refused": (
        m.keeps_no_book_of("refused"),
        FAIL_OVER,
        "rightly_counted",
        "say 0 refused; it was 1",
    ),
    "counts nothing as late": (m.keeps_no_book_of("late"), FAIL_OVER, "rightly_counted", "say 0 late; it was 1"),
    "counts nothing as crossed": (
        m.keeps_no_book_of("crossed"),
        FAIL_OVER,
        "rightly_counted",
        "say 0 crossed; it was ",
    ),
    "counts on": (m.counts_on, CUT, "only_holder", "and doesn't hold the role"),
    "never forgets noise": (m.never_forgets_noise, NOISY % (8000, 12000), "rightly_named", "by the records it is None"),
    "hears noise early only": (m.hears_noise_early_only, NOISY % (30000, 50000), "rightly_named", "noisy link is None"),
    "wardens fall silent": (m.wardens_fall_silent, ACROSS, "steady_pace", "told the other wardens nothing"),
    "answers that nobody holds": (m.answers(state=MemberState.FOLLOWER.code), CLEAN, "rightly_told", "must be ("),
    "answers that another holds": (m.answers(holder=1), CLEAN, "rightly_told", "must be ("),
    "answers what was answered": (m.answers(echo=1), CLEAN, "rightly_told", "it answers keepalive 1 of"),
    "answers the wrong GPU": (m.answers(destination=1), CLEAN, "rightly_told", "card, flags, home and role are"),
    "forgets what it granted": (m.answers(epoch=0), CLEAN, "rightly_told", "it tells of epoch 0, and has granted 1"),
    "gives all to one": (m.gives_all_to_one, BOTH, "rightly_resent", "the share of its card is"),
    "goes on": (m.goes_on, WRONG, "steady_pace", "the run went on to cycle"),
    "is back late": (m.is_back_late, BACK, "steady_pace", "should have taken GPU 0 for up at cycle"),
    "is up twice": (m.is_up_twice, CLEAN, "rightly_told", "as it did before"),
    "says it hears all": (m.says_it_hears_all, DEAD, "rightly_told", "is among those it hears, and it is not up"),
    "ignores who has booted": (m.ignores_who_has_booted, BACK, "steady_pace", "should have taken GPU 0 for up"),
    "asks as it announces": (m.asks_as_it_announces, ACROSS, "no_early_return", "after it said so; it waits for"),
    "asks in another's turn": (m.asks_in_anothers_turn, ACROSS, "no_early_return", "it is the turn of GPU 2"),
    "names no holder": (m.names_no_holder, ACROSS, "rightly_told", "echo and holder are 0 and 0xffffffff, must be"),
    "reports the first suspect only": (
        m.reports_the_first_suspect_only,
        HALF_WAY,
        "rightly_told",
        "suspects are [0], number and first (1, 0); its census named [0, 4]",
    ),
    "lets nobody enter": (m.lets_nobody_enter, ACROSS, "rightly_told", "it lets frames enter for none; its census of"),
    "drops halves": (m.drops_halves, HALVED, "rightly_told", "is lost, and 1 of its messages had come home"),
    "calls all halves wrapped": (m.calls_all_halves_wrapped, HALVED, "rightly_told", "by the way it was sent"),
    "calls a link slow after three rounds": (
        m.calls_a_link_slow_after_three_rounds,
        LATE,
        "rightly_told",
        "after 3 rounds with records; 4 must agree",
    ),
    "weighs by one": (m.weighs_by_one, UNRECORDED, "rightly_told", "the weight of 6 GPUs is 1; without records"),
    "fences the holder": (m.fences_the_holder, CLEAN, "only_holder", "was fenced off at cycle 20"),
}


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("name", sampled(MISTAKES, "bugs", 3))
def test_each_mistake_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_named(*MISTAKES[name], monkeypatch)


LINK = loads(
    """
    server:
      cards: {a: {gpus: 6}, b: {gpus: 6}}
      boundary_links: [{from: [a.2, a.3], to: [b.2, b.3]}]
    """
).server


class Granting:
    """The book of a link's leases, and what wardens do, by their seats."""

    def __init__(self, rank: int) -> None:
        wiring, self.stream = Wiring(LINK), Stream()
        seats = seats_of(wiring, bounds_of(LINK))
        roles = {(role, number): RoleWatch("boundary") for role in Role for number in range(2)}
        self.judge = Grants(self.stream, list(seats.values()), roles, Peers(self.stream))
        self.cell = wiring.cell(1, 2 + rank)
        self.seat = seats[self.cell, Role.BOUNDARY]

    def grants(self, epoch: int, rank: int, now: int, seat: Seat | None = None) -> None:
        """To the member of a rank."""
        what = Granted(Role.BOUNDARY, epoch, rank, now + self.seat.times.lease)
        self.stream.tell(SeatGranted(now, self.cell, seat or self.seat, what))


def test_a_warden_that_has_booted_grants_nothing_for_a_lease_and_a_guard() -> None:
    for late, found in ((-1, 1), (0, 0)):
        warden = Granting(0)
        times = warden.seat.times
        warden.stream.tell(SeatsStopped(0, warden.cell, (warden.seat,)))
        warden.stream.tell(Booted(50_000, warden.cell, (warden.seat,)))
        warden.grants(1, 0, 50_000 + times.lease + times.guard + late)
        assert (len(warden.judge.too_soon), warden.judge.wrong) == (found, [])


def test_wardens_grant_no_epoch_beyond_the_next_of_their_member() -> None:
    for epoch, says in ((1, None), (3, "the next one of its rank is 1"), (2, "which is another member's")):
        warden = Granting(0)
        warden.grants(epoch, 0, 10 * warden.seat.times.skew)
        assert [str(each) for each in warden.judge.wrong if says is None or says not in str(each)] == []
        assert bool(warden.judge.wrong) == (says is not None)
    other, first = Granting(1), Granting(0).seat
    now = 10 * first.times.skew
    other.grants(5, 0, now, first)
    assert "the next one of its rank is 1" in str(other.judge.wrong.pop())
    other.grants(2, 1, now)
    assert other.judge.wrong == [], "a warden may not have heard of a higher one"


def test_work_begins_without_a_card_that_never_reports(library: Library) -> None:
    """When `silence` has passed: too early without it, in time with it."""
    cut = TWO.replace("until: 45000", "timeline: [{at: 1, fault: host_link_cut, gpu: b.0}]\nuntil: 45000")
    outcome = play(loads(cut), library)
    assert outcome.failures == ()
    assert outcome.cards["b"].completed == 0
    assert outcome.cards["a"].completed == 40


def test_who_waits_for_a_card_that_never_reports_is_named(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    hand_out = Cpu._hand_out
    monkeypatch.setattr(Cpu, "_hand_out", lambda self: hand_out(self) if all(c.known for c in self.cards) else None)
    cut = TWO.replace("until: 45000", "timeline: [{at: 1, fault: host_link_cut, gpu: b.0}]\nuntil: 45000")
    assert any("no work is split yet" in v.text for v in play(loads(cut), library).broken("steady_pace"))


def test_a_hop_is_known_by_rounds_without_work_since_the_last_election(library: Library) -> None:
    """Of the entry GPU's own hops: what may be asked of it when a link beside it is late."""
    cut = "timeline: [{at: 60300, fault: host_link_cut, gpu: a.0}, {at: 66300, clear: host_link_cut, gpu: a.0}]\n"
    longer = ALONE.replace("units: 40", "units: 500").replace("until: 45000", "until: 90000")
    run = Run(loads(longer + cut), library)
    met = run.watch.cards[0].met
    run.start()
    run.run_to(40_000)
    counted = len(run.watch.cards[0].counts)
    assert run.cpu.finished
    assert 0 < met[0, 1] < counted
    run.run_to(60_000)
    assert met[0, 1] == met[0, 5] > 4
    run.run_to(80_000)
    assert run.watch.cards[0].role.changes == 2
    assert 0 < met[0, 1] <= 4
    run.close()


@pytest.mark.slow(part="alarms")
@unhurried
@given(st.lists(st.integers(1, 30_000), max_size=8, unique=True), st.booleans())
def test_a_count_that_is_asked_for_is_no_mistake(cycles: list[int], cut: bool) -> None:
    run = Run(loads(CUT if cut else CLEAN), cells_library())
    run.start()
    for cycle in sorted(cycles):
        run.run_to(cycle)
        run.server.count_now(0)
    assert run.finish().failures == ()
    run.close()


def test_a_count_in_between_that_nobody_asked_for_is_one() -> None:
    run = Run(loads(CLEAN), cells_library())
    run.start()
    run.run_to(20_000)
    run.server.count_now(0)
    run.run_to(20_500)
    run.server._firmware[run.server.wiring.cell(0, 0)].count_now()
    (failure,) = run.finish().failures
    assert "card a at cycle 20500: a round begins 500 cycles after the last, and after a count" in failure
    run.close()
