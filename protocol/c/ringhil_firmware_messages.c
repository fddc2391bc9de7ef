/* Generated from protocol/: do not edit; `make generate` rewrites it. */
#include "ringhil_firmware_messages.h"

#include <string.h>

static uint8_t *put(uint8_t *out, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
        out[i] = (uint8_t)(value >> (8u * (bytes - 1u - i)));
    return out + bytes;
}

static uint64_t get(const uint8_t **in, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i)
        value = value << 8 | (*in)[i];
    *in += bytes;
    return value;
}

size_t rhf_pack_attach(const struct rhf_attach *m, uint8_t *out, size_t room) {
    if (room < 5u)
        return 0;
    out = put(out, 1u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->major, 1);
    out = put(out, m->minor, 1);
    return 5u;
}

int rhf_unpack_attach(struct rhf_attach *m, const uint8_t *in, size_t length) {
    if (length != 5u || in[0] != 1u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->major = (uint8_t)get(&in, 1);
    m->minor = (uint8_t)get(&in, 1);
    (void)in;
    return 1;
}

size_t rhf_pack_attach_reply(const struct rhf_attach_reply *m, uint8_t *out, size_t room) {
    if (room < 7u || m->name_length > (room - 7u) || m->name_length > (RH_LONGEST - 7u))
        return 0;
    out = put(out, 129u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->major, 1);
    out = put(out, m->minor, 1);
    out = put(out, m->longest, 2);
    if (m->name_length)
        memcpy(out, m->name, m->name_length);
    return 7u + m->name_length;
}

int rhf_unpack_attach_reply(struct rhf_attach_reply *m, const uint8_t *in, size_t length) {
    if (length < 7u || in[0] != 129u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->major = (uint8_t)get(&in, 1);
    m->minor = (uint8_t)get(&in, 1);
    m->longest = (uint16_t)get(&in, 2);
    m->name = in;
    m->name_length = length - 7u;
    return 1;
}

size_t rhf_pack_boot(const struct rhf_boot *m, uint8_t *out, size_t room) {
    if (room < 47u)
        return 0;
    out = put(out, 2u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->card, 1);
    out = put(out, m->gpu, 2);
    out = put(out, m->gpus, 2);
    out = put(out, m->boots, 4);
    out = put(out, m->memory, 4);
    out = put(out, m->seed, 4);
    out = put(out, m->period, 8);
    out = put(out, m->timeout, 8);
    out = put(out, m->refresh, 4);
    out = put(out, m->attempts, 2);
    out = put(out, m->weight, 2);
    out = put(out, m->gpu_type, 1);
    out = put(out, m->options, 2);
    return 47u;
}

int rhf_unpack_boot(struct rhf_boot *m, const uint8_t *in, size_t length) {
    if (length != 47u || in[0] != 2u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->card = (uint8_t)get(&in, 1);
    m->gpu = (uint16_t)get(&in, 2);
    m->gpus = (uint16_t)get(&in, 2);
    m->boots = (uint32_t)get(&in, 4);
    m->memory = (uint32_t)get(&in, 4);
    m->seed = (uint32_t)get(&in, 4);
    m->period = (uint64_t)get(&in, 8);
    m->timeout = (uint64_t)get(&in, 8);
    m->refresh = (uint32_t)get(&in, 4);
    m->attempts = (uint16_t)get(&in, 2);
    m->weight = (uint16_t)get(&in, 2);
    m->gpu_type = (uint8_t)get(&in, 1);
    m->options = (uint16_t)get(&in, 2);
    (void)in;
    return 1;
}

size_t rhf_pack_group(const struct rhf_group *m, uint8_t *out, size_t room) {
    if (room < 67u || m->members_count > (room - 67u) / 8u || m->members_count > (RH_LONGEST - 67u) / 8u)
        return 0;
    out = put(out, 3u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->role, 1);
    out = put(out, m->rank, 2);
    out = put(out, m->uplink, 1);
    out = put(out, m->uplink_card, 1);
    out = put(out, m->uplink_home, 2);
    out = put(out, m->interval, 8);
    out = put(out, m->multiplier, 1);
    out = put(out, m->jitter, 8);
    out = put(out, m->slack, 8);
    out = put(out, m->lease, 8);
    out = put(out, m->skew, 8);
    out = put(out, m->guard, 8);
    out = put(out, m->wait_to_restore, 8);
    if (m->members_count)
        memcpy(out, m->members, m->members_count * 8u);
    return 67u + m->members_count * 8u;
}

int rhf_unpack_group(struct rhf_group *m, const uint8_t *in, size_t length) {
    if (length < 67u || in[0] != 3u || (length - 67u) % 8u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->role = (uint8_t)get(&in, 1);
    m->rank = (uint16_t)get(&in, 2);
    m->uplink = (uint8_t)get(&in, 1);
    m->uplink_card = (uint8_t)get(&in, 1);
    m->uplink_home = (uint16_t)get(&in, 2);
    m->interval = (uint64_t)get(&in, 8);
    m->multiplier = (uint8_t)get(&in, 1);
    m->jitter = (uint64_t)get(&in, 8);
    m->slack = (uint64_t)get(&in, 8);
    m->lease = (uint64_t)get(&in, 8);
    m->skew = (uint64_t)get(&in, 8);
    m->guard = (uint64_t)get(&in, 8);
    m->wait_to_restore = (uint64_t)get(&in, 8);
    m->members = in;
    m->members_count = (length - 67u) / 8u;
    return 1;
}

size_t rhf_pack_crossing(const struct rhf_crossing *m, uint8_t *out, size_t room) {
    if (room < 7u)
        return 0;
    out = put(out, 4u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->peer, 1);
    out = put(out, m->cards, 2);
    out = put(out, m->from_above, 1);
    return 7u;
}

int rhf_unpack_crossing(struct rhf_crossing *m, const uint8_t *in, size_t length) {
    if (length != 7u || in[0] != 4u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->peer = (uint8_t)get(&in, 1);
    m->cards = (uint16_t)get(&in, 2);
    m->from_above = (uint8_t)get(&in, 1);
    (void)in;
    return 1;
}

size_t rhf_pack_routes(const struct rhf_routes *m, uint8_t *out, size_t room) {
    if (room < 3u || m->behind_count > (room - 3u) / 8u || m->behind_count > (RH_LONGEST - 3u) / 8u)
        return 0;
    out = put(out, 5u, 1);
    out = put(out, m->id, 2);
    if (m->behind_count)
        memcpy(out, m->behind, m->behind_count * 8u);
    return 3u + m->behind_count * 8u;
}

int rhf_unpack_routes(struct rhf_routes *m, const uint8_t *in, size_t length) {
    if (length < 3u || in[0] != 5u || (length - 3u) % 8u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->behind = in;
    m->behind_count = (length - 3u) / 8u;
    return 1;
}

size_t rhf_pack_start(const struct rhf_start *m, uint8_t *out, size_t room) {
    if (room < 11u)
        return 0;
    out = put(out, 6u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->now, 8);
    return 11u;
}

int rhf_unpack_start(struct rhf_start *m, const uint8_t *in, size_t length) {
    if (length != 11u || in[0] != 6u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->now = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rhf_pack_timer(const struct rhf_timer *m, uint8_t *out, size_t room) {
    if (room < 16u)
        return 0;
    out = put(out, 7u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->now, 8);
    out = put(out, m->status, 4);
    out = put(out, m->timer, 1);
    return 16u;
}

int rhf_unpack_timer(struct rhf_timer *m, const uint8_t *in, size_t length) {
    if (length != 16u || in[0] != 7u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->now = (uint64_t)get(&in, 8);
    m->status = (uint32_t)get(&in, 4);
    m->timer = (uint8_t)get(&in, 1);
    (void)in;
    return 1;
}

size_t rhf_pack_frame(const struct rhf_frame *m, uint8_t *out, size_t room) {
    if (room < 13u || m->frame_length > (room - 13u) || m->frame_length > (RH_LONGEST - 13u))
        return 0;
    out = put(out, 8u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->now, 8);
    out = put(out, m->port, 1);
    out = put(out, m->bad, 1);
    if (m->frame_length)
        memcpy(out, m->frame, m->frame_length);
    return 13u + m->frame_length;
}

int rhf_unpack_frame(struct rhf_frame *m, const uint8_t *in, size_t length) {
    if (length < 13u || in[0] != 8u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->now = (uint64_t)get(&in, 8);
    m->port = (uint8_t)get(&in, 1);
    m->bad = (uint8_t)get(&in, 1);
    m->frame = in;
    m->frame_length = length - 13u;
    return 1;
}

size_t rhf_pack_count_now(const struct rhf_count_now *m, uint8_t *out, size_t room) {
    if (room < 11u)
        return 0;
    out = put(out, 9u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->now, 8);
    return 11u;
}

int rhf_unpack_count_now(struct rhf_count_now *m, const uint8_t *in, size_t length) {
    if (length != 11u || in[0] != 9u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->now = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rhf_pack_done(const struct rhf_done *m, uint8_t *out, size_t room) {
    if (room < 3u || m->actions_length > (room - 3u) || m->actions_length > (RH_LONGEST - 3u))
        return 0;
    out = put(out, 128u, 1);
    out = put(out, m->id, 2);
    if (m->actions_length)
        memcpy(out, m->actions, m->actions_length);
    return 3u + m->actions_length;
}

int rhf_unpack_done(struct rhf_done *m, const uint8_t *in, size_t length) {
    if (length < 3u || in[0] != 128u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->actions = in;
    m->actions_length = length - 3u;
    return 1;
}

size_t rhf_pack_declined(const struct rhf_declined *m, uint8_t *out, size_t room) {
    if (room < 4u || m->text_length > (room - 4u) || m->text_length > (RH_LONGEST - 4u))
        return 0;
    out = put(out, 255u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->why, 1);
    if (m->text_length)
        memcpy(out, m->text, m->text_length);
    return 4u + m->text_length;
}

int rhf_unpack_declined(struct rhf_declined *m, const uint8_t *in, size_t length) {
    if (length < 4u || in[0] != 255u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->why = (uint8_t)get(&in, 1);
    m->text = in;
    m->text_length = length - 4u;
    return 1;
}

size_t rhf_pack_send(const struct rhf_send *m, uint8_t *out, size_t room) {
    if (room < 2u || m->frame_length > (room - 2u) || m->frame_length > (RH_LONGEST - 2u))
        return 0;
    out = put(out, 65u, 1);
    out = put(out, m->port, 1);
    if (m->frame_length)
        memcpy(out, m->frame, m->frame_length);
    return 2u + m->frame_length;
}

int rhf_unpack_send(struct rhf_send *m, const uint8_t *in, size_t length) {
    if (length < 2u || in[0] != 65u)
        return 0;
    in += 1;
    m->port = (uint8_t)get(&in, 1);
    m->frame = in;
    m->frame_length = length - 2u;
    return 1;
}

size_t rhf_pack_set_timer(const struct rhf_set_timer *m, uint8_t *out, size_t room) {
    if (room < 10u)
        return 0;
    out = put(out, 66u, 1);
    out = put(out, m->timer, 1);
    out = put(out, m->delay, 8);
    return 10u;
}

int rhf_unpack_set_timer(struct rhf_set_timer *m, const uint8_t *in, size_t length) {
    if (length != 10u || in[0] != 66u)
        return 0;
    in += 1;
    m->timer = (uint8_t)get(&in, 1);
    m->delay = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rhf_pack_cancel_timer(const struct rhf_cancel_timer *m, uint8_t *out, size_t room) {
    if (room < 2u)
        return 0;
    out = put(out, 67u, 1);
    out = put(out, m->timer, 1);
    return 2u;
}

int rhf_unpack_cancel_timer(struct rhf_cancel_timer *m, const uint8_t *in, size_t length) {
    if (length != 2u || in[0] != 67u)
        return 0;
    in += 1;
    m->timer = (uint8_t)get(&in, 1);
    (void)in;
    return 1;
}

size_t rhf_pack_write(const struct rhf_write *m, uint8_t *out, size_t room) {
    if (room < 6u)
        return 0;
    out = put(out, 68u, 1);
    out = put(out, m->address, 1);
    out = put(out, m->value, 4);
    return 6u;
}

int rhf_unpack_write(struct rhf_write *m, const uint8_t *in, size_t length) {
    if (length != 6u || in[0] != 68u)
        return 0;
    in += 1;
    m->address = (uint8_t)get(&in, 1);
    m->value = (uint32_t)get(&in, 4);
    (void)in;
    return 1;
}

size_t rhf_pack_elected(const struct rhf_elected *m, uint8_t *out, size_t room) {
    if (room < 6u)
        return 0;
    out = put(out, 81u, 1);
    out = put(out, m->role, 1);
    out = put(out, m->epoch, 4);
    return 6u;
}

int rhf_unpack_elected(struct rhf_elected *m, const uint8_t *in, size_t length) {
    if (length != 6u || in[0] != 81u)
        return 0;
    in += 1;
    m->role = (uint8_t)get(&in, 1);
    m->epoch = (uint32_t)get(&in, 4);
    (void)in;
    return 1;
}

size_t rhf_pack_deposed(const struct rhf_deposed *m, uint8_t *out, size_t room) {
    if (room < 7u)
        return 0;
    out = put(out, 82u, 1);
    out = put(out, m->role, 1);
    out = put(out, m->epoch, 4);
    out = put(out, m->why, 1);
    return 7u;
}

int rhf_unpack_deposed(struct rhf_deposed *m, const uint8_t *in, size_t length) {
    if (length != 7u || in[0] != 82u)
        return 0;
    in += 1;
    m->role = (uint8_t)get(&in, 1);
    m->epoch = (uint32_t)get(&in, 4);
    m->why = (uint8_t)get(&in, 1);
    (void)in;
    return 1;
}

size_t rhf_pack_granted(const struct rhf_granted *m, uint8_t *out, size_t room) {
    if (room < 16u)
        return 0;
    out = put(out, 83u, 1);
    out = put(out, m->role, 1);
    out = put(out, m->epoch, 4);
    out = put(out, m->rank, 2);
    out = put(out, m->until, 8);
    return 16u;
}

int rhf_unpack_granted(struct rhf_granted *m, const uint8_t *in, size_t length) {
    if (length != 16u || in[0] != 83u)
        return 0;
    in += 1;
    m->role = (uint8_t)get(&in, 1);
    m->epoch = (uint32_t)get(&in, 4);
    m->rank = (uint16_t)get(&in, 2);
    m->until = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rhf_pack_lapsed(const struct rhf_lapsed *m, uint8_t *out, size_t room) {
    if (room < 9u)
        return 0;
    out = put(out, 84u, 1);
    out = put(out, m->role, 1);
    out = put(out, m->epoch, 4);
    out = put(out, m->rank, 2);
    out = put(out, m->why, 1);
    return 9u;
}

int rhf_unpack_lapsed(struct rhf_lapsed *m, const uint8_t *in, size_t length) {
    if (length != 9u || in[0] != 84u)
        return 0;
    in += 1;
    m->role = (uint8_t)get(&in, 1);
    m->epoch = (uint32_t)get(&in, 4);
    m->rank = (uint16_t)get(&in, 2);
    m->why = (uint8_t)get(&in, 1);
    (void)in;
    return 1;
}

size_t rhf_pack_peer_up(const struct rhf_peer_up *m, uint8_t *out, size_t room) {
    if (room < 4u)
        return 0;
    out = put(out, 85u, 1);
    out = put(out, m->role, 1);
    out = put(out, m->gpu, 2);
    return 4u;
}

int rhf_unpack_peer_up(struct rhf_peer_up *m, const uint8_t *in, size_t length) {
    if (length != 4u || in[0] != 85u)
        return 0;
    in += 1;
    m->role = (uint8_t)get(&in, 1);
    m->gpu = (uint16_t)get(&in, 2);
    (void)in;
    return 1;
}

size_t rhf_pack_peer_down(const struct rhf_peer_down *m, uint8_t *out, size_t room) {
    if (room < 4u)
        return 0;
    out = put(out, 86u, 1);
    out = put(out, m->role, 1);
    out = put(out, m->gpu, 2);
    return 4u;
}

int rhf_unpack_peer_down(struct rhf_peer_down *m, const uint8_t *in, size_t length) {
    if (length != 4u || in[0] != 86u)
        return 0;
    in += 1;
    m->role = (uint8_t)get(&in, 1);
    m->gpu = (uint16_t)get(&in, 2);
    (void)in;
    return 1;
}

size_t rhf_pack_counted(const struct rhf_counted *m, uint8_t *out, size_t room) {
    if (room < 25u || m->sets_count > (room - 25u) / 8u || m->sets_count > (RH_LONGEST - 25u) / 8u)
        return 0;
    out = put(out, 87u, 1);
    out = put(out, m->count, 2);
    out = put(out, m->verdict, 1);
    out = put(out, m->break_after, 2);
    out = put(out, m->break_before, 2);
    out = put(out, m->sequence, 4);
    out = put(out, m->sent_at, 8);
    out = put(out, m->weight, 4);
    out = put(out, m->known, 1);
    if (m->sets_count)
        memcpy(out, m->sets, m->sets_count * 8u);
    return 25u + m->sets_count * 8u;
}

int rhf_unpack_counted(struct rhf_counted *m, const uint8_t *in, size_t length) {
    if (length < 25u || in[0] != 87u || (length - 25u) % 8u)
        return 0;
    in += 1;
    m->count = (uint16_t)get(&in, 2);
    m->verdict = (uint8_t)get(&in, 1);
    m->break_after = (uint16_t)get(&in, 2);
    m->break_before = (uint16_t)get(&in, 2);
    m->sequence = (uint32_t)get(&in, 4);
    m->sent_at = (uint64_t)get(&in, 8);
    m->weight = (uint32_t)get(&in, 4);
    m->known = (uint8_t)get(&in, 1);
    m->sets = in;
    m->sets_count = (length - 25u) / 8u;
    return 1;
}

size_t rhf_pack_rejected(const struct rhf_rejected *m, uint8_t *out, size_t room) {
    if (room < 6u)
        return 0;
    out = put(out, 88u, 1);
    out = put(out, m->reason, 1);
    out = put(out, m->sequence, 4);
    return 6u;
}

int rhf_unpack_rejected(struct rhf_rejected *m, const uint8_t *in, size_t length) {
    if (length != 6u || in[0] != 88u)
        return 0;
    in += 1;
    m->reason = (uint8_t)get(&in, 1);
    m->sequence = (uint32_t)get(&in, 4);
    (void)in;
    return 1;
}

size_t rhf_pack_suspected(const struct rhf_suspected *m, uint8_t *out, size_t room) {
    if (room < 1u || m->gpus_count > (room - 1u) / 8u || m->gpus_count > (RH_LONGEST - 1u) / 8u)
        return 0;
    out = put(out, 89u, 1);
    if (m->gpus_count)
        memcpy(out, m->gpus, m->gpus_count * 8u);
    return 1u + m->gpus_count * 8u;
}

int rhf_unpack_suspected(struct rhf_suspected *m, const uint8_t *in, size_t length) {
    if (length < 1u || in[0] != 89u || (length - 1u) % 8u)
        return 0;
    in += 1;
    m->gpus = in;
    m->gpus_count = (length - 1u) / 8u;
    return 1;
}
