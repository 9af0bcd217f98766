/* Ranks on SPEs: the thread of a process goes on on an SPE, and the kernel's half of it stays here to serve it.
 *
 * Its program is in pages. The local store has those that it has touched; the rest are in main memory. One that is not there
 * stops the SPE, and the MFC gets it by a proxy command. None leaves but when the process gives it up: a program that needs
 * more than there is room for ends. While a page is in the local store, what main memory has in its place is old: what a
 * system call reads is put there before it, and what it may have written is got from there behind it. */
#include "spe.h"

enum { EBUSY = 16, ENOSYS = 38, TAG = 30, QUAD = 16 };
enum { PC = 0, GP = 3, TP = 4 };

static uint64_t page_count(void) { return setting(CHASQUI_CELL_SETTING_STORE_BYTES) / PAGE_BYTES; }

static uint64_t reg(uint64_t number, unsigned which) { return ni_load(core(number, 8 * which)); }

static void set_reg(uint64_t number, unsigned which, uint64_t value) { set(core(number, 8 * which), value); }

/* --- DMA ------------------------------------------------------------------------------------------------- */

/* Between the local store and the process's memory: a command of the PPE's. */
static void command(uint64_t number, uint64_t local, uint64_t address, uint64_t bytes, uint32_t what)
{
    do {
        set_problem(number, CHASQUI_CELL_PROBLEM_MFC_LSA, (uint32_t)local);
        *(volatile uint64_t *)problem(number, CHASQUI_CELL_PROBLEM_MFC_EAH) = address;
        set_problem(number, CHASQUI_CELL_PROBLEM_MFC_SIZE_TAG, (uint32_t)(bytes << 16 | TAG));
        set_problem(number, CHASQUI_CELL_PROBLEM_MFC_CLASS_CMD, what);
    } while (*problem(number, CHASQUI_CELL_PROBLEM_MFC_CLASS_CMD) == CHASQUI_CELL_PROBLEM_CMD_NO_ROOM);
}

/* Until the commands are over. Interrupts are off: what the MFC misses meanwhile is served here. */
static void finish(uint64_t number)
{
    uint64_t status = hypervisor(number, CHASQUI_CELL_HYPERVISOR_INT_STATUS + 8);
    set_problem(number, CHASQUI_CELL_PROBLEM_PRXY_QUERY_MASK, 1u << TAG);
    while (!*problem(number, CHASQUI_CELL_PROBLEM_PRXY_TAG_STATUS)) {
        uint64_t faults = ni_load(status);
        if (!faults && !spes[number].has_fault)
            continue;
        /* An interrupt may have been taken before they were off. */
        spes[number].has_fault = false;
        set(status, faults);
        serve_fault(number);
    }
    __asm__ volatile("fence i, r" : : : "memory");
}

/* --- pages ----------------------------------------------------------------------------------------------- */

/* The page of the local store that has the page at `address`; none: how many there are. */
static uint64_t find(uint64_t number, uint64_t address)
{
    const uint64_t *pages = spes[number].pages;
    uint64_t page = 0, end = page_count();
    while (page < end && pages[page] != address)
        page++;
    return page;
}

/* The list of the program's own. */
static void list(uint64_t number, uint64_t page, uint64_t address)
{
    spes[number].pages[page] = address;
    ni_store(number * setting(CHASQUI_CELL_SETTING_STRIDE) + page * sizeof(uint64_t), address);
}

static bool map(uint64_t number, uint64_t page, uint64_t address, uint64_t rights)
{
    set(core(number, CHASQUI_CELL_CORE_PAGE), address);
    set(core(number, CHASQUI_CELL_CORE_LOCAL), page * PAGE_BYTES | rights);
    return ni_load(core(number, CHASQUI_CELL_CORE_LOCAL)) != 0;
}

/* The program does not fit: the process ends with what it has. */
static _Noreturn void refuse(uint64_t number)
{
    enum { TEXT, DATA = 16, HEAP = 32, STACK = 48, STACK_MAX = 8 << 20 };
    const struct spe *spe = &spes[number];
    struct queue nobodys = {0};
    uint64_t pages = 0, sp = reg(number, 2);
    shown_here.pc = reg(number, PC);
    for (uint64_t page = 0; page < page_count(); page++) {
        uint64_t address = spe->pages[page];
        bool is_text = !(entry_of(address) & WRITE), is_area = address - spe->move.area < spe->move.area_bytes;
        bool is_stack = address - (sp & ~(uint64_t)(PAGE_BYTES - 1)) < STACK_MAX;
        unsigned kind = is_text ? TEXT : is_area || address < spe->move.data_end ? DATA : is_stack ? STACK : HEAP;
        pages += 1ull << kind;
    }
    set(core(number, CHASQUI_CELL_CORE_FULL), pages);
    for (;;)
        thread_sleep(&nobodys, "nothing");
}

/* A page of the process's that is there gets into the local store. */
static uint64_t load(uint64_t number, uint64_t address)
{
    uint64_t page = find(number, 0);
    if (page == page_count())
        refuse(number);
    command(number, page * PAGE_BYTES, address, PAGE_BYTES, CHASQUI_CELL_MFC_GET);
    finish(number);
    list(number, page, address);
    return page;
}

/* False: the process may not use its memory so. */
static bool serve_page(uint64_t number, uint64_t cause, uint64_t value)
{
    uint64_t address = value & ~(uint64_t)(PAGE_BYTES - 1), page = find(number, address);
    uint64_t wanted = cause == CAUSE_FETCH_PAGE ? EXECUTE : cause == CAUSE_LOAD_PAGE ? READ : WRITE;
    if (!address || !bring(address, wanted == WRITE) || !(entry_of(address) & wanted))
        return false;
    if (page == page_count())
        page = load(number, address);
    const struct chasqui_cell_move *move = &spes[number].move;
    bool is_other = address >= move->data_end || address - move->area < move->area_bytes;
    return map(number, page, address,
               (entry_of(address) & (READ | WRITE | EXECUTE)) | (is_other ? CHASQUI_CELL_CORE_LOCAL_OTHER : 0));
}

void rank_unmapped(uint64_t number, uint64_t first, uint64_t end)
{
    for (uint64_t page = 0; page < page_count(); page++) {
        uint64_t address = spes[number].pages[page];
        if (!address || address < first || address >= end)
            continue;
        map(number, page, address, 0);
        list(number, page, 0);
    }
}

/* --- system calls ---------------------------------------------------------------------------------------- */

/* Bytes that one command may move from `address` on, of so many. */
static uint64_t piece(uint64_t address, uint64_t bytes)
{
    uint64_t unit = QUAD / 2;
    if (address % QUAD == 0 && bytes >= QUAD)
        return bytes / QUAD * QUAD;
    while (address % unit || bytes < unit)
        unit /= 2;
    return unit;
}

/* What of the process's memory main memory and the local store both have is the same from now on: as the latter has it if `out`, or
 * as the former has. Nothing beside it changes in the local store, into which peers may put just now; in main memory that does not
 * matter, since what is there is old. */
static void move(uint64_t number, uint64_t address, uint64_t bytes, bool out)
{
    uint64_t first = address, end = address + bytes;
    bool moves = false;
    if (out) {
        first &= ~(uint64_t)(QUAD - 1);
        end = (end + QUAD - 1) & ~(uint64_t)(QUAD - 1);
    }
    while (first < end) {
        uint64_t base = first & ~(uint64_t)(PAGE_BYTES - 1), page = find(number, base);
        uint64_t stop = base + PAGE_BYTES < end ? base + PAGE_BYTES : end;
        bool is_here = page < page_count() && entry_of(base) & WRITE;
        while (is_here && first < stop) {
            uint64_t length = piece(first, stop - first);
            command(number, page * PAGE_BYTES + (first - base), first, length,
                    out ? CHASQUI_CELL_MFC_PUT : CHASQUI_CELL_MFC_GET);
            first += length;
            moves = true;
        }
        first = stop;
    }
    if (moves)
        finish(number);
}

/* Memory that a call is about: the argument that has its address, and its length, or the argument that has that times a size; of
 * what is written then the result says how many bytes were. A call that fails has written nothing. */
struct memory_of_call {
    uint16_t number;
    uint8_t pointer;
    uint8_t way;
    uint16_t bytes;  /* or of an element */
    uint8_t counted; /* 1 + the argument that says how many elements; 0: one */
};

enum { TEXT_MAX = 4096, IN = 0, OUT = 1 };
enum { SYS_READV = 65, SYS_WRITEV = 66, SYS_PREADV = 69, SYS_PWRITEV = 70, SYS_MREMAP = 216, SYS_MPROTECT = 226 };

/* Linux include/uapi/asm-generic/unistd.h; in the order of their numbers. What is not here is refused. */
static const struct memory_of_call memory_of[] = {
    {17, 0, OUT, 1, 2}, /* getcwd */
    {23, 0, IN, 0, 0}, /* dup */
    {24, 0, IN, 0, 0}, /* dup3 */
    {25, 0, IN, 0, 0}, /* fcntl */
    {29, 2, IN, 64, 0}, /* ioctl, the longest argument of a request */
    {29, 2, OUT, sizeof(struct chasqui_cell_word), 0}, /* what of it a driver answers with */
    {34, 1, IN, TEXT_MAX, 0}, /* mkdirat */
    {35, 1, IN, TEXT_MAX, 0}, /* unlinkat */
    {45, 0, IN, TEXT_MAX, 0}, /* truncate */
    {46, 0, IN, 0, 0}, /* ftruncate */
    {48, 1, IN, TEXT_MAX, 0}, /* faccessat */
    {49, 0, IN, TEXT_MAX, 0}, /* chdir */
    {56, 1, IN, TEXT_MAX, 0}, /* openat */
    {57, 0, IN, 0, 0}, /* close */
    {61, 1, OUT, 1, 3}, /* getdents64 */
    {62, 0, IN, 0, 0}, /* lseek */
    {63, 1, OUT, 1, 3}, /* read */
    {64, 1, IN, 1, 3}, /* write */
    {SYS_READV, 1, IN, 16, 3}, /* readv */
    {SYS_WRITEV, 1, IN, 16, 3}, /* writev */
    {67, 1, OUT, 1, 3}, /* pread64 */
    {68, 1, IN, 1, 3}, /* pwrite64 */
    {SYS_PREADV, 1, IN, 16, 3}, /* preadv */
    {SYS_PWRITEV, 1, IN, 16, 3}, /* pwritev */
    {78, 1, IN, TEXT_MAX, 0}, /* readlinkat */
    {78, 2, OUT, 1, 4},
    {79, 1, IN, TEXT_MAX, 0}, /* newfstatat */
    {79, 2, OUT, 128, 0},
    {80, 1, OUT, 128, 0}, /* fstat */
    {82, 0, IN, 0, 0}, /* fsync */
    {83, 0, IN, 0, 0}, /* fdatasync */
    {93, 0, IN, 0, 0}, /* exit */
    {94, 0, IN, 0, 0}, /* exit_group */
    {96, 0, IN, 0, 0}, /* set_tid_address */
    {98, 0, IN, 4, 0}, /* futex */
    {101, 0, IN, 16, 0}, /* nanosleep, which nothing interrupts */
    {113, 1, OUT, 16, 0}, /* clock_gettime */
    {114, 1, OUT, 16, 0}, /* clock_getres */
    {115, 2, IN, 16, 0}, /* clock_nanosleep */
    {122, 2, IN, 1, 2}, /* sched_setaffinity */
    {123, 2, OUT, 1, 2}, /* sched_getaffinity */
    {124, 0, IN, 0, 0}, /* sched_yield */
    {129, 0, IN, 0, 0}, /* kill */
    {130, 0, IN, 0, 0}, /* tkill */
    {131, 0, IN, 0, 0}, /* tgkill */
    {134, 1, IN, 24, 0}, /* rt_sigaction */
    {134, 2, OUT, 24, 0},
    {135, 1, IN, 8, 0}, /* rt_sigprocmask */
    {135, 2, OUT, 8, 0},
    {153, 0, OUT, 32, 0}, /* times */
    {155, 0, IN, 0, 0}, /* getpgid */
    {156, 0, IN, 0, 0}, /* getsid */
    {160, 0, OUT, 390, 0}, /* uname */
    {163, 1, OUT, 16, 0}, /* getrlimit */
    {164, 1, IN, 16, 0}, /* setrlimit */
    {165, 1, OUT, 144, 0}, /* getrusage */
    {166, 0, IN, 0, 0}, /* umask */
    {168, 0, OUT, 4, 0}, /* getcpu */
    {168, 1, OUT, 4, 0},
    {169, 0, OUT, 16, 0}, /* gettimeofday */
    {169, 1, OUT, 8, 0},
    {172, 0, IN, 0, 0}, /* getpid */
    {173, 0, IN, 0, 0}, /* getppid */
    {174, 0, IN, 0, 0}, /* getuid */
    {175, 0, IN, 0, 0}, /* geteuid */
    {176, 0, IN, 0, 0}, /* getgid */
    {177, 0, IN, 0, 0}, /* getegid */
    {178, 0, IN, 0, 0}, /* gettid */
    {179, 0, OUT, 112, 0}, /* sysinfo */
    {214, 0, IN, 0, 0}, /* brk */
    {215, 0, IN, 0, 0}, /* munmap */
    {SYS_MREMAP, 0, IN, 1, 2}, /* mremap */
    {222, 0, IN, 0, 0}, /* mmap */
    {SYS_MPROTECT, 0, IN, 1, 2}, /* mprotect */
    {233, 0, IN, 0, 0}, /* madvise */
    {261, 2, IN, 16, 0}, /* prlimit64 */
    {261, 3, OUT, 16, 0},
    {276, 1, IN, TEXT_MAX, 0}, /* renameat2 */
    {276, 3, IN, TEXT_MAX, 0},
    {278, 0, OUT, 1, 2}, /* getrandom */
};
enum { MEMORIES = sizeof memory_of / sizeof *memory_of };

/* The parts of readv and writev, of which so many there are: of `bytes` in all. */
static void move_parts(uint64_t number, const uint64_t arguments[6], uint64_t bytes, bool out)
{
    for (uint64_t i = 0; i < arguments[2] && bytes > 0; i++) {
        uint64_t part[2];
        if (copy_from_user(part, arguments[1] + i * sizeof part, sizeof part))
            return;
        uint64_t length = part[1] < bytes ? part[1] : bytes;
        move(number, part[0], length, out);
        bytes -= length;
    }
}

/* What the call reads. */
static void move_out(uint64_t number, uint64_t call, const uint64_t arguments[6])
{
    for (const struct memory_of_call *each = memory_of; each < memory_of + MEMORIES; each++) {
        uint64_t bytes = each->counted ? each->bytes * arguments[each->counted - 1] : each->bytes;
        if (each->number == call && each->way == IN && arguments[each->pointer] && bytes)
            move(number, arguments[each->pointer], bytes, true);
    }
    if (call == SYS_WRITEV || call == SYS_PWRITEV)
        move_parts(number, arguments, ~0ull, true);
}

/* What it has written. */
static void move_in(uint64_t number, uint64_t call, const uint64_t arguments[6], int64_t result)
{
    if (result < 0)
        return;
    for (const struct memory_of_call *each = memory_of; each < memory_of + MEMORIES; each++) {
        uint64_t bytes = each->counted ? (uint64_t)result : each->bytes;
        if (each->number == call && each->way == OUT && arguments[each->pointer] && bytes)
            move(number, arguments[each->pointer], bytes, false);
    }
    if (call == SYS_READV || call == SYS_PREADV)
        move_parts(number, arguments, (uint64_t)result, false);
}

static bool is_known(uint64_t call)
{
    const struct memory_of_call *each = memory_of;
    while (each < memory_of + MEMORIES && each->number != call)
        each++;
    return each < memory_of + MEMORIES;
}

static void serve_call(uint64_t number)
{
    uint64_t arguments[6], call = reg(number, 17), pc = reg(number, PC);
    int64_t result = -ENOSYS;
    for (unsigned i = 0; i < 6; i++)
        arguments[i] = reg(number, 10 + i);
    shown_here.pc = pc;
    if (is_known(call)) {
        move_out(number, call, arguments);
        result = system_call(call, arguments);
        move_in(number, call, arguments, result);
    } else {
        uint64_t unserved[6] = {call};
        machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_UNSERVED, unserved);
    }
    set_reg(number, 10, (uint64_t)result);
    set_reg(number, PC, pc + 4);
}

/* --- running --------------------------------------------------------------------------------------------- */

/* The process ends as Linux would end it. */
static void exception(uint64_t number, uint64_t cause, uint64_t value)
{
    uint64_t arguments[6] = {cause, reg(number, PC), value, reg(number, 1)};
    machine_call(CHASQUI_KERNEL_SBI_PROCESS, CHASQUI_KERNEL_PROCESS_EXCEPTION, arguments);
#if HARTS > 1
    thread_end();
#else
    panic("the process goes on after an exception");
#endif
}

static void serve_stop(uint64_t number)
{
    uint64_t cause = ni_load(core(number, CHASQUI_CELL_CORE_CAUSE));
    uint64_t value = ni_load(core(number, CHASQUI_CELL_CORE_VALUE));
    bool is_page = cause == CAUSE_FETCH_PAGE || cause == CAUSE_LOAD_PAGE || cause == CAUSE_STORE_PAGE;
    if (cause == CAUSE_USER_CALL)
        serve_call(number);
    else if (!is_page || !serve_page(number, cause, value))
        exception(number, cause, value);
}

/* The thread is on the SPE from now on. */
static _Noreturn void run(uint64_t number)
{
    struct spe *spe = &spes[number];
    for (;;) {
        set_problem(number, CHASQUI_CELL_PROBLEM_RUN_CONTROL, 1);
        while (!spe->has_stopped || spe->has_fault) {
            if (spe->has_fault) {
                spe->has_fault = false;
                serve_fault(number);
            } else {
                thread_sleep(&spe->rank, "its SPE");
            }
        }
        spe->has_stopped = false;
        serve_stop(number);
    }
}

/* Memory that lies at the beginning of the local store. */
static bool place_area(uint64_t number)
{
    const struct chasqui_cell_move *move = &spes[number].move;
    for (uint64_t done = 0; done < move->area_bytes; done += PAGE_BYTES)
        if (!serve_page(number, CAUSE_STORE_PAGE, move->area + done))
            return false;
    return true;
}

int64_t rank_move(uint64_t argument)
{
    uint64_t number = process_here, bytes = page_count() * sizeof(uint64_t);
    struct chasqui_cell_move move;
    if (copy_from_user(&move, argument, sizeof move))
        return -EFAULT;
    if (move.area % PAGE_BYTES || move.area_bytes % PAGE_BYTES || !move.area_bytes || bytes > PAGE_BYTES ||
        move.area_bytes > setting(CHASQUI_CELL_SETTING_STORE_BYTES) || move.pc % 2)
        return -EINVAL;
    if (number >= count() || spes[number].is_taken)
        return -EBUSY;
    uint64_t *pages = memory_take_for(process_here, bytes);
    if (!pages)
        return -ENOMEM;
    memory_clear(pages, bytes);
    take_number(number);
    spes[number].pages = pages;
    memory_copy(&spes[number].move, &move, sizeof move);
    set(privileged(number, CHASQUI_CELL_PRIVILEGED_CONFIGURATION), 1);
    set(core(number, CHASQUI_CELL_CORE_PROCESS), process_here);
    if (!place_area(number))
        return -EFAULT;
    set_reg(number, PC, move.pc);
    set_reg(number, 2, move.stack_pointer);
    set_reg(number, GP, move.global_pointer);
    set_reg(number, TP, move.thread_pointer);
    set_reg(number, 10, number);
    run(number);
}
