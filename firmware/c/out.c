/* The actions of an answer, one after the other, each behind its length. */
#include "rhf_state.h"
#include "ringhil_seal.h"

#define LENGTH 2u /* bytes */

uint8_t *rhf_say_begin(struct rhf_out *out, size_t *room) {
    size_t left = out->room - out->used;
    *room = left > LENGTH ? left - LENGTH : 0;
    return out->at + out->used + LENGTH;
}

void rhf_say_end(struct rhf_out *out, size_t length) {
    if (!length) {
        out->full = 1;
        return;
    }
    out->at[out->used] = (uint8_t)(length >> 8);
    out->at[out->used + 1] = (uint8_t)length;
    out->used += LENGTH + length;
}

void rhf_say_send(struct rhf_out *out, uint8_t port, uint8_t *frame, size_t body, size_t room) {
    size_t left, length = body ? rhw_seal(frame, body, room) : 0;
    struct rhf_send send = {port, frame, length};
    uint8_t *at = rhf_say_begin(out, &left);
    rhf_say_end(out, length ? rhf_pack_send(&send, at, left) : 0);
}

void rhf_say_timer(struct rhf_out *out, uint8_t timer, int64_t delay) {
    size_t left;
    struct rhf_set_timer set = {timer, (uint64_t)delay};
    uint8_t *at = rhf_say_begin(out, &left);
    rhf_say_end(out, rhf_pack_set_timer(&set, at, left));
}

void rhf_say_cancel(struct rhf_out *out, uint8_t timer) {
    size_t left;
    struct rhf_cancel_timer cancel = {timer};
    uint8_t *at = rhf_say_begin(out, &left);
    rhf_say_end(out, rhf_pack_cancel_timer(&cancel, at, left));
}

void rhf_say_write(struct rhf_out *out, uint8_t address, uint32_t value) {
    size_t left;
    struct rhf_write write = {address, value};
    uint8_t *at = rhf_say_begin(out, &left);
    rhf_say_end(out, rhf_pack_write(&write, at, left));
}
