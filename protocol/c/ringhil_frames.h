/*
 * Frames of the ring, without their two CRCs: docs/reference/protocol.md.
 * Generated from protocol/: do not edit; `make generate` rewrites it.
 *
 * rhw_pack_... writes one: its bytes, or 0 when there is no room for them.
 * rhw_unpack_... reads one: 1, or 0 when the bytes are none of that type. A field of any length points into the
 * bytes that were read; one of words has them most significant byte first, see rh_word.
 */
#ifndef RINGHIL_FRAMES_H
#define RINGHIL_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "ringhil_messages.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RHW_TRAILER 8u /* bytes of the two CRCs */
#define RHW_MAX_RING 1024u /* GPUs of a card */
#define RHW_NO_CARD 0xFFu
#define RHW_NO_HOLDER 0xFFFFFFFFu
#define RHW_CONTEXTS 16u /* of a compute engine */
#define RHW_SEGMENT 256u /* bytes of a work unit in a frame */
#define RHW_OVERFLOW 0x8000u /* in `record_limit` */

/* What a frame is for. The high nibble is the version of the wire format. */
enum rhw_kind {
    RHW_KIND_STATISTICS = 17,
    RHW_KIND_KEEPALIVE = 18,
    RHW_KIND_ELECTION = 19,
    RHW_KIND_WORK = 20,
    RHW_KIND_RESULT = 21,
    RHW_KIND_ACKNOWLEDGEMENT = 22,
    RHW_KIND_REPORT = 23,
};

/* A port of a GPU's mailbox: the two lanes of the ring, the CPU, another card. `code` is its number in the RTL. */
enum rhw_port {
    RHW_PORT_CW = 0,
    RHW_PORT_CCW = 1,
    RHW_PORT_CPU = 2,
    RHW_PORT_BOUNDARY = 3,
};

/* State of a GPU in its record. */
enum rhw_gpu {
    RHW_GPU_DOWN = 0,
    RHW_GPU_WORKING = 1,
    RHW_GPU_DEGRADED = 2,
};

/* What is elected: who speaks to the CPU (R10), who to another card (R9). */
enum rhw_role {
    RHW_ROLE_ENTRY = 1,
    RHW_ROLE_BOUNDARY = 2,
};

/* What a member of an election is. */
enum rhw_state {
    RHW_STATE_FOLLOWER = 0,
    RHW_STATE_CANDIDATE = 1,
    RHW_STATE_HOLDER = 2,
};

/* What an election frame asks or answers. */
enum rhw_operation {
    RHW_OPERATION_CLAIM = 1,
    RHW_OPERATION_GRANT = 2,
    RHW_OPERATION_REFUSE = 3,
    RHW_OPERATION_RELEASE = 4,
};

/* How a count came about: see `firmware/census.py`. */
enum rhw_verdict {
    RHW_VERDICT_NONE = 0,
    RHW_VERDICT_RING = 1,
    RHW_VERDICT_SINGLE = 2,
    RHW_VERDICT_ARMS = 3,
};

/* What a work unit asks of the compute engine: a digest of its bytes, or a command to one of its contexts. */
enum rhw_compute {
    RHW_COMPUTE_DIGEST = 0,
    RHW_COMPUTE_CREATE = 16,
    RHW_COMPUTE_DESTROY = 17,
    RHW_COMPUTE_CONFIGURE = 18,
    RHW_COMPUTE_ALLOCATE = 19,
    RHW_COMPUTE_FREE = 20,
    RHW_COMPUTE_COPY = 21,
    RHW_COMPUTE_LAUNCH = 22,
    RHW_COMPUTE_CANCEL = 23,
    RHW_COMPUTE_QUERY = 24,
};

/* What a query asks a context for: the digest of its answer. */
enum rhw_query {
    RHW_QUERY_MEMORY = 0,
    RHW_QUERY_RUN_TIME = 1,
    RHW_QUERY_COUNTS = 2,
    RHW_QUERY_LAUNCH = 3,
    RHW_QUERY_GPU = 4,
    RHW_QUERY_ENERGY = 5,
    RHW_QUERY_BUSY = 6,
};

/* Why a GPU refuses a work unit. The last three: a command that reached no context. */
enum rhw_refusal {
    RHW_REFUSAL_BUSY = 1,
    RHW_REFUSAL_INCOMPLETE = 2,
    RHW_REFUSAL_UNKNOWN_KIND = 3,
    RHW_REFUSAL_NO_CONTEXT = 4,
    RHW_REFUSAL_FOREIGN = 5,
    RHW_REFUSAL_EXISTS = 6,
};

/* Status of a result. All but the first are a context's. */
enum rhw_answer {
    RHW_ANSWER_DONE = 0,
    RHW_ANSWER_OVER_LIMIT = 1,
    RHW_ANSWER_NO_MEMORY = 2,
    RHW_ANSWER_INVALID = 3,
    RHW_ANSWER_RUNNING = 4,
    RHW_ANSWER_CANCELLED = 5,
    RHW_ANSWER_STARTED = 6,
};

/* Flags of a frame; those in `MUTABLE_FLAGS` may be set by a hop. */
#define RHW_FLAG_CCW 0x0001u
#define RHW_FLAG_WITH_RECORDS 0x0002u
#define RHW_FLAG_TO_HOST 0x0004u
#define RHW_FLAG_LAST 0x0008u
#define RHW_FLAG_CIRCULATING 0x0100u
#define RHW_FLAG_WRAPPED 0x0200u

/* Flags of a record. */
#define RHW_RECORD_ENTRY_CAPABLE 0x0001u
#define RHW_RECORD_BOUNDARY 0x0002u
#define RHW_RECORD_PORT2 0x0004u
#define RHW_RECORD_ARRIVED_BAD 0x0008u
#define RHW_RECORD_ARRIVED_MARKED 0x0010u

/* What a member says of itself beside its state. */
#define RHW_MEMBER_UPLINK 0x0010u
#define RHW_MEMBER_RELUCTANT 0x0020u
#define RHW_MEMBER_GRANTING 0x0040u

/* Bits of the register `control`. */
#define RHW_CONTROL_ENTRY 0x0001u
#define RHW_CONTROL_MONITOR 0x0002u
#define RHW_CONTROL_ENTRY_CAPABLE 0x0004u
#define RHW_CONTROL_BOUNDARY 0x0008u
#define RHW_CONTROL_FROM_ABOVE 0x0010u

/* Bits of the register `status`. */
#define RHW_STATUS_BYPASS_CW 0x0001u
#define RHW_STATUS_BYPASS_CCW 0x0002u
#define RHW_STATUS_TRIPPED 0x0004u
#define RHW_STATUS_MUTED 0x0008u
#define RHW_STATUS_HEALTHY 0x0010u
#define RHW_STATUS_WRAP_PORT1 0x0020u
#define RHW_STATUS_WRAP_PORT2 0x0040u
#define RHW_STATUS_HOST_DOWN 0x0080u
#define RHW_STATUS_BOUNDARY_DOWN 0x0100u
#define RHW_STATUS_RESTORING 0x0200u
#define RHW_STATUS_STUCK 0x0400u
#define RHW_STATUS_DEGRADED 0x0800u
#define RHW_STATUS_LENT 0x1000u

struct rhw_record {
    uint16_t id;
    uint16_t hop;
    uint8_t state;
    uint8_t flags;
    uint8_t gpu_type;
    uint8_t stamp;
    uint16_t weight;
    uint8_t errors;
    uint8_t peer;
    uint32_t tag;
};
size_t rhw_pack_record(const struct rhw_record *m, uint8_t *out, size_t room);
int rhw_unpack_record(struct rhw_record *m, const uint8_t *in, size_t length);

struct rhw_statistics {
    uint8_t card;
    uint16_t flags;
    uint16_t ttl;
    uint16_t origin;
    uint32_t epoch;
    uint32_t sequence;
    uint16_t count;
    uint16_t records_count;
    uint16_t expected;
    uint16_t record_limit;
    uint64_t sent_at;
    const uint8_t *records;
    size_t records_length;
};
size_t rhw_pack_statistics(const struct rhw_statistics *m, uint8_t *out, size_t room);
int rhw_unpack_statistics(struct rhw_statistics *m, const uint8_t *in, size_t length);

struct rhw_keepalive {
    uint8_t card;
    uint16_t flags;
    uint16_t ttl;
    uint16_t destination;
    uint32_t epoch;
    uint32_t sequence;
    uint32_t my_discriminator;
    uint32_t your_discriminator;
    uint8_t role;
    uint8_t priority;
    uint8_t multiplier;
    uint8_t state;
    uint32_t interval;
    uint64_t members;
    uint32_t echo;
    uint32_t holder;
};
size_t rhw_pack_keepalive(const struct rhw_keepalive *m, uint8_t *out, size_t room);
int rhw_unpack_keepalive(struct rhw_keepalive *m, const uint8_t *in, size_t length);

struct rhw_election {
    uint8_t card;
    uint16_t flags;
    uint16_t ttl;
    uint16_t destination;
    uint32_t epoch;
    uint32_t sequence;
    uint16_t candidate;
    uint8_t operation;
    uint8_t role;
    uint32_t lease;
    uint64_t members;
};
size_t rhw_pack_election(const struct rhw_election *m, uint8_t *out, size_t room);
int rhw_unpack_election(struct rhw_election *m, const uint8_t *in, size_t length);

struct rhw_report {
    uint8_t card;
    uint16_t flags;
    uint16_t ttl;
    uint16_t destination;
    uint32_t epoch;
    uint32_t sequence;
    uint16_t source;
    uint16_t count;
    uint16_t size;
    uint16_t verdict;
    uint16_t break_after;
    uint16_t break_before;
    uint32_t rejected;
    uint64_t sent_at;
    uint16_t suspects;
    uint16_t first_suspect;
    uint16_t slow_link;
    uint16_t noisy_link;
    uint32_t weight;
    uint32_t reserved;
    const uint8_t *sets;
    size_t sets_length;
};
size_t rhw_pack_report(const struct rhw_report *m, uint8_t *out, size_t room);
int rhw_unpack_report(struct rhw_report *m, const uint8_t *in, size_t length);

struct rhw_work {
    uint8_t card;
    uint16_t flags;
    uint16_t ttl;
    uint16_t destination;
    uint32_t epoch;
    uint32_t unit;
    uint16_t source;
    uint16_t attempt;
    uint16_t segment;
    uint16_t segment_bytes;
    uint32_t length;
    uint8_t compute;
    uint8_t source_card;
    uint16_t context;
    const uint8_t *payload;
    size_t payload_length;
};
size_t rhw_pack_work(const struct rhw_work *m, uint8_t *out, size_t room);
int rhw_unpack_work(struct rhw_work *m, const uint8_t *in, size_t length);

struct rhw_result {
    uint8_t card;
    uint16_t flags;
    uint16_t ttl;
    uint16_t destination;
    uint32_t epoch;
    uint32_t unit;
    uint16_t source;
    uint16_t attempt;
    uint16_t status;
    uint8_t source_card;
    uint8_t queued;
    uint64_t digest;
    uint32_t length;
    uint32_t cycles;
};
size_t rhw_pack_result(const struct rhw_result *m, uint8_t *out, size_t room);
int rhw_unpack_result(struct rhw_result *m, const uint8_t *in, size_t length);

struct rhw_acknowledgement {
    uint8_t card;
    uint16_t flags;
    uint16_t ttl;
    uint16_t destination;
    uint32_t epoch;
    uint32_t unit;
    uint16_t source;
    uint16_t attempt;
    uint16_t status;
    uint8_t source_card;
    uint8_t queued;
};
size_t rhw_pack_acknowledgement(const struct rhw_acknowledgement *m, uint8_t *out, size_t room);
int rhw_unpack_acknowledgement(struct rhw_acknowledgement *m, const uint8_t *in, size_t length);

#ifdef __cplusplus
}
#endif

#endif
