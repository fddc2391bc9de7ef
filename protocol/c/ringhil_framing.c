#include "ringhil_framing.h"

#include "ringhil_messages.h"

#define DELIMITER 0u
#define LONGEST_BLOCK 0xFFu /* a code byte: 254 bytes follow, and no zero after them */
#define POLYNOMIAL 0xC8DF352Fu /* 0xF4ACFB13, reflected */

static uint32_t crc_step(uint32_t state, uint8_t byte) {
    state ^= byte;
    for (int bit = 0; bit < 8; ++bit)
        state = (state >> 1) ^ (POLYNOMIAL & (0u - (state & 1u)));
    return state;
}

uint32_t rh_crc_more(uint32_t crc, const uint8_t *data, size_t length) {
    uint32_t state = ~crc;
    for (size_t i = 0; i < length; ++i)
        state = crc_step(state, data[i]);
    return ~state;
}

uint32_t rh_crc(const uint8_t *data, size_t length) { return rh_crc_more(0, data, length); }

void rh_receiver_init(struct rh_receiver *receiver, uint8_t *buffer, size_t room) {
    struct rh_receiver fresh = {buffer, room, 0, 0, 0, 0, 0, 0};
    *receiver = fresh;
}

static void keep(struct rh_receiver *r, uint8_t byte) {
    if (r->used < r->room)
        r->buffer[r->used++] = byte;
    else
        r->spoilt = 1;
}

/* What stood between two zero bytes: the length of the message, or 0. */
static size_t ended(const struct rh_receiver *r) {
    if (r->spoilt || r->left || r->used <= RH_CRC_BYTES || r->used - RH_CRC_BYTES > RH_LONGEST)
        return 0;
    size_t length = r->used - RH_CRC_BYTES;
    uint32_t found = 0;
    for (size_t i = 0; i < RH_CRC_BYTES; ++i)
        found = found << 8 | r->buffer[length + i];
    return found == rh_crc(r->buffer, length) ? length : 0;
}

size_t rh_receive(struct rh_receiver *r, uint8_t byte) {
    if (byte == DELIMITER) {
        size_t length = r->begun ? ended(r) : 0;
        if (r->begun && !length)
            ++r->damaged;
        r->used = 0;
        r->left = r->begun = r->spoilt = 0;
        return length;
    }
    if (r->left) {
        keep(r, byte);
        --r->left;
        return 0;
    }
    /* A code byte. The zero that the block before it stands for comes only now: the last block stands for none. */
    if (r->begun && r->code != LONGEST_BLOCK)
        keep(r, DELIMITER);
    r->begun = 1;
    r->code = byte;
    r->left = (uint8_t)(byte - 1u);
    return 0;
}

struct sink {
    uint8_t *out;
    size_t used, code_at;
};

static void close_block(struct sink *s) {
    s->out[s->code_at] = (uint8_t)(s->used - s->code_at);
    s->code_at = s->used++;
}

static void add(struct sink *s, uint8_t byte) {
    if (s->used - s->code_at == LONGEST_BLOCK) /* full, and there is more */
        close_block(s);
    if (byte == DELIMITER)
        close_block(s);
    else
        s->out[s->used++] = byte;
}

size_t rh_wrap(const uint8_t *message, size_t length, uint8_t *out, size_t room) {
    if (!length || length > RH_LONGEST || room < RH_WRAPPED(length))
        return 0;
    struct sink s = {out, 2, 1};
    uint32_t crc = rh_crc(message, length);
    out[0] = DELIMITER;
    for (size_t i = 0; i < length; ++i)
        add(&s, message[i]);
    for (unsigned i = 0; i < RH_CRC_BYTES; ++i)
        add(&s, (uint8_t)(crc >> (24u - 8u * i)));
    out[s.code_at] = (uint8_t)(s.used - s.code_at);
    out[s.used] = DELIMITER;
    return s.used + 1;
}
