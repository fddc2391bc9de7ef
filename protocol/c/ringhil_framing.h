/*
 * Messages on a stream of bytes that may lose, double or change any of them: docs/reference/management.md, "Framing".
 *
 *     00 | COBS(message, CRC-32/AUTOSAR) | 00
 *
 * No allocation, and nothing of the C library but memcpy.
 */
#ifndef RINGHIL_FRAMING_H
#define RINGHIL_FRAMING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RH_CRC_BYTES 4u
/* Bytes that a message of `length` bytes takes on the line at most. */
#define RH_WRAPPED(length) ((length) + RH_CRC_BYTES + ((length) + RH_CRC_BYTES) / 254u + 1u + 2u)

/* Takes a stream apart. Its buffer holds a message and its CRC; longer ones are counted as damaged. */
struct rh_receiver {
    uint8_t *buffer;
    size_t room, used;
    uint8_t left, code; /* bytes until the next code byte; the last code */
    uint8_t begun, spoilt;
    uint32_t damaged; /* what came and was no message */
};

void rh_receiver_init(struct rh_receiver *receiver, uint8_t *buffer, size_t room);
/* One more byte: the length of the message that it ends, which stands in `buffer` until the next byte; or 0. */
size_t rh_receive(struct rh_receiver *receiver, uint8_t byte);
/* The bytes that carry a message: how many, or 0 when `room` is too small or the message empty or too long. */
size_t rh_wrap(const uint8_t *message, size_t length, uint8_t *out, size_t room);

uint32_t rh_crc(const uint8_t *data, size_t length);
/* That of what `crc` is of, and these bytes behind it; of nothing it is 0. */
uint32_t rh_crc_more(uint32_t crc, const uint8_t *data, size_t length);

#ifdef __cplusplus
}
#endif

#endif
