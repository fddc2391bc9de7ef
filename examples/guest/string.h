/* What the shared C sources need of a library, for a program that has none. */
#ifndef GUEST_STRING_H
#define GUEST_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);

#endif
