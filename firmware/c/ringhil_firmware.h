/*
 * A GPU's firmware in C: censuses, and the elections in which the GPU asks. Docs: docs/howto/firmware.md, "In C".
 *
 * It speaks the firmware loop's messages (docs/reference/firmware-loop.md). No allocation, no clock, no I/O; of the C library it
 * needs what every compiler asks for: memcpy and memset.
 */
#ifndef RINGHIL_FIRMWARE_H
#define RINGHIL_FIRMWARE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of one GPU's state. */
size_t rhf_size(void);
/* Do what `request` asks and write the answer: its bytes. `state` is of rhf_size() bytes, aligned for any type, and
 * zero at first; of a request that comes twice the caller gives the answer that it has kept. 0: `room` is too small
 * for any answer. */
size_t rhf_answer(void *state, const uint8_t *request, size_t length, uint8_t *answer, size_t room);

#ifdef __cplusplus
}
#endif

#endif
