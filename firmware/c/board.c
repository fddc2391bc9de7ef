/* A request that comes again is not done again: its answer was lost on the way, and goes out once more. */
#include "ringhil_board.h"

void rhf_board_init(struct rhf_board *board, uint8_t *in, size_t in_room, uint8_t *kept, size_t room, uint8_t *out,
                    size_t out_room) {
    rh_receiver_init(&board->receiver, in, in_room);
    board->kept = kept;
    board->room = room;
    board->out = out;
    board->out_room = out_room;
    board->kept_length = board->last_length = 0;
    board->last_crc = 0;
}

void rhf_board_receive(struct rhf_board *board, uint8_t byte) {
    size_t length = rh_receive(&board->receiver, byte);
    if (!length)
        return;
    const uint8_t *request = board->receiver.buffer;
    uint32_t crc = rh_crc(request, length);
    if (!board->kept_length || crc != board->last_crc || length != board->last_length) {
        board->kept_length = board->answer(board->state, request, length, board->kept, board->room);
        board->last_crc = crc;
        board->last_length = length;
    }
    size_t bytes = board->kept_length ? rh_wrap(board->kept, board->kept_length, board->out, board->out_room) : 0;
    if (bytes)
        board->write(board->context, board->out, bytes);
}
