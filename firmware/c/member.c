/* Member: a GPU that can be elected, and asks a grantor for the lease. docs/explanation/elections.md. */
#include "rhf_state.h"

#include <string.h>

#define MOST_LOSSES 7u
#define SHORT 0xFFFFu

static void review(struct rhf_gpu *gpu, struct rhf_member *m, int64_t now);

static int64_t longer(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t shorter(int64_t a, int64_t b) { return a < b ? a : b; }

/* Cycles from a lost lease until every other member, refused before, can have asked again. */
static int64_t turn(const struct rhf_member *m) { return 2 * m->guard + ((int64_t)m->size + 1) * m->skew; }

static int is_fresh(const struct rhf_member *m, unsigned rank, int64_t now) {
    return rhf_liveness_fresh(&m->peers[rank].liveness, rhf_detection(m), now);
}

static uint8_t timer_of(const struct rhf_member *m, uint8_t timer) {
    return (uint8_t)(timer + (m->role == RHW_ROLE_BOUNDARY ? 2 : 0));
}

static int is_reluctant(const struct rhf_member *m) { return m->reluctant || m->grantor_reluctant; }

static int is_settling(const struct rhf_member *m, int64_t now) { return now - m->started_at <= rhf_detection(m); }

static int uplink_is_up(const struct rhf_member *m, int64_t now) {
    return m->answered_at != RHF_NEVER && now - m->answered_at <= rhf_detection(m);
}

/* Before another of this rank and reluctance. */
static int goes_first(int reluctant, unsigned rank, int other_reluctant, unsigned other_rank) {
    return reluctant != other_reluctant ? !reluctant : rank < other_rank;
}

static uint8_t state_of(const struct rhf_member *m, int64_t now) {
    int asking = m->announced_at != RHF_NEVER || (m->wanted_at != RHF_NEVER && m->claims_at.count);
    unsigned state = m->holds ? RHW_STATE_HOLDER : asking ? RHW_STATE_CANDIDATE : RHW_STATE_FOLLOWER;
    return (uint8_t)(state | (uplink_is_up(m, now) ? RHW_MEMBER_UPLINK : 0u) |
                     (is_reluctant(m) ? RHW_MEMBER_RELUCTANT : 0u));
}

static struct rhf_told told(const struct rhf_member *m, int64_t now) {
    struct rhf_told all = {state_of(m, now), m->epoch, 0, RHW_NO_HOLDER};
    return all;
}

static void tell(struct rhf_gpu *gpu, struct rhf_member *m, int64_t now) { rhf_tell_all(gpu, m, told(m, now)); }

static uint32_t say_election(struct rhf_gpu *gpu, const struct rhf_member *m, uint8_t operation, uint32_t epoch) {
    struct rhw_election message = {
        m->uplink_card,
        m->uplink == RHW_PORT_CPU ? RHW_FLAG_TO_HOST : 0,
        (uint16_t)(gpu->boot.gpus + 1),
        m->uplink_home,
        epoch,
        (gpu->boot.boots & SHORT) << 16 | m->claims,
        gpu->boot.gpu,
        operation,
        m->role,
        (uint32_t)m->lease,
        rhf_heard_bits(m),
    };
    size_t body = rhw_pack_election(&message, gpu->frame, sizeof gpu->frame);
    rhf_say_send(&gpu->out, m->uplink, gpu->frame, body, sizeof gpu->frame);
    return message.sequence;
}

static void forget_claims(struct rhf_member *m) {
    m->claim_epoch = 0;
    m->claims_at.count = 0;
}

static void claim(struct rhf_gpu *gpu, struct rhf_member *m, int64_t now) {
    uint32_t epoch = rhf_next_epoch(m, m->epoch);
    if (epoch != m->claim_epoch)
        forget_claims(m);
    m->claim_epoch = epoch;
    m->asked = 1;
    m->claims = (m->claims + 1) & SHORT;
    struct rhf_sent sent = {say_election(gpu, m, RHW_OPERATION_CLAIM, epoch), 0, 0, now};
    rhf_keep(&m->claims_at, sent, m->multiplier + 1u);
}

static void depose(struct rhf_gpu *gpu, struct rhf_member *m, uint8_t why, int64_t now) {
    uint32_t epoch = m->held_epoch;
    m->holds = 0;
    if (why == RHF_END_LEASE) {
        int64_t wait = longer(m->wait_to_restore, turn(m));
        m->losses = now - m->held_since < 8 * wait ? m->losses + 1 : 1;
        if (m->losses > MOST_LOSSES)
            m->losses = MOST_LOSSES;
        m->hold_off_until = now + (wait << (m->losses - 1));
    }
    rhf_deposed(gpu, m->role, epoch, why, now);
    tell(gpu, m, now);
}

/* What the grantor said of it can still be true; the next answer may say so again. */
static int may_hold(const struct rhf_member *m, uint32_t rank, int64_t now) {
    return m->peers[rank].liveness.heard_at == RHF_NEVER || is_fresh(m, rank, now);
}

/* What time, or a higher epoch, has put an end to. */
static void end_stale(struct rhf_gpu *gpu, struct rhf_member *m, int64_t now) {
    rhf_check_peers(gpu, m, now);
    if (m->told_holder != RHF_NONE && !may_hold(m, m->told_holder, now))
        m->told_holder = RHF_NONE;
    if (m->holds && m->epoch > m->held_epoch)
        depose(gpu, m, RHF_END_FENCED, now);
    else if (m->holds && now >= m->lease_until)
        depose(gpu, m, RHF_END_LEASE, now);
}

static int has_better(const struct rhf_member *m) {
    for (unsigned rank = 0; rank < m->size; ++rank)
        if (rank != m->rank && m->peers[rank].liveness.up && m->peers[rank].uplink && !m->peers[rank].reluctant)
            return 1;
    return 0;
}

static int hears_holder(const struct rhf_member *m, int64_t now) {
    for (unsigned rank = 0; rank < m->size; ++rank)
        if (rank != m->rank && is_fresh(m, rank, now) && m->peers[rank].uplink &&
            m->peers[rank].state == RHW_STATE_HOLDER)
            return 1;
    return 0;
}

/* Somebody must be elected, and this member may be. */
static int is_wanted(const struct rhf_member *m, int64_t now) {
    int untried = m->answered_at == RHF_NEVER && is_settling(m, now);
    if (now < m->listen_until || m->told_holder != RHF_NONE || !(untried || uplink_is_up(m, now)))
        return 0;
    for (unsigned rank = 0; rank < m->size; ++rank) {
        const struct rhf_peer *p = &m->peers[rank];
        if (rank == m->rank || !is_fresh(m, rank, now) || !p->uplink)
            continue;
        if (m->role == RHW_ROLE_BOUNDARY && p->state == RHW_STATE_CANDIDATE &&
            goes_first(p->reluctant, rank, is_reluctant(m), m->rank))
            return 0; /* its turn */
    }
    return !hears_holder(m, now) && !(is_reluctant(m) && has_better(m));
}

/* How many are to try before this member. Just booted it has heard of few yet, and counts them all. */
static int64_t place(const struct rhf_member *m, int64_t now) {
    int64_t ahead = 0;
    for (unsigned rank = 0; rank < m->size; ++rank) {
        const struct rhf_peer *p = &m->peers[rank];
        if (rank == m->rank)
            continue;
        int able = is_settling(m, now) || (p->liveness.up && p->uplink);
        ahead += able && goes_first(p->reluctant, rank, is_reluctant(m), m->rank);
    }
    return ahead;
}

/* Cycles for which the lease is left to others. */
static int64_t patience(const struct rhf_member *m, int64_t now) {
    for (unsigned rank = 0; rank < m->size; ++rank)
        if (rank != m->rank && is_fresh(m, rank, now) && m->peers[rank].uplink)
            return rhf_detection(m);
    return m->losses && m->size > 1 ? turn(m) : 0;
}

static void look_at(int64_t *next, int64_t at, int64_t now) {
    if (at > now && (*next == RHF_NEVER || at < *next))
        *next = at;
}

static void review_claim(struct rhf_gpu *gpu, struct rhf_member *m, int64_t *next, int64_t now) {
    if (m->wanted_at == RHF_NEVER)
        m->wanted_at = now;
    /* Time enough for any other to take the lease; if none does, it is needed after all. */
    int64_t hold_off = shorter(m->hold_off_until, m->wanted_at + patience(m, now));
    int64_t claim_at = longer(m->wanted_at, hold_off) + m->skew * place(m, now);
    if (claim_at > now) {
        look_at(next, claim_at, now);
    } else if (m->announced_at == RHF_NEVER && m->role == RHW_ROLE_BOUNDARY && m->size > 1) {
        m->announced_at = now;
        tell(gpu, m, now);
        look_at(next, now + m->skew, now);
    } else if (m->announced_at != RHF_NEVER && now < m->announced_at + m->skew) {
        look_at(next, m->announced_at + m->skew, now);
    } else if (!m->asked) {
        claim(gpu, m, now);
    }
}

/* Whatever has happened: what follows from it, and when to look again. */
static void review(struct rhf_gpu *gpu, struct rhf_member *m, int64_t now) {
    int64_t next = RHF_NEVER;
    end_stale(gpu, m, now);
    if (m->holds && is_reluctant(m) && has_better(m)) {
        say_election(gpu, m, RHW_OPERATION_RELEASE, m->held_epoch);
        m->hold_off_until = now + rhf_detection(m);
        depose(gpu, m, RHF_END_HANDOVER, now);
    }
    for (unsigned rank = 0; rank < m->size; ++rank)
        if (rank != m->rank && m->peers[rank].liveness.heard_at != RHF_NEVER)
            look_at(&next, m->peers[rank].liveness.heard_at + rhf_detection(m) + 1, now);
    if (m->holds) {
        look_at(&next, m->lease_until, now);
    } else if (is_wanted(m, now)) {
        review_claim(gpu, m, &next, now);
    } else {
        m->wanted_at = m->announced_at = RHF_NEVER;
        look_at(&next, m->listen_until, now);
    }
    if (next != RHF_NEVER)
        rhf_say_timer(&gpu->out, timer_of(m, RHF_WAKE), next - now);
}

static void tick(struct rhf_gpu *gpu, struct rhf_member *m, int64_t now) {
    tell(gpu, m, now);
    struct rhf_sent sent = {m->sequence, m->held_epoch, m->holds, now};
    rhf_keep(&m->sent, sent, m->multiplier + 1u);
    m->asked = 0;
    rhf_tell(gpu, m, m->uplink, RHF_NONE, told(m, now));
    rhf_say_timer(&gpu->out, timer_of(m, RHF_TICK), rhf_next_tick(gpu, m));
}

void rhf_member_begin(struct rhf_member *m, const struct rhf_group *group) {
    memset(m, 0, sizeof *m);
    m->there = 1;
    m->role = group->role;
    m->uplink = group->uplink;
    m->uplink_card = group->uplink_card;
    m->uplink_home = group->uplink_home;
    m->multiplier = group->multiplier;
    m->rank = group->rank;
    m->size = (unsigned)group->members_count;
    m->interval = (int64_t)group->interval;
    m->jitter = (int64_t)group->jitter;
    m->slack = (int64_t)group->slack;
    m->lease = (int64_t)group->lease;
    m->skew = (int64_t)group->skew;
    m->guard = (int64_t)group->guard;
    m->wait_to_restore = (int64_t)group->wait_to_restore;
    for (unsigned rank = 0; rank < m->size; ++rank) {
        m->members[rank] = (uint16_t)rh_word(group->members, rank);
        m->peers[rank].sequence = -1;
        rhf_liveness_begin(&m->peers[rank].liveness);
    }
    m->answered_at = m->wanted_at = m->announced_at = RHF_NEVER;
    m->told_holder = RHF_NONE;
}

/* Power-up, or a later boot: then it listens first, for it may have missed an election, and lets others go first. */
void rhf_member_start(struct rhf_gpu *gpu, struct rhf_member *m, int64_t now) {
    int is_boundary = m->role == RHW_ROLE_BOUNDARY;
    m->started_at = m->listen_until = now;
    if (gpu->boot.boots > 1) {
        m->listen_until += is_boundary ? rhf_detection(m) : m->interval;
        m->hold_off_until = now + m->wait_to_restore;
    } else if (is_boundary && m->size > 1) {
        m->listen_until += 3 * m->skew; /* grantors settle for two */
    }
    tick(gpu, m, now);
    review(gpu, m, now);
}

void rhf_member_timer(struct rhf_gpu *gpu, struct rhf_member *m, uint8_t timer, int64_t now) {
    if (timer == RHF_TICK) {
        end_stale(gpu, m, now); /* before the keepalives say otherwise */
        tick(gpu, m, now);
    }
    review(gpu, m, now);
}

void rhf_member_reluctant(struct rhf_gpu *gpu, struct rhf_member *m, int reluctant, int64_t now) {
    m->reluctant = reluctant;
    review(gpu, m, now);
}

static void on_answer(struct rhf_gpu *gpu, struct rhf_member *m, const struct rhw_keepalive *message, int64_t now) {
    const struct rhf_sent *sent = rhf_kept(&m->sent, message->echo);
    if (message->epoch > m->epoch)
        m->epoch = message->epoch;
    if (message->your_discriminator == rhf_discriminator(gpu) && sent) {
        m->answered_at = now;
        if (message->echo > m->echo) {
            m->echo = message->echo;
            m->uplink_discriminator = message->my_discriminator;
            m->grantor_reluctant = (message->state & RHW_MEMBER_RELUCTANT) != 0;
            m->told_holder = message->holder < m->size && message->holder != m->rank ? message->holder : RHF_NONE;
            m->told_epoch = message->epoch;
        }
        if (message->holder == m->rank && m->holds && message->epoch == m->held_epoch) {
            /* An answer to what it said as a candidate names it holder too, but has not renewed anything. */
            if (sent->as_holder && sent->epoch == m->held_epoch)
                m->lease_until = longer(m->lease_until, sent->at + m->lease);
        } else if (message->holder == m->rank && !m->holds && message->epoch != m->claim_epoch) {
            say_election(gpu, m, RHW_OPERATION_RELEASE, message->epoch); /* not known here: let others have it */
        }
    }
    review(gpu, m, now);
}

void rhf_member_keepalive(struct rhf_gpu *gpu, struct rhf_member *m, const struct rhw_keepalive *message, uint8_t port,
                          int64_t now) {
    if (message->role != m->role)
        return;
    if (port == m->uplink) {
        on_answer(gpu, m, message, now);
        return;
    }
    uint32_t rank = rhf_hear(gpu, m, message, now);
    if (rank == RHF_NONE)
        return;
    const struct rhf_peer *peer = &m->peers[rank];
    if (peer->epoch > m->epoch)
        m->epoch = peer->epoch;
    if (rank == m->told_holder && peer->state != RHW_STATE_HOLDER && peer->epoch >= m->told_epoch)
        m->told_holder = RHF_NONE; /* it knows better than the grantor's last answer */
    review(gpu, m, now);
}

/* The grantor's grant or refusal. */
void rhf_member_election(struct rhf_gpu *gpu, struct rhf_member *m, const struct rhw_election *message, uint8_t port,
                         int64_t now) {
    int grant = message->operation == RHW_OPERATION_GRANT;
    if (port != m->uplink || message->role != m->role || (!grant && message->operation != RHW_OPERATION_REFUSE) ||
        message->sequence >> 16 != (gpu->boot.boots & SHORT))
        return; /* also an answer to a claim of before the last boot */
    m->answered_at = now;
    if (message->epoch > m->epoch)
        m->epoch = message->epoch;
    const struct rhf_sent *sent = rhf_kept(&m->claims_at, message->sequence);
    if (!sent || m->holds) {
        review(gpu, m, now);
        return;
    }
    if (!grant) {
        if (message->lease) {
            m->wanted_at = now + message->lease + m->guard;
            m->told_holder = RHF_NONE; /* there is a time to try again */
            m->asked = 0;
        }
        review(gpu, m, now);
        return;
    }
    int64_t until = sent->at + m->lease;
    /* Keepalives lost at power-up can make two wardens grant at a time: who hears of the other holder leaves it be. */
    if (message->epoch != m->claim_epoch || message->epoch < m->epoch || now >= until || hears_holder(m, now)) {
        forget_claims(m); /* of no use any more; the grantor will be told to release it */
        review(gpu, m, now);
        return;
    }
    m->holds = 1;
    m->held_epoch = message->epoch;
    m->lease_until = until;
    m->held_since = now;
    m->wanted_at = m->announced_at = RHF_NEVER;
    forget_claims(m);
    rhf_elected(gpu, m->role, message->epoch, now);
    tell(gpu, m, now);
    review(gpu, m, now);
}
