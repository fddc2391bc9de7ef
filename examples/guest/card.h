/* Driver of a lent GPU: function 0 has the registers (BAR 0), function 1 the memory (BAR 2). Where there is the memory
 * alone, as function 0, registers are reached by a mailbox at its end. */
#ifndef GUEST_CARD_H
#define GUEST_CARD_H

#include <stddef.h>
#include <stdint.h>

#include "ringhil_frames.h"

typedef struct {
    volatile uint32_t *registers; /* 0: by the mailbox */
    uint8_t *memory;
    uint32_t memory_size;
    uint32_t unit; /* of the next work */
} card;

/* 1: it is there, and mapped. */
int card_find(card *gpu);
int card_gone(void);

/* Has the GPU work out the digest of some bytes. 1: `result` has it. */
int card_digest(card *gpu, const uint8_t *data, size_t size, struct rhw_result *result);
/* A command to a context; a launch is waited for. `size` bytes of `data` follow, for a copy. 1: `result` is its answer. */
int card_command(card *gpu, unsigned command, unsigned context, uint32_t key, uint32_t amount, const uint8_t *data,
                 size_t size, struct rhw_result *result);

#endif
