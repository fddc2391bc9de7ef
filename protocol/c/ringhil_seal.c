#include "ringhil_seal.h"

#include "ringhil_framing.h"

#include <string.h>

#define FLIT 8u
#define STATISTICS_COVERED 4u /* flits: no records */
#define MUTABLE_FLAGS 0xFFu   /* the upper byte of `flags` */
#define RECORD_SIGNED 12u     /* bytes */

static void put(uint8_t *out, uint32_t value) {
    for (unsigned i = 0; i < 4; ++i)
        out[i] = (uint8_t)(value >> (24u - 8u * i));
}

/* Of all that no hop may change; `body` bytes without the CRCs, a header at least. */
static uint32_t end_to_end(const uint8_t *frame, size_t body) {
    uint8_t flit[FLIT];
    memcpy(flit, frame, FLIT);
    flit[2] &= (uint8_t)~MUTABLE_FLAGS;
    flit[4] = flit[5] = 0; /* ttl */
    uint32_t crc = rh_crc_more(0, flit, FLIT);
    if (frame[0] != RHW_KIND_STATISTICS)
        return rh_crc_more(crc, frame + FLIT, body - FLIT);
    crc = rh_crc_more(crc, frame + FLIT, FLIT);
    memcpy(flit, frame + 2 * FLIT, FLIT);
    flit[0] = flit[1] = flit[2] = flit[3] = 0; /* count, records_count */
    flit[6] &= (uint8_t)~(RHW_OVERFLOW >> 8);
    crc = rh_crc_more(crc, flit, FLIT);
    return rh_crc_more(crc, frame + 3 * FLIT, FLIT);
}

static int long_enough(const uint8_t *frame, size_t body) {
    return body >= 2 * FLIT && (frame[0] != RHW_KIND_STATISTICS || body >= STATISTICS_COVERED * FLIT);
}

size_t rhw_seal(uint8_t *frame, size_t body, size_t room) {
    if (room < RHW_TRAILER || body > room - RHW_TRAILER || !long_enough(frame, body))
        return 0;
    put(frame + body, end_to_end(frame, body));
    put(frame + body + 4, rh_crc(frame, body + 4));
    return body + RHW_TRAILER;
}

int rhw_intact(const uint8_t *frame, size_t length) {
    if (length < RHW_TRAILER || !long_enough(frame, length - RHW_TRAILER))
        return 0;
    uint32_t found = 0;
    for (size_t i = length - RHW_TRAILER; i < length - RHW_TRAILER + 4; ++i)
        found = found << 8 | frame[i];
    return found == end_to_end(frame, length - RHW_TRAILER);
}

uint32_t rhw_tag(uint32_t epoch, uint32_t sequence, const uint8_t *record) {
    uint8_t before[8];
    put(before, epoch);
    put(before + 4, sequence);
    return rh_crc_more(rh_crc(before, sizeof before), record, RECORD_SIGNED);
}
