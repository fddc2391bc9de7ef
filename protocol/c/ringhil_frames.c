/* Generated from protocol/: do not edit; `make generate` rewrites it. */
#include "ringhil_frames.h"

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

size_t rhw_pack_record(const struct rhw_record *m, uint8_t *out, size_t room) {
    if (room < 16u)
        return 0;
    out = put(out, m->id, 2);
    out = put(out, m->hop, 2);
    out = put(out, m->state, 1);
    out = put(out, m->flags, 1);
    out = put(out, m->gpu_type, 1);
    out = put(out, m->stamp, 1);
    out = put(out, m->weight, 2);
    out = put(out, m->errors, 1);
    out = put(out, m->peer, 1);
    out = put(out, m->tag, 4);
    return 16u;
}

int rhw_unpack_record(struct rhw_record *m, const uint8_t *in, size_t length) {
    if (length != 16u)
        return 0;
    m->id = (uint16_t)get(&in, 2);
    m->hop = (uint16_t)get(&in, 2);
    m->state = (uint8_t)get(&in, 1);
    m->flags = (uint8_t)get(&in, 1);
    m->gpu_type = (uint8_t)get(&in, 1);
    m->stamp = (uint8_t)get(&in, 1);
    m->weight = (uint16_t)get(&in, 2);
    m->errors = (uint8_t)get(&in, 1);
    m->peer = (uint8_t)get(&in, 1);
    m->tag = (uint32_t)get(&in, 4);
    (void)in;
    return 1;
}

size_t rhw_pack_statistics(const struct rhw_statistics *m, uint8_t *out, size_t room) {
    if (room < 32u || m->records_length > (room - 32u) || m->records_length > (RH_LONGEST - 32u))
        return 0;
    out = put(out, 17u, 1);
    out = put(out, m->card, 1);
    out = put(out, m->flags, 2);
    out = put(out, m->ttl, 2);
    out = put(out, m->origin, 2);
    out = put(out, m->epoch, 4);
    out = put(out, m->sequence, 4);
    out = put(out, m->count, 2);
    out = put(out, m->records_count, 2);
    out = put(out, m->expected, 2);
    out = put(out, m->record_limit, 2);
    out = put(out, m->sent_at, 8);
    if (m->records_length)
        memcpy(out, m->records, m->records_length);
    return 32u + m->records_length;
}

int rhw_unpack_statistics(struct rhw_statistics *m, const uint8_t *in, size_t length) {
    if (length < 32u || in[0] != 17u)
        return 0;
    in += 1;
    m->card = (uint8_t)get(&in, 1);
    m->flags = (uint16_t)get(&in, 2);
    m->ttl = (uint16_t)get(&in, 2);
    m->origin = (uint16_t)get(&in, 2);
    m->epoch = (uint32_t)get(&in, 4);
    m->sequence = (uint32_t)get(&in, 4);
    m->count = (uint16_t)get(&in, 2);
    m->records_count = (uint16_t)get(&in, 2);
    m->expected = (uint16_t)get(&in, 2);
    m->record_limit = (uint16_t)get(&in, 2);
    m->sent_at = (uint64_t)get(&in, 8);
    m->records = in;
    m->records_length = length - 32u;
    return 1;
}

size_t rhw_pack_keepalive(const struct rhw_keepalive *m, uint8_t *out, size_t room) {
    if (room < 48u)
        return 0;
    out = put(out, 18u, 1);
    out = put(out, m->card, 1);
    out = put(out, m->flags, 2);
    out = put(out, m->ttl, 2);
    out = put(out, m->destination, 2);
    out = put(out, m->epoch, 4);
    out = put(out, m->sequence, 4);
    out = put(out, m->my_discriminator, 4);
    out = put(out, m->your_discriminator, 4);
    out = put(out, m->role, 1);
    out = put(out, m->priority, 1);
    out = put(out, m->multiplier, 1);
    out = put(out, m->state, 1);
    out = put(out, m->interval, 4);
    out = put(out, m->members, 8);
    out = put(out, m->echo, 4);
    out = put(out, m->holder, 4);
    return 48u;
}

int rhw_unpack_keepalive(struct rhw_keepalive *m, const uint8_t *in, size_t length) {
    if (length != 48u || in[0] != 18u)
        return 0;
    in += 1;
    m->card = (uint8_t)get(&in, 1);
    m->flags = (uint16_t)get(&in, 2);
    m->ttl = (uint16_t)get(&in, 2);
    m->destination = (uint16_t)get(&in, 2);
    m->epoch = (uint32_t)get(&in, 4);
    m->sequence = (uint32_t)get(&in, 4);
    m->my_discriminator = (uint32_t)get(&in, 4);
    m->your_discriminator = (uint32_t)get(&in, 4);
    m->role = (uint8_t)get(&in, 1);
    m->priority = (uint8_t)get(&in, 1);
    m->multiplier = (uint8_t)get(&in, 1);
    m->state = (uint8_t)get(&in, 1);
    m->interval = (uint32_t)get(&in, 4);
    m->members = (uint64_t)get(&in, 8);
    m->echo = (uint32_t)get(&in, 4);
    m->holder = (uint32_t)get(&in, 4);
    (void)in;
    return 1;
}

size_t rhw_pack_election(const struct rhw_election *m, uint8_t *out, size_t room) {
    if (room < 32u)
        return 0;
    out = put(out, 19u, 1);
    out = put(out, m->card, 1);
    out = put(out, m->flags, 2);
    out = put(out, m->ttl, 2);
    out = put(out, m->destination, 2);
    out = put(out, m->epoch, 4);
    out = put(out, m->sequence, 4);
    out = put(out, m->candidate, 2);
    out = put(out, m->operation, 1);
    out = put(out, m->role, 1);
    out = put(out, m->lease, 4);
    out = put(out, m->members, 8);
    return 32u;
}

int rhw_unpack_election(struct rhw_election *m, const uint8_t *in, size_t length) {
    if (length != 32u || in[0] != 19u)
        return 0;
    in += 1;
    m->card = (uint8_t)get(&in, 1);
    m->flags = (uint16_t)get(&in, 2);
    m->ttl = (uint16_t)get(&in, 2);
    m->destination = (uint16_t)get(&in, 2);
    m->epoch = (uint32_t)get(&in, 4);
    m->sequence = (uint32_t)get(&in, 4);
    m->candidate = (uint16_t)get(&in, 2);
    m->operation = (uint8_t)get(&in, 1);
    m->role = (uint8_t)get(&in, 1);
    m->lease = (uint32_t)get(&in, 4);
    m->members = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rhw_pack_report(const struct rhw_report *m, uint8_t *out, size_t room) {
    if (room < 56u || m->sets_length > (room - 56u) || m->sets_length > (RH_LONGEST - 56u))
        return 0;
    out = put(out, 23u, 1);
    out = put(out, m->card, 1);
    out = put(out, m->flags, 2);
    out = put(out, m->ttl, 2);
    out = put(out, m->destination, 2);
    out = put(out, m->epoch, 4);
    out = put(out, m->sequence, 4);
    out = put(out, m->source, 2);
    out = put(out, m->count, 2);
    out = put(out, m->size, 2);
    out = put(out, m->verdict, 2);
    out = put(out, m->break_after, 2);
    out = put(out, m->break_before, 2);
    out = put(out, m->rejected, 4);
    out = put(out, m->sent_at, 8);
    out = put(out, m->suspects, 2);
    out = put(out, m->first_suspect, 2);
    out = put(out, m->slow_link, 2);
    out = put(out, m->noisy_link, 2);
    out = put(out, m->weight, 4);
    out = put(out, m->reserved, 4);
    if (m->sets_length)
        memcpy(out, m->sets, m->sets_length);
    return 56u + m->sets_length;
}

int rhw_unpack_report(struct rhw_report *m, const uint8_t *in, size_t length) {
    if (length < 56u || in[0] != 23u)
        return 0;
    in += 1;
    m->card = (uint8_t)get(&in, 1);
    m->flags = (uint16_t)get(&in, 2);
    m->ttl = (uint16_t)get(&in, 2);
    m->destination = (uint16_t)get(&in, 2);
    m->epoch = (uint32_t)get(&in, 4);
    m->sequence = (uint32_t)get(&in, 4);
    m->source = (uint16_t)get(&in, 2);
    m->count = (uint16_t)get(&in, 2);
    m->size = (uint16_t)get(&in, 2);
    m->verdict = (uint16_t)get(&in, 2);
    m->break_after = (uint16_t)get(&in, 2);
    m->break_before = (uint16_t)get(&in, 2);
    m->rejected = (uint32_t)get(&in, 4);
    m->sent_at = (uint64_t)get(&in, 8);
    m->suspects = (uint16_t)get(&in, 2);
    m->first_suspect = (uint16_t)get(&in, 2);
    m->slow_link = (uint16_t)get(&in, 2);
    m->noisy_link = (uint16_t)get(&in, 2);
    m->weight = (uint32_t)get(&in, 4);
    m->reserved = (uint32_t)get(&in, 4);
    m->sets = in;
    m->sets_length = length - 56u;
    return 1;
}

size_t rhw_pack_work(const struct rhw_work *m, uint8_t *out, size_t room) {
    if (room < 32u || m->payload_length > (room - 32u) || m->payload_length > (RH_LONGEST - 32u))
        return 0;
    out = put(out, 20u, 1);
    out = put(out, m->card, 1);
    out = put(out, m->flags, 2);
    out = put(out, m->ttl, 2);
    out = put(out, m->destination, 2);
    out = put(out, m->epoch, 4);
    out = put(out, m->unit, 4);
    out = put(out, m->source, 2);
    out = put(out, m->attempt, 2);
    out = put(out, m->segment, 2);
    out = put(out, m->segment_bytes, 2);
    out = put(out, m->length, 4);
    out = put(out, m->compute, 1);
    out = put(out, m->source_card, 1);
    out = put(out, m->context, 2);
    if (m->payload_length)
        memcpy(out, m->payload, m->payload_length);
    return 32u + m->payload_length;
}

int rhw_unpack_work(struct rhw_work *m, const uint8_t *in, size_t length) {
    if (length < 32u || in[0] != 20u)
        return 0;
    in += 1;
    m->card = (uint8_t)get(&in, 1);
    m->flags = (uint16_t)get(&in, 2);
    m->ttl = (uint16_t)get(&in, 2);
    m->destination = (uint16_t)get(&in, 2);
    m->epoch = (uint32_t)get(&in, 4);
    m->unit = (uint32_t)get(&in, 4);
    m->source = (uint16_t)get(&in, 2);
    m->attempt = (uint16_t)get(&in, 2);
    m->segment = (uint16_t)get(&in, 2);
    m->segment_bytes = (uint16_t)get(&in, 2);
    m->length = (uint32_t)get(&in, 4);
    m->compute = (uint8_t)get(&in, 1);
    m->source_card = (uint8_t)get(&in, 1);
    m->context = (uint16_t)get(&in, 2);
    m->payload = in;
    m->payload_length = length - 32u;
    return 1;
}

size_t rhw_pack_result(const struct rhw_result *m, uint8_t *out, size_t room) {
    if (room < 40u)
        return 0;
    out = put(out, 21u, 1);
    out = put(out, m->card, 1);
    out = put(out, m->flags, 2);
    out = put(out, m->ttl, 2);
    out = put(out, m->destination, 2);
    out = put(out, m->epoch, 4);
    out = put(out, m->unit, 4);
    out = put(out, m->source, 2);
    out = put(out, m->attempt, 2);
    out = put(out, m->status, 2);
    out = put(out, m->source_card, 1);
    out = put(out, m->queued, 1);
    out = put(out, m->digest, 8);
    out = put(out, m->length, 4);
    out = put(out, m->cycles, 4);
    return 40u;
}

int rhw_unpack_result(struct rhw_result *m, const uint8_t *in, size_t length) {
    if (length != 40u || in[0] != 21u)
        return 0;
    in += 1;
    m->card = (uint8_t)get(&in, 1);
    m->flags = (uint16_t)get(&in, 2);
    m->ttl = (uint16_t)get(&in, 2);
    m->destination = (uint16_t)get(&in, 2);
    m->epoch = (uint32_t)get(&in, 4);
    m->unit = (uint32_t)get(&in, 4);
    m->source = (uint16_t)get(&in, 2);
    m->attempt = (uint16_t)get(&in, 2);
    m->status = (uint16_t)get(&in, 2);
    m->source_card = (uint8_t)get(&in, 1);
    m->queued = (uint8_t)get(&in, 1);
    m->digest = (uint64_t)get(&in, 8);
    m->length = (uint32_t)get(&in, 4);
    m->cycles = (uint32_t)get(&in, 4);
    (void)in;
    return 1;
}

size_t rhw_pack_acknowledgement(const struct rhw_acknowledgement *m, uint8_t *out, size_t room) {
    if (room < 24u)
        return 0;
    out = put(out, 22u, 1);
    out = put(out, m->card, 1);
    out = put(out, m->flags, 2);
    out = put(out, m->ttl, 2);
    out = put(out, m->destination, 2);
    out = put(out, m->epoch, 4);
    out = put(out, m->unit, 4);
    out = put(out, m->source, 2);
    out = put(out, m->attempt, 2);
    out = put(out, m->status, 2);
    out = put(out, m->source_card, 1);
    out = put(out, m->queued, 1);
    return 24u;
}

int rhw_unpack_acknowledgement(struct rhw_acknowledgement *m, const uint8_t *in, size_t length) {
    if (length != 24u || in[0] != 22u)
        return 0;
    in += 1;
    m->card = (uint8_t)get(&in, 1);
    m->flags = (uint16_t)get(&in, 2);
    m->ttl = (uint16_t)get(&in, 2);
    m->destination = (uint16_t)get(&in, 2);
    m->epoch = (uint32_t)get(&in, 4);
    m->unit = (uint32_t)get(&in, 4);
    m->source = (uint16_t)get(&in, 2);
    m->attempt = (uint16_t)get(&in, 2);
    m->status = (uint16_t)get(&in, 2);
    m->source_card = (uint8_t)get(&in, 1);
    m->queued = (uint8_t)get(&in, 1);
    (void)in;
    return 1;
}
