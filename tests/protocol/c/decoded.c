/* Inputs from standard input, each behind its length (4 bytes, most significant first), are one stream: prints a line
 * for each of them, with what ended in it: messages, their fields in hexadecimal digits, and what was none. */
#include "ringhil_client.h"

#include <stdio.h>
#include <stdlib.h>

static void field(uint64_t value) { printf(" %llx", (unsigned long long)value); }

static void tail(const uint8_t *data, size_t length) {
    putchar(' ');
    for (size_t i = 0; i < length; ++i)
        printf("%02x", data[i]);
}

#include "fields.inc" /* static int show(const uint8_t *message, size_t length) */

int main(void) {
    static uint8_t buffer[RH_LONGEST + RH_CRC_BYTES];
    struct rh_receiver receiver;
    uint8_t head[4];
    rh_receiver_init(&receiver, buffer, sizeof buffer);
    while (fread(head, 1, 4, stdin) == 4) {
        size_t length = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
        for (size_t i = 0; i < length; ++i) {
            int byte = getchar();
            uint32_t damaged = receiver.damaged;
            if (byte == EOF)
                return 2;
            size_t found = rh_receive(&receiver, (uint8_t)byte);
            if (receiver.damaged != damaged)
                printf("damaged;");
            if (found) {
                uint8_t *exact = malloc(found); /* so that a byte beyond it is seen */
                if (!exact)
                    return 2;
                for (size_t k = 0; k < found; ++k)
                    exact[k] = buffer[k];
                printf(show(exact, found) ? ";" : "none;");
                free(exact);
            }
        }
        putchar('\n');
    }
    return 0;
}
