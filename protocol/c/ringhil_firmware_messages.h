/*
 * Messages and actions of the firmware loop: docs/reference/firmware-loop.md.
 * Generated from protocol/: do not edit; `make generate` rewrites it.
 *
 * rhf_pack_... writes one: its bytes, or 0 when there is no room for them.
 * rhf_unpack_... reads one: 1, or 0 when the bytes are none of that type. A field of any length points into the
 * bytes that were read; one of words has them most significant byte first, see rh_word.
 */
#ifndef RINGHIL_FIRMWARE_MESSAGES_H
#define RINGHIL_FIRMWARE_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "ringhil_messages.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RHF_MAJOR 1u
#define RHF_MINOR 0u
#define RHF_NOBODY 0xFFFFu /* no GPU */

/* What a message or an action is. */
enum rhf_type {
    RHF_TYPE_ATTACH = 1,
    RHF_TYPE_BOOT = 2,
    RHF_TYPE_GROUP = 3,
    RHF_TYPE_CROSSING = 4,
    RHF_TYPE_ROUTES = 5,
    RHF_TYPE_START = 6,
    RHF_TYPE_TIMER = 7,
    RHF_TYPE_FRAME = 8,
    RHF_TYPE_COUNT_NOW = 9,
    RHF_TYPE_SEND = 65,
    RHF_TYPE_SET_TIMER = 66,
    RHF_TYPE_CANCEL_TIMER = 67,
    RHF_TYPE_WRITE = 68,
    RHF_TYPE_ELECTED = 81,
    RHF_TYPE_DEPOSED = 82,
    RHF_TYPE_GRANTED = 83,
    RHF_TYPE_LAPSED = 84,
    RHF_TYPE_PEER_UP = 85,
    RHF_TYPE_PEER_DOWN = 86,
    RHF_TYPE_COUNTED = 87,
    RHF_TYPE_REJECTED = 88,
    RHF_TYPE_SUSPECTED = 89,
    RHF_TYPE_DONE = 128,
    RHF_TYPE_ATTACH_REPLY = 129,
    RHF_TYPE_DECLINED = 255,
};

/* Why a request is declined. */
enum rhf_why {
    RHF_WHY_UNKNOWN_TYPE = 1,
    RHF_WHY_BAD_LENGTH = 2,
    RHF_WHY_NO_ROOM = 3,
    RHF_WHY_NOT_BOOTED = 4,
    RHF_WHY_CANNOT = 5,
};

/* Why a lease is over, for its holder or for who gave it. */
enum rhf_end {
    RHF_END_LEASE = 1,
    RHF_END_FENCED = 2,
    RHF_END_HANDOVER = 3,
    RHF_END_RELEASE = 4,
};

/* Why a statistics message, or a whole round, is no count (R4). */
enum rhf_rejection {
    RHF_REJECTION_CRC = 1,
    RHF_REJECTION_LINK = 2,
    RHF_REJECTION_STALE = 3,
    RHF_REJECTION_TWICE = 4,
    RHF_REJECTION_ORIGIN = 5,
    RHF_REJECTION_CIRCULATING = 6,
    RHF_REJECTION_PORT = 7,
    RHF_REJECTION_COUNT = 8,
    RHF_REJECTION_HOP = 9,
    RHF_REJECTION_TAG = 10,
    RHF_REJECTION_ORDER = 11,
    RHF_REJECTION_LOST = 12,
    RHF_REJECTION_HALF = 13,
    RHF_REJECTION_MIXED = 14,
    RHF_REJECTION_DISAGREE = 15,
    RHF_REJECTION_CHANGED = 16,
};

/* What a GPU's census is like, and what it may be elected for. */
#define RHF_OPTION_RECORDS 0x0001u
#define RHF_OPTION_BACK_TO_BACK 0x0002u
#define RHF_OPTION_ENTRY 0x0004u
#define RHF_OPTION_BOUNDARY 0x0008u
#define RHF_OPTION_ASKS 0x0010u

struct rhf_attach {
    uint16_t id;
    uint8_t major;
    uint8_t minor;
};
size_t rhf_pack_attach(const struct rhf_attach *m, uint8_t *out, size_t room);
int rhf_unpack_attach(struct rhf_attach *m, const uint8_t *in, size_t length);

struct rhf_attach_reply {
    uint16_t id;
    uint8_t major;
    uint8_t minor;
    uint16_t longest;
    const uint8_t *name;
    size_t name_length;
};
size_t rhf_pack_attach_reply(const struct rhf_attach_reply *m, uint8_t *out, size_t room);
int rhf_unpack_attach_reply(struct rhf_attach_reply *m, const uint8_t *in, size_t length);

struct rhf_boot {
    uint16_t id;
    uint8_t card;
    uint16_t gpu;
    uint16_t gpus;
    uint32_t boots;
    uint32_t memory;
    uint32_t seed;
    uint64_t period;
    uint64_t timeout;
    uint32_t refresh;
    uint16_t attempts;
    uint16_t weight;
    uint8_t gpu_type;
    uint16_t options;
};
size_t rhf_pack_boot(const struct rhf_boot *m, uint8_t *out, size_t room);
int rhf_unpack_boot(struct rhf_boot *m, const uint8_t *in, size_t length);

struct rhf_group {
    uint16_t id;
    uint8_t role;
    uint16_t rank;
    uint8_t uplink;
    uint8_t uplink_card;
    uint16_t uplink_home;
    uint64_t interval;
    uint8_t multiplier;
    uint64_t jitter;
    uint64_t slack;
    uint64_t lease;
    uint64_t skew;
    uint64_t guard;
    uint64_t wait_to_restore;
    const uint8_t *members;
    size_t members_count;
};
size_t rhf_pack_group(const struct rhf_group *m, uint8_t *out, size_t room);
int rhf_unpack_group(struct rhf_group *m, const uint8_t *in, size_t length);

struct rhf_crossing {
    uint16_t id;
    uint8_t peer;
    uint16_t cards;
    uint8_t from_above;
};
size_t rhf_pack_crossing(const struct rhf_crossing *m, uint8_t *out, size_t room);
int rhf_unpack_crossing(struct rhf_crossing *m, const uint8_t *in, size_t length);

struct rhf_routes {
    uint16_t id;
    const uint8_t *behind;
    size_t behind_count;
};
size_t rhf_pack_routes(const struct rhf_routes *m, uint8_t *out, size_t room);
int rhf_unpack_routes(struct rhf_routes *m, const uint8_t *in, size_t length);

struct rhf_start {
    uint16_t id;
    uint64_t now;
};
size_t rhf_pack_start(const struct rhf_start *m, uint8_t *out, size_t room);
int rhf_unpack_start(struct rhf_start *m, const uint8_t *in, size_t length);

struct rhf_timer {
    uint16_t id;
    uint64_t now;
    uint32_t status;
    uint8_t timer;
};
size_t rhf_pack_timer(const struct rhf_timer *m, uint8_t *out, size_t room);
int rhf_unpack_timer(struct rhf_timer *m, const uint8_t *in, size_t length);

struct rhf_frame {
    uint16_t id;
    uint64_t now;
    uint8_t port;
    uint8_t bad;
    const uint8_t *frame;
    size_t frame_length;
};
size_t rhf_pack_frame(const struct rhf_frame *m, uint8_t *out, size_t room);
int rhf_unpack_frame(struct rhf_frame *m, const uint8_t *in, size_t length);

struct rhf_count_now {
    uint16_t id;
    uint64_t now;
};
size_t rhf_pack_count_now(const struct rhf_count_now *m, uint8_t *out, size_t room);
int rhf_unpack_count_now(struct rhf_count_now *m, const uint8_t *in, size_t length);

struct rhf_done {
    uint16_t id;
    const uint8_t *actions;
    size_t actions_length;
};
size_t rhf_pack_done(const struct rhf_done *m, uint8_t *out, size_t room);
int rhf_unpack_done(struct rhf_done *m, const uint8_t *in, size_t length);

struct rhf_declined {
    uint16_t id;
    uint8_t why;
    const uint8_t *text;
    size_t text_length;
};
size_t rhf_pack_declined(const struct rhf_declined *m, uint8_t *out, size_t room);
int rhf_unpack_declined(struct rhf_declined *m, const uint8_t *in, size_t length);

struct rhf_send {
    uint8_t port;
    const uint8_t *frame;
    size_t frame_length;
};
size_t rhf_pack_send(const struct rhf_send *m, uint8_t *out, size_t room);
int rhf_unpack_send(struct rhf_send *m, const uint8_t *in, size_t length);

struct rhf_set_timer {
    uint8_t timer;
    uint64_t delay;
};
size_t rhf_pack_set_timer(const struct rhf_set_timer *m, uint8_t *out, size_t room);
int rhf_unpack_set_timer(struct rhf_set_timer *m, const uint8_t *in, size_t length);

struct rhf_cancel_timer {
    uint8_t timer;
};
size_t rhf_pack_cancel_timer(const struct rhf_cancel_timer *m, uint8_t *out, size_t room);
int rhf_unpack_cancel_timer(struct rhf_cancel_timer *m, const uint8_t *in, size_t length);

struct rhf_write {
    uint8_t address;
    uint32_t value;
};
size_t rhf_pack_write(const struct rhf_write *m, uint8_t *out, size_t room);
int rhf_unpack_write(struct rhf_write *m, const uint8_t *in, size_t length);

struct rhf_elected {
    uint8_t role;
    uint32_t epoch;
};
size_t rhf_pack_elected(const struct rhf_elected *m, uint8_t *out, size_t room);
int rhf_unpack_elected(struct rhf_elected *m, const uint8_t *in, size_t length);

struct rhf_deposed {
    uint8_t role;
    uint32_t epoch;
    uint8_t why;
};
size_t rhf_pack_deposed(const struct rhf_deposed *m, uint8_t *out, size_t room);
int rhf_unpack_deposed(struct rhf_deposed *m, const uint8_t *in, size_t length);

struct rhf_granted {
    uint8_t role;
    uint32_t epoch;
    uint16_t rank;
    uint64_t until;
};
size_t rhf_pack_granted(const struct rhf_granted *m, uint8_t *out, size_t room);
int rhf_unpack_granted(struct rhf_granted *m, const uint8_t *in, size_t length);

struct rhf_lapsed {
    uint8_t role;
    uint32_t epoch;
    uint16_t rank;
    uint8_t why;
};
size_t rhf_pack_lapsed(const struct rhf_lapsed *m, uint8_t *out, size_t room);
int rhf_unpack_lapsed(struct rhf_lapsed *m, const uint8_t *in, size_t length);

struct rhf_peer_up {
    uint8_t role;
    uint16_t gpu;
};
size_t rhf_pack_peer_up(const struct rhf_peer_up *m, uint8_t *out, size_t room);
int rhf_unpack_peer_up(struct rhf_peer_up *m, const uint8_t *in, size_t length);

struct rhf_peer_down {
    uint8_t role;
    uint16_t gpu;
};
size_t rhf_pack_peer_down(const struct rhf_peer_down *m, uint8_t *out, size_t room);
int rhf_unpack_peer_down(struct rhf_peer_down *m, const uint8_t *in, size_t length);

struct rhf_counted {
    uint16_t count;
    uint8_t verdict;
    uint16_t break_after;
    uint16_t break_before;
    uint32_t sequence;
    uint64_t sent_at;
    uint32_t weight;
    uint8_t known;
    const uint8_t *sets;
    size_t sets_count;
};
size_t rhf_pack_counted(const struct rhf_counted *m, uint8_t *out, size_t room);
int rhf_unpack_counted(struct rhf_counted *m, const uint8_t *in, size_t length);

struct rhf_rejected {
    uint8_t reason;
    uint32_t sequence;
};
size_t rhf_pack_rejected(const struct rhf_rejected *m, uint8_t *out, size_t room);
int rhf_unpack_rejected(struct rhf_rejected *m, const uint8_t *in, size_t length);

struct rhf_suspected {
    const uint8_t *gpus;
    size_t gpus_count;
};
size_t rhf_pack_suspected(const struct rhf_suspected *m, uint8_t *out, size_t room);
int rhf_unpack_suspected(struct rhf_suspected *m, const uint8_t *in, size_t length);

#ifdef __cplusplus
}
#endif

#endif
