#include "card.h"

#include <string.h>

#include "machine.h"
#include "ringhil_seal.h"

#define ID 0x52471234u
#define IVSHMEM 0x11101AF4u
#define MAGIC 0x474E4952u
#define DAMAGED 0x80000000u

enum {
    REGISTERS_AT = 0xC8000000, /* where nothing else is in a PC with 128 MiB */
    PEER_AT = 0xC8010000,
    MEMORY_AT = 0xC0000000,
    CONTROL = 0 / 4,
    AT_MAGIC = 0x400 / 4,
    AT_MEMORY = 0x404 / 4,
    SEND_AT = 0x408 / 4,
    SEND = 0x40C / 4,
    TAKE_AT = 0x410 / 4,
    TAKE = 0x414 / 4,
    STEP = 0x418 / 4,
    CYCLES = 65536, /* of a step */
    MOST_STEPS = 1000,
    COMMAND_HEAD = 16,
    BAR_2 = 0x18,
    MAILBOX = 32, /* bytes */
    ASKED = 0,    /* words of it */
    ANSWERED,
    COMMAND,
    OFFSET,
    VALUE,
    FRAME_AT = 0,
    RESULT_AT = 4096
};

static volatile uint32_t *mailbox(const card *gpu)
{
    return (volatile uint32_t *)(gpu->memory + gpu->memory_size - MAILBOX);
}

static void post(const card *gpu, uint32_t command, uint32_t at)
{
    volatile uint32_t *box = mailbox(gpu);
    uint32_t number = box[ASKED] + 1;

    box[COMMAND] = command;
    box[OFFSET] = 4 * at;
    box[ASKED] = number;
    while (box[ANSWERED] != number)
        ;
}

static uint32_t read_register(const card *gpu, uint32_t at)
{
    if (gpu->registers)
        return gpu->registers[at];
    post(gpu, 0, at);
    return mailbox(gpu)[VALUE];
}

static void write_register(const card *gpu, uint32_t at, uint32_t value)
{
    if (gpu->registers) {
        gpu->registers[at] = value;
        return;
    }
    mailbox(gpu)[VALUE] = value;
    post(gpu, 1, at);
}

/* Of BAR 2. */
static uint32_t size_of_memory(unsigned slot, unsigned function)
{
    uint32_t size;

    pci_write(slot, function, BAR_2, 0xFFFFFFFF);
    size = ~(pci_read(slot, function, BAR_2) & ~15u) + 1;
    return size;
}

int card_find(card *gpu)
{
    int slot = pci_find(0, ID), memory = slot;
    unsigned function = 1;

    if (slot < 0 || pci_read((unsigned)slot, 1, 0) != IVSHMEM) { /* by libvirt each has a slot of its own */
        function = 0;
        memory = pci_find(0, IVSHMEM);
    }
    if (memory < 0 || pci_read((unsigned)memory, function, 0) != IVSHMEM)
        return 0;
    gpu->memory_size = size_of_memory((unsigned)memory, function);
    pci_map((unsigned)memory, function, 0, PEER_AT);
    pci_map((unsigned)memory, function, 2, MEMORY_AT);
    gpu->memory = (uint8_t *)MEMORY_AT;
    gpu->registers = 0;
    if (slot >= 0) {
        pci_map((unsigned)slot, 0, 0, REGISTERS_AT);
        gpu->registers = (volatile uint32_t *)REGISTERS_AT;
    }
    gpu->unit = 1;
    if (read_register(gpu, AT_MAGIC) != MAGIC || read_register(gpu, AT_MEMORY) != gpu->memory_size)
        return 0;
    write_register(gpu, CONTROL, 1); /* its port to the CPU is open */
    write_register(gpu, STEP, 500);  /* its links come up */
    return 1;
}

int card_gone(void)
{
    return pci_find(0, ID) < 0 && pci_find(0, IVSHMEM) < 0;
}

static int sent(card *gpu, const struct rhw_work *work)
{
    uint8_t frame[512];
    size_t size = rhw_pack_work(work, frame, sizeof frame);

    size = rhw_seal(frame, size, sizeof frame);
    if (!size)
        return 0;
    memcpy(gpu->memory + FRAME_AT, frame, size);
    write_register(gpu, SEND_AT, FRAME_AT);
    write_register(gpu, SEND, (uint32_t)size);
    return 1;
}

/* The next result. */
static int taken(card *gpu, struct rhw_result *result)
{
    uint32_t size, steps;

    write_register(gpu, TAKE_AT, RESULT_AT);
    for (steps = 0; steps < MOST_STEPS; steps++) {
        size = read_register(gpu, TAKE);
        if (size)
            return !(size & DAMAGED) && size > RHW_TRAILER && rhw_intact(gpu->memory + RESULT_AT, size)
                   && rhw_unpack_result(result, gpu->memory + RESULT_AT, size - RHW_TRAILER);
        write_register(gpu, STEP, CYCLES);
    }
    return 0;
}

/* A unit of work in segments. `data` is `head` and then `size` bytes. */
static int work(card *gpu, unsigned kind, unsigned context, uint32_t unit, const uint8_t *data, size_t size)
{
    struct rhw_work segment;
    uint8_t payload[RHW_SEGMENT];
    size_t at, part;

    memset(&segment, 0, sizeof segment);
    segment.ttl = 2;
    segment.epoch = 1;
    segment.unit = unit;
    segment.compute = (uint8_t)kind;
    segment.context = (uint16_t)context;
    segment.length = (uint32_t)size;
    for (at = 0; at < size; at += part, segment.segment++) {
        part = size - at < RHW_SEGMENT ? size - at : RHW_SEGMENT;
        memset(payload, 0, sizeof payload);
        memcpy(payload, data + at, part);
        segment.flags = at + part == size ? RHW_FLAG_LAST : 0;
        segment.segment_bytes = (uint16_t)part;
        segment.payload = payload;
        segment.payload_length = (part + 7) / 8 * 8;
        if (!sent(gpu, &segment))
            return 0;
    }
    return 1;
}

int card_digest(card *gpu, const uint8_t *data, size_t size, struct rhw_result *result)
{
    uint32_t unit = gpu->unit++;

    return work(gpu, RHW_COMPUTE_DIGEST, 0, unit, data, size) && taken(gpu, result) && result->unit == unit;
}

static void put(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)(value >> 24);
    to[1] = (uint8_t)(value >> 16);
    to[2] = (uint8_t)(value >> 8);
    to[3] = (uint8_t)value;
}

int card_command(card *gpu, unsigned command, unsigned context, uint32_t key, uint32_t amount, const uint8_t *data,
                 size_t size, struct rhw_result *result)
{
    static uint8_t payload[4096];
    uint32_t unit = 0x80000000u | gpu->unit++;

    if (size > sizeof payload - COMMAND_HEAD)
        return 0;
    memset(payload, 0, COMMAND_HEAD);
    put(payload, key);
    put(payload + 4, amount);
    memcpy(payload + COMMAND_HEAD, data, size);
    if (!work(gpu, command, context, unit, payload, COMMAND_HEAD + size) || !taken(gpu, result) || result->unit != unit)
        return 0;
    if (command == RHW_COMPUTE_LAUNCH && result->status == RHW_ANSWER_STARTED)
        return taken(gpu, result) && result->unit == unit;
    return 1;
}
