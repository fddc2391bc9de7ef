/* A board in this process, for tests: bytes in, bytes out. */
#include "ringhil_board.h"
#include "ringhil_firmware.h"
#include "ringhil_messages.h"

#include <stdlib.h>
#include <string.h>

struct far_board {
    struct rhf_board board;
    uint8_t in[RH_LONGEST + RH_CRC_BYTES], kept[RH_LONGEST], out[RH_WRAPPED(RH_LONGEST)];
    uint8_t *said;
    size_t room, length;
};

static void keep(void *context, const uint8_t *data, size_t length) {
    struct far_board *far = context;
    if (length > far->room - far->length)
        length = far->room - far->length;
    memcpy(far->said + far->length, data, length);
    far->length += length;
}

struct far_board *far_create(void) {
    struct far_board *far = calloc(1, sizeof *far);
    rhf_board_init(&far->board, far->in, sizeof far->in, far->kept, sizeof far->kept, far->out, sizeof far->out);
    far->board.state = calloc(1, rhf_size());
    far->board.answer = rhf_answer;
    far->board.write = keep;
    far->board.context = far;
    return far;
}

void far_destroy(struct far_board *far) {
    free(far->board.state);
    free(far);
}

size_t far_feed(struct far_board *far, const uint8_t *data, size_t length, uint8_t *said, size_t room) {
    far->said = said;
    far->room = room;
    far->length = 0;
    for (size_t i = 0; i < length; ++i)
        rhf_board_receive(&far->board, data[i]);
    return far->length;
}
