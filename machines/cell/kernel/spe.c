/* The driver of a chip's SPEs: gives them to the process, has their MFCs walk its page table, serves what these miss, and has
 * the process wait for what they say. Problem state and local stores the process maps by itself (/dev/ni0).
 *
 * Each SPE has three interrupt lines: of errors, of translation, and of what the process may wait for. Page faults are served by
 * a thread of the kernel, since bringing a page in is no matter for an interrupt. */
#include "controller.h"
#include "spe.h"

enum { CLASSES = 3, PAGES_EACH_MAX = 256 };
/* Of interrupts, by class: those of which the kernel hears. */
enum {
    ERRORS = CHASQUI_CELL_HYPERVISOR_ALIGNMENT | CHASQUI_CELL_HYPERVISOR_INVALID_COMMAND |
        CHASQUI_CELL_HYPERVISOR_CORE_ERROR,
    FAULTS = CHASQUI_CELL_HYPERVISOR_TRANSLATION | CHASQUI_CELL_HYPERVISOR_STORAGE,
    STOPS = CHASQUI_CELL_HYPERVISOR_STOPPED | CHASQUI_CELL_HYPERVISOR_HALTED,
};

/* Images of the kernel differ in the device (ways/image.h). */
#ifndef CELL_DEVICE
#define CELL_DEVICE CHASQUI_CELL_DEVICE
#endif

struct spe spes[SPES_MAX];
static struct queue waiters, server;

static void set_mask(uint64_t spe, unsigned class, uint64_t mask)
{
    set(hypervisor(spe, CHASQUI_CELL_HYPERVISOR_INT_MASK + 8 * class), mask);
}

/* --- what is wrong --------------------------------------------------------------------------------------- */

static void wrong(uint64_t number, bool command)
{
    struct spe *spe = &spes[number];
    spe->is_stuck |= command;
    if (!spe->keeps) {
        set(CHASQUI_CELL_CHIP + CHASQUI_CELL_CHIP_REPORT, number | spe->process << 32);
        return;
    }
    if (command)
        spe->has_wrong_command = true;
    else
        spe->has_error = true;
    thread_wake_all(&waiters);
}

/* --- translation ----------------------------------------------------------------------------------------- */

enum { NUMBER_BITS = 44 };

/* The process's root page table. */
static uint64_t root(void) { return (csr_read(satp) & ((1ull << NUMBER_BITS) - 1)) * PAGE_BYTES; }

/* The entry of a page that is there. */
uint64_t entry_of(uint64_t address)
{
    uint64_t table = root(), entry = 0;
    for (int shift = 30; shift >= 12; shift -= 9) {
        const volatile uint64_t *entries = of_physical(table);
        entry = entries[address >> shift & 511];
        if (!(entry & VALID))
            return 0;
        table = (entry >> 10 & ((1ull << NUMBER_BITS) - 1)) * PAGE_BYTES;
    }
    return entry;
}

/* The page at `address` is there, and may be used so. */
bool bring(uint64_t address, bool write)
{
    uint64_t wanted = VALID | (write ? WRITE : READ);
    return address >> 38 == 0 && ((entry_of(address) & wanted) == wanted || user_physical(address, write));
}

void serve_fault(uint64_t number)
{
    uint64_t address = ni_load(hypervisor(number, CHASQUI_CELL_HYPERVISOR_DAR));
    uint64_t why = ni_load(hypervisor(number, CHASQUI_CELL_HYPERVISOR_DSISR));
    /* The process may have purged the command in the meantime. */
    if (!why)
        return;
    if (!bring(address, why & CHASQUI_CELL_HYPERVISOR_DSISR_PUT)) {
        if (ni_load(hypervisor(number, CHASQUI_CELL_HYPERVISOR_DSISR)))
            wrong(number, true);
        return;
    }
    if (setting(CHASQUI_CELL_SETTING_SOFT_TLB)) {
        set(hypervisor(number, CHASQUI_CELL_HYPERVISOR_TLB_VPN), address);
        set(hypervisor(number, CHASQUI_CELL_HYPERVISOR_TLB_RPN), entry_of(address));
    }
    set(privileged(number, CHASQUI_CELL_PRIVILEGED_MFC_CONTROL), CHASQUI_CELL_PRIVILEGED_CONTROL_RESTART);
}

static void serve(void *unused)
{
    (void)unused;
    for (;;) {
        for (uint64_t number = 0; number < count(); number++) {
            if (!spes[number].has_fault || spes[number].pages)
                continue;
            spes[number].has_fault = false;
            serve_fault(number);
        }
        thread_sleep(&server, "a page fault of an SPE");
    }
}

/* --- interrupts ------------------------------------------------------------------------------------------ */

/* Several may wait, for one thing each. */
static void set_wanted(uint64_t number, uint64_t wanted)
{
    spes[number].wanted = wanted;
    set_mask(number, 2, STOPS | wanted);
}

static void said(uint64_t number, uint64_t bits)
{
    /* Whoever waits for it asks again. */
    set_wanted(number, spes[number].wanted & ~bits);
    if (bits & STOPS)
        spes[number].has_stopped = true;
    thread_wake_all(&waiters);
    thread_wake(&spes[number].rank);
}

static void of_line(uint32_t line)
{
    uint64_t number = line / CLASSES;
    unsigned class = line % CLASSES;
    uint64_t status = hypervisor(number, CHASQUI_CELL_HYPERVISOR_INT_STATUS + 8 * class);
    uint64_t mask = ni_load(hypervisor(number, CHASQUI_CELL_HYPERVISOR_INT_MASK + 8 * class));
    uint64_t bits = ni_load(status) & mask;
    set(status, bits);
    if (class == 2) {
        said(number, bits);
    } else if (class == 1) {
        spes[number].has_fault = true;
        thread_wake(spes[number].pages ? &spes[number].rank : &server);
    } else {
        wrong(number, !(bits & CHASQUI_CELL_HYPERVISOR_CORE_ERROR));
    }
}

static void spe_interrupt(void)
{
    for (uint32_t source = interrupt_claim(0); source; source = interrupt_claim(0)) {
        of_line(source - 1);
        /* What was stored for whom it wakes goes before. */
        __asm__ volatile("fence w, o" : : : "memory");
        interrupt_complete(0, source);
    }
}

/* --- requests of the process ----------------------------------------------------------------------------- */

static bool is_taken(uint64_t number) { return number < count() && spes[number].is_taken; }

/* Nothing is left of what it did, or was sent, before. */
static void clean(uint64_t number)
{
    uint64_t control = privileged(number, CHASQUI_CELL_PRIVILEGED_MFC_CONTROL);
    do
        set(control, CHASQUI_CELL_PRIVILEGED_CONTROL_PURGE | CHASQUI_CELL_PRIVILEGED_CONTROL_RESTART);
    while (!(ni_load(control) & CHASQUI_CELL_PRIVILEGED_CONTROL_EMPTY));
    set(privileged(number, CHASQUI_CELL_PRIVILEGED_RESET), 1);
    set(privileged(number, CHASQUI_CELL_PRIVILEGED_CONFIGURATION), 0);
    for (unsigned class = 0; class < CLASSES; class++)
        set(hypervisor(number, CHASQUI_CELL_HYPERVISOR_INT_STATUS + 8 * class), ~0ull);
}

void take_number(uint64_t number)
{
    struct spe *spe = &spes[number];
    uint64_t uses = spe->uses;
    memory_clear(spe, sizeof *spe);
    spe->is_taken = true;
    spe->uses = uses;
    spe->process = process_here;
    clean(number);
    set(hypervisor(number, CHASQUI_CELL_HYPERVISOR_PAGE_TABLE), root());
    set_mask(number, 0, ERRORS);
    set_mask(number, 1, FAULTS);
    set_mask(number, 2, STOPS);
}

static int64_t take(void)
{
    for (uint64_t number = 0; number < count(); number++) {
        if (spes[number].is_taken)
            continue;
        take_number(number);
        return (int64_t)number;
    }
    return -EAGAIN;
}

static int64_t purge(uint64_t number)
{
    if (!is_taken(number))
        return -EINVAL;
    spes[number].is_stuck = false;
    set(privileged(number, CHASQUI_CELL_PRIVILEGED_MFC_CONTROL),
        CHASQUI_CELL_PRIVILEGED_CONTROL_PURGE | CHASQUI_CELL_PRIVILEGED_CONTROL_RESTART);
    return 0;
}

static void stop(uint64_t number)
{
    set_problem(number, CHASQUI_CELL_PROBLEM_RUN_CONTROL, 0);
    purge(number);
    for (unsigned class = 0; class < CLASSES; class++)
        set_mask(number, class, 0);
    spes[number].is_taken = false;
    spes[number].uses++;
    thread_wake_all(&waiters);
}

static int64_t give(uint64_t number)
{
    if (!is_taken(number))
        return -EINVAL;
    stop(number);
    return 0;
}

static int64_t set_image(uint64_t argument)
{
    struct chasqui_cell_image image;
    if (copy_from_user(&image, argument, sizeof image))
        return -EFAULT;
    if (!is_taken(image.spe) || image.bytes >> 48)
        return -EINVAL;
    set(CHASQUI_CELL_CHIP + CHASQUI_CELL_CHIP_IMAGE, image.address);
    set(CHASQUI_CELL_CHIP + CHASQUI_CELL_CHIP_IMAGE_BYTES, image.bytes | image.spe << 48);
    return 0;
}

/* What those of `mask` have to say: it is taken. */
static int64_t news_of(uint64_t mask)
{
    int64_t found = 0;
    for (uint64_t number = 0; number < count(); number++) {
        struct spe *spe = &spes[number];
        if (!(mask >> number & 1))
            continue;
        found |= ((int64_t)spe->has_stopped << number) |
                 ((int64_t)spe->has_wrong_command << (CHASQUI_CELL_WAIT_COMMANDS + number)) |
                 ((int64_t)spe->has_error << (CHASQUI_CELL_WAIT_ERRORS + number));
        spe->has_stopped = spe->has_wrong_command = spe->has_error = false;
    }
    return found;
}

/* How often any of `mask` was given back; 0: not all of them are the process's. */
static uint64_t uses_of(uint64_t mask)
{
    uint64_t uses = 1;
    for (uint64_t number = 0; number < 64; number++) {
        if (!(mask >> number & 1))
            continue;
        if (!is_taken(number))
            return 0;
        uses += spes[number].uses;
    }
    return mask ? uses : 0;
}

static int64_t wait_for(uint64_t mask)
{
    uint64_t uses = uses_of(mask);
    while (uses && uses == uses_of(mask)) {
        int64_t found = news_of(mask);
        if (found)
            return found;
        thread_sleep(&waiters, "an SPE");
    }
    return -EINVAL;
}

/* Waits for an interrupt of class 2. False: the SPE has been given back. */
static bool sleep_for(uint64_t number, uint64_t interrupt, const char *what)
{
    uint64_t uses = spes[number].uses;
    set_wanted(number, spes[number].wanted | interrupt);
    thread_sleep(&waiters, what);
    return spes[number].uses == uses;
}

static int64_t read_word(struct chasqui_cell_word *word)
{
    while (!(*problem(word->spe, CHASQUI_CELL_PROBLEM_MBOX_STAT) >> 16 & 0xff))
        if (!sleep_for(word->spe, CHASQUI_CELL_HYPERVISOR_MAILBOX, "an SPE's interrupt mailbox"))
            return -EINVAL;
    word->value = ni_load(privileged(word->spe, CHASQUI_CELL_PRIVILEGED_INTR_MBOX));
    return 1;
}

static int64_t take_word(struct chasqui_cell_word *word)
{
    if (!(*problem(word->spe, CHASQUI_CELL_PROBLEM_MBOX_STAT) & 0xff))
        return 0;
    word->value = *problem(word->spe, CHASQUI_CELL_PROBLEM_OUT_MBOX);
    return 1;
}

static int64_t put_word(const struct chasqui_cell_word *word)
{
    while (!(*problem(word->spe, CHASQUI_CELL_PROBLEM_MBOX_STAT) >> 8 & 0xff))
        if (!sleep_for(word->spe, CHASQUI_CELL_HYPERVISOR_THRESHOLD, "room in an SPE's mailbox"))
            return -EINVAL;
    set_problem(word->spe, CHASQUI_CELL_PROBLEM_IN_MBOX, (uint32_t)word->value);
    return 0;
}

static int64_t of_word(uint64_t request, uint64_t argument)
{
    struct chasqui_cell_word word;
    int64_t result = 0;
    if (copy_from_user(&word, argument, sizeof word))
        return -EFAULT;
    if (!is_taken(word.spe))
        return -EINVAL;
    switch (request) {
    case CHASQUI_CELL_CONTROL_MAILBOX_PUT: return put_word(&word);
    case CHASQUI_CELL_CONTROL_SIGNALS:
        set(privileged(word.spe, CHASQUI_CELL_PRIVILEGED_CONFIGURATION), word.value);
        return 0;
    case CHASQUI_CELL_CONTROL_READ: result = read_word(&word); break;
    default: result = take_word(&word); break;
    }
    return copy_to_user(argument, &word, sizeof word) ? -EFAULT : result;
}

static int64_t pin(uint64_t argument)
{
    struct chasqui_cell_pages pages;
    if (copy_from_user(&pages, argument, sizeof pages))
        return -EFAULT;
    uint64_t end = pages.address + pages.bytes;
    if (end < pages.address)
        return -EINVAL;
    for (uint64_t page = pages.address / PAGE_BYTES * PAGE_BYTES; page < end; page += PAGE_BYTES)
        if (!bring(page, pages.write))
            return -EFAULT;
    return 0;
}

static int64_t spe_control(uint64_t request, uint64_t argument)
{
    switch (request) {
    case CHASQUI_CELL_CONTROL_TAKE: return take();
    case CHASQUI_CELL_CONTROL_GIVE: return give(argument);
    case CHASQUI_CELL_CONTROL_IMAGE: return set_image(argument);
    case CHASQUI_CELL_CONTROL_WAIT: return wait_for(argument);
    case CHASQUI_CELL_CONTROL_PIN: return pin(argument);
    case CHASQUI_CELL_CONTROL_PURGE: return purge(argument);
    case CHASQUI_CELL_CONTROL_STUCK: return is_taken(argument) ? spes[argument].is_stuck : -EINVAL;
    case CHASQUI_CELL_CONTROL_MOVE: return rank_move(argument);
    case CHASQUI_CELL_CONTROL_KEEP:
        if (!is_taken(argument))
            return -EINVAL;
        spes[argument].keeps = true;
        return 0;
    case CHASQUI_CELL_CONTROL_READ:
    case CHASQUI_CELL_CONTROL_SIGNALS:
    case CHASQUI_CELL_CONTROL_MAILBOX_PUT:
    case CHASQUI_CELL_CONTROL_MAILBOX_TAKE: return of_word(request, argument);
    default: return -ENOTTY;
    }
}

/* --- the process ----------------------------------------------------------------------------------------- */

static void spe_unmapped(uint64_t address, uint64_t bytes)
{
    uint64_t first = address / PAGE_BYTES, pages = (address % PAGE_BYTES + bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    for (uint64_t number = 0; number < count(); number++) {
        if (!spes[number].is_taken || spes[number].process != process_here)
            continue;
        if (spes[number].pages)
            rank_unmapped(number, first * PAGE_BYTES, (first + pages) * PAGE_BYTES);
        if (pages > PAGES_EACH_MAX) {
            set(hypervisor(number, CHASQUI_CELL_HYPERVISOR_TLB_FLUSH), 0);
            continue;
        }
        for (uint64_t page = first; page < first + pages; page++)
            set(hypervisor(number, CHASQUI_CELL_HYPERVISOR_TLB_FORGET), page * PAGE_BYTES);
    }
}

/* Its SPEs end with it. */
static bool spe_outlives(void)
{
    for (uint64_t number = 0; number < count(); number++)
        if (spes[number].is_taken && spes[number].process == process_here)
            stop(number);
    return false;
}

static bool spe_start(void)
{
    if (boot.ni.device != CELL_DEVICE)
        return false;
    thread_create(serve, 0);
    return true;
}

static const struct driver spe = {.start = spe_start,
                                  .interrupt = spe_interrupt,
                                  .control = spe_control,
                                  .unmapped = spe_unmapped,
                                  .outlives = spe_outlives};
DRIVER driver_cell = &spe;
