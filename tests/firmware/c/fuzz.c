/* What a GPU's firmware in C is asked, from standard input: commands of a letter each.
 *
 *   Z   a state of zeros
 *   A   ask: room for the answer, bytes of the request (4 bytes each, most significant first), the request
 *   =   a second state of zeros
 *   B   ask both, the first with room for any answer: theirs must be the same bytes, or the second one's that it lacks room
 *
 * Every answer must fit into its room, have the request's id, and be one of the protocol's, action by action; 0 bytes are
 * one only where the room is too small for any. Prints how many there were of each type, of messages and actions. */
#include "ringhil_firmware.h"
#include "ringhil_firmware_messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD 3u
#define SMALL 64u /* a room in which every answer without actions fits */

static unsigned long seen[256];

static uint32_t number(void) {
    uint8_t head[4];
    if (fread(head, 1, 4, stdin) != 4)
        exit(2);
    return (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
}

static void wrong(const char *what) {
    fprintf(stderr, "the answer: %s\n", what);
    abort();
}

#define IS(kind)                                                                                                       \
    do {                                                                                                               \
        struct rhf_##kind action;                                                                                      \
        known += rhf_unpack_##kind(&action, at, length);                                                               \
    } while (0)

static void check_actions(const uint8_t *at, size_t left) {
    while (left) {
        if (left < 3)
            wrong("half an action");
        size_t length = (size_t)at[0] << 8 | at[1];
        int known = 0;
        at += 2;
        left -= 2;
        if (length > left)
            wrong("an action that is longer than all");
        ALL_ACTIONS;
        if (known != 1)
            wrong("an action that is none");
        ++seen[at[0]];
        at += length;
        left -= length;
    }
}

static void check(const uint8_t *request, size_t asked, const uint8_t *answer, size_t length, size_t room) {
    if (length > room)
        wrong("longer than its room");
    if (!length && room >= SMALL)
        wrong("none");
    if (!length)
        return;
    struct rhf_done done;
    struct rhf_declined declined;
    struct rhf_attach_reply reply;
    if (rh_id(answer, length) != rh_id(request, asked))
        wrong("another id");
    ++seen[answer[0]];
    if (rhf_unpack_done(&done, answer, length))
        check_actions(done.actions, done.actions_length);
    else if (!rhf_unpack_declined(&declined, answer, length) && !rhf_unpack_attach_reply(&reply, answer, length))
        wrong("of no type");
}

/* Request and answer are of exactly their bytes, so that one beyond them is seen. */
static uint8_t *ask(void *state, const uint8_t *request, size_t asked, size_t room, int filler, size_t *length) {
    uint8_t *answer = malloc(room ? room : 1);
    memset(answer, filler, room);
    *length = rhf_answer(state, request, asked, answer, room);
    check(request, asked, answer, *length, room);
    return answer;
}

static int lacks_room(const uint8_t *answer, size_t length) {
    struct rhf_declined declined;
    return !length || (rhf_unpack_declined(&declined, answer, length) && declined.why == RHF_WHY_NO_ROOM);
}

int main(void) {
    void *state = calloc(1, rhf_size()), *fresh = calloc(1, rhf_size());
    int command;
    while ((command = getchar()) != EOF) {
        if (command == 'Z') {
            memset(state, 0, rhf_size());
        } else if (command == '=') {
            memset(fresh, 0, rhf_size());
        } else if (command == 'A' || command == 'B') {
            size_t room = number(), asked = number(), length, again;
            uint8_t *request = malloc(asked ? asked : 1), *answer, *other;
            if (fread(request, 1, asked, stdin) != asked)
                return 2;
            answer = ask(state, request, asked, command == 'B' ? RH_LONGEST : room, 0x55, &length);
            if (command == 'B') {
                other = ask(fresh, request, asked, room, 0xAA, &again);
                int same = length == again && !memcmp(answer, other, length);
                if (!same && !(length > room && lacks_room(other, again)))
                    wrong("another one than a new state gives");
                free(other);
            }
            free(answer);
            free(request);
        } else {
            return 2;
        }
    }
    for (unsigned type = 0; type < 256; ++type)
        if (seen[type])
            printf("%u %lu\n", type, seen[type]);
    free(state);
    free(fresh);
    return 0;
}
