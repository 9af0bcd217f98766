/* A process that drives its window of the card itself does what it may not: rank 1, the second process of the first node.
 * Rank 0, the first, must not be harmed. It takes nothing, and looks at what has come for it: by whom, and how much.
 *
 * With `on` rank 0 sends messages to rank 2, on the other node, when rank 1 has done so, and that looks at what comes.
 *
 * Usage: hostile WHAT [on]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chasqui/abi.h"
#include "chasqui/store64.h"
#include "machines/mpinp/registers.h"

enum { PAGE = 4096, SLOT = CHASQUI_MPINP_SLOT_BYTES };

static const struct chasqui_ni_identification *ni;
static volatile char *window;
static volatile char *host;
static uint32_t filled, slots;
static uint16_t far_node; /* to which long messages go */

static void *map(int device, int rights, unsigned place, uint64_t bytes)
{
    void *at = mmap(NULL, bytes, rights, MAP_SHARED, device, place * CHASQUI_NI_REGION_STRIDE);
    if (at == MAP_FAILED)
        exit(3);
    return at;
}

static void ring_doorbell(uint32_t count)
{
    __asm__ volatile("fence o, o" : : : "memory");
    *(volatile uint32_t *)(window + CHASQUI_MPINP_DOORBELL) = count;
}

/* Of data of a long message, whose words are behind the head. */
static void send_long(struct chasqui_mpinp_head head, struct chasqui_mpinp_long what)
{
    struct chasqui_mpinp_post post = {.room = what};
    bool posts = head.counts & CHASQUI_MPINP_SLOT_POSTS;
    uint64_t words[2 + sizeof post / 8] = {0};
    head.bytes = posts ? sizeof post : sizeof what;
    memcpy(words, &head, sizeof head);
    memcpy(&words[2], posts ? (void *)&post : (void *)&what, head.bytes);
    volatile uint64_t *slot = (volatile void *)(window + PAGE + filled % slots * SLOT);
    for (unsigned i = 0; i < sizeof words / 8; i++)
        slot[i] = words[i];
    ring_doorbell(++filled);
}

static void send(struct chasqui_mpinp_head head)
{
    while (filled - *(volatile uint32_t *)(host + CHASQUI_MPINP_HOST_SENT) == slots)
        ;
    uint64_t words[2];
    memcpy(words, &head, sizeof words);
    volatile uint64_t *slot = (volatile void *)(window + PAGE + filled % slots * SLOT);
    slot[0] = words[0];
    slot[1] = words[1];
    slot[2] = filled;
    ring_doorbell(++filled);
}

/* To rank 0, the first process of node 0. */
static const struct chasqui_mpinp_head RIGHT = {.node = 0, .process = 0, .bytes = 8, .to = 7, .credit = 0, .counts = 1};

static char memory[3 * PAGE] __attribute__((aligned(4096)));

/* The number of its first entry. */
static uint32_t pin_to(int device, uint32_t name, size_t bytes, uint32_t flags)
{
    struct chasqui_mpinp_pin pin = {.address = (uintptr_t)memory, .bytes = bytes, .name = name, .flags = flags};
    return ioctl(device, CHASQUI_MPINP_CONTROL_PIN, &pin) ? UINT32_MAX : pin.first;
}

static uint32_t pin(int device, uint32_t name, size_t bytes) { return pin_to(device, name, bytes, 0); }

/* False: `what` is not about long messages. */
static bool do_wrong_at_length(const char *what, int device)
{
    struct chasqui_mpinp_head posts = RIGHT, puts = RIGHT;
    posts.node = puts.node = far_node;
    posts.counts |= CHASQUI_MPINP_SLOT_POSTS;
    puts.counts |= CHASQUI_MPINP_SLOT_PUTS;
    struct chasqui_mpinp_long mine = {
        .bytes = sizeof memory, .fragment = 512, .to = CHASQUI_MPINP_LONG, .entry = pin(device, 0, sizeof memory)};
    struct chasqui_mpinp_long other = mine;
    if (strcmp(what, "free") == 0)
        other.entry++;
    if (strcmp(what, "foreign") == 0)
        other.entry = 0; /* rank 0's */
    if (strcmp(what, "outside") == 0)
        other.entry = UINT32_MAX;
    if (strcmp(what, "far") == 0)
        other.bytes = 20 * PAGE;
    if (strcmp(what, "name") == 0)
        other.name = CHASQUI_MPINP_LONG;
    if (strcmp(what, "page") == 0)
        other.is_in_page = 1;
    if (strcmp(what, "fragment") == 0)
        other.fragment = 4097;
    if (strcmp(what, "fragments") == 0)
        other.fragment = 0;
    if (strcmp(what, "small") == 0)
        other.fragment = CHASQUI_MPINP_FRAGMENT_MIN - 1;
    if (strcmp(what, "twice") == 0)
        send_long(puts, mine);
    if (strcmp(what, "again") == 0) {
        mine.name = CHASQUI_MPINP_LONG;
        mine.entry = pin_to(device, mine.name, sizeof memory, CHASQUI_MPINP_PIN_WRITE);
        send_long(posts, mine);
        send_long(posts, mine);
        return true;
    }
    if (memcmp(&other, &mine, sizeof mine) != 0 || strcmp(what, "twice") == 0) {
        send_long(puts, other);
        return true;
    }
    mine.name = CHASQUI_MPINP_LONG;
    if (strcmp(what, "read") == 0) {
        pin(device, mine.name, 8);
        mine.is_in_page = 1;
        mine.bytes = 8;
    } else if (strcmp(what, "receive") == 0) {
        mine.name = 0;
    } else {
        return false;
    }
    send_long(posts, mine);
    return true;
}

static void do_wrong(const char *what)
{
    struct chasqui_mpinp_head head = RIGHT;
    uint64_t credit = ni->settings[CHASQUI_MPINP_SETTING_CREDIT];
    if (strcmp(what, "credit") == 0)
        for (uint64_t i = 0; i <= credit; i++)
            send(head);
    if (strcmp(what, "doorbell") == 0)
        ring_doorbell(slots + 1);
    if (strcmp(what, "node") == 0)
        head.node = 2;
    if (strcmp(what, "process") == 0)
        head.process = 2;
    if (strcmp(what, "bytes") == 0)
        head.bytes = CHASQUI_MPINP_SLOT_DATA_BYTES + 1;
    if (strcmp(what, "counts") == 0)
        head.counts = 2;
    if (strcmp(what, "part") == 0)
        head.counts |= CHASQUI_MPINP_SLOT_PART;
    if (strcmp(what, "posts") == 0 || strcmp(what, "both") == 0)
        head.counts |= CHASQUI_MPINP_SLOT_POSTS;
    if (strcmp(what, "puts") == 0 || strcmp(what, "both") == 0)
        head.counts |= CHASQUI_MPINP_SLOT_PUTS;
    if (strcmp(what, "given") == 0)
        head.credit = 1;
    if (strcmp(what, "back") == 0)
        head.credit = UINT32_MAX;
    if (strcmp(what, "alone") == 0)
        head.counts = 0;
    if (strcmp(what, "wide") == 0)
        chasqui_store_64(window + PAGE, (const uint64_t[8]){0});
    send(head);
}

/* What has come to rank 0 is rank 1's, and no more than that has credit for. */
static void look(void)
{
    uint64_t ring = (ni->settings[CHASQUI_MPINP_SETTING_HOST_BYTES] - PAGE) / SLOT;
    uint64_t credit = ni->settings[CHASQUI_MPINP_SETTING_CREDIT];
    for (uint64_t i = 0; i < ring; i++) {
        const volatile char *slot = host + PAGE + i * SLOT + SLOT - sizeof(struct chasqui_mpinp_end);
        const volatile struct chasqui_mpinp_end *end = (const volatile void *)slot;
        while (i < credit && end->number != i + 1)
            ;
        if (end->number == 0)
            continue;
        if (end->head.node != 0 || end->head.process != 1 || end->head.to != 0 || i >= credit)
            exit(4);
        if (*(const volatile uint64_t *)(slot - 8) != i)
            exit(5);
    }
    printf("right\n");
    fflush(stdout);
}

static void pass(unsigned turns)
{
    for (volatile unsigned turn = 0; turn < turns; turn++)
        ;
}

/* The process gives up a page to which the card is to move data, and has a page table made. If the page has become that the data
 * are its entries. */
static void overwrite_table(int device)
{
    enum { TABLE_REACH = PAGE / 8 * PAGE, TLB_MOST = 150 };
    struct chasqui_mpinp_head posts = RIGHT, puts = RIGHT;
    posts.process = puts.process = 1;
    posts.counts |= CHASQUI_MPINP_SLOT_POSTS;
    puts.counts |= CHASQUI_MPINP_SLOT_PUTS;
    struct chasqui_mpinp_long mine = {.bytes = PAGE, .fragment = PAGE, .to = CHASQUI_MPINP_LONG, .is_in_page = 1};
    const int all = PROT_READ | PROT_WRITE, mode = MAP_PRIVATE | MAP_ANONYMOUS;
    char *far = mmap(NULL, 4 * TABLE_REACH, all, mode, -1, 0), *page = mmap(NULL, PAGE, all, mode, -1, 0);
    *page = 1;
    pin(device, 0, PAGE);
    struct chasqui_mpinp_pin to = {
        .address = (uintptr_t)page, .bytes = PAGE, .name = CHASQUI_MPINP_LONG, .flags = CHASQUI_MPINP_PIN_WRITE};
    if (ioctl(device, CHASQUI_MPINP_CONTROL_PIN, &to))
        exit(6);
    struct chasqui_mpinp_long there = mine;
    there.name = CHASQUI_MPINP_LONG;
    send_long(posts, there);
    pass(2000);
    munmap(page, PAGE);
    volatile char *first = far + TABLE_REACH;
    first[0] = 42; /* in the page that was given up, if no table is */
    first[PAGE] = 42;
    send_long(puts, mine);
    pass(20000);
    for (unsigned i = 2; i < TLB_MOST; i++)
        first[i * PAGE]++; /* Its translation is looked up anew. */
    exit(first[PAGE] == 42 ? 0 : 7);
}

enum { MORE = 4 }; /* There is credit for five. */

/* Rank 0's messages to rank 2, whose process of its node is the first. */
static void go_on(void)
{
    struct chasqui_mpinp_head head = RIGHT;
    head.node = 1;
    for (unsigned i = 0; i < MORE; i++, pass(500))
        send(head);
}

/* Messages that rank 0 has sent, whole and in order; some of rank 1's may come between. */
static void look_on(void)
{
    for (uint32_t i = 0, right = 0; right < MORE; i++) {
        const volatile char *slot = host + PAGE + i * SLOT + SLOT - sizeof(struct chasqui_mpinp_end);
        const volatile struct chasqui_mpinp_end *end = (const volatile void *)slot;
        while (end->number != i + 1)
            ;
        if (end->head.node == 0 && end->head.process == 1)
            continue;
        if (end->head.node != 0 || end->head.process != 0 || end->head.bytes != 8 ||
            *(const volatile uint64_t *)(slot - 8) != right++)
            exit(4);
    }
    printf("right\n");
}

int main(int argc, char **argv)
{
    int device = open("/dev/ni0", O_RDWR);
    if (argc < 2 || device < 0)
        return 3;
    ni = map(device, PROT_READ, 0, PAGE);
    const int both = PROT_READ | PROT_WRITE;
    /* Regions lie behind the page. */
    window = map(device, both, 1 + CHASQUI_MPINP_REGION_WINDOW, ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES]);
    host = map(device, both, 1 + CHASQUI_MPINP_REGION_HOST, ni->settings[CHASQUI_MPINP_SETTING_HOST_BYTES]);
    slots = (uint32_t)(ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES] - PAGE) / SLOT;
    if (ni->rank == 1 && strcmp(argv[1], "pin") == 0) {
        for (uint32_t name = 0; name < CHASQUI_MPINP_NAMES; name++)
            if (pin_to(device, name, 8, 0) != UINT32_MAX)
                exit(6);
        return 0;
    }
    if (strcmp(argv[1], "table") == 0) {
        if (ni->rank == 1)
            overwrite_table(device);
        return 0;
    }
    far_node = argc > 2;
    if (argc > 2 && ni->rank != 1) {
        if (ni->rank == 0) {
            pass(20000);
            go_on();
        } else if (ni->rank == 2) {
            look_on();
        }
        return 0;
    }
    if (ni->rank == 1 && !do_wrong_at_length(argv[1], device))
        do_wrong(argv[1]);
    if (ni->rank == 0 && strcmp(argv[1], "credit") == 0)
        look();
    if (ni->rank < 2)
        for (volatile int wait = 0;;)
            wait++;
    return 0;
}
