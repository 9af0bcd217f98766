/* A small printf: the text is made in the local store, and the PPE writes it. */
#include <stdarg.h>

#include "spu_io.h"

enum { TEXT_BYTES = 256, DIGITS = 20 };

struct text {
    char bytes[TEXT_BYTES];
    unsigned used;
};

static void add(struct text *text, char byte)
{
    if (text->used < TEXT_BYTES)
        text->bytes[text->used++] = byte;
}

static void add_number(struct text *text, unsigned long long value, unsigned base)
{
    char digits[DIGITS];
    unsigned count = 0;
    do
        digits[count++] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    while (count > 0)
        add(text, digits[--count]);
}

static void add_signed(struct text *text, long long value)
{
    if (value < 0)
        add(text, '-');
    add_number(text, value < 0 ? -(unsigned long long)value : (unsigned long long)value, 10);
}

static void add_string(struct text *text, const char *string)
{
    while (*string)
        add(text, *string++);
}

int spu_printf(const char *format, ...)
{
    static struct text text;
    va_list arguments;
    va_start(arguments, format);
    text.used = 0;
    for (; *format; format++) {
        if (*format != '%') {
            add(&text, *format);
            continue;
        }
        int longs = 0;
        while (*++format == 'l')
            longs++;
        switch (*format) {
        case 'd': add_signed(&text, longs ? va_arg(arguments, long long) : va_arg(arguments, int)); break;
        case 'u':
            add_number(&text, longs ? va_arg(arguments, unsigned long long) : va_arg(arguments, unsigned), 10);
            break;
        case 'x':
            add_number(&text, longs ? va_arg(arguments, unsigned long long) : va_arg(arguments, unsigned), 16);
            break;
        case 'p': add_number(&text, (uintptr_t)va_arg(arguments, void *), 16); break;
        case 'c': add(&text, (char)va_arg(arguments, int)); break;
        case 's': add_string(&text, va_arg(arguments, const char *)); break;
        case '%': add(&text, '%'); break;
        default: exit(255);
        }
    }
    va_end(arguments);
    return spu_write(1, text.bytes, text.used);
}
