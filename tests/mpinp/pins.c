/* What the kernel's agent refuses, and what it keeps: its system calls, made by hand. Usage: pins, alone on its node */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "registers.h"

enum { PAGE = 4096, PAGES = 600 };

static int card, wrong;
static unsigned each; /* pages of an entry */
static char *memory;
static const char constants[4 * PAGE] = {1};

static void expect(long is, long should, const char *what)
{
    if (is == should)
        return;
    wrong++;
    printf("%s: %ld in place of %ld\n", what, is, should);
}

/* Entries that are valid, or an error, negative. */
static long pin(uint32_t name, const void *address, uint64_t bytes, uint32_t flags, uint32_t left)
{
    struct chasqui_mpinp_pin pin = {
        .address = (uint64_t)(uintptr_t)address, .bytes = bytes, .name = name, .flags = flags, .left = left};
    return ioctl(card, CHASQUI_MPINP_CONTROL_PIN, &pin) ? -errno : (long)pin.valid;
}

static long more(uint32_t name, uint32_t done)
{
    struct chasqui_mpinp_pin pin = {.name = name, .left = done};
    return ioctl(card, CHASQUI_MPINP_CONTROL_PIN_MORE, &pin) ? -errno : (long)pin.valid;
}

static long unpin(uint64_t name) { return ioctl(card, CHASQUI_MPINP_CONTROL_UNPIN, name) ? -errno : 0; }

static void refusals(void)
{
    const char *constant = constants + PAGE - (uintptr_t)constants % PAGE;
    char *nowhere = memory + (size_t)PAGES * PAGE;
    expect(pin(CHASQUI_MPINP_NAMES, memory, 1, 0, 0), -EINVAL, "no such name");
    expect(pin(1, memory, 0, 0, 0), -EINVAL, "nothing");
    expect(pin(1, memory, UINT64_MAX, 0, 0), -EINVAL, "beyond all addresses");
    expect(pin(1, (void *)(UINT64_MAX << 40), PAGE, 0, 0), -EFAULT, "the kernel's");
    expect(pin(1, NULL, 8, 0, 0), -EFAULT, "no page");
    expect(pin(1, nowhere - 2 * PAGE, 3 * PAGE, 0, 0), -EFAULT, "a page too many");
    expect(pin(1, constant, 8, CHASQUI_MPINP_PIN_WRITE, 0), -EFAULT, "a constant, written");
    expect(pin(1, constant, 2 * PAGE, CHASQUI_MPINP_PIN_WRITE, 0), -EFAULT, "constants, written");
    expect(pin(1, (void *)(uintptr_t)&pin, 8, CHASQUI_MPINP_PIN_WRITE, 0), -EFAULT, "code, written");
    expect(pin(1, constant, 2 * PAGE, 0, 0), each == 1 ? 2 : 1, "constants, read");
    expect(pin(1, memory, 8, 0, 0), -EINVAL, "a name twice");
    expect(more(2, 0), -EINVAL, "more of nothing");
    expect(unpin(2), -EINVAL, "nothing unpinned");
    expect(unpin(CHASQUI_MPINP_NAMES), -EINVAL, "no such name unpinned");
    expect(unpin(1), 0, "unpinned");
    expect(unpin(1), -EINVAL, "unpinned twice");
    expect(ioctl(card, 0x71ff, 0) ? -errno : 0, -ENOTTY, "no such call");
    expect(ioctl(card, CHASQUI_MPINP_CONTROL_PIN, 8) ? -errno : 0, -EFAULT, "no argument");
}

/* Of `all` entries. */
static void shortage(long all)
{
    long pages = all * each;
    expect(pin(1, memory, (uint64_t)(pages + 40) * PAGE, CHASQUI_MPINP_PIN_WRITE, 0), all, "more than there are");
    expect(pin(2, memory, 2 * PAGE, 0, 0), -ENOMEM, "none left");
    expect(pin(3, memory + 8, PAGE - 8, 0, 0), 0, "one page needs none");
    expect(more(1, 5), all + 5, "five were done with");
    expect(more(1, (uint32_t)all), all + 40 / each, "up to the end");
    expect(more(1, (uint32_t)all + 100), -EINVAL, "more done than there were");
    expect(unpin(1) | unpin(3), 0, "unpinned");
    expect(pin(1, memory, (uint64_t)pages * PAGE, 0, (uint32_t)all - 10), 10, "some are left");
    expect(pin(2, memory, (uint64_t)pages * PAGE, 0, 0), all - 10, "they were");
    expect(unpin(1) | unpin(2), 0, "unpinned");
    mprotect(memory + 21 * PAGE, PAGE, PROT_READ);
    expect(pin(1, memory, 40 * PAGE, CHASQUI_MPINP_PIN_WRITE, 0), 21 / each, "up to a page of constants");
    expect(more(1, 1), -EFAULT, "and no further");
    expect(unpin(1), 0, "unpinned");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    card = open("/dev/ni0", O_RDWR);
    const struct chasqui_ni_identification *ni = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, card, 0);
    each = (unsigned)ni->settings[CHASQUI_MPINP_SETTING_ENTRY_PAGES];
    memory = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int region = 0; region < 6; region++)
        expect(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, card, (region + 1) * CHASQUI_NI_REGION_STRIDE) ==
                   MAP_FAILED,
               region >= 2, "what a process maps");
    munmap(memory + (size_t)PAGES * PAGE, PAGE); /* Nothing is mapped there later. */
    refusals();
    shortage((long)ni->settings[CHASQUI_MPINP_SETTING_ENTRIES]);
    printf("pins: %s\n", wrong ? "FAILED" : "PASSED");
    MPI_Finalize();
    return wrong != 0;
}
