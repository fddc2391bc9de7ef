/*
 * Messages of a card's management port: docs/reference/management.md.
 * Generated from protocol/: do not edit; `make generate` rewrites it.
 *
 * rh_pack_... writes one: its bytes, or 0 when there is no room for them.
 * rh_unpack_... reads one: 1, or 0 when the bytes are none of that type. A field of any length points into the
 * bytes that were read; one of words has them most significant byte first, see rh_word.
 */
#ifndef RINGHIL_MESSAGES_H
#define RINGHIL_MESSAGES_H

#include <stddef.h>
#include <stdint.h>


#ifdef __cplusplus
extern "C" {
#endif

#define RH_MAJOR 1u
#define RH_MINOR 1u
#define RH_LONGEST 16488u /* bytes of a message */
#define RH_KEPT 64u /* requests whose answers a card keeps */

/* What a message is. */
enum rh_type {
    RH_TYPE_HELLO = 1,
    RH_TYPE_TIME = 2,
    RH_TYPE_READ = 3,
    RH_TYPE_WRITE = 4,
    RH_TYPE_CENSUS = 5,
    RH_TYPE_LAST_CENSUS = 6,
    RH_TYPE_SEND = 7,
    RH_TYPE_SUBSCRIBE = 8,
    RH_TYPE_INJECT = 9,
    RH_TYPE_LINE = 10,
    RH_TYPE_CLIENT_CONTEXT = 11,
    RH_TYPE_FREE_CONTEXT = 12,
    RH_TYPE_KEEP_CONTEXTS = 13,
    RH_TYPE_FRAME_EVENT = 65,
    RH_TYPE_ROLE_EVENT = 66,
    RH_TYPE_COUNT_EVENT = 67,
    RH_TYPE_FAULT_EVENT = 68,
    RH_TYPE_MISSED_EVENT = 69,
    RH_TYPE_HELLO_REPLY = 129,
    RH_TYPE_TIME_REPLY = 130,
    RH_TYPE_READ_REPLY = 131,
    RH_TYPE_WRITE_REPLY = 132,
    RH_TYPE_CENSUS_REPLY = 133,
    RH_TYPE_LAST_CENSUS_REPLY = 134,
    RH_TYPE_SEND_REPLY = 135,
    RH_TYPE_SUBSCRIBE_REPLY = 136,
    RH_TYPE_INJECT_REPLY = 137,
    RH_TYPE_LINE_REPLY = 138,
    RH_TYPE_CLIENT_CONTEXT_REPLY = 139,
    RH_TYPE_FREE_CONTEXT_REPLY = 140,
    RH_TYPE_KEEP_CONTEXTS_REPLY = 141,
    RH_TYPE_REFUSED = 255,
};

/* Why a request is refused. */
enum rh_refusal {
    RH_REFUSAL_UNKNOWN_TYPE = 1,
    RH_REFUSAL_BAD_LENGTH = 2,
    RH_REFUSAL_NO_SUCH_GPU = 3,
    RH_REFUSAL_NO_SUCH_REGISTER = 4,
    RH_REFUSAL_READ_ONLY = 5,
    RH_REFUSAL_BAD_VALUE = 6,
    RH_REFUSAL_NO_ENTRY_GPU = 7,
    RH_REFUSAL_NOT_COUNTED = 8,
    RH_REFUSAL_CANNOT = 9,
    RH_REFUSAL_BUSY = 10,
};

/* Which way a frame went, at a GPU. */
enum rh_way {
    RH_WAY_TO_FIRMWARE = 0,
    RH_WAY_FROM_FIRMWARE = 1,
    RH_WAY_TO_CPU = 2,
    RH_WAY_FROM_CPU = 3,
};

/* Faults that a card can inject. Those of links strike the link from the GPU clockwise. */
enum rh_fault {
    RH_FAULT_DEAD = 1,
    RH_FAULT_HANG = 2,
    RH_FAULT_CORRUPT = 3,
    RH_FAULT_SKIP_COUNT = 4,
    RH_FAULT_DOUBLE_COUNT = 5,
    RH_FAULT_BABBLE = 6,
    RH_FAULT_DUPLICATE_ID = 7,
    RH_FAULT_SLOW = 8,
    RH_FAULT_SWITCH_STUCK_THROUGH = 9,
    RH_FAULT_SWITCH_STUCK_BYPASS = 10,
    RH_FAULT_KEEPALIVE_LOSS = 11,
    RH_FAULT_FLAP = 12,
    RH_FAULT_HOST_LINK_CUT = 13,
    RH_FAULT_LINK_CUT = 32,
    RH_FAULT_LINK_ONE_WAY = 33,
    RH_FAULT_LINK_BIT_ERRORS = 34,
    RH_FAULT_LINK_DELAY = 35,
};

/* What becomes of a fault. */
enum rh_injection {
    RH_INJECTION_CLEAR = 0,
    RH_INJECTION_SET = 1,
};

/* What a card can do beyond reading and writing. */
#define RH_CAPABILITY_CENSUS 0x0001u
#define RH_CAPABILITY_SEND 0x0002u
#define RH_CAPABILITY_EVENTS 0x0004u
#define RH_CAPABILITY_FAULTS 0x0008u
#define RH_CAPABILITY_PACED 0x0010u
#define RH_CAPABILITY_CONTEXTS 0x0020u

/* Kinds of events, to be subscribed to. */
#define RH_EVENTS_FRAMES 0x0001u
#define RH_EVENTS_ROLES 0x0002u
#define RH_EVENTS_COUNTS 0x0004u
#define RH_EVENTS_FAULTS 0x0008u
#define RH_EVENTS_ANSWERS 0x0010u

/* Registers of a node, by name: docs/reference/protocol.md. */
enum rh_register {
    RH_REGISTER_CONTROL = 0,
    RH_REGISTER_GPU_TYPE = 1,
    RH_REGISTER_WEIGHT = 2,
    RH_REGISTER_WATCHDOG = 3,
    RH_REGISTER_HEARTBEAT = 4,
    RH_REGISTER_ALLOWANCE = 5,
    RH_REGISTER_ALLOWANCE_PERIOD = 6,
    RH_REGISTER_LINK_RESTORE = 7,
    RH_REGISTER_COMPUTE_SETUP = 8,
    RH_REGISTER_COMPUTE_PER_FLIT = 9,
    RH_REGISTER_GPU_RESTORE = 10,
    RH_REGISTER_BOUNDARY_PEER = 11,
    RH_REGISTER_CROSSINGS = 12,
    RH_REGISTER_EXITS = 13,
    RH_REGISTER_MEMORY = 14,
    RH_REGISTER_DEVICE_MEMORY = 15,
    RH_REGISTER_CONTEXT_SWITCH = 16,
    RH_REGISTER_DEFAULT_SLICE = 17,
    RH_REGISTER_RUN_POWER = 18,
    RH_REGISTER_IDLE_POWER = 19,
    RH_REGISTER_LOW_POWER = 20,
    RH_REGISTER_OFF_POWER = 21,
    RH_REGISTER_LOW_AFTER = 22,
    RH_REGISTER_OFF_AFTER = 23,
    RH_REGISTER_LOW_WAKE = 24,
    RH_REGISTER_OFF_WAKE = 25,
    RH_REGISTER_LENT = 26,
    RH_REGISTER_STATUS = 32,
    RH_REGISTER_FORWARDED = 33,
    RH_REGISTER_RX_BAD_PORT1 = 34,
    RH_REGISTER_RX_BAD_PORT2 = 35,
    RH_REGISTER_MARKED_PORT1 = 36,
    RH_REGISTER_MARKED_PORT2 = 37,
    RH_REGISTER_TTL_DROPPED = 38,
    RH_REGISTER_PURGED = 39,
    RH_REGISTER_TRIPS = 40,
    RH_REGISTER_MUTES = 41,
    RH_REGISTER_WRAPS = 42,
    RH_REGISTER_OVERFLOWED = 43,
    RH_REGISTER_DATA_BAD = 44,
    RH_REGISTER_DATA_DROPPED = 45,
    RH_REGISTER_UNITS_DONE = 46,
    RH_REGISTER_UNITS_REFUSED = 47,
    RH_REGISTER_CROSSED = 48,
    RH_REGISTER_STALLED = 49,
    RH_REGISTER_CONTEXTS = 50,
    RH_REGISTER_MEMORY_HELD = 51,
    RH_REGISTER_TURN = 52,
    RH_REGISTER_POWER_STATE = 53,
    RH_REGISTER_ENERGY_LOW = 54,
    RH_REGISTER_ENERGY_HIGH = 55,
    RH_REGISTER_BUSY_LOW = 56,
    RH_REGISTER_BUSY_HIGH = 57,
};

struct rh_hello {
    uint16_t id;
    uint8_t major;
    uint8_t minor;
    const uint8_t *name;
    size_t name_length;
};
size_t rh_pack_hello(const struct rh_hello *m, uint8_t *out, size_t room);
int rh_unpack_hello(struct rh_hello *m, const uint8_t *in, size_t length);

struct rh_hello_reply {
    uint16_t id;
    uint8_t major;
    uint8_t minor;
    uint8_t card;
    uint16_t gpus;
    uint16_t capabilities;
    uint16_t longest;
    uint32_t clock;
    uint64_t serial;
    uint64_t now;
    const uint8_t *name;
    size_t name_length;
};
size_t rh_pack_hello_reply(const struct rh_hello_reply *m, uint8_t *out, size_t room);
int rh_unpack_hello_reply(struct rh_hello_reply *m, const uint8_t *in, size_t length);

struct rh_time {
    uint16_t id;
};
size_t rh_pack_time(const struct rh_time *m, uint8_t *out, size_t room);
int rh_unpack_time(struct rh_time *m, const uint8_t *in, size_t length);

struct rh_time_reply {
    uint16_t id;
    uint64_t now;
};
size_t rh_pack_time_reply(const struct rh_time_reply *m, uint8_t *out, size_t room);
int rh_unpack_time_reply(struct rh_time_reply *m, const uint8_t *in, size_t length);

struct rh_read {
    uint16_t id;
    uint16_t gpu;
    uint8_t address;
};
size_t rh_pack_read(const struct rh_read *m, uint8_t *out, size_t room);
int rh_unpack_read(struct rh_read *m, const uint8_t *in, size_t length);

struct rh_read_reply {
    uint16_t id;
    uint32_t value;
    uint64_t now;
};
size_t rh_pack_read_reply(const struct rh_read_reply *m, uint8_t *out, size_t room);
int rh_unpack_read_reply(struct rh_read_reply *m, const uint8_t *in, size_t length);

struct rh_write {
    uint16_t id;
    uint16_t gpu;
    uint8_t address;
    uint32_t value;
};
size_t rh_pack_write(const struct rh_write *m, uint8_t *out, size_t room);
int rh_unpack_write(struct rh_write *m, const uint8_t *in, size_t length);

struct rh_write_reply {
    uint16_t id;
    uint64_t now;
};
size_t rh_pack_write_reply(const struct rh_write_reply *m, uint8_t *out, size_t room);
int rh_unpack_write_reply(struct rh_write_reply *m, const uint8_t *in, size_t length);

struct rh_census {
    uint16_t id;
};
size_t rh_pack_census(const struct rh_census *m, uint8_t *out, size_t room);
int rh_unpack_census(struct rh_census *m, const uint8_t *in, size_t length);

struct rh_census_reply {
    uint16_t id;
    uint32_t epoch;
    uint32_t sequence;
    uint16_t entry;
    uint16_t count;
    uint16_t size;
    uint8_t verdict;
    uint16_t break_after;
    uint16_t break_before;
    uint64_t sent_at;
    uint64_t counted_at;
    uint32_t accepted;
    uint32_t rejected;
    const uint8_t *members;
    size_t members_count;
};
size_t rh_pack_census_reply(const struct rh_census_reply *m, uint8_t *out, size_t room);
int rh_unpack_census_reply(struct rh_census_reply *m, const uint8_t *in, size_t length);

struct rh_last_census {
    uint16_t id;
};
size_t rh_pack_last_census(const struct rh_last_census *m, uint8_t *out, size_t room);
int rh_unpack_last_census(struct rh_last_census *m, const uint8_t *in, size_t length);

struct rh_last_census_reply {
    uint16_t id;
    uint32_t epoch;
    uint32_t sequence;
    uint16_t entry;
    uint16_t count;
    uint16_t size;
    uint8_t verdict;
    uint16_t break_after;
    uint16_t break_before;
    uint64_t sent_at;
    uint64_t counted_at;
    uint32_t accepted;
    uint32_t rejected;
    const uint8_t *members;
    size_t members_count;
};
size_t rh_pack_last_census_reply(const struct rh_last_census_reply *m, uint8_t *out, size_t room);
int rh_unpack_last_census_reply(struct rh_last_census_reply *m, const uint8_t *in, size_t length);

struct rh_send {
    uint16_t id;
    uint16_t gpu;
    uint8_t port;
    const uint8_t *frame;
    size_t frame_length;
};
size_t rh_pack_send(const struct rh_send *m, uint8_t *out, size_t room);
int rh_unpack_send(struct rh_send *m, const uint8_t *in, size_t length);

struct rh_send_reply {
    uint16_t id;
    uint64_t now;
};
size_t rh_pack_send_reply(const struct rh_send_reply *m, uint8_t *out, size_t room);
int rh_unpack_send_reply(struct rh_send_reply *m, const uint8_t *in, size_t length);

struct rh_subscribe {
    uint16_t id;
    uint16_t events;
};
size_t rh_pack_subscribe(const struct rh_subscribe *m, uint8_t *out, size_t room);
int rh_unpack_subscribe(struct rh_subscribe *m, const uint8_t *in, size_t length);

struct rh_subscribe_reply {
    uint16_t id;
    uint16_t events;
    uint64_t now;
};
size_t rh_pack_subscribe_reply(const struct rh_subscribe_reply *m, uint8_t *out, size_t room);
int rh_unpack_subscribe_reply(struct rh_subscribe_reply *m, const uint8_t *in, size_t length);

struct rh_inject {
    uint16_t id;
    uint8_t injection;
    uint8_t fault;
    uint16_t gpu;
    uint32_t value;
};
size_t rh_pack_inject(const struct rh_inject *m, uint8_t *out, size_t room);
int rh_unpack_inject(struct rh_inject *m, const uint8_t *in, size_t length);

struct rh_inject_reply {
    uint16_t id;
    uint64_t now;
};
size_t rh_pack_inject_reply(const struct rh_inject_reply *m, uint8_t *out, size_t room);
int rh_unpack_inject_reply(struct rh_inject_reply *m, const uint8_t *in, size_t length);

struct rh_line {
    uint16_t id;
};
size_t rh_pack_line(const struct rh_line *m, uint8_t *out, size_t room);
int rh_unpack_line(struct rh_line *m, const uint8_t *in, size_t length);

struct rh_line_reply {
    uint16_t id;
    uint64_t received;
    uint64_t sent;
    uint32_t requests;
    uint32_t damaged;
    uint32_t refused;
    uint32_t events;
    uint32_t missed;
};
size_t rh_pack_line_reply(const struct rh_line_reply *m, uint8_t *out, size_t room);
int rh_unpack_line_reply(struct rh_line_reply *m, const uint8_t *in, size_t length);

struct rh_client_context {
    uint16_t id;
    uint16_t index;
};
size_t rh_pack_client_context(const struct rh_client_context *m, uint8_t *out, size_t room);
int rh_unpack_client_context(struct rh_client_context *m, const uint8_t *in, size_t length);

struct rh_client_context_reply {
    uint16_t id;
    uint16_t number;
    uint16_t gpu;
    uint8_t context;
    uint8_t belongs;
    uint32_t client;
    uint32_t held;
    uint32_t limit;
    const uint8_t *name;
    size_t name_length;
};
size_t rh_pack_client_context_reply(const struct rh_client_context_reply *m, uint8_t *out, size_t room);
int rh_unpack_client_context_reply(struct rh_client_context_reply *m, const uint8_t *in, size_t length);

struct rh_free_context {
    uint16_t id;
    uint16_t gpu;
    uint8_t context;
};
size_t rh_pack_free_context(const struct rh_free_context *m, uint8_t *out, size_t room);
int rh_unpack_free_context(struct rh_free_context *m, const uint8_t *in, size_t length);

struct rh_free_context_reply {
    uint16_t id;
    uint64_t now;
};
size_t rh_pack_free_context_reply(const struct rh_free_context_reply *m, uint8_t *out, size_t room);
int rh_unpack_free_context_reply(struct rh_free_context_reply *m, const uint8_t *in, size_t length);

struct rh_keep_contexts {
    uint16_t id;
    uint8_t keep;
};
size_t rh_pack_keep_contexts(const struct rh_keep_contexts *m, uint8_t *out, size_t room);
int rh_unpack_keep_contexts(struct rh_keep_contexts *m, const uint8_t *in, size_t length);

struct rh_keep_contexts_reply {
    uint16_t id;
    uint64_t now;
};
size_t rh_pack_keep_contexts_reply(const struct rh_keep_contexts_reply *m, uint8_t *out, size_t room);
int rh_unpack_keep_contexts_reply(struct rh_keep_contexts_reply *m, const uint8_t *in, size_t length);

struct rh_frame_event {
    uint16_t id;
    uint16_t gpu;
    uint8_t port;
    uint8_t way;
    uint8_t bad;
    uint64_t cycle;
    const uint8_t *frame;
    size_t frame_length;
};
size_t rh_pack_frame_event(const struct rh_frame_event *m, uint8_t *out, size_t room);
int rh_unpack_frame_event(struct rh_frame_event *m, const uint8_t *in, size_t length);

struct rh_role_event {
    uint16_t id;
    uint16_t gpu;
    uint8_t role;
    uint8_t holds;
    uint32_t epoch;
    uint64_t cycle;
};
size_t rh_pack_role_event(const struct rh_role_event *m, uint8_t *out, size_t room);
int rh_unpack_role_event(struct rh_role_event *m, const uint8_t *in, size_t length);

struct rh_count_event {
    uint16_t id;
    uint32_t epoch;
    uint32_t sequence;
    uint16_t entry;
    uint16_t count;
    uint16_t size;
    uint8_t verdict;
    uint16_t break_after;
    uint16_t break_before;
    uint64_t sent_at;
    uint64_t counted_at;
    uint32_t accepted;
    uint32_t rejected;
    const uint8_t *members;
    size_t members_count;
};
size_t rh_pack_count_event(const struct rh_count_event *m, uint8_t *out, size_t room);
int rh_unpack_count_event(struct rh_count_event *m, const uint8_t *in, size_t length);

struct rh_fault_event {
    uint16_t id;
    uint8_t injection;
    uint8_t fault;
    uint16_t gpu;
    uint32_t value;
    uint64_t cycle;
};
size_t rh_pack_fault_event(const struct rh_fault_event *m, uint8_t *out, size_t room);
int rh_unpack_fault_event(struct rh_fault_event *m, const uint8_t *in, size_t length);

struct rh_missed_event {
    uint16_t id;
    uint32_t events;
};
size_t rh_pack_missed_event(const struct rh_missed_event *m, uint8_t *out, size_t room);
int rh_unpack_missed_event(struct rh_missed_event *m, const uint8_t *in, size_t length);

struct rh_refused {
    uint16_t id;
    uint8_t why;
    const uint8_t *text;
    size_t text_length;
};
size_t rh_pack_refused(const struct rh_refused *m, uint8_t *out, size_t room);
int rh_unpack_refused(struct rh_refused *m, const uint8_t *in, size_t length);

/* Type of a message; 0: there is none. */
uint8_t rh_type(const uint8_t *message, size_t length);
/* Its id; 0 when it is too short for one. */
uint16_t rh_id(const uint8_t *message, size_t length);
/* A word of a field of words. */
uint64_t rh_word(const uint8_t *words, size_t index);

#ifdef __cplusplus
}
#endif

#endif
