/* What the members of a group tell one another, and who of them is heard: docs/explanation/elections.md. */
#include "rhf_state.h"

#define ZLIB 0xEDB88320u /* the CRC-32 of zlib, reflected */

int64_t rhf_detection(const struct rhf_member *m) { return m->multiplier * m->interval + m->slack; }

uint32_t rhf_discriminator(const struct rhf_gpu *gpu) {
    return (uint32_t)gpu->boot.gpu << 16 | (gpu->boot.boots & 0xFFFFu);
}

static uint32_t mix(uint32_t state, uint8_t byte) {
    state ^= byte;
    for (int bit = 0; bit < 8; ++bit)
        state = (state >> 1) ^ (ZLIB & (0u - (state & 1u)));
    return state;
}

static uint32_t mix_number(uint32_t state, uint32_t number) {
    uint8_t digits[10];
    unsigned count = 0;
    do {
        digits[count++] = (uint8_t)('0' + number % 10);
        number /= 10;
    } while (number);
    while (count)
        state = mix(state, digits[--count]);
    return state;
}

/* Jitter keeps the members from falling into step. */
int64_t rhf_next_tick(const struct rhf_gpu *gpu, const struct rhf_member *m) {
    if (!m->jitter)
        return m->interval;
    uint32_t state = mix(mix_number(0xFFFFFFFFu, gpu->boot.seed), ' ');
    state = mix_number(mix(mix_number(state, gpu->boot.gpu), ' '), m->sequence);
    return m->interval - (int64_t)(~state % ((uint32_t)m->jitter + 1));
}

/* The lowest epoch above `highest` that only this member may claim. */
uint32_t rhf_next_epoch(const struct rhf_member *m, uint32_t highest) {
    return highest + 1 + (uint32_t)((m->rank + m->size - highest % m->size) % m->size);
}

void rhf_say_peer(struct rhf_gpu *gpu, const struct rhf_member *m, uint16_t who, enum rhf_went went) {
    size_t room;
    uint8_t *at;
    struct rhf_peer_up up = {m->role, who};
    struct rhf_peer_down down = {m->role, who};
    if (went == RHF_STAYED)
        return;
    at = rhf_say_begin(&gpu->out, &room);
    rhf_say_end(&gpu->out, went == RHF_UP ? rhf_pack_peer_up(&up, at, room) : rhf_pack_peer_down(&down, at, room));
}

/* Keep what the message says, unless it is old news: a copy, or overtaken on the way. */
static int take(struct rhf_peer *peer, const struct rhw_keepalive *message) {
    if (peer->sequence >= 0) {
        uint32_t behind = (peer->discriminator - message->my_discriminator) & 0xFFFFu;
        if ((behind && behind < 0x8000u) || (!behind && (int64_t)message->sequence <= peer->sequence))
            return 0;
    }
    peer->discriminator = message->my_discriminator;
    peer->sequence = message->sequence;
    peer->state = message->state & 0x0Fu;
    peer->uplink = (message->state & RHW_MEMBER_UPLINK) != 0;
    peer->reluctant = (message->state & RHW_MEMBER_RELUCTANT) != 0;
    peer->granting = (message->state & RHW_MEMBER_GRANTING) != 0;
    peer->epoch = message->epoch;
    return 1;
}

/* The rank of the co-member that sent this, RHF_NONE when it is to be ignored. */
uint32_t rhf_hear(struct rhf_gpu *gpu, struct rhf_member *m, const struct rhw_keepalive *message, int64_t now) {
    uint32_t who = message->my_discriminator >> 16;
    if (who == gpu->boot.gpu || message->role != m->role)
        return RHF_NONE;
    for (unsigned rank = 0; rank < m->size; ++rank) {
        if (m->members[rank] != who)
            continue;
        struct rhf_peer *peer = &m->peers[rank];
        if (!take(peer, message))
            return RHF_NONE;
        rhf_say_peer(gpu, m, (uint16_t)who,
                     rhf_liveness_heard(&peer->liveness, rhf_detection(m), m->wait_to_restore, now));
        return rank;
    }
    return RHF_NONE;
}

void rhf_check_peers(struct rhf_gpu *gpu, struct rhf_member *m, int64_t now) {
    for (unsigned rank = 0; rank < m->size; ++rank)
        if (rank != m->rank)
            rhf_say_peer(gpu, m, m->members[rank],
                         rhf_liveness_check(&m->peers[rank].liveness, rhf_detection(m), m->wait_to_restore, now));
}

uint64_t rhf_heard_bits(const struct rhf_member *m) {
    uint64_t bits = (uint64_t)1 << m->rank;
    for (unsigned rank = 0; rank < m->size; ++rank)
        if (rank != m->rank && m->peers[rank].liveness.up)
            bits |= (uint64_t)1 << rank;
    return bits;
}

/* To the co-member of this rank; to the other end of the uplink when it is RHF_NONE. */
void rhf_tell(struct rhf_gpu *gpu, struct rhf_member *m, uint8_t port, uint32_t rank, struct rhf_told told) {
    int up = rank == RHF_NONE;
    struct rhw_keepalive message = {
        up ? m->uplink_card : gpu->boot.card,
        (uint16_t)(port == RHW_PORT_CCW ? RHW_FLAG_CCW : port == RHW_PORT_CPU ? RHW_FLAG_TO_HOST : 0u),
        (uint16_t)(gpu->boot.gpus + 1),
        up ? m->uplink_home : m->members[rank],
        told.epoch,
        m->sequence,
        rhf_discriminator(gpu),
        up ? m->uplink_discriminator : m->peers[rank].discriminator,
        m->role,
        (uint8_t)m->rank,
        m->multiplier,
        told.state,
        (uint32_t)m->interval,
        rhf_heard_bits(m),
        told.echo,
        told.holder,
    };
    size_t body = rhw_pack_keepalive(&message, gpu->frame, sizeof gpu->frame);
    rhf_say_send(&gpu->out, port, gpu->frame, body, sizeof gpu->frame);
}

/* A new round of keepalives, to every co-member by both ways: one cut of the ring does not silence it. */
void rhf_tell_all(struct rhf_gpu *gpu, struct rhf_member *m, struct rhf_told told) {
    ++m->sequence;
    for (unsigned rank = 0; rank < m->size; ++rank) {
        if (rank == m->rank)
            continue;
        rhf_tell(gpu, m, RHW_PORT_CW, rank, told);
        rhf_tell(gpu, m, RHW_PORT_CCW, rank, told);
    }
}

/* The newest `most` are kept. */
void rhf_keep(struct rhf_fifo *fifo, struct rhf_sent sent, unsigned most) {
    if (fifo->count == most) {
        for (unsigned i = 1; i < fifo->count; ++i)
            fifo->kept[i - 1] = fifo->kept[i];
        --fifo->count;
    }
    fifo->kept[fifo->count++] = sent;
}

const struct rhf_sent *rhf_kept(const struct rhf_fifo *fifo, uint32_t sequence) {
    for (unsigned i = 0; i < fifo->count; ++i)
        if (fifo->kept[i].sequence == sequence)
            return &fifo->kept[i];
    return NULL;
}
