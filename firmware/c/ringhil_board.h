/*
 * The board's end of a serial line: bytes come, requests are answered, bytes go. docs/reference/firmware-loop.md.
 */
#ifndef RINGHIL_BOARD_H
#define RINGHIL_BOARD_H

#include "ringhil_framing.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `answer` is what rhf_answer is, of `state`. `write` sends all of the bytes. */
struct rhf_board {
    struct rh_receiver receiver;
    void *state;
    size_t (*answer)(void *state, const uint8_t *request, size_t length, uint8_t *answer, size_t room);
    void (*write)(void *context, const uint8_t *data, size_t length);
    void *context;
    uint8_t *kept, *out; /* the last answer; bytes for the line */
    size_t room, out_room, kept_length, last_length;
    uint32_t last_crc; /* of the request that it answers */
};

/* `in` takes a message and its CRC, `kept` an answer of `room` bytes, `out` RH_WRAPPED(room). */
void rhf_board_init(struct rhf_board *board, uint8_t *in, size_t in_room, uint8_t *kept, size_t room, uint8_t *out,
                    size_t out_room);
/* A byte has come. */
void rhf_board_receive(struct rhf_board *board, uint8_t byte);

#ifdef __cplusplus
}
#endif

#endif
