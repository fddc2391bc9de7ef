"""Verdicts beside a list of known failures: what is known is no news; what is known to fail, and passes, is."""

from dataclasses import replace

from ringhil.emulator.campaign.verify.report import VerifyReport
from ringhil.emulator.campaign.verify.verdict import Failure, Verdict
from ringhil.emulator.judge.known import WAS_KNOWN, KnownFailures
from ringhil.emulator.judge.outcome import VerdictWord

KNOWN = "known"  # kind of the failure of what passes


def excused(verdict: Verdict, known: KnownFailures) -> Verdict:
    """The verdict as it is reported. One that can't be played is never known."""
    where, sorts = (verdict.id, verdict.file.as_posix()), [failure.sort for failure in verdict.failures]
    if verdict.state == VerdictWord.FAIL:
        why, over = known.why(*where, sorts), known.over(*where, sorts)
        if why is not None:
            return replace(verdict, known=str(why))
        if over is not None:
            first, *others = verdict.failures
            noted = replace(first, notes=(*first.notes, f"{WAS_KNOWN}: {over}"))
            return replace(verdict, failures=(noted, *others))
    elif verdict.state == VerdictWord.PASS and (entry := known.of(*where)) is not None:
        text = f"it passes, and is known to fail: {entry}; take it off the list"
        failure = Failure(KNOWN, text, sort="known: it passes, and is known to fail")
        return replace(verdict, state=VerdictWord.FAIL, failures=(failure,))
    return verdict


def stale(report: VerifyReport, known: KnownFailures) -> tuple[str, ...]:
    """Sorts that are known, and of which nothing has failed though all was played."""
    sorts = [failure.sort for verdict in report.results for failure in verdict.failures]
    text = "{}: nothing has failed in this sort, and it is known to: {}; take it off the list"
    return tuple(text.format(entry.sort, entry) for entry in known.unseen(sorts))


def idle(report: VerifyReport, known: KnownFailures) -> tuple[str, ...]:
    """Entries about scenarios that were not among those that were played."""
    played = [(verdict.id, verdict.file.as_posix()) for verdict in report.results]
    return tuple(f"{entry.scenario}: not played; {entry}" for entry in known.idle(played))
