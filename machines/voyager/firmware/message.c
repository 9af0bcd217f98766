/* Memory for messages: what the firmware's own image leaves of the sP's DRAM. Where processes are of several jobs each has a
 * share of it, so that none can take what the others need. */
#include "firmware.h"

#define MEMORY 0x80000000u /* FIRMWARE_MEMORY of crates/ni */
#define STACK_BYTES 0x8000u

extern char _end[]; /* of the image (linker) */

static struct message *unused;
static struct message *next_new;

static unsigned left;

/* Messages of each process, and how many it may have; 0: there is one share. */
static unsigned kept[CHASQUI_VOYAGER_QUEUES], kept_max;

void messages_begin(void)
{
    uintptr_t begin = ((uintptr_t)_end + sizeof *next_new - 1) & ~(sizeof(uint64_t) - 1);
    uintptr_t end = MEMORY + nes_load(CHASQUI_SP_SETTING_MEMORY) - STACK_BYTES;
    next_new = (struct message *)begin;
    left = (end - begin) / sizeof *next_new;
    unsigned shares = nes_load(CHASQUI_SP_SETTING_SHARES);
    if (shares > 1) {
        /* What leaves the hardware's queues finds room. */
        unsigned leaving = CHASQUI_VOYAGER_EXPRESS_QUEUES * express_messages;
        check(left / shares > leaving);
        kept_max = left / shares - leaving;
    }
}

bool messages_are_left(unsigned count) { return kept_max > 0 || left >= count; }

bool another_may_come(void) { return messages_are_left(1 + CHASQUI_VOYAGER_EXPRESS_QUEUES * express_messages); }

bool may_keep(unsigned process) { return kept_max == 0 || kept[process] < kept_max; }

struct message *message_new(unsigned process)
{
    check(left > 0);
    left--;
    kept[process]++;
    struct message *message = unused;
    if (message)
        unused = message->next;
    else
        message = next_new++;
    return message;
}

void message_free(unsigned process, struct message *message)
{
    kept[process]--;
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
