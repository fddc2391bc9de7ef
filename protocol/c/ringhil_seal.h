/*
 * The check sums of frames: docs/reference/protocol.md, "Check sums".
 */
#ifndef RINGHIL_SEAL_H
#define RINGHIL_SEAL_H

#include "ringhil_frames.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Put both CRCs behind a frame's `body` bytes: its bytes then, or 0 when `room` is too small or it is no frame. */
size_t rhw_seal(uint8_t *frame, size_t body, size_t room);
/* Is the end-to-end CRC of a whole frame right? 0 also for what is too short for a frame. */
int rhw_intact(const uint8_t *frame, size_t length);
/* Tag of a record, from the 12 bytes before it. */
uint32_t rhw_tag(uint32_t epoch, uint32_t sequence, const uint8_t *record);

#ifdef __cplusplus
}
#endif

#endif
