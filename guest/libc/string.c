/* String searches that stop where the answer is known.
 *
 * zig 0.17 puts its own versions of these in musl's place, and they measure the whole string first: a
 * program that reads numbers from a long text would take time with the square of its length. zig's
 * symbols are weak, so these win. Only programs built with zig are linked with this archive.
 *
 * Each does what ISO C 7.26.5 or POSIX says of it; the names are theirs.
 */
#include <stddef.h>
#include <stdint.h>

struct byte_set {
    uint64_t bits[4];
};

static struct byte_set set_of(const char *bytes)
{
    struct byte_set set = {{0}};
    for (const unsigned char *b = (const unsigned char *)bytes; *b; b++)
        set.bits[*b / 64] |= 1ull << *b % 64;
    return set;
}

static int has(const struct byte_set *set, unsigned char byte) { return set->bits[byte / 64] >> byte % 64 & 1; }

char *strchrnul(const char *text, int byte)
{
    while (*text && *text != (char)byte)
        text++;
    return (char *)text;
}

char *strchr(const char *text, int byte)
{
    char *found = strchrnul(text, byte);
    return *found == (char)byte ? found : NULL;
}

size_t strspn(const char *text, const char *accepted)
{
    struct byte_set set = set_of(accepted);
    const char *end = text;
    while (*end && has(&set, (unsigned char)*end))
        end++;
    return (size_t)(end - text);
}

size_t strcspn(const char *text, const char *rejected)
{
    struct byte_set set = set_of(rejected);
    const char *end = text;
    while (*end && !has(&set, (unsigned char)*end))
        end++;
    return (size_t)(end - text);
}

char *strpbrk(const char *text, const char *wanted)
{
    const char *found = text + strcspn(text, wanted);
    return *found ? (char *)found : NULL;
}

/* Compares at every place: quick unless the text keeps nearly matching a long word. */
char *strstr(const char *text, const char *word)
{
    for (;; text++) {
        size_t i = 0;
        while (word[i] && text[i] == word[i])
            i++;
        if (!word[i])
            return (char *)text;
        if (!text[i])
            return NULL;
    }
}

char *strtok_r(char *restrict text, const char *restrict separators, char **restrict rest)
{
    if (!text && !(text = *rest))
        return NULL;
    text += strspn(text, separators);
    if (!*text) {
        *rest = NULL;
        return NULL;
    }
    char *end = text + strcspn(text, separators);
    *rest = *end ? end + 1 : NULL;
    *end = '\0';
    return text;
}

char *strtok(char *restrict text, const char *restrict separators)
{
    static char *rest;
    return strtok_r(text, separators, &rest);
}

char *strsep(char **restrict rest, const char *restrict separators)
{
    char *text = *rest;
    if (!text)
        return NULL;
    char *end = text + strcspn(text, separators);
    *rest = *end ? end + 1 : NULL;
    *end = '\0';
    return text;
}
