/*
 * The host side of contexts (docs/reference/contexts.md) for applications in C: docs/howto/sharing.md, "In C".
 *
 * Commands go through a card's management port to its entry GPU, as the CPU sends them, and round the ring. Each is
 * carried out once: those of a context go out one after the other, each under a higher number, and what isn't answered in
 * time goes out again under the same number, which the GPU knows. No allocation: driver and contexts are the caller's.
 */
#ifndef RINGHIL_DRIVER_H
#define RINGHIL_DRIVER_H

#include "ringhil_client.h"
#include "ringhil_frames.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RH_COMMAND_HEAD 16u
#define RH_FRAME_ROOM (32u + RHW_SEGMENT + RHW_TRAILER)
#define RH_DRIVER_REQUEST (6u + RH_FRAME_ROOM)                            /* bytes of the longest request */
#define RH_MOST_DATA ((size_t)0x10000u * RHW_SEGMENT - RH_COMMAND_HEAD) /* bytes of a copy */

/* What became of a command. */
enum rh_told {
    RH_TOLD_DONE = 0,
    RH_TOLD_REFUSED = 1, /* by the GPU: `status` or `refusal` of the answer says why, nothing has changed */
    RH_TOLD_LOST = 2,    /* the GPU has gone with its contexts, or nobody knows what became of it */
    RH_TOLD_LINE = 3,    /* the management port: `line_status` of the driver says why */
    RH_TOLD_WRONG = 4    /* no command: too much data, or a launch where one is still to be waited for; none sent */
};

/* `refusal`: why it reached no context (enum rhw_refusal), 0: it did, and this is its `status` (enum rhw_answer). The
 * halves of `digest` are pages held and limit, mostly; `cycles` is what a launch had of the engine. */
struct rh_answer {
    uint16_t status, refusal;
    uint32_t cycles;
    uint64_t digest;
};

struct rh_settings {
    uint32_t limit, slice, state; /* pages, cycles, cycles */
    uint8_t priority;
};

/* A command that is out. */
struct rh_asked {
    uint32_t unit, amount;
    uint16_t attempt;
    uint8_t compute, waits, answered, heard; /* heard: a launch is under way, its GPU has said */
    struct rh_answer answer;
};

/* A context of a GPU. */
struct rh_context {
    struct rh_context *next;
    uint32_t key;
    uint16_t gpu;
    uint8_t number, lost; /* lost: with its GPU */
    struct rh_asked out, launch;
};

struct rh_driver {
    struct rh_client client; /* for what else is asked of the card */
    struct rh_stream line;   /* the caller's */
    struct rh_context *contexts;
    unsigned tries; /* of a command without an answer; each waits for one time of the line's */
    enum rh_status line_status;
    uint32_t number, epoch, resent;
    uint16_t entry, size;
    uint8_t card, counted, named;      /* named: `members` are */
    uint8_t members[RHW_MAX_RING / 8]; /* bit i%8 of byte i/8 */
    uint8_t frame[RH_FRAME_ROOM], request[RH_DRIVER_REQUEST];
    void (*on_event)(void *context, const uint8_t *message, size_t length); /* those that are no answers */
};

/* `in` takes a message and its CRC (RH_LONGEST + RH_CRC_BYTES is enough for any ring), `out`
 * RH_WRAPPED(RH_DRIVER_REQUEST). `context` of the line goes to its functions, and to `on_event`. */
void rh_driver_init(struct rh_driver *driver, struct rh_stream line, uint8_t *in, size_t in_room, uint8_t *out,
                    size_t out_room);
/* Say hello, and have answers told. */
enum rh_status rh_driver_start(struct rh_driver *driver, const char *name);
/* A context, 1 to RHW_CONTEXTS - 1, of a GPU that the driver is to look after until it is detached. It isn't created yet. */
void rh_attach(struct rh_driver *driver, struct rh_context *context, uint16_t gpu, uint8_t number, uint32_t key);
void rh_detach(struct rh_driver *driver, struct rh_context *context);

/* Each waits for its answer. */
enum rh_told rh_create(struct rh_driver *driver, struct rh_context *context, const struct rh_settings *settings,
                       struct rh_answer *answer);
enum rh_told rh_configure(struct rh_driver *driver, struct rh_context *context, const struct rh_settings *settings,
                          struct rh_answer *answer);
enum rh_told rh_allocate(struct rh_driver *driver, struct rh_context *context, uint32_t pages,
                         struct rh_answer *answer);
enum rh_told rh_free(struct rh_driver *driver, struct rh_context *context, uint32_t pages, struct rh_answer *answer);
enum rh_told rh_copy(struct rh_driver *driver, struct rh_context *context, uint32_t page, const uint8_t *data,
                     size_t length, struct rh_answer *answer);
/* RH_TOLD_DONE: it has been taken (or is over, which rh_wait tells). Other commands may follow; rh_wait must. */
enum rh_told rh_launch(struct rh_driver *driver, struct rh_context *context, uint32_t cycles,
                       struct rh_answer *answer);
/* Until the launch is over. RH_TOLD_REFUSED with the status `cancelled`: it was cancelled. */
enum rh_told rh_wait(struct rh_driver *driver, struct rh_context *context, struct rh_answer *answer);
enum rh_told rh_cancel(struct rh_driver *driver, struct rh_context *context, struct rh_answer *answer);
enum rh_told rh_query(struct rh_driver *driver, struct rh_context *context, uint32_t what, struct rh_answer *answer);
enum rh_told rh_destroy(struct rh_driver *driver, struct rh_context *context, struct rh_answer *answer);

/* In words. */
const char *rh_told_text(enum rh_told told, const struct rh_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
