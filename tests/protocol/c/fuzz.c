/* Inputs from standard input, each behind its length (4 bytes, most significant first): all that reads bytes reads
 * them. What is read as a message and packed again must be the same bytes; prints how many were messages. */
#include "ringhil_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t given[1 << 16], packed[1 << 16];
static unsigned long inputs, found, framed;

#define BOTH_WAYS(kind)                                                                                                \
    do {                                                                                                               \
        struct rh_##kind message;                                                                                      \
        if (rh_unpack_##kind(&message, data, length)) {                                                                \
            size_t again = rh_pack_##kind(&message, packed, sizeof packed);                                            \
            ++found;                                                                                                   \
            if (length <= RH_LONGEST && (again != length || memcmp(packed, data, length)))                             \
                abort();                                                                                               \
            if (again && rh_pack_##kind(&message, packed, again - 1))                                                  \
                abort();                                                                                               \
        }                                                                                                              \
    } while (0)

static void decode(const uint8_t *data, size_t length) {
    ALL_MESSAGES;
    (void)rh_type(data, length);
    (void)rh_id(data, length);
}

static void stream(const uint8_t *data, size_t length) {
    static uint8_t buffer[600];
    struct rh_receiver receiver;
    rh_receiver_init(&receiver, buffer, sizeof buffer);
    for (size_t i = 0; i < length; ++i) {
        size_t message = rh_receive(&receiver, data[i]);
        if (message) {
            uint8_t *exact = malloc(message); /* so that a byte beyond it is seen */
            ++framed;
            memcpy(exact, buffer, message);
            decode(exact, message);
            free(exact);
        }
    }
}

int main(void) {
    uint8_t head[4];
    while (fread(head, 1, 4, stdin) == 4) {
        size_t length = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
        if (length > sizeof given || fread(given, 1, length, stdin) != length)
            return 2;
        uint8_t *exact = malloc(length ? length : 1);
        memcpy(exact, given, length);
        ++inputs;
        decode(exact, length);
        stream(exact, length);
        free(exact);
    }
    printf("%lu %lu %lu\n", inputs, found, framed);
    return 0;
}
