"""Mistakes of one line each in the firmware in C, and what of `firmware check` finds each."""

from pathlib import Path

from tests.firmware.c.library import FOLDER
from tests.protocol.c.library import INCLUDE, SOURCES, compile_c

from .mistake import Mistake
from .mistakes_in_rounds import IN_ROUNDS


class Compiled:
    """The firmware as objects in `folder`; of one with a mistake a single file is compiled anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._objects = {
            source.name: self._compiled(source, folder / f"{source.stem}.o", "-c")
            for source in (*sorted(FOLDER.glob("*.c")), *SOURCES)
        }

    def right(self) -> Path:
        """The library as it is."""
        return self._compiled(*self._objects.values(), self._folder / "libright.so", "-shared")

    def wrong(self, name: str, mistake: Mistake) -> Path:
        """The library with this mistake, made once."""
        library = self._folder / f"lib{name}.so"
        if library.exists():
            return library
        text = (FOLDER / mistake.file).read_text()
        assert text.count(mistake.right) == 1, f"{name}: {mistake.file} has it {text.count(mistake.right)} times"
        source = self._folder / f"{name}.c"
        source.write_text(text.replace(mistake.right, mistake.wrong))
        others = [each for file, each in self._objects.items() if file != mistake.file]
        return self._compiled(source, *others, library, "-shared")

    def _compiled(self, *files: Path | str) -> Path:
        *sources, made, how = files
        done = compile_c("-std=c99", "-fPIC", f"-I{FOLDER}", f"-I{INCLUDE}", how, *sources, "-o", made)
        assert done.returncode == 0, done.stderr
        return Path(made)


_RELEASES_UNKNOWN = "say_election(gpu, m, RHW_OPERATION_RELEASE, message->epoch);"
_BETTER = "m->peers[rank].liveness.up && m->peers[rank].uplink && !m->peers[rank].reluctant)"
_RENEWS = "(message->state & 0x0Fu) == RHW_STATE_HOLDER && w->grants && message->epoch == w->epoch)"

MISTAKES = {
    # Keepalives.
    "one_way_round": Mistake(
        "group.c", "        rhf_tell(gpu, m, RHW_PORT_CCW, rank, told);\n", "", ("keepalives.rounds",)
    ),
    "no_jitter": Mistake("group.c", "if (!m->jitter)", "if (1)", ("keepalives.jitter",)),
    "always_up": Mistake(
        "member.c",
        "(uplink_is_up(m, now) ? RHW_MEMBER_UPLINK : 0u)",
        "RHW_MEMBER_UPLINK",
        ("keepalives.say", "keepalives.this_boot"),
    ),
    "hears_its_number_only": Mistake(
        "group.c",
        "if (who == gpu->boot.gpu || message->role",
        "if (who == gpu->boot.gpu || message->destination != gpu->boot.gpu || message->role",
        ("keepalives.say",),
    ),
    "echo_stale_warden": Mistake(
        "warden.c", "w->highest, message->sequence,", "w->highest, message->sequence - 1,", ("keepalives.answers",)
    ),
    "grants_in_silence": Mistake(
        "warden.c",
        "FOLLOWER | (w->grants ? RHW_MEMBER_GRANTING : 0u) |\n                     (rhf",
        "FOLLOWER |\n (rhf",
        ("keepalives.answers",),
    ),
    "gossip_without_uplink": Mistake(
        "warden.c", "(w->leader.up ? RHW_MEMBER_UPLINK : 0u);", "0u;", ("keepalives.wardens",)
    ),
    "old_news": Mistake("group.c", "    if (peer->sequence >= 0) {", "    if (0) {", ("keepalives.newest",)),
    "copies_are_alive": Mistake(
        "group.c",
        "if (!take(peer, message))\n            return RHF_NONE;",
        "take(peer, message);",
        ("keepalives.newest",),
    ),
    "answers_of_before": Mistake(
        "member.c",
        "if (message->your_discriminator == rhf_discriminator(gpu) && sent) {",
        "if (sent) {",
        ("keepalives.this_boot",),
    ),
    "refusals_of_before": Mistake(
        "member.c",
        " ||\n        message->sequence >> 16 != (gpu->boot.boots & SHORT))",
        ")",
        ("keepalives.this_boot",),
    ),
    "older_answers": Mistake("member.c", "if (message->echo > m->echo) {", "if (1) {", ("keepalives.latest_answer",)),
    "boots_of_before": Mistake("group.c", "(behind && behind < 0x8000u) || ", "", ("keepalives.newest",)),
    "hears_damaged": Mistake(
        "gpu.c",
        "if (bad || !rhf_well_formed(frame, length) ||",
        "if (!rhf_well_formed(frame, length) ||",
        ("keepalives.intact",),
    ),
    "hears_wrong_crc": Mistake("gpu.c", " || !rhw_intact(frame, length))", ")", ("keepalives.intact",)),
    # Leases.
    "lease_from_grant": Mistake(
        "member.c",
        "int64_t until = sent->at + m->lease;",
        "int64_t until = now + m->lease;",
        ("lease.from_claim", "lease.as_holder", "lease.granted"),
    ),
    "lease_from_answer": Mistake(
        "member.c", "longer(m->lease_until, sent->at + m->lease)", "now + m->lease", ("lease.renewed",)
    ),
    "lease_shortened": Mistake(
        "member.c", "longer(m->lease_until, sent->at + m->lease)", "sent->at + m->lease", ("lease.renewed",)
    ),
    "renewed_as_candidate": Mistake(
        "member.c", "if (sent->as_holder && sent->epoch == m->held_epoch)", "", ("lease.as_holder",)
    ),
    "ignore_fence": Mistake("member.c", "if (m->holds && m->epoch > m->held_epoch)", "if (0)", ("lease.fenced",)),
    "next_epoch_is_no_fence": Mistake(
        "member.c",
        "if (m->holds && m->epoch > m->held_epoch)",
        "if (m->holds && m->epoch > m->held_epoch + 1)",
        ("lease.fenced",),
    ),
    "knows_its_last_only": Mistake(
        "member.c",
        "rhf_keep(&m->sent, sent, m->multiplier + 1u);",
        "rhf_keep(&m->sent, sent, 1u);",
        ("lease.renewed",),
    ),
    "no_release_unknown": Mistake("member.c", _RELEASES_UNKNOWN, ";", ("lease.unknown", "lease.other_holder")),
    "takes_by_the_ring": Mistake(
        "member.c", "if (port != m->uplink || message->role", "if (message->role", ("lease.granted",)
    ),
    "any_epoch": Mistake(
        "group.c",
        "return highest + 1 + (uint32_t)((m->rank + m->size - highest % m->size) % m->size);",
        "return highest + 1 + 0 * m->rank;",
        ("lease.epochs",),
    ),
    "takes_beside_a_holder": Mistake(
        "member.c", "now >= until || hears_holder(m, now)", "now >= until", ("lease.other_holder",)
    ),
    # Wardens.
    "warden_grants_low": Mistake(
        "warden.c", "if (wait || message->epoch <= w->highest) {", "if (wait) {", ("warden.epochs",)
    ),
    "grants_once_more": Mistake(
        "warden.c", "message->epoch <= w->highest) {", "message->epoch < w->highest) {", ("warden.epochs",)
    ),
    "no_memory": Mistake(
        "warden.c", "    rhf_say_write(&gpu->out, RH_REGISTER_MEMORY, epoch);\n", "", ("warden.memory",)
    ),
    "short_lease": Mistake(
        "warden.c",
        "w->until = now + w->group.lease;",
        "w->until = now + w->group.lease - 1;",
        ("warden.from_arrival", "warden.own"),
    ),
    "renew_as_candidate": Mistake("warden.c", _RENEWS, "w->grants && message->epoch == w->epoch)", ("warden.renewed",)),
    "renew_any_epoch": Mistake(
        "warden.c", _RENEWS, "(message->state & 0x0Fu) == RHW_STATE_HOLDER && w->grants)", ("warden.renewed",)
    ),
    "releases_any_epoch": Mistake(
        "warden.c",
        "RHW_OPERATION_RELEASE && w->grants && message->epoch == w->epoch)",
        "RHW_OPERATION_RELEASE && w->grants)",
        ("warden.released",),
    ),
    "warden_trusts_any": Mistake(
        "warden.c", "if (port != m->uplink || message->candidate != m->uplink_home)", "if (0)", ("warden.link",)
    ),
    "no_sit_out": Mistake(
        "warden.c", "gpu->boot.boots > 1 ? m->lease + m->guard : 2 * m->skew", "2 * m->skew", ("warden.boots",)
    ),
    "no_guard_at_boot": Mistake("warden.c", "m->lease + m->guard", "m->lease", ("warden.boots",)),
    "settles_not": Mistake("warden.c", ": 2 * m->skew);", ": m->skew);", ("warden.settles",)),
    "warden_no_fence": Mistake("warden.c", "end_lease(gpu, w, RHF_END_FENCED);", ";", ("warden.fenced",)),
    "fenced_in_silence": Mistake("warden.c", "    if (fenced) {", "    if (0) {", ("warden.fenced",)),
    "forgets_others": Mistake(
        "warden.c", "rhf_detection(&w->group) + w->group.interval;", "rhf_detection(&w->group);", ("warden.others",)
    ),
    "refuses_for_too_long": Mistake(
        "warden.c", "(uint32_t)wait;", "(uint32_t)(wait ? wait + m->lease : 0);", ("warden.boots", "warden.others")
    ),
    "keeps_news": Mistake("warden.c", "    if (w->news)\n", "    if (0)\n", ("warden.tells",)),
    # Waits.
    "no_turns": Mistake(
        "member.c",
        "hold_off) + m->skew * place(m, now);",
        "hold_off);",
        ("lease.epochs", "wait.rank", "wait.who_is_up"),
    ),
    "counts_the_dead": Mistake(
        "member.c", "is_settling(m, now) || (p->liveness.up && p->uplink);", "1;", ("wait.who_is_up",)
    ),
    "announces_not": Mistake(
        "member.c", "} else if (m->announced_at != RHF_NEVER && now <", "} else if (0 && now <", ("wait.announced",)
    ),
    "no_better_candidate": Mistake("member.c", "p->state == RHW_STATE_CANDIDATE &&", "0 &&", ("wait.candidate",)),
    "no_holder": Mistake(
        "member.c",
        "m->peers[rank].state == RHW_STATE_HOLDER)",
        "0)",
        ("keepalives.jitter", "lease.other_holder", "wait.who_is_up", "wait.holder"),
    ),
    "asks_beside_a_told_one": Mistake("member.c", " || m->told_holder != RHF_NONE ||", " ||", ("wait.told",)),
    "no_wait_restore": Mistake("member.c", "m->hold_off_until = now + m->wait_to_restore;", "", ("wait.boot",)),
    "listens_for_less": Mistake(
        "member.c", "is_boundary ? rhf_detection(m) : m->interval;", "m->interval;", ("wait.boot_across",)
    ),
    "waits_for_nobody": Mistake(
        "member.c",
        "is_fresh(m, rank, now) && m->peers[rank].uplink)\n            return",
        "is_fresh(m, rank, now))\n            return",
        ("wait.nobody",),
    ),
    "no_backoff": Mistake("member.c", "wait << (m->losses - 1)", "wait", ("wait.losses", "wait.held_long")),
    "losses_for_ever": Mistake(
        "member.c", "now - m->held_since < 8 * wait ? m->losses + 1 : 1", "m->losses + 1", ("wait.held_long",)
    ),
    "leaves_no_turn": Mistake(
        "member.c", "return m->losses && m->size > 1 ? turn(m) : 0;", "return 0;", ("wait.turn",)
    ),
    "no_guard": Mistake("member.c", "now + message->lease + m->guard", "now + message->lease", ("wait.refused",)),
    "claims_at_any_time": Mistake("member.c", "} else if (!m->asked) {", "} else {", ("wait.refused",)),
    "no_backoff_of_peers": Mistake(
        "liveness.c", "wait_to_restore << l->doublings", "wait_to_restore", ("wait.back", "wait.forgiven")
    ),
    "failures_for_ever": Mistake("liveness.c", "        l->doublings = 0;\n", "        ;\n", ("wait.forgiven",)),
    "longer_and_longer": Mistake(
        "liveness.c", "#define MOST_DOUBLINGS 6u", "#define MOST_DOUBLINGS 9u", ("wait.back",)
    ),
    "told_before_refused": Mistake(
        "member.c", "m->told_holder = RHF_NONE; /* there", "; /* there", ("wait.refused_told",)
    ),
    # Reluctance.
    "reluctant_candidates_first": Mistake(
        "member.c",
        "return reluctant != other_reluctant ? !reluctant : rank < other_rank;",
        "return rank < other_rank;",
        ("reluctance.last",),
    ),
    "no_reluctance": Mistake("member.c", " && !(is_reluctant(m) && has_better(m));", ";", ("reluctance.asks",)),
    "never_reluctant": Mistake(
        "member.c",
        "return m->reluctant || m->grantor_reluctant;",
        "return 0;",
        ("reluctance.asks", "reluctance.hands_over"),
    ),
    "hold_any_up": Mistake("member.c", _BETTER, "m->peers[rank].liveness.up)", ("reluctance.asks", "reluctance.keeps")),
    "warden_never_reluctant": Mistake(
        "warden.c", "(w->reluctant ? RHW_MEMBER_RELUCTANT : 0u)", "0u", ("reluctance.said",)
    ),
    "says_not_reluctant": Mistake(
        "member.c", "(is_reluctant(m) ? RHW_MEMBER_RELUCTANT : 0u)", "0u", ("reluctance.asks",)
    ),
    "keeps_the_lease": Mistake(
        "member.c",
        "        say_election(gpu, m, RHW_OPERATION_RELEASE, m->held_epoch);\n",
        "",
        ("reluctance.hands_over",),
    ),
    # Of whom no other is in the way, and what lasts as long as it should.
    "waits_for_nobody_there": Mistake(
        "member.c",
        "} else if (is_boundary && m->size > 1) {\n        m->listen",
        "} else if (is_boundary) {\n        m->listen",
        ("wait.alone",),
    ),
    "below_what_was_heard": Mistake(
        "member.c",
        "message->epoch != m->claim_epoch || message->epoch < m->epoch ||",
        "message->epoch != m->claim_epoch ||",
        ("lease.granted",),
    ),
    "holds_for_no_time": Mistake(
        "member.c", "now >= until || hears_holder(m, now)", "now > until || hears_holder(m, now)", ("lease.granted",)
    ),
    "jitter_of_the_boot": Mistake(
        "group.c",
        "mix_number(state, gpu->boot.gpu)",
        "mix_number(state, gpu->boot.gpu + 64u * (gpu->boot.boots - 1u))",
        ("keepalives.jitter",),
    ),
    "jitter_of_no_seed": Mistake(
        "group.c",
        "mix_number(0xFFFFFFFFu, gpu->boot.seed)",
        "mix_number(0xFFFFFFFFu, 0 * gpu->boot.seed)",
        ("keepalives.jitter",),
    ),
    "half_the_jitter": Mistake(
        "group.c", "((uint32_t)m->jitter + 1)", "((uint32_t)m->jitter / 2 + 1)", ("keepalives.jitter",)
    ),
    "no_turn_after_a_loss": Mistake(
        "member.c", "longer(m->wait_to_restore, turn(m))", "m->wait_to_restore", ("wait.turn",)
    ),
    "three_losses": Mistake("member.c", "#define MOST_LOSSES 7u", "#define MOST_LOSSES 3u", ("wait.losses",)),
    "gives_the_uplink_up_early": Mistake(
        "member.c",
        "now - m->answered_at <= rhf_detection(m);",
        "now - m->answered_at <= rhf_detection(m) - m->interval;",
        ("keepalives.say",),
    ),
    "refuses_its_own": Mistake(
        "warden.c", "if (wait || message->epoch", "if (wait || w->grants || message->epoch", ("warden.own",)
    ),
    # What lasts: over a second turn, or just long enough.
    "told_for_ever": Mistake(
        "member.c", "peer->state != RHW_STATE_HOLDER && peer->epoch >= m->told_epoch)", "0)", ("wait.told",)
    ),
    "forgiven_early": Mistake(
        "liveness.c", "FORGIVEN_AFTER * longest)", "FORGIVEN_AFTER * wait_to_restore)", ("wait.forgiven",)
    ),
    "long_is_longer": Mistake(
        "member.c", "now - m->held_since < 8 * wait", "now - m->held_since < 16 * wait", ("wait.held_long",)
    ),
    "long_is_shorter": Mistake(
        "member.c",
        "now - m->held_since < 8 * wait",
        "now - m->held_since < 4 * wait",
        ("wait.losses", "wait.held_long"),
    ),
    "a_skew_too_few": Mistake(
        "member.c", "((int64_t)m->size + 1) * m->skew", "(int64_t)m->size * m->skew", ("wait.turn",)
    ),
    **IN_ROUNDS,
}
