/* Memory for messages: what the firmware's own image leaves of the sP's DRAM. */
#include "firmware.h"

#define MEMORY 0x80000000u /* FIRMWARE_MEMORY of crates/ni */
#define STACK_BYTES 0x8000u

extern char _end[]; /* of the image (linker) */

static struct message *unused;
static struct message *next_new;

static unsigned left;

void messages_begin(void)
{
    uintptr_t begin = ((uintptr_t)_end + sizeof *next_new - 1) & ~(sizeof(uint64_t) - 1);
    uintptr_t end = MEMORY + nes_load(CHASQUI_SP_SETTING_MEMORY) - STACK_BYTES;
    next_new = (struct message *)begin;
    left = (end - begin) / sizeof *next_new;
}

bool messages_are_left(unsigned count) { return left >= count; }

struct message *message_new(void)
{
    check(left > 0);
    left--;
    struct message *message = unused;
    if (message)
        unused = message->next;
    else
        message = next_new++;
    return message;
}

void message_free(struct message *message)
{
    message->next = unused;
    unused = message;
    left++;
}

void list_append(struct list *list, struct message *message)
{
    message->next = NULL;
    if (list->first)
        list->last->next = message;
    else
        list->first = message;
    list->last = message;
}

void list_put_back(struct list *list, struct message *message)
{
    message->next = list->first;
    if (!list->first)
        list->last = message;
    list->first = message;
}

struct message *list_take(struct list *list)
{
    struct message *message = list->first;
    if (message)
        list->first = message->next;
    return message;
}
