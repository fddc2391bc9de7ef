/*
 * A client of a card's management port, and the card's end of one: docs/howto/hil.md, "In C".
 *
 * No allocation, and nothing of the C library but memcpy: the caller has the buffers and the line. A request whose
 * answer doesn't come is asked again under the same id; a device does it once.
 */
#ifndef RINGHIL_CLIENT_H
#define RINGHIL_CLIENT_H

#include "ringhil_framing.h"
#include "ringhil_messages.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `write` sends all of the bytes: 1, or 0 when the line is gone. `read` waits for a byte: 1; 0 when none came in time,
 * counted from the last call with `restart`; -1 when the line is gone. */
struct rh_stream {
    void *context;
    int (*write)(void *context, const uint8_t *data, size_t length);
    int (*read)(void *context, uint8_t *byte, int restart);
};

enum rh_status {
    RH_OK = 0,
    RH_REFUSED = 1, /* `refusal` of the client says why */
    RH_SILENT = 2,  /* no answer, after all tries */
    RH_GONE = 3,    /* the line is */
    RH_NO_ROOM = 4, /* the message fits into no buffer */
    RH_ODD = 5      /* the answer is none to this request: another protocol, or version */
};

/* `in` takes a message and its CRC, `out` RH_WRAPPED bytes of a request. An event that comes meanwhile goes to
 * `on_event`, where there is one. */
struct rh_client {
    struct rh_stream line;
    struct rh_receiver receiver;
    uint8_t *out;
    size_t room;
    unsigned tries;
    uint16_t id;
    struct rh_refused refusal; /* its text stands in `in` until the next byte */
    void (*on_event)(void *context, const uint8_t *message, size_t length);
};

void rh_client_init(struct rh_client *client, struct rh_stream line, uint8_t *in, size_t in_room, uint8_t *out,
                    size_t out_room);
/* The next id, from 1. */
uint16_t rh_next_id(struct rh_client *client);
/* Ask, and wait for the answer, which stands in `in` until the next byte. */
enum rh_status rh_ask(struct rh_client *client, const uint8_t *request, size_t length, const uint8_t **reply,
                      size_t *reply_length);
/* One byte. RH_OK: perhaps a message, of which an event has been told; its length otherwise. */
enum rh_status rh_hear(struct rh_client *client, int restart, size_t *length);
/* Listen for events until nothing has come in time. */
enum rh_status rh_listen(struct rh_client *client);

enum rh_status rh_hello(struct rh_client *client, const char *name, struct rh_hello_reply *reply);
enum rh_status rh_time(struct rh_client *client, uint64_t *now);
enum rh_status rh_read(struct rh_client *client, uint16_t gpu, uint8_t address, uint32_t *value);
enum rh_status rh_write(struct rh_client *client, uint16_t gpu, uint8_t address, uint32_t value);
enum rh_status rh_census(struct rh_client *client, struct rh_census_reply *reply);
enum rh_status rh_last_census(struct rh_client *client, struct rh_last_census_reply *reply);
enum rh_status rh_subscribe(struct rh_client *client, uint16_t events);
/* 1: contexts that this client creates stay when it goes; 0, as it begins: they are destroyed then. */
enum rh_status rh_keep_contexts(struct rh_client *client, uint8_t keep);
enum rh_status rh_inject(struct rh_client *client, uint8_t injection, uint8_t fault, uint16_t gpu, uint32_t value);

/* The card's end. `answer` is called once for each request; it packs a reply or refusal into `out`, and returns its
 * bytes, or 0 for none. One of the last RH_KEPT requests that comes again gets its answer again. */
struct rh_kept {
    uint32_t crc;
    uint16_t id;
    size_t request, length; /* bytes of the request, and of its answer; 0: none is kept */
};

struct rh_device {
    struct rh_stream line;
    struct rh_receiver receiver;
    uint8_t *answers, *out; /* of each kept request; bytes for the line */
    size_t answer_room, room, next;
    struct rh_kept kept[RH_KEPT];
    void *context;
    size_t (*answer)(void *context, const uint8_t *request, size_t length, uint8_t *out, size_t room);
};

/* `answers` takes RH_KEPT of them, of `answer_room` bytes each, `out` RH_WRAPPED bytes of one. */
void rh_device_init(struct rh_device *device, struct rh_stream line, uint8_t *in, size_t in_room, uint8_t *answers,
                    size_t answer_room, uint8_t *out, size_t out_room);
/* A byte has come. 0 when the line is gone. */
int rh_device_receive(struct rh_device *device, uint8_t byte);
/* Send an event. 0 when there is no room, or the line is gone. */
int rh_device_send(struct rh_device *device, const uint8_t *message, size_t length);
/* Pack a refusal. */
size_t rh_refuse(uint16_t id, uint8_t why, const char *text, uint8_t *out, size_t room);

#ifdef __cplusplus
}
#endif

#endif
