#include "relay.h"

#include "machine.h"

/* A serial port of virtio 0.9: port 1, which waits when the server is slow. One buffer at a time. */
#define SERIAL 0x10031AF4u

enum { FEATURES = 4, QUEUE = 8, QUEUE_SIZE = 12, SELECT = 14, NOTIFY = 16, STATUS = 18 };
enum { MULTIPORT = 2, CONTROL = 3, SENDS = 5, DEVICE_READY = 0, PORT_READY = 3, PORT_OPEN = 6 };
enum { PIECE = 1 << 20, BUFFER = 1 << 15 /* of Linux's driver */, MOST = 256, PAGE = 4096, QUEUE_BYTES = 4 * PAGE };

static uint8_t queues[2][QUEUE_BYTES] __attribute__((aligned(4096)));
static uint8_t data[PIECE] __attribute__((aligned(4096))), buffer[BUFFER] __attribute__((aligned(4096)));
static uint16_t io, number_of[2];

static uint64_t ticks(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* As a driver would: 64 bytes at a time. */
static void copy(void *to, const void *from, uint32_t size)
{
    for (; size; size -= 64, to = (char *)to + 64, from = (const char *)from + 64)
        __asm__ volatile("movdqa (%1), %%xmm0; movdqa 16(%1), %%xmm1; movdqa 32(%1), %%xmm2; movdqa 48(%1), %%xmm3\n"
                         "movdqa %%xmm0, (%0); movdqa %%xmm1, 16(%0); movdqa %%xmm2, 32(%0); movdqa %%xmm3, 48(%0)"
                         :
                         : "r"(to), "r"(from)
                         : "memory");
}

static void allow_sse(void)
{
    uint32_t value;

    __asm__ volatile("mov %%cr0, %0\n and $0xFFFFFFFB, %0\n or $2, %0\n mov %0, %%cr0\n"
                     "mov %%cr4, %0\n or $0x600, %0\n mov %0, %%cr4"
                     : "=r"(value));
}

static void must_have(int right)
{
    if (right)
        return;
    print("failed serial port\n");
    end(1);
}

static void send(int which, const void *from, uint32_t size)
{
    uint32_t number = number_of[which];
    uint8_t *queue = queues[which];
    volatile uint32_t *descriptor = (volatile uint32_t *)queue;
    volatile uint16_t *offered = (volatile uint16_t *)(queue + 16 * number);
    volatile uint16_t *used = (volatile uint16_t *)(queue + (18 * number + 6 + PAGE - 1) / PAGE * PAGE);

    descriptor[0] = (uint32_t)from;
    descriptor[1] = 0;
    descriptor[2] = size;
    descriptor[3] = 0;
    offered[2 + offered[1] % number] = 0;
    offered[1]++;
    out_16(io + NOTIFY, which ? SENDS : CONTROL);
    while (used[1] != offered[1])
        ;
}

static void control(uint32_t port, uint16_t event)
{
    uint16_t message[4];

    message[0] = (uint16_t)port;
    message[1] = 0;
    message[2] = event;
    message[3] = 1;
    send(0, message, sizeof message);
}

static void open(void)
{
    int slot = pci_find(0, SERIAL), which;

    must_have(slot >= 0);
    pci_write((unsigned)slot, 0, 4, (pci_read((unsigned)slot, 0, 4) & 0xFFFF) | 5);
    io = (uint16_t)(pci_read((unsigned)slot, 0, 0x10) & ~3u);
    out_8(io + STATUS, 0);
    out_8(io + STATUS, 3);
    out_32(io + FEATURES, MULTIPORT);
    for (which = 0; which < 2; which++) {
        out_16(io + SELECT, which ? SENDS : CONTROL);
        number_of[which] = in_16(io + QUEUE_SIZE);
        must_have(number_of[which] && number_of[which] <= MOST);
        out_32(io + QUEUE, (uint32_t)queues[which] / PAGE);
    }
    out_8(io + STATUS, 7);
    control(0, DEVICE_READY);
    control(1, PORT_READY);
    control(1, PORT_OPEN);
}

static void say(const char *what, uint64_t took)
{
    print(what);
    print(" ");
    print_hex(took, 16);
    print("\n");
}

static uint64_t directly(card *gpu)
{
    uint64_t since = ticks();

    copy(gpu->memory, data, PIECE);
    return ticks() - since;
}

/* Until all of it is there. */
static uint64_t by_the_server(card *gpu)
{
    volatile uint32_t *last = (volatile uint32_t *)(gpu->memory + PIECE - 4);
    uint32_t number = ++*(uint32_t *)(data + PIECE - 4), at;
    uint64_t since = ticks();

    for (at = 0; at < PIECE; at += BUFFER) {
        copy(buffer, data + at, BUFFER);
        send(1, buffer, BUFFER);
    }
    while (*last != number)
        ;
    return ticks() - since;
}

/* The one in the middle, by size. */
static uint64_t median(uint64_t *taken, uint32_t count)
{
    uint64_t moved;
    uint32_t i, j;

    for (i = 1; i < count; i++)
        for (j = i; j && taken[j] < taken[j - 1]; j--) {
            moved = taken[j];
            taken[j] = taken[j - 1];
            taken[j - 1] = moved;
        }
    return taken[count / 2];
}

void relay_against_direct(card *gpu, uint32_t megabytes)
{
    static uint64_t direct[MOST], relay[MOST];
    uint32_t i;

    allow_sse();
    open();
    for (i = 0; i < PIECE; i++)
        data[i] = (uint8_t)(i * 7);
    if (megabytes > MOST)
        megabytes = MOST;
    for (i = 0; i < megabytes; i++) { /* by turns: other processes are at work, too */
        direct[i] = directly(gpu);
        relay[i] = by_the_server(gpu);
    }
    say("direct", median(direct, megabytes));
    say("relay", median(relay, megabytes));
}
