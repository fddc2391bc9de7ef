#include "ringhil_client.h"

#include <string.h>

#define TRIES 4u
#define REPLY 0x80u
#define SHORT_REQUEST 32u /* bytes of any request of ours but hello */
#define LONGEST_NAME 64u

void rh_client_init(struct rh_client *client, struct rh_stream line, uint8_t *in, size_t in_room, uint8_t *out,
                    size_t out_room) {
    client->line = line;
    rh_receiver_init(&client->receiver, in, in_room);
    client->out = out;
    client->room = out_room;
    client->tries = TRIES;
    client->id = 0;
    client->on_event = 0;
    client->refusal.text = in;
    client->refusal.text_length = 0;
    client->refusal.why = 0;
    client->refusal.id = 0;
}

uint16_t rh_next_id(struct rh_client *client) {
    client->id = client->id == 0xFFFFu ? 1 : (uint16_t)(client->id + 1u);
    return client->id;
}

enum rh_status rh_hear(struct rh_client *client, int restart, size_t *length) {
    uint8_t byte = 0;
    int got = client->line.read(client->line.context, &byte, restart);
    *length = 0;
    if (got < 0)
        return RH_GONE;
    if (!got)
        return RH_SILENT;
    *length = rh_receive(&client->receiver, byte);
    if (*length && rh_id(client->receiver.buffer, *length) == 0) {
        if (client->on_event)
            client->on_event(client->line.context, client->receiver.buffer, *length);
        *length = 0;
    }
    return RH_OK;
}

static enum rh_status answered(struct rh_client *client, uint8_t type, size_t length) {
    const uint8_t *message = client->receiver.buffer;
    if (rh_unpack_refused(&client->refusal, message, length))
        return RH_REFUSED;
    return rh_type(message, length) == (type | REPLY) ? RH_OK : RH_ODD;
}

enum rh_status rh_ask(struct rh_client *client, const uint8_t *request, size_t length, const uint8_t **reply,
                      size_t *reply_length) {
    uint16_t id = rh_id(request, length);
    size_t wrapped = rh_wrap(request, length, client->out, client->room);
    if (!wrapped)
        return RH_NO_ROOM;
    for (unsigned i = 0; i < client->tries; ++i) {
        enum rh_status status = RH_OK;
        if (!client->line.write(client->line.context, client->out, wrapped))
            return RH_GONE;
        for (int restart = 1; status == RH_OK; restart = 0) {
            status = rh_hear(client, restart, reply_length);
            if (*reply_length && rh_id(client->receiver.buffer, *reply_length) == id) {
                *reply = client->receiver.buffer;
                return answered(client, rh_type(request, length), *reply_length);
            }
        }
        if (status == RH_GONE)
            return RH_GONE;
    }
    return RH_SILENT;
}

enum rh_status rh_listen(struct rh_client *client) {
    enum rh_status status = RH_OK;
    for (int restart = 1; status == RH_OK; restart = 0) {
        size_t length = 0;
        status = rh_hear(client, restart, &length);
    }
    return status == RH_SILENT ? RH_OK : status;
}

/* The answer to a request of ours. RH_ODD when it isn't read: its fields are other ones. */
#define ASK(client, kind, request, answer)                                                                             \
    do {                                                                                                               \
        uint8_t bytes_[SHORT_REQUEST];                                                                                 \
        const uint8_t *reply_ = 0;                                                                                     \
        size_t length_ = 0, packed_ = rh_pack_##kind(&(request), bytes_, sizeof bytes_);                               \
        enum rh_status status_ = rh_ask(client, bytes_, packed_, &reply_, &length_);                                   \
        if (status_ != RH_OK)                                                                                          \
            return status_;                                                                                            \
        return rh_unpack_##kind##_reply(answer, reply_, length_) ? RH_OK : RH_ODD;                                     \
    } while (0)

static size_t text_length(const char *text) {
    size_t length = 0;
    while (text[length])
        ++length;
    return length;
}

enum rh_status rh_hello(struct rh_client *client, const char *name, struct rh_hello_reply *reply) {
    static const uint8_t delimiter = 0; /* ends whatever others have begun */
    uint8_t bytes[SHORT_REQUEST + LONGEST_NAME];
    const uint8_t *answer = 0;
    size_t length = 0;
    struct rh_hello hello = {rh_next_id(client), RH_MAJOR, RH_MINOR, (const uint8_t *)name, text_length(name)};
    size_t packed = hello.name_length > LONGEST_NAME ? 0 : rh_pack_hello(&hello, bytes, sizeof bytes);
    if (!packed)
        return RH_NO_ROOM;
    if (!client->line.write(client->line.context, &delimiter, 1))
        return RH_GONE;
    enum rh_status status = rh_ask(client, bytes, packed, &answer, &length);
    if (status != RH_OK)
        return status;
    return rh_unpack_hello_reply(reply, answer, length) && reply->major == RH_MAJOR ? RH_OK : RH_ODD;
}

static enum rh_status ask_time(struct rh_client *client, struct rh_time_reply *reply) {
    struct rh_time request = {rh_next_id(client)};
    ASK(client, time, request, reply);
}

enum rh_status rh_time(struct rh_client *client, uint64_t *now) {
    struct rh_time_reply reply = {0, 0};
    enum rh_status status = ask_time(client, &reply);
    *now = reply.now;
    return status;
}

static enum rh_status ask_read(struct rh_client *client, struct rh_read request, struct rh_read_reply *reply) {
    ASK(client, read, request, reply);
}

enum rh_status rh_read(struct rh_client *client, uint16_t gpu, uint8_t address, uint32_t *value) {
    struct rh_read request = {rh_next_id(client), gpu, address};
    struct rh_read_reply reply = {0, 0, 0};
    enum rh_status status = ask_read(client, request, &reply);
    *value = reply.value;
    return status;
}

enum rh_status rh_write(struct rh_client *client, uint16_t gpu, uint8_t address, uint32_t value) {
    struct rh_write request = {rh_next_id(client), gpu, address, value};
    struct rh_write_reply reply;
    ASK(client, write, request, &reply);
}

enum rh_status rh_census(struct rh_client *client, struct rh_census_reply *reply) {
    struct rh_census request = {rh_next_id(client)};
    ASK(client, census, request, reply);
}

enum rh_status rh_last_census(struct rh_client *client, struct rh_last_census_reply *reply) {
    struct rh_last_census request = {rh_next_id(client)};
    ASK(client, last_census, request, reply);
}

enum rh_status rh_subscribe(struct rh_client *client, uint16_t events) {
    struct rh_subscribe request = {rh_next_id(client), events};
    struct rh_subscribe_reply reply;
    ASK(client, subscribe, request, &reply);
}

enum rh_status rh_keep_contexts(struct rh_client *client, uint8_t keep) {
    struct rh_keep_contexts request = {rh_next_id(client), keep};
    struct rh_keep_contexts_reply reply;
    ASK(client, keep_contexts, request, &reply);
}

enum rh_status rh_inject(struct rh_client *client, uint8_t injection, uint8_t fault, uint16_t gpu, uint32_t value) {
    struct rh_inject request = {rh_next_id(client), injection, fault, gpu, value};
    struct rh_inject_reply reply;
    ASK(client, inject, request, &reply);
}

/* ------------------------------------------------------------------------------------------------ the card's end */

static void forget_all(struct rh_device *device) {
    for (size_t n = 0; n < RH_KEPT; ++n)
        device->kept[n].length = 0;
    device->next = 0;
}

void rh_device_init(struct rh_device *device, struct rh_stream line, uint8_t *in, size_t in_room, uint8_t *answers,
                    size_t answer_room, uint8_t *out, size_t out_room) {
    device->line = line;
    rh_receiver_init(&device->receiver, in, in_room);
    device->answers = answers;
    device->out = out;
    device->answer_room = answer_room;
    device->room = out_room;
    device->context = 0;
    device->answer = 0;
    forget_all(device);
}

int rh_device_send(struct rh_device *device, const uint8_t *message, size_t length) {
    size_t wrapped = rh_wrap(message, length, device->out, device->room);
    return wrapped && device->line.write(device->line.context, device->out, wrapped);
}

/* Where the answer to this request is kept; RH_KEPT: nowhere. Under one id the last request alone is kept. */
static size_t find_kept(struct rh_device *device, uint16_t id, uint32_t crc, size_t length) {
    for (size_t n = 0; n < RH_KEPT; ++n) {
        struct rh_kept *kept = &device->kept[n];
        if (!kept->length || kept->id != id)
            continue;
        if (kept->crc == crc && kept->request == length)
            return n;
        kept->length = 0;
    }
    return RH_KEPT;
}

int rh_device_receive(struct rh_device *device, uint8_t byte) {
    size_t length = rh_receive(&device->receiver, byte);
    const uint8_t *request = device->receiver.buffer;
    if (!length)
        return 1;
    uint16_t id = rh_id(request, length);
    uint32_t crc = rh_crc(request, length);
    /* Whoever says hello begins anew: its ids may be those of somebody before it. */
    if (rh_type(request, length) == RH_TYPE_HELLO)
        forget_all(device);
    size_t at = find_kept(device, id, crc, length);
    if (at == RH_KEPT) {
        at = device->next;
        device->next = (at + 1) % RH_KEPT;
        struct rh_kept kept = {crc, id, length, 0};
        kept.length = device->answer(device->context, request, length, device->answers + at * device->answer_room,
                                     device->answer_room);
        device->kept[at] = kept;
    }
    size_t bytes = device->kept[at].length;
    return bytes ? rh_device_send(device, device->answers + at * device->answer_room, bytes) : 1;
}

size_t rh_refuse(uint16_t id, uint8_t why, const char *text, uint8_t *out, size_t room) {
    struct rh_refused refused = {id, why, (const uint8_t *)text, text_length(text)};
    return rh_pack_refused(&refused, out, room);
}
