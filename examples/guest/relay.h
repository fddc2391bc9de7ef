/* How fast the GPU's memory is filled directly, and through the server. */
#ifndef GUEST_RELAY_H
#define GUEST_RELAY_H

#include "card.h"

/* Prints what a MiB took, the median of so many, in ticks of the processor's clock. The server must copy what it gets by
 * port 1 of virtio's serial ports (-device virtserialport) to the GPU's memory, from its beginning again and again. */
void relay_against_direct(card *gpu, uint32_t megabytes);

#endif
