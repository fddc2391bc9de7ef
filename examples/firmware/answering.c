/*
 * A firmware that only answers keepalives, from docs/reference/firmware-loop.md alone.
 *
 *     make -C examples/firmware                 # build/libanswering.so, and build/answering, a board on a pty
 *     ringhil run examples/fail-over.yaml --firmware a.1=examples/firmware/build/libanswering.so
 */
#include "ringhil_firmware_messages.h"
#include "ringhil_frames.h"
#include "ringhil_seal.h"

#include <string.h>

#define HEAD 3u /* bytes of a message's type and id */

struct gpu {
    uint16_t gpu, gpus, rank;
    uint32_t boots, sequences[256]; /* by the rank of who asked */
};

size_t rhf_size(void);
size_t rhf_answer(void *state, const uint8_t *request, size_t length, uint8_t *answer, size_t room);

size_t rhf_size(void) { return sizeof(struct gpu); }

/* The answer to a keepalive, by one way, as an action: its bytes. */
static size_t sent(struct gpu *gpu, const struct rhw_keepalive *asked, uint8_t port, uint8_t *out, size_t room) {
    uint8_t frame[256];
    struct rhw_keepalive told = *asked;
    told.flags = port == RHW_PORT_CCW ? RHW_FLAG_CCW : 0;
    told.ttl = (uint16_t)(gpu->gpus + 1);
    told.destination = (uint16_t)(asked->my_discriminator >> 16);
    told.sequence = gpu->sequences[asked->priority];
    told.my_discriminator = (uint32_t)gpu->gpu << 16 | (gpu->boots & 0xFFFFu);
    told.your_discriminator = asked->my_discriminator;
    told.priority = (uint8_t)gpu->rank;
    told.members = (uint64_t)1 << gpu->rank;
    told.state = RHW_STATE_FOLLOWER;
    size_t length = rhw_seal(frame, rhw_pack_keepalive(&told, frame, sizeof frame), sizeof frame);
    struct rhf_send send = {port, frame, length};
    length = rhf_pack_send(&send, out + 2, room - 2);
    out[0] = (uint8_t)(length >> 8);
    out[1] = (uint8_t)length;
    return 2 + length;
}

size_t rhf_answer(void *state, const uint8_t *request, size_t length, uint8_t *answer, size_t room) {
    struct gpu *gpu = state;
    struct rhf_boot boot;
    struct rhf_group group;
    struct rhf_frame frame;
    struct rhw_keepalive asked;
    struct rhf_done done = {rh_id(request, length), NULL, 0};
    if (rh_type(request, length) == RHF_TYPE_ATTACH) {
        struct rhf_attach_reply reply = {done.id, RHF_MAJOR, RHF_MINOR, RH_LONGEST, (const uint8_t *)"answering", 9};
        return rhf_pack_attach_reply(&reply, answer, room);
    }
    if (rhf_unpack_boot(&boot, request, length)) {
        memset(gpu, 0, sizeof *gpu);
        gpu->gpu = boot.gpu;
        gpu->gpus = boot.gpus;
        gpu->boots = boot.boots;
    }
    if (rhf_unpack_group(&group, request, length) && group.role == RHW_ROLE_ENTRY && group.rank < 64)
        gpu->rank = group.rank;
    size_t used = rhf_pack_done(&done, answer, room);
    if (used == HEAD && rhf_unpack_frame(&frame, request, length) && !frame.bad && frame.port <= RHW_PORT_CCW &&
        frame.frame_length > RHW_TRAILER && rhw_intact(frame.frame, frame.frame_length) &&
        rhw_unpack_keepalive(&asked, frame.frame, frame.frame_length - RHW_TRAILER)) {
        ++gpu->sequences[asked.priority];
        used += sent(gpu, &asked, RHW_PORT_CW, answer + used, room - used);
        used += sent(gpu, &asked, RHW_PORT_CCW, answer + used, room - used);
    }
    return used;
}
