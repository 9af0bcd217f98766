/* How an SPE program begins and ends, and the few functions of C's library that compilers call.
 *
 * The program is loaded by the PPE, with memory behind it cleared as its image says, and three words set (registers.h,
 * START_WORDS). It ends by a stop whose code has its status. */
#include "spu_intrinsics.h"
#include "spu_io.h"

/* The end of the local store, as whoever compiles this says. */
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

__asm__(".section .start, \"ax\"\n"
        ".balign 16\n"
        ".globl _start\n"
        "_start:\n"
        ".option push\n"
        ".option norvc\n"
        ".option norelax\n"
        "    j 1f\n"
        "    .word 0, 0, 0\n"
        ".globl chasqui_spe_words\n"
        "chasqui_spe_words:\n"
        "    .quad 0, 0, 0\n"
        ".globl chasqui_spe_call\n"
        "chasqui_spe_call:\n"
        "    .word 0, 0\n"
        "1:  li sp, " TEXT(CHASQUI_SPE_STACK_TOP) "\n"
        ".option pop\n"
        "    la a0, chasqui_spe_words\n"
        "    call chasqui_spe_begin\n"
        ".text\n");

_Static_assert(CHASQUI_CELL_START_WORDS == 16 && CHASQUI_CELL_CALL_PLACE == 16 + 3 * 8, "where _start has them");

extern uint32_t chasqui_spe_call;

int main(unsigned long long spe, unsigned long long argument, unsigned long long environment);

_Noreturn void exit(int status)
{
    for (;;)
        spu_stop(CHASQUI_CELL_STOP_EXIT | (status & 0xff));
}

_Noreturn __attribute__((used)) void chasqui_spe_begin(const volatile unsigned long long words[3])
{
    exit(main(words[0], words[1], words[2]));
}

int spu_call(unsigned number, unsigned first, unsigned second, unsigned third)
{
    static volatile struct chasqui_cell_call call;
    call.number = number;
    call.arguments[0] = first;
    call.arguments[1] = second;
    call.arguments[2] = third;
    chasqui_spe_call = spu_address((const void *)&call);
    spu_stop(CHASQUI_CELL_STOP_CALL);
    return call.result;
}

int spu_write(int file, const void *data, unsigned bytes)
{
    return spu_call(CHASQUI_CELL_CALL_WRITE, (unsigned)file, spu_address(data), bytes);
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    unsigned char *at = to;
    const unsigned char *source = from;
    if ((((uintptr_t)at | (uintptr_t)source) & 7) == 0)
        for (; bytes >= 8; bytes -= 8, at += 8, source += 8)
            *(uint64_t *)(void *)at = *(const uint64_t *)(const void *)source;
    for (; bytes > 0; bytes--)
        *at++ = *source++;
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    for (unsigned char *at = to; bytes > 0; bytes--)
        *at++ = (unsigned char)value;
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    unsigned char *at = to;
    const unsigned char *source = from;
    if (at <= source)
        return memcpy(to, from, bytes);
    while (bytes-- > 0)
        at[bytes] = source[bytes];
    return to;
}

int memcmp(const void *one, const void *other, size_t bytes)
{
    const unsigned char *a = one, *b = other;
    for (; bytes > 0; bytes--, a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}

size_t strlen(const char *text)
{
    size_t bytes = 0;
    while (text[bytes])
        bytes++;
    return bytes;
}
