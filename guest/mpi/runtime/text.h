/* Texts without stdio. */
#ifndef CHASQUI_TEXT_H
#define CHASQUI_TEXT_H

#include <stddef.h>

static inline size_t text_length(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0')
        length++;
    return length;
}

/* Copies at most room - 1 characters and the end; returns the length copied. */
static inline size_t text_copy(char *to, const char *from, size_t room)
{
    size_t length = 0;
    for (; length + 1 < room && from[length] != '\0'; length++)
        to[length] = from[length];
    to[length] = '\0';
    return length;
}

static inline int text_equal(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b)
        a++, b++;
    return *a == *b;
}

/* A line being put together; what doesn't fit is cut off. */
struct line {
    char text[512];
    size_t length;
};

static inline void line_add(struct line *line, const char *text)
{
    while (*text != '\0' && line->length < sizeof line->text - 1)
        line->text[line->length++] = *text++;
    line->text[line->length] = '\0';
}

static inline void line_add_number(struct line *line, long number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    unsigned long left = number < 0 ? 0ul - (unsigned long)number : (unsigned long)number;
    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    if (number < 0)
        digits[--at] = '-';
    line_add(line, digits + at);
}

#endif
