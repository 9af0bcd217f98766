#include "words.h"

void *memcpy(void *restrict to, const void *restrict from, size_t bytes) { return copy_forward(to, from, bytes); }
