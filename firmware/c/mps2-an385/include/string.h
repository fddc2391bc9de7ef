/* What the firmware needs of the C library; main.c has it. */
#ifndef RINGHIL_BOARD_STRING_H
#define RINGHIL_BOARD_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memset(void *to, int value, size_t length);

#endif
