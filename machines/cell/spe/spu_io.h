/* What the PPE does for an SPE program, which stops for it. */
#ifndef CHASQUI_SPU_IO_H
#define CHASQUI_SPU_IO_H

#include <stddef.h>
#include <stdint.h>

#include "registers.h"

_Noreturn void exit(int status);
int spu_call(unsigned number, unsigned first, unsigned second, unsigned third);
int spu_write(int file, const void *data, unsigned bytes);
/* %d, %u, %x, each with l or ll, %s, %c, %p and %%; lines of at most 256 bytes. Returns the bytes written. */
int spu_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *one, const void *other, size_t bytes);
size_t strlen(const char *text);

#endif
