/* Generated from protocol/: do not edit; `make generate` rewrites it. */
#include "ringhil_messages.h"

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

uint8_t rh_type(const uint8_t *message, size_t length) { return length ? message[0] : 0; }

uint16_t rh_id(const uint8_t *message, size_t length) {
    return length < 3 ? 0 : (uint16_t)(message[1] << 8 | message[2]);
}

uint64_t rh_word(const uint8_t *words, size_t index) {
    const uint8_t *at = words + 8 * index;
    return get(&at, 8);
}

size_t rh_pack_hello(const struct rh_hello *m, uint8_t *out, size_t room) {
    if (room < 5u || m->name_length > (room - 5u) || m->name_length > (RH_LONGEST - 5u))
        return 0;
    out = put(out, 1u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->major, 1);
    out = put(out, m->minor, 1);
    if (m->name_length)
        memcpy(out, m->name, m->name_length);
    return 5u + m->name_length;
}

int rh_unpack_hello(struct rh_hello *m, const uint8_t *in, size_t length) {
    if (length < 5u || in[0] != 1u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->major = (uint8_t)get(&in, 1);
    m->minor = (uint8_t)get(&in, 1);
    m->name = in;
    m->name_length = length - 5u;
    return 1;
}

size_t rh_pack_hello_reply(const struct rh_hello_reply *m, uint8_t *out, size_t room) {
    if (room < 32u || m->name_length > (room - 32u) || m->name_length > (RH_LONGEST - 32u))
        return 0;
    out = put(out, 129u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->major, 1);
    out = put(out, m->minor, 1);
    out = put(out, m->card, 1);
    out = put(out, m->gpus, 2);
    out = put(out, m->capabilities, 2);
    out = put(out, m->longest, 2);
    out = put(out, m->clock, 4);
    out = put(out, m->serial, 8);
    out = put(out, m->now, 8);
    if (m->name_length)
        memcpy(out, m->name, m->name_length);
    return 32u + m->name_length;
}

int rh_unpack_hello_reply(struct rh_hello_reply *m, const uint8_t *in, size_t length) {
    if (length < 32u || in[0] != 129u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->major = (uint8_t)get(&in, 1);
    m->minor = (uint8_t)get(&in, 1);
    m->card = (uint8_t)get(&in, 1);
    m->gpus = (uint16_t)get(&in, 2);
    m->capabilities = (uint16_t)get(&in, 2);
    m->longest = (uint16_t)get(&in, 2);
    m->clock = (uint32_t)get(&in, 4);
    m->serial = (uint64_t)get(&in, 8);
    m->now = (uint64_t)get(&in, 8);
    m->name = in;
    m->name_length = length - 32u;
    return 1;
}

size_t rh_pack_time(const struct rh_time *m, uint8_t *out, size_t room) {
    if (room < 3u)
        return 0;
    out = put(out, 2u, 1);
    out = put(out, m->id, 2);
    return 3u;
}

int rh_unpack_time(struct rh_time *m, const uint8_t *in, size_t length) {
    if (length != 3u || in[0] != 2u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    (void)in;
    return 1;
}

size_t rh_pack_time_reply(const struct rh_time_reply *m, uint8_t *out, size_t room) {
    if (room < 11u)
        return 0;
    out = put(out, 130u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->now, 8);
    return 11u;
}

int rh_unpack_time_reply(struct rh_time_reply *m, const uint8_t *in, size_t length) {
    if (length != 11u || in[0] != 130u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->now = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rh_pack_read(const struct rh_read *m, uint8_t *out, size_t room) {
    if (room < 6u)
        return 0;
    out = put(out, 3u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->gpu, 2);
    out = put(out, m->address, 1);
    return 6u;
}

int rh_unpack_read(struct rh_read *m, const uint8_t *in, size_t length) {
    if (length != 6u || in[0] != 3u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->gpu = (uint16_t)get(&in, 2);
    m->address = (uint8_t)get(&in, 1);
    (void)in;
    return 1;
}

size_t rh_pack_read_reply(const struct rh_read_reply *m, uint8_t *out, size_t room) {
    if (room < 15u)
        return 0;
    out = put(out, 131u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->value, 4);
    out = put(out, m->now, 8);
    return 15u;
}

int rh_unpack_read_reply(struct rh_read_reply *m, const uint8_t *in, size_t length) {
    if (length != 15u || in[0] != 131u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->value = (uint32_t)get(&in, 4);
    m->now = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rh_pack_write(const struct rh_write *m, uint8_t *out, size_t room) {
    if (room < 10u)
        return 0;
    out = put(out, 4u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->gpu, 2);
    out = put(out, m->address, 1);
    out = put(out, m->value, 4);
    return 10u;
}

int rh_unpack_write(struct rh_write *m, const uint8_t *in, size_t length) {
    if (length != 10u || in[0] != 4u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->gpu = (uint16_t)get(&in, 2);
    m->address = (uint8_t)get(&in, 1);
    m->value = (uint32_t)get(&in, 4);
    (void)in;
    return 1;
}

size_t rh_pack_write_reply(const struct rh_write_reply *m, uint8_t *out, size_t room) {
    if (room < 11u)
        return 0;
    out = put(out, 132u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->now, 8);
    return 11u;
}

int rh_unpack_write_reply(struct rh_write_reply *m, const uint8_t *in, size_t length) {
    if (length != 11u || in[0] != 132u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->now = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rh_pack_census(const struct rh_census *m, uint8_t *out, size_t room) {
    if (room < 3u)
        return 0;
    out = put(out, 5u, 1);
    out = put(out, m->id, 2);
    return 3u;
}

int rh_unpack_census(struct rh_census *m, const uint8_t *in, size_t length) {
    if (length != 3u || in[0] != 5u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    (void)in;
    return 1;
}

size_t rh_pack_census_reply(const struct rh_census_reply *m, uint8_t *out, size_t room) {
    if (room < 46u || m->members_count > (room - 46u) / 8u || m->members_count > (RH_LONGEST - 46u) / 8u)
        return 0;
    out = put(out, 133u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->epoch, 4);
    out = put(out, m->sequence, 4);
    out = put(out, m->entry, 2);
    out = put(out, m->count, 2);
    out = put(out, m->size, 2);
    out = put(out, m->verdict, 1);
    out = put(out, m->break_after, 2);
    out = put(out, m->break_before, 2);
    out = put(out, m->sent_at, 8);
    out = put(out, m->counted_at, 8);
    out = put(out, m->accepted, 4);
    out = put(out, m->rejected, 4);
    if (m->members_count)
        memcpy(out, m->members, m->members_count * 8u);
    return 46u + m->members_count * 8u;
}

int rh_unpack_census_reply(struct rh_census_reply *m, const uint8_t *in, size_t length) {
    if (length < 46u || in[0] != 133u || (length - 46u) % 8u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->epoch = (uint32_t)get(&in, 4);
    m->sequence = (uint32_t)get(&in, 4);
    m->entry = (uint16_t)get(&in, 2);
    m->count = (uint16_t)get(&in, 2);
    m->size = (uint16_t)get(&in, 2);
    m->verdict = (uint8_t)get(&in, 1);
    m->break_after = (uint16_t)get(&in, 2);
    m->break_before = (uint16_t)get(&in, 2);
    m->sent_at = (uint64_t)get(&in, 8);
    m->counted_at = (uint64_t)get(&in, 8);
    m->accepted = (uint32_t)get(&in, 4);
    m->rejected = (uint32_t)get(&in, 4);
    m->members = in;
    m->members_count = (length - 46u) / 8u;
    return 1;
}

size_t rh_pack_last_census(const struct rh_last_census *m, uint8_t *out, size_t room) {
    if (room < 3u)
        return 0;
    out = put(out, 6u, 1);
    out = put(out, m->id, 2);
    return 3u;
}

int rh_unpack_last_census(struct rh_last_census *m, const uint8_t *in, size_t length) {
    if (length != 3u || in[0] != 6u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    (void)in;
    return 1;
}

size_t rh_pack_last_census_reply(const struct rh_last_census_reply *m, uint8_t *out, size_t room) {
    if (room < 46u || m->members_count > (room - 46u) / 8u || m->members_count > (RH_LONGEST - 46u) / 8u)
        return 0;
    out = put(out, 134u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->epoch, 4);
    out = put(out, m->sequence, 4);
    out = put(out, m->entry, 2);
    out = put(out, m->count, 2);
    out = put(out, m->size, 2);
    out = put(out, m->verdict, 1);
    out = put(out, m->break_after, 2);
    out = put(out, m->break_before, 2);
    out = put(out, m->sent_at, 8);
    out = put(out, m->counted_at, 8);
    out = put(out, m->accepted, 4);
    out = put(out, m->rejected, 4);
    if (m->members_count)
        memcpy(out, m->members, m->members_count * 8u);
    return 46u + m->members_count * 8u;
}

int rh_unpack_last_census_reply(struct rh_last_census_reply *m, const uint8_t *in, size_t length) {
    if (length < 46u || in[0] != 134u || (length - 46u) % 8u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->epoch = (uint32_t)get(&in, 4);
    m->sequence = (uint32_t)get(&in, 4);
    m->entry = (uint16_t)get(&in, 2);
    m->count = (uint16_t)get(&in, 2);
    m->size = (uint16_t)get(&in, 2);
    m->verdict = (uint8_t)get(&in, 1);
    m->break_after = (uint16_t)get(&in, 2);
    m->break_before = (uint16_t)get(&in, 2);
    m->sent_at = (uint64_t)get(&in, 8);
    m->counted_at = (uint64_t)get(&in, 8);
    m->accepted = (uint32_t)get(&in, 4);
    m->rejected = (uint32_t)get(&in, 4);
    m->members = in;
    m->members_count = (length - 46u) / 8u;
    return 1;
}

size_t rh_pack_send(const struct rh_send *m, uint8_t *out, size_t room) {
    if (room < 6u || m->frame_length > (room - 6u) || m->frame_length > (RH_LONGEST - 6u))
        return 0;
    out = put(out, 7u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->gpu, 2);
    out = put(out, m->port, 1);
    if (m->frame_length)
        memcpy(out, m->frame, m->frame_length);
    return 6u + m->frame_length;
}

int rh_unpack_send(struct rh_send *m, const uint8_t *in, size_t length) {
    if (length < 6u || in[0] != 7u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->gpu = (uint16_t)get(&in, 2);
    m->port = (uint8_t)get(&in, 1);
    m->frame = in;
    m->frame_length = length - 6u;
    return 1;
}

size_t rh_pack_send_reply(const struct rh_send_reply *m, uint8_t *out, size_t room) {
    if (room < 11u)
        return 0;
    out = put(out, 135u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->now, 8);
    return 11u;
}

int rh_unpack_send_reply(struct rh_send_reply *m, const uint8_t *in, size_t length) {
    if (length != 11u || in[0] != 135u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->now = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rh_pack_subscribe(const struct rh_subscribe *m, uint8_t *out, size_t room) {
    if (room < 5u)
        return 0;
    out = put(out, 8u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->events, 2);
    return 5u;
}

int rh_unpack_subscribe(struct rh_subscribe *m, const uint8_t *in, size_t length) {
    if (length != 5u || in[0] != 8u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->events = (uint16_t)get(&in, 2);
    (void)in;
    return 1;
}

size_t rh_pack_subscribe_reply(const struct rh_subscribe_reply *m, uint8_t *out, size_t room) {
    if (room < 13u)
        return 0;
    out = put(out, 136u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->events, 2);
    out = put(out, m->now, 8);
    return 13u;
}

int rh_unpack_subscribe_reply(struct rh_subscribe_reply *m, const uint8_t *in, size_t length) {
    if (length != 13u || in[0] != 136u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->events = (uint16_t)get(&in, 2);
    m->now = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rh_pack_inject(const struct rh_inject *m, uint8_t *out, size_t room) {
    if (room < 11u)
        return 0;
    out = put(out, 9u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->injection, 1);
    out = put(out, m->fault, 1);
    out = put(out, m->gpu, 2);
    out = put(out, m->value, 4);
    return 11u;
}

int rh_unpack_inject(struct rh_inject *m, const uint8_t *in, size_t length) {
    if (length != 11u || in[0] != 9u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->injection = (uint8_t)get(&in, 1);
    m->fault = (uint8_t)get(&in, 1);
    m->gpu = (uint16_t)get(&in, 2);
    m->value = (uint32_t)get(&in, 4);
    (void)in;
    return 1;
}

size_t rh_pack_inject_reply(const struct rh_inject_reply *m, uint8_t *out, size_t room) {
    if (room < 11u)
        return 0;
    out = put(out, 137u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->now, 8);
    return 11u;
}

int rh_unpack_inject_reply(struct rh_inject_reply *m, const uint8_t *in, size_t length) {
    if (length != 11u || in[0] != 137u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->now = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rh_pack_line(const struct rh_line *m, uint8_t *out, size_t room) {
    if (room < 3u)
        return 0;
    out = put(out, 10u, 1);
    out = put(out, m->id, 2);
    return 3u;
}

int rh_unpack_line(struct rh_line *m, const uint8_t *in, size_t length) {
    if (length != 3u || in[0] != 10u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    (void)in;
    return 1;
}

size_t rh_pack_line_reply(const struct rh_line_reply *m, uint8_t *out, size_t room) {
    if (room < 39u)
        return 0;
    out = put(out, 138u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->received, 8);
    out = put(out, m->sent, 8);
    out = put(out, m->requests, 4);
    out = put(out, m->damaged, 4);
    out = put(out, m->refused, 4);
    out = put(out, m->events, 4);
    out = put(out, m->missed, 4);
    return 39u;
}

int rh_unpack_line_reply(struct rh_line_reply *m, const uint8_t *in, size_t length) {
    if (length != 39u || in[0] != 138u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->received = (uint64_t)get(&in, 8);
    m->sent = (uint64_t)get(&in, 8);
    m->requests = (uint32_t)get(&in, 4);
    m->damaged = (uint32_t)get(&in, 4);
    m->refused = (uint32_t)get(&in, 4);
    m->events = (uint32_t)get(&in, 4);
    m->missed = (uint32_t)get(&in, 4);
    (void)in;
    return 1;
}

size_t rh_pack_client_context(const struct rh_client_context *m, uint8_t *out, size_t room) {
    if (room < 5u)
        return 0;
    out = put(out, 11u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->index, 2);
    return 5u;
}

int rh_unpack_client_context(struct rh_client_context *m, const uint8_t *in, size_t length) {
    if (length != 5u || in[0] != 11u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->index = (uint16_t)get(&in, 2);
    (void)in;
    return 1;
}

size_t rh_pack_client_context_reply(const struct rh_client_context_reply *m, uint8_t *out, size_t room) {
    if (room < 21u || m->name_length > (room - 21u) || m->name_length > (RH_LONGEST - 21u))
        return 0;
    out = put(out, 139u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->number, 2);
    out = put(out, m->gpu, 2);
    out = put(out, m->context, 1);
    out = put(out, m->belongs, 1);
    out = put(out, m->client, 4);
    out = put(out, m->held, 4);
    out = put(out, m->limit, 4);
    if (m->name_length)
        memcpy(out, m->name, m->name_length);
    return 21u + m->name_length;
}

int rh_unpack_client_context_reply(struct rh_client_context_reply *m, const uint8_t *in, size_t length) {
    if (length < 21u || in[0] != 139u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->number = (uint16_t)get(&in, 2);
    m->gpu = (uint16_t)get(&in, 2);
    m->context = (uint8_t)get(&in, 1);
    m->belongs = (uint8_t)get(&in, 1);
    m->client = (uint32_t)get(&in, 4);
    m->held = (uint32_t)get(&in, 4);
    m->limit = (uint32_t)get(&in, 4);
    m->name = in;
    m->name_length = length - 21u;
    return 1;
}

size_t rh_pack_free_context(const struct rh_free_context *m, uint8_t *out, size_t room) {
    if (room < 6u)
        return 0;
    out = put(out, 12u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->gpu, 2);
    out = put(out, m->context, 1);
    return 6u;
}

int rh_unpack_free_context(struct rh_free_context *m, const uint8_t *in, size_t length) {
    if (length != 6u || in[0] != 12u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->gpu = (uint16_t)get(&in, 2);
    m->context = (uint8_t)get(&in, 1);
    (void)in;
    return 1;
}

size_t rh_pack_free_context_reply(const struct rh_free_context_reply *m, uint8_t *out, size_t room) {
    if (room < 11u)
        return 0;
    out = put(out, 140u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->now, 8);
    return 11u;
}

int rh_unpack_free_context_reply(struct rh_free_context_reply *m, const uint8_t *in, size_t length) {
    if (length != 11u || in[0] != 140u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->now = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rh_pack_keep_contexts(const struct rh_keep_contexts *m, uint8_t *out, size_t room) {
    if (room < 4u)
        return 0;
    out = put(out, 13u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->keep, 1);
    return 4u;
}

int rh_unpack_keep_contexts(struct rh_keep_contexts *m, const uint8_t *in, size_t length) {
    if (length != 4u || in[0] != 13u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->keep = (uint8_t)get(&in, 1);
    (void)in;
    return 1;
}

size_t rh_pack_keep_contexts_reply(const struct rh_keep_contexts_reply *m, uint8_t *out, size_t room) {
    if (room < 11u)
        return 0;
    out = put(out, 141u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->now, 8);
    return 11u;
}

int rh_unpack_keep_contexts_reply(struct rh_keep_contexts_reply *m, const uint8_t *in, size_t length) {
    if (length != 11u || in[0] != 141u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->now = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rh_pack_frame_event(const struct rh_frame_event *m, uint8_t *out, size_t room) {
    if (room < 16u || m->frame_length > (room - 16u) || m->frame_length > (RH_LONGEST - 16u))
        return 0;
    out = put(out, 65u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->gpu, 2);
    out = put(out, m->port, 1);
    out = put(out, m->way, 1);
    out = put(out, m->bad, 1);
    out = put(out, m->cycle, 8);
    if (m->frame_length)
        memcpy(out, m->frame, m->frame_length);
    return 16u + m->frame_length;
}

int rh_unpack_frame_event(struct rh_frame_event *m, const uint8_t *in, size_t length) {
    if (length < 16u || in[0] != 65u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->gpu = (uint16_t)get(&in, 2);
    m->port = (uint8_t)get(&in, 1);
    m->way = (uint8_t)get(&in, 1);
    m->bad = (uint8_t)get(&in, 1);
    m->cycle = (uint64_t)get(&in, 8);
    m->frame = in;
    m->frame_length = length - 16u;
    return 1;
}

size_t rh_pack_role_event(const struct rh_role_event *m, uint8_t *out, size_t room) {
    if (room < 19u)
        return 0;
    out = put(out, 66u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->gpu, 2);
    out = put(out, m->role, 1);
    out = put(out, m->holds, 1);
    out = put(out, m->epoch, 4);
    out = put(out, m->cycle, 8);
    return 19u;
}

int rh_unpack_role_event(struct rh_role_event *m, const uint8_t *in, size_t length) {
    if (length != 19u || in[0] != 66u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->gpu = (uint16_t)get(&in, 2);
    m->role = (uint8_t)get(&in, 1);
    m->holds = (uint8_t)get(&in, 1);
    m->epoch = (uint32_t)get(&in, 4);
    m->cycle = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rh_pack_count_event(const struct rh_count_event *m, uint8_t *out, size_t room) {
    if (room < 46u || m->members_count > (room - 46u) / 8u || m->members_count > (RH_LONGEST - 46u) / 8u)
        return 0;
    out = put(out, 67u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->epoch, 4);
    out = put(out, m->sequence, 4);
    out = put(out, m->entry, 2);
    out = put(out, m->count, 2);
    out = put(out, m->size, 2);
    out = put(out, m->verdict, 1);
    out = put(out, m->break_after, 2);
    out = put(out, m->break_before, 2);
    out = put(out, m->sent_at, 8);
    out = put(out, m->counted_at, 8);
    out = put(out, m->accepted, 4);
    out = put(out, m->rejected, 4);
    if (m->members_count)
        memcpy(out, m->members, m->members_count * 8u);
    return 46u + m->members_count * 8u;
}

int rh_unpack_count_event(struct rh_count_event *m, const uint8_t *in, size_t length) {
    if (length < 46u || in[0] != 67u || (length - 46u) % 8u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->epoch = (uint32_t)get(&in, 4);
    m->sequence = (uint32_t)get(&in, 4);
    m->entry = (uint16_t)get(&in, 2);
    m->count = (uint16_t)get(&in, 2);
    m->size = (uint16_t)get(&in, 2);
    m->verdict = (uint8_t)get(&in, 1);
    m->break_after = (uint16_t)get(&in, 2);
    m->break_before = (uint16_t)get(&in, 2);
    m->sent_at = (uint64_t)get(&in, 8);
    m->counted_at = (uint64_t)get(&in, 8);
    m->accepted = (uint32_t)get(&in, 4);
    m->rejected = (uint32_t)get(&in, 4);
    m->members = in;
    m->members_count = (length - 46u) / 8u;
    return 1;
}

size_t rh_pack_fault_event(const struct rh_fault_event *m, uint8_t *out, size_t room) {
    if (room < 19u)
        return 0;
    out = put(out, 68u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->injection, 1);
    out = put(out, m->fault, 1);
    out = put(out, m->gpu, 2);
    out = put(out, m->value, 4);
    out = put(out, m->cycle, 8);
    return 19u;
}

int rh_unpack_fault_event(struct rh_fault_event *m, const uint8_t *in, size_t length) {
    if (length != 19u || in[0] != 68u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->injection = (uint8_t)get(&in, 1);
    m->fault = (uint8_t)get(&in, 1);
    m->gpu = (uint16_t)get(&in, 2);
    m->value = (uint32_t)get(&in, 4);
    m->cycle = (uint64_t)get(&in, 8);
    (void)in;
    return 1;
}

size_t rh_pack_missed_event(const struct rh_missed_event *m, uint8_t *out, size_t room) {
    if (room < 7u)
        return 0;
    out = put(out, 69u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->events, 4);
    return 7u;
}

int rh_unpack_missed_event(struct rh_missed_event *m, const uint8_t *in, size_t length) {
    if (length != 7u || in[0] != 69u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->events = (uint32_t)get(&in, 4);
    (void)in;
    return 1;
}

size_t rh_pack_refused(const struct rh_refused *m, uint8_t *out, size_t room) {
    if (room < 4u || m->text_length > (room - 4u) || m->text_length > (RH_LONGEST - 4u))
        return 0;
    out = put(out, 255u, 1);
    out = put(out, m->id, 2);
    out = put(out, m->why, 1);
    if (m->text_length)
        memcpy(out, m->text, m->text_length);
    return 4u + m->text_length;
}

int rh_unpack_refused(struct rh_refused *m, const uint8_t *in, size_t length) {
    if (length < 4u || in[0] != 255u)
        return 0;
    in += 1;
    m->id = (uint16_t)get(&in, 2);
    m->why = (uint8_t)get(&in, 1);
    m->text = in;
    m->text_length = length - 4u;
    return 1;
}
