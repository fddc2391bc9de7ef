"""What has to hold in every run: one table, in the order in which broken ones are told.

docs/explanation/reliability.md has them in words.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from ringhil.emulator.judge.evidence import RunEvidence
from ringhil.emulator.judge.findings import MOST, Finding, FindingList, say


def violations(evidence: RunEvidence, judged: frozenset[str]) -> Iterator[Finding]:
    """How the invariants with these names were broken in a run, which is over."""
    cards = tuple(card.name for card in evidence.wiring.cards)
    for name, broken in ALL.items():
        if name in judged:
            for found in broken(evidence):
                lasts = evidence.lasts(found) if found.lasts is None else found.lasts
                yield replace(found.of(name, cards), lasts=lasts)


def _wrong_count(evidence: RunEvidence) -> Iterator[Finding]:
    """No count is accepted that was at no time true since its round began, and work is first shared out by true
    counts."""
    watch = evidence.watch
    yield from watch.wrong_shares
    for card in watch.cards:
        yield from card.wrong_counts
    yield from evidence.conduct.weighing.wrong.first("counts that weigh their GPUs wrongly")


def _one_grant(evidence: RunEvidence) -> Iterator[Finding]:
    """No role is held by two GPUs at a time, no epoch comes twice or too late, and each election has raised it."""
    watch, now = evidence.watch, evidence.now
    for role in (*(card.role for card in watch.cards), *watch.links):
        role.look(now)
        yield from role.wrong
    for card in watch.settled_cards(now):
        text = watch.differences.of_epoch(card, now)
        if text is not None:
            yield Finding(say("at the end: card {}: {}", watch.cards[card].name, text))
    for group in watch.settled_links(now):
        text = watch.differences.of_link_epoch(group, watch.links[group], now)
        if text is not None:
            yield Finding(say("at the end: {}: {}", watch.links[group].name, text))


def _only_holder(evidence: RunEvidence) -> Iterator[Finding]:
    """Only the GPU that holds a card's entry role is heard: by what the members' own firmware says about who holds it,
    and by the registers that let frames pass."""
    yield from evidence.acceptance.unheld.first("reports and results")
    yield from evidence.conduct.fence.wrong.first("GPUs whose registers let the wrong frames pass")


def _lease_terms(evidence: RunEvidence) -> Iterator[Finding]:
    """Leases and epochs are as their terms say: they last no longer and no shorter, and nobody skips an epoch."""
    yield from evidence.conduct.off_terms.first("findings about leases")


def _best_holder(evidence: RunEvidence) -> Iterator[Finding]:
    """Who is elected is who may be: at power-up the first one listed, then nobody while a holder can keep its role."""
    yield from evidence.conduct.elections.wrong.first("elections")


def _no_orphan(evidence: RunEvidence) -> Iterator[Finding]:
    """No statistics message stays on a ring beyond its bound; each is told once."""
    evidence.orphans.look()
    yield from evidence.orphans.found.values()


def _bounded_recovery(evidence: RunEvidence) -> Iterator[Finding]:
    """Every fault is dealt with within its bound, and long after the last one all is as it must be: by the watch's
    account of each event, and by what the CPU knows at the end beside what the oracle says."""
    watch, now = evidence.watch, evidence.now
    for card in watch.settled_cards(now):
        differs = watch.differences
        text = differs.of_card(card) or differs.of_weight(card) or differs.of_entry(card)
        if text is not None:
            yield Finding(say("at the end: card {}: {}", watch.cards[card].name, text))
    for group in watch.settled_links(now):
        text = evidence.wrong_link(group)
        if text is not None:
            yield Finding(say("at the end: {}: {}", watch.links[group].name, text))
    for recovery in watch.recoveries(now):
        if not recovery.ok:
            yield recovery.violation


def _no_early_return(evidence: RunEvidence) -> Iterator[Finding]:
    """What has failed is not taken back before its time: GPUs, links, members of a group, GPUs that were wrong."""
    yield from evidence.conduct.too_soon.first("early returns")


def _steady_pace(evidence: RunEvidence) -> Iterator[Finding]:
    """Keepalives, rounds of a census and silence keep to their times, from above and from below."""
    yield from evidence.conduct.uneven.first("times that were not kept")


def _rightly_named(evidence: RunEvidence) -> Iterator[Finding]:
    """Who is suspected, slow or noisy has given cause for it."""
    names = evidence.names
    yield from names.wrong
    yield from evidence.conduct.noise.wrong
    for card, watch in enumerate(evidence.watch.cards):
        text = names.at_the_end(card, evidence.now)
        if text is not None:
            yield Finding(say("at the end: card {}: {}", watch.name, text))


def _work_once(evidence: RunEvidence) -> Iterator[Finding]:
    """Every work unit is done, its result accepted once, and right; so is every launch of an application."""
    work, acceptance, tasks = evidence.cpu.work, evidence.acceptance, evidence.tasks
    yield from acceptance.wrong.first("results that should not have counted")
    yield from tasks.isolation.launches.first("launches that didn't have what they asked for")
    yield from tasks.one_by_one.wrong.first("commands that were not asked for until answered")
    yield from tasks.attempts.wrong.first("commands that were asked for again in another way")
    yield from tasks.steps.wrong.first("things that an application doesn't do as its file says")
    yield from map(Finding, evidence.wrong_accounts())
    if work.completed != work.units and evidence.watch.undoable() is None:
        yield Finding(say("{} of {} work units were not done", work.units - work.completed, work.units))
    if work.duplicated:
        yield Finding(say("{} work units were done twice", work.duplicated))
    if not acceptance.wrong and not work.duplicated and work.digest != acceptance.digest:
        text = "the digest of all results is {found:016x}, must be {expected:016x}"
        yield Finding(say(text, found=work.digest, expected=acceptance.digest))


def _memory_isolated(evidence: RunEvidence) -> Iterator[Finding]:
    """No context holds more than it may, all together not more than there is, and refusals for want of memory are true
    (S3)."""
    tasks = evidence.tasks
    yield from tasks.isolation.memory.first("answers of contexts about their memory")
    yield from tasks.terms.memory.first("limits that are not what a group's memory allows")
    yield from tasks.given_back.wrong.first("contexts that were not destroyed")
    yield from tasks.left_behind.wrong.first("times that a GPU kept what its tasks have lost")


def _slice_kept(evidence: RunEvidence) -> Iterator[Finding]:
    """Nobody has a GPU's engine past its slice while another waits; rounds, priorities and switches are as they must
    be (S3, S5)."""
    yield from evidence.tasks.turns.wrong.first("turns that are not as they must be")
    yield from evidence.tasks.terms.terms.first("slices or priorities that are not those of the groups")


def _rightly_switched(evidence: RunEvidence) -> Iterator[Finding]:
    """Tasks follow one another on a GPU as their policy says (W2 to W5)."""
    wrong = FindingList()
    for text in evidence.switching:
        wrong.tell(getattr(text, "cycle", None), text)
    yield from wrong[:MOST]
    if len(wrong) > MOST:
        yield Finding(say("and {} more things that the policy forbids", len(wrong) - MOST))


def _rightly_resent(evidence: RunEvidence) -> Iterator[Finding]:
    """Work goes out again when there is a reason, in time, and to another GPU; no GPU has more of it than its window,
    and none has less while there is work for it."""
    yield from evidence.conduct.ledger.wrong.first("units that were sent wrongly")
    yield from evidence.conduct.ledger.idle.first("times that a GPU was left without work")


def _rightly_counted(evidence: RunEvidence) -> Iterator[Finding]:
    """The numbers of the result that say what became of the work are what has happened, by the judge's own count."""
    yield from map(Finding, evidence.conduct.ledger.count.differs(evidence.cpu.work))


def _rightly_lent(evidence: RunEvidence) -> Iterator[Finding]:
    """A GPU is lent when it was asked for, is counted, has no contexts and no work left; it gets none until it is back;
    and the report says who is lent."""
    yield from evidence.conduct.loans.wrong.first("things about GPUs that are lent")


def _rightly_told(evidence: RunEvidence) -> Iterator[Finding]:
    """What a GPU's firmware and the CPU write says truly who sends it, to whom, under which number, by which way."""
    yield from evidence.conduct.mistold.first("messages")


ALL: dict[str, Callable[[RunEvidence], Iterator[Finding]]] = {
    "wrong_count": _wrong_count,
    "one_grant": _one_grant,
    "only_holder": _only_holder,
    "lease_terms": _lease_terms,
    "best_holder": _best_holder,
    "no_orphan": _no_orphan,
    "bounded_recovery": _bounded_recovery,
    "no_early_return": _no_early_return,
    "steady_pace": _steady_pace,
    "rightly_named": _rightly_named,
    "work_once": _work_once,
    "memory_isolated": _memory_isolated,
    "slice_kept": _slice_kept,
    "rightly_switched": _rightly_switched,
    "rightly_resent": _rightly_resent,
    "rightly_counted": _rightly_counted,
    "rightly_lent": _rightly_lent,
    "rightly_told": _rightly_told,
}
