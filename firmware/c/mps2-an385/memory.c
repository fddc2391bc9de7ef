/* What compilers for Arm ask for: memcpy and memset, also by the names of the ABI (which has memset's last two
 * arguments the other way round). */
#include <stdint.h>
#include <string.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length) {
    volatile uint8_t *a = to; /* or the loop would be made a call of itself */
    const uint8_t *b = from;
    for (; length; --length)
        *a++ = *b++;
    return to;
}

void *memset(void *to, int value, size_t length) {
    volatile uint8_t *a = to;
    for (; length; --length)
        *a++ = (uint8_t)value;
    return to;
}

#define COPIES(name)                                                                                                   \
    void name(void *to, const void *from, size_t length);                                                              \
    void name(void *to, const void *from, size_t length) { memcpy(to, from, length); }
#define CLEARS(name)                                                                                                   \
    void name(void *to, size_t length);                                                                                \
    void name(void *to, size_t length) { memset(to, 0, length); }
#define SETS(name)                                                                                                     \
    void name(void *to, size_t length, int value);                                                                     \
    void name(void *to, size_t length, int value) { memset(to, value, length); }

COPIES(__aeabi_memcpy)
COPIES(__aeabi_memcpy4)
COPIES(__aeabi_memcpy8)
CLEARS(__aeabi_memclr)
CLEARS(__aeabi_memclr4)
CLEARS(__aeabi_memclr8)
SETS(__aeabi_memset)
SETS(__aeabi_memset4)
SETS(__aeabi_memset8)
