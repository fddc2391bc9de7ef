#include "machine.h"

#include <string.h>

enum { SERIAL = 0x3F8, SERIAL_STATUS = SERIAL + 5, HOTPLUG = 0xAE00, CONFIG_ADDRESS = 0xCF8, CONFIG_DATA = 0xCFC };

#define IN(bits, letter)                                                                                              \
    uint##bits##_t in_##bits(uint16_t port)                                                                           \
    {                                                                                                                 \
        uint##bits##_t value;                                                                                         \
        __asm__ volatile("in" letter " %1, %0" : "=a"(value) : "Nd"(port));                                           \
        return value;                                                                                                 \
    }
#define OUT(bits, letter)                                                                                             \
    void out_##bits(uint16_t port, uint##bits##_t value)                                                              \
    {                                                                                                                 \
        __asm__ volatile("out" letter " %0, %1" : : "a"(value), "Nd"(port));                                          \
    }

IN(8, "b")
IN(16, "w")
IN(32, "l")
OUT(8, "b")
OUT(16, "w")
OUT(32, "l")

void *memcpy(void *to, const void *from, size_t size)
{
    void *start = to;

    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
    return start;
}

void *memmove(void *to, const void *from, size_t size)
{
    char *t = to;
    const char *f = from;

    if (t <= f)
        return memcpy(to, from, size);
    while (size--)
        t[size] = f[size];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    void *start = to;

    __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(byte) : "memory");
    return start;
}

int memcmp(const void *a, const void *b, size_t size)
{
    const unsigned char *x = a, *y = b;

    for (; size; size--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

size_t strlen(const char *text)
{
    size_t size = 0;

    while (text[size])
        size++;
    return size;
}

void print(const char *text)
{
    for (; *text; text++)
        out_8(0xE9, (uint8_t)*text);
}

void print_hex(uint64_t value, int digits)
{
    while (digits--)
        out_8(0xE9, (uint8_t)"0123456789abcdef"[value >> 4 * digits & 15]);
}

void end(int code)
{
    for (;;)
        out_8(0xF4, (uint8_t)code);
}

long serial_send(void *line, const char *data, size_t size)
{
    size_t i;

    (void)line;
    for (i = 0; i < size; i++) {
        while (!(in_8(SERIAL_STATUS) & 0x20))
            ;
        out_8(SERIAL, (uint8_t)data[i]);
    }
    return (long)size;
}

long serial_receive(void *line, char *data, size_t size)
{
    (void)line;
    (void)size;
    while (!(in_8(SERIAL_STATUS) & 1))
        let_go();
    data[0] = (char)in_8(SERIAL);
    return 1;
}

void let_go(void)
{
    uint32_t slots;

    out_32(HOTPLUG + 0x10, 0); /* bus 0 */
    slots = in_32(HOTPLUG + 4);
    if (slots)
        out_32(HOTPLUG + 8, slots);
}

uint32_t pci_read(unsigned slot, unsigned function, unsigned at)
{
    out_32(CONFIG_ADDRESS, 0x80000000u | slot << 11 | function << 8 | (at & 0xFC));
    return in_32(CONFIG_DATA);
}

void pci_write(unsigned slot, unsigned function, unsigned at, uint32_t value)
{
    out_32(CONFIG_ADDRESS, 0x80000000u | slot << 11 | function << 8 | (at & 0xFC));
    out_32(CONFIG_DATA, value);
}

int pci_find(unsigned function, uint32_t id)
{
    unsigned slot;

    for (slot = 0; slot < 32; slot++)
        if (pci_read(slot, function, 0) == id)
            return (int)slot;
    return -1;
}

void pci_map(unsigned slot, unsigned function, unsigned bar, uint32_t address)
{
    unsigned at = 0x10 + 4 * bar;
    uint32_t kind = pci_read(slot, function, at) & 6;

    pci_write(slot, function, at, address);
    if (kind == 4) /* 64 bits */
        pci_write(slot, function, at + 4, 0);
    pci_write(slot, function, 4, (pci_read(slot, function, 4) & 0xFFFF) | 2);
}
