/* Warden: grants the lease of a boundary link, from its follower side, to the one leader that it hears. It gives one
 * lease at a time, and each epoch once; while one of the wardens grants, the others refuse. docs/explanation/elections.md. */
#include "rhf_state.h"

#include <string.h>

#define BOUNDARY_TIMERS 2

/* ------------------------------------------------------------------------------------------------------- the fence */

static void end_lease(struct rhf_gpu *gpu, struct rhf_warden *w, uint8_t why) {
    size_t room;
    struct rhf_lapsed said = {w->group.role, w->epoch, (uint16_t)w->group.rank, why};
    uint8_t *at = rhf_say_begin(&gpu->out, &room);
    rhf_say_end(&gpu->out, rhf_pack_lapsed(&said, at, room));
    w->grants = 0;
    w->news = 1;
    w->fenced |= why == RHF_END_FENCED;
    rhf_set_boundary(gpu, 0);
}

/* Time has passed: a lease that was not renewed is over. */
static void expire(struct rhf_gpu *gpu, struct rhf_warden *w, int64_t now) {
    if (w->grants && now >= w->until)
        end_lease(gpu, w, RHF_END_LEASE);
}

static void grant(struct rhf_gpu *gpu, struct rhf_warden *w, uint32_t epoch, int64_t now) {
    size_t room;
    if (w->grants) /* its own holder asks anew: it has lost the grant, or its memory */
        end_lease(gpu, w, RHF_END_RELEASE);
    w->highest = w->epoch = epoch;
    w->grants = w->news = 1;
    w->until = now + w->group.lease;
    /* Kept before anybody can hear of it: the epoch must not be granted a second time after a crash. */
    rhf_say_write(&gpu->out, RH_REGISTER_MEMORY, epoch);
    struct rhf_granted said = {w->group.role, epoch, (uint16_t)w->group.rank, (uint64_t)w->until};
    uint8_t *at = rhf_say_begin(&gpu->out, &room);
    rhf_say_end(&gpu->out, rhf_pack_granted(&said, at, room));
    rhf_set_boundary(gpu, 1);
}

/* Cycles for which nothing is granted: it has booted, or leases that others gave still run. */
static int64_t wait_for(const struct rhf_warden *w, int64_t now) {
    int64_t wait = w->quiet_until > now ? w->quiet_until - now : 0;
    for (unsigned rank = 0; rank < w->group.size; ++rank)
        if (rank != w->group.rank && w->elsewhere[rank] - now > wait)
            wait = w->elsewhere[rank] - now;
    return wait;
}

/* The rank of whoever holds a lease, as far as is known. */
static uint32_t running(const struct rhf_warden *w, int64_t now) {
    if (w->grants)
        return w->group.rank;
    for (unsigned rank = 0; rank < w->group.size; ++rank)
        if (rank != w->group.rank && w->elsewhere[rank] > now)
            return rank;
    return RHW_NO_HOLDER;
}

/* -------------------------------------------------------------------------------------------------- what it tells */

/* It tells of its own lease only, never hearsay: a rumour that two wardens tell each other would never end. */
static void gossip(struct rhf_gpu *gpu, struct rhf_warden *w) {
    unsigned state = RHW_STATE_FOLLOWER | (w->grants ? RHW_MEMBER_GRANTING : 0u) |
                     (w->leader.up ? RHW_MEMBER_UPLINK : 0u);
    struct rhf_told told = {(uint8_t)state, w->highest, 0, w->grants ? w->group.rank : RHW_NO_HOLDER};
    rhf_tell_all(gpu, &w->group, told);
}

/* A lease that has begun or ended is told to the others at once; one that is revoked, to the leader too. */
static void spread(struct rhf_gpu *gpu, struct rhf_warden *w) {
    int fenced = w->fenced;
    if (w->news)
        gossip(gpu, w);
    w->news = w->fenced = 0;
    if (fenced) { /* it answers nothing: of it the leader believes only the higher epoch, which is enough to stop */
        struct rhf_told told = {RHW_STATE_FOLLOWER, w->highest, 0, RHW_NO_HOLDER};
        rhf_tell(gpu, &w->group, w->group.uplink, RHF_NONE, told);
    }
}

static void look_at(int64_t *next, int64_t at, int64_t now) {
    if (at > now && (*next == RHF_NEVER || at < *next))
        *next = at;
}

static void review(struct rhf_gpu *gpu, struct rhf_warden *w, int64_t now) {
    struct rhf_member *m = &w->group;
    int64_t next = RHF_NEVER, detection = rhf_detection(m);
    rhf_check_peers(gpu, m, now);
    rhf_say_peer(gpu, m, m->uplink_home, rhf_liveness_check(&w->leader, detection, m->wait_to_restore, now));
    expire(gpu, w, now);
    spread(gpu, w);
    for (unsigned rank = 0; rank < m->size; ++rank)
        if (rank != m->rank && m->peers[rank].liveness.heard_at != RHF_NEVER)
            look_at(&next, m->peers[rank].liveness.heard_at + detection + 1, now);
    if (w->grants)
        look_at(&next, w->until, now);
    if (w->leader.heard_at != RHF_NEVER)
        look_at(&next, w->leader.heard_at + detection + 1, now);
    if (next != RHF_NEVER)
        rhf_say_timer(&gpu->out, RHF_WAKE + BOUNDARY_TIMERS, next - now);
}

static void tick(struct rhf_gpu *gpu, struct rhf_warden *w) {
    gossip(gpu, w);
    rhf_say_timer(&gpu->out, RHF_TICK + BOUNDARY_TIMERS, rhf_next_tick(gpu, &w->group));
}

/* -------------------------------------------------------------------------------------------------- what it is told */

void rhf_warden_begin(struct rhf_warden *w, const struct rhf_group *group, uint32_t remembered) {
    memset(w, 0, sizeof *w);
    rhf_member_begin(&w->group, group);
    rhf_liveness_begin(&w->leader);
    w->highest = remembered;
}

/* Power-up, or a later boot. Leases that it gave, or heard of, before that are forgotten: it sits them out. */
void rhf_warden_start(struct rhf_gpu *gpu, struct rhf_warden *w, int64_t now) {
    const struct rhf_member *m = &w->group;
    if (m->size > 1)
        w->quiet_until = now + (gpu->boot.boots > 1 ? m->lease + m->guard : 2 * m->skew);
    tick(gpu, w);
    review(gpu, w, now);
}

void rhf_warden_timer(struct rhf_gpu *gpu, struct rhf_warden *w, uint8_t timer, int64_t now) {
    if (timer == RHF_TICK) {
        expire(gpu, w, now);
        spread(gpu, w);
        tick(gpu, w);
    }
    review(gpu, w, now);
}

void rhf_warden_reluctant(struct rhf_gpu *gpu, struct rhf_warden *w, int reluctant, int64_t now) {
    w->reluctant = reluctant;
    review(gpu, w, now);
}

/* The cycle until which the lease of another warden may run, by what it says now. One that has booted anew has
 * forgotten its lease; its leader has not. */
static int64_t runs_until(struct rhf_warden *w, uint32_t rank, int64_t now) {
    const struct rhf_peer *peer = &w->group.peers[rank];
    if (peer->granting) {
        w->told_by[rank] = peer->discriminator;
        w->told_until[rank] = now + rhf_detection(&w->group) + w->group.interval;
    }
    int told = w->told_until[rank] && (peer->granting || w->told_by[rank] != peer->discriminator);
    return told ? w->told_until[rank] : 0;
}

static void on_gossip(struct rhf_gpu *gpu, struct rhf_warden *w, const struct rhw_keepalive *message, int64_t now) {
    uint32_t rank = rhf_hear(gpu, &w->group, message, now);
    if (rank == RHF_NONE)
        return;
    expire(gpu, w, now);
    w->elsewhere[rank] = runs_until(w, rank, now);
    if (message->epoch > w->highest) {
        w->highest = message->epoch;
        if (w->grants)
            end_lease(gpu, w, RHF_END_FENCED);
    }
    spread(gpu, w);
    review(gpu, w, now);
}

/* A keepalive of the leader, over the boundary link, or of another warden. */
void rhf_warden_keepalive(struct rhf_gpu *gpu, struct rhf_warden *w, const struct rhw_keepalive *message, uint8_t port,
                          int64_t now) {
    struct rhf_member *m = &w->group;
    if (port != m->uplink) {
        on_gossip(gpu, w, message, now);
        return;
    }
    if (message->my_discriminator >> 16 != m->uplink_home)
        return;
    m->uplink_discriminator = message->my_discriminator;
    rhf_say_peer(gpu, m, m->uplink_home,
                 rhf_liveness_heard(&w->leader, rhf_detection(m), m->wait_to_restore, now));
    expire(gpu, w, now);
    if ((message->state & 0x0Fu) == RHW_STATE_HOLDER && w->grants && message->epoch == w->epoch)
        w->until = now + m->lease;
    unsigned state = RHW_STATE_FOLLOWER | (w->grants ? RHW_MEMBER_GRANTING : 0u) |
                     (rhf_liveness_fresh(&w->leader, rhf_detection(m), now) ? RHW_MEMBER_UPLINK : 0u) |
                     (w->reluctant ? RHW_MEMBER_RELUCTANT : 0u);
    struct rhf_told answer = {(uint8_t)state, w->highest, message->sequence, running(w, now)};
    spread(gpu, w);
    rhf_tell(gpu, m, m->uplink, RHF_NONE, answer);
    review(gpu, w, now);
}

/* The leader claims or releases. */
void rhf_warden_election(struct rhf_gpu *gpu, struct rhf_warden *w, const struct rhw_election *message, uint8_t port,
                         int64_t now) {
    struct rhf_member *m = &w->group;
    struct rhw_election answer = *message;
    if (port != m->uplink || message->candidate != m->uplink_home)
        return;
    answer.flags = 0;
    answer.card = m->uplink_card;
    answer.destination = m->uplink_home;
    answer.ttl = (uint16_t)(gpu->boot.gpus + 1);
    expire(gpu, w, now);
    if (message->operation == RHW_OPERATION_RELEASE && w->grants && message->epoch == w->epoch) {
        end_lease(gpu, w, RHF_END_RELEASE);
    } else if (message->operation == RHW_OPERATION_CLAIM) {
        int64_t wait = wait_for(w, now);
        if (wait || message->epoch <= w->highest) {
            answer.operation = RHW_OPERATION_REFUSE;
            answer.epoch = w->highest;
            answer.lease = (uint32_t)wait;
        } else {
            grant(gpu, w, message->epoch, now);
            answer.operation = RHW_OPERATION_GRANT;
            answer.lease = (uint32_t)m->lease;
        }
    }
    spread(gpu, w);
    if (message->operation == RHW_OPERATION_CLAIM) {
        size_t body = rhw_pack_election(&answer, gpu->frame, sizeof gpu->frame);
        rhf_say_send(&gpu->out, m->uplink, gpu->frame, body, sizeof gpu->frame);
    }
    review(gpu, w, now);
}
