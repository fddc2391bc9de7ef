"""Plays scenarios and explored cases on what is loaded, and judges them as `verify` and `explore` do.

It loads firmware and CPU: only processes in which the mistake has been planted import it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import islice

from benchmarks.mutation_firmware.found import Found, allow

from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.player import CasePlayer, start_of
from ringhil.emulator.campaign.explore.settle import bare, settle
from ringhil.emulator.campaign.explore.space import Space
from ringhil.emulator.campaign.verify.judge import failures
from ringhil.emulator.engine.library import Library
from ringhil.emulator.events.hardware import FrameSeen
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario

_ROUNDS = 1  # as `explore` has it

Hashes = Mapping[str, str]


def verify(scenarios: Sequence[tuple[str, Scenario]], library: Library, patience: int, before: Hashes) -> Found:
    """Up to the first that `verify` wouldn't pass: one that fails (exit code 1), or that raises (exit code 2).

    `patience`: seconds of processor time for one, after which the process is ended.
    """
    found = Found()
    for name, scenario in scenarios:
        allow(patience)
        why, hash_ = _variant(scenario, library)
        found.add(name, hash_, before)
        if why:
            return found.by(name, why)
    return found


def _variant(scenario: Scenario, library: Library) -> tuple[str, str]:
    """Why it doesn't pass, "" if it does, and a hash of all its frames and its result."""
    frames = hashlib.sha256()

    def note(seen: FrameSeen) -> None:
        frames.update(b"%d %d %d %d " % (seen.cycle, seen.cell, seen.port, seen.bad) + seen.WAY.encode() + seen.frame)

    try:
        server = Run(scenario, library)
        try:
            server.observations.listen_to_frames(note)
            outcome = server.run()
            document = {name: value for name, value in outcome.to_json().items() if name != "engine"}
            frames.update(json.dumps(document, sort_keys=True).encode())
        finally:
            server.engine.close()
    except Exception as error:  # a mistake may raise anything
        return f"{type(error).__name__}: {error}", "raised"
    return "; ".join(f"{f.kind}: {f.text}" for f in failures(scenario, outcome)[:3]), frames.hexdigest()[:16]


def explore(scenario: Scenario, library: Library, part: int, patience: int, before: Hashes) -> Found:
    """Of the cases that `explore --shard 1/part` plays, up to the first that doesn't pass (exit code 1). A server that
    doesn't settle ends it with exit code 1 or 2.

    `patience`: seconds of processor time until it has settled, and of time for a case.
    """
    found = Found()
    allow(patience)
    try:
        warm, rounds = settle(bare(scenario), library)
    except Exception as error:  # UnsettledError and ExploreError are said in a line, others end it with a traceback
        found.add("settle", "unsettled", before)
        return found.by("settle", f"{type(error).__name__}: {error}")
    plan = Plan(lasts=(None, 2 * scenario.server.settings.census_period))
    player = CasePlayer(warm, float(patience), _ROUNDS)
    try:
        cases = islice(enumerate(Space(warm.scenario.server, rounds, plan)), 0, None, part)
        for numbered in sorted(cases, key=start_of):
            result = player(numbered)
            key = numbered[1].key
            found.add(key, repr(result), before)
            if result.verdict != VerdictWord.PASS:
                return found.by(key, f"{result.verdict}: {'; '.join(result.failures[:3])}")
    finally:
        warm.close()
    return found
