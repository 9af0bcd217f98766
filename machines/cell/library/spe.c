/* See spe.h. */
#include "spe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPES_MAX = 8, LINE = 128, TRANSFER_MAX = 16384, LOAD_TAG = 31 };

struct spe_context {
    unsigned number, flags;
    volatile char *store, *problem;
    unsigned entry;
    bool is_loaded;
    /* What it has said, and nobody has been told yet. */
    bool has_stopped, has_wrong_command, has_error;
};

static int device = -1;
static struct chasqui_ni_identification identification;

static int opened(void)
{
    if (device >= 0)
        return device;
    int file = open("/dev/ni0", O_RDWR);
    if (file < 0)
        return -1;
    const struct chasqui_ni_identification *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED)
        identification = *page;
    if (identification.magic != CHASQUI_NI_MAGIC || identification.version != CHASQUI_ABI_VERSION ||
        identification.device != CHASQUI_CELL_DEVICE || identification.interface != CHASQUI_CELL_INTERFACE) {
        close(file);
        errno = ENODEV;
        return -1;
    }
    return device = file;
}

static long control(unsigned long request, unsigned long argument) { return ioctl(device, (int)request, argument); }

static volatile uint32_t *at(spe_context_ptr_t context, uint64_t offset)
{
    return (volatile uint32_t *)(context->problem + offset);
}

int spe_count(void) { return opened() < 0 ? -1 : (int)identification.settings[CHASQUI_CELL_SETTING_SPES]; }

/* --- contexts -------------------------------------------------------------------------------------------- */

/* The context of an SPE. */
static spe_context_ptr_t context_of(unsigned long number, unsigned flags)
{
    uint64_t store_bytes = identification.settings[CHASQUI_CELL_SETTING_PROBLEM];
    size_t bytes = identification.regions[number].bytes;
    volatile char *window =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, device, (off_t)((1 + number) * CHASQUI_NI_REGION_STRIDE));
    if (window == (volatile char *)MAP_FAILED)
        return NULL;
    struct spe_context *context = malloc(sizeof *context);
    if (!context) {
        munmap((void *)window, bytes);
        return NULL;
    }
    *context = (struct spe_context){
        .number = (unsigned)number, .flags = flags, .store = window, .problem = window + store_bytes};
    return context;
}

spe_context_ptr_t spe_context_create(unsigned flags, void *gang)
{
    (void)gang;
    if (opened() < 0)
        return NULL;
    long number = control(CHASQUI_CELL_CONTROL_TAKE, 0);
    if (number < 0)
        return NULL;
    spe_context_ptr_t context = NULL;
    if (!(flags & SPE_KEEP_ERRORS) || control(CHASQUI_CELL_CONTROL_KEEP, (unsigned long)number) == 0)
        context = context_of((unsigned long)number, flags);
    if (!context)
        control(CHASQUI_CELL_CONTROL_GIVE, (unsigned long)number);
    return context;
}

int spe_context_destroy(spe_context_ptr_t context)
{
    int result = (int)control(CHASQUI_CELL_CONTROL_GIVE, context->number);
    munmap((void *)context->store, identification.regions[context->number].bytes);
    free(context);
    return result;
}

int spe_number(spe_context_ptr_t context) { return (int)context->number; }

volatile void *spe_ps_area_get(spe_context_ptr_t context, enum ps_area area) { return context->problem + area; }

volatile void *spe_ls_area_get(spe_context_ptr_t context) { return context->store; }

size_t spe_ls_size_get(spe_context_ptr_t context)
{
    (void)context;
    return identification.settings[CHASQUI_CELL_SETTING_STORE_BYTES];
}

int spe_pin(const volatile void *address, size_t bytes, int write)
{
    struct chasqui_cell_pages pages = {.address = (uintptr_t)address, .bytes = bytes, .write = write != 0};
    return opened() < 0 ? -1 : (int)control(CHASQUI_CELL_CONTROL_PIN, (unsigned long)&pages);
}

int spe_purge(spe_context_ptr_t context) { return (int)control(CHASQUI_CELL_CONTROL_PURGE, context->number); }

/* --- images ---------------------------------------------------------------------------------------------- */

spe_program_handle_t *spe_image_open(const char *name)
{
    struct stat status;
    int file = open(name, O_RDONLY);
    if (file < 0)
        return NULL;
    spe_program_handle_t *program = malloc(sizeof *program);
    void *bytes = MAP_FAILED;
    if (program && !fstat(file, &status))
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes == MAP_FAILED) {
        free(program);
        return NULL;
    }
    *program = (spe_program_handle_t){bytes, (size_t)status.st_size};
    return program;
}

int spe_image_close(spe_program_handle_t *program)
{
    int result = munmap((void *)(uintptr_t)program->elf, program->bytes);
    free(program);
    return result;
}

/* A segment, from a buffer in which all of it is aligned as it will be, in pieces that a command may move. */
static int load(spe_context_ptr_t context, const char *elf, const Elf64_Phdr *segment)
{
    uint64_t local = segment->p_vaddr - CHASQUI_CELL_STORE_ADDRESS, first = local / LINE * LINE;
    uint64_t end = (local + segment->p_memsz + LINE - 1) / LINE * LINE;
    char *buffer = aligned_alloc(LINE, end - first);
    if (!buffer)
        return -1;
    memset(buffer, 0, end - first);
    memcpy(buffer + (local - first), elf + segment->p_offset, segment->p_filesz);
    int result = spe_pin(buffer, end - first, 0);
    for (uint64_t done = 0; done < end - first && !result; done += TRANSFER_MAX) {
        uint64_t bytes = end - first - done < TRANSFER_MAX ? end - first - done : TRANSFER_MAX;
        result = spe_mfcio_get(context, (unsigned)(first + done), buffer + done, (unsigned)bytes, LOAD_TAG);
    }
    unsigned status;
    if (!result)
        result = spe_mfcio_tag_status_read(context, 1u << LOAD_TAG, SPE_TAG_ALL, &status);
    free(buffer);
    return result;
}

/* `bytes` from `first` on are among the `all` that there are. */
static bool is_within(uint64_t first, uint64_t bytes, uint64_t all) { return first <= all && bytes <= all - first; }

int spe_program_load(spe_context_ptr_t context, const spe_program_handle_t *program)
{
    const char *elf = program->elf;
    const Elf64_Ehdr *header = program->elf;
    uint64_t size = spe_ls_size_get(context), base = CHASQUI_CELL_STORE_ADDRESS;
    if (program->bytes < sizeof *header || memcmp(elf, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_RISCV || header->e_phoff % 8 ||
        !is_within(header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr), program->bytes)) {
        errno = ENOEXEC;
        return -1;
    }
    const Elf64_Phdr *segments = (const void *)(elf + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments[i];
        if (segment->p_type != PT_LOAD || segment->p_memsz == 0)
            continue;
        if (segment->p_vaddr < base || !is_within(segment->p_vaddr - base, segment->p_memsz, size) ||
            segment->p_filesz > segment->p_memsz || !is_within(segment->p_offset, segment->p_filesz, program->bytes)) {
            errno = ENOEXEC;
            return -1;
        }
        if (load(context, elf, segment))
            return -1;
    }
    /* The words that it is started with lie behind its entry. */
    if (header->e_entry < base || !is_within(header->e_entry - base, CHASQUI_CELL_CALL_PLACE + 8, size)) {
        errno = ENOEXEC;
        return -1;
    }
    context->entry = (unsigned)(header->e_entry - base);
    context->is_loaded = true;
    struct chasqui_cell_image image = {.address = (uintptr_t)elf, .bytes = program->bytes, .spe = context->number};
    return (int)control(CHASQUI_CELL_CONTROL_IMAGE, (unsigned long)&image);
}

/* --- running --------------------------------------------------------------------------------------------- */

static void set_words(spe_context_ptr_t context, const uint64_t words[3])
{
    volatile uint64_t *place = (volatile uint64_t *)(context->store + context->entry + CHASQUI_CELL_START_WORDS);
    for (int i = 0; i < 3; i++)
        place[i] = words[i];
}

int spe_context_start(spe_context_ptr_t context, unsigned entry, void *argument, void *environment)
{
    if (!context->is_loaded) {
        errno = ENOEXEC;
        return -1;
    }
    if (entry == SPE_DEFAULT_ENTRY) {
        entry = context->entry;
        set_words(context, (const uint64_t[]){context->number, (uintptr_t)argument, (uintptr_t)environment});
    }
    *at(context, CHASQUI_CELL_PROBLEM_NPC) = entry;
    *at(context, CHASQUI_CELL_PROBLEM_RUN_CONTROL) = 1;
    return 0;
}

static int write_out(spe_context_ptr_t context, int file, unsigned local, unsigned bytes)
{
    char *text = malloc(bytes + 1);
    if (!text || (uint64_t)local + bytes > spe_ls_size_get(context)) {
        free(text);
        return -EINVAL;
    }
    for (unsigned i = 0; i < bytes; i++)
        text[i] = context->store[local + i];
    int result = (int)write(file, text, bytes);
    if (result < 0)
        result = -errno;
    free(text);
    return result;
}

/* The call that the program has stopped for. */
static int serve(spe_context_ptr_t context)
{
    unsigned place = *(volatile unsigned *)(context->store + context->entry + CHASQUI_CELL_CALL_PLACE);
    if (place % 4 || (uint64_t)place + sizeof(struct chasqui_cell_call) > spe_ls_size_get(context))
        return -1;
    volatile struct chasqui_cell_call *call = (volatile struct chasqui_cell_call *)(context->store + place);
    if (call->number != CHASQUI_CELL_CALL_WRITE)
        return -1;
    fflush(NULL);
    call->result = write_out(context, (int)call->arguments[0], call->arguments[1], call->arguments[2]);
    *at(context, CHASQUI_CELL_PROBLEM_RUN_CONTROL) = 1;
    return 0;
}

/* What the program has stopped for. True: it goes on. */
static bool goes_on(spe_context_ptr_t context, unsigned *entry, spe_stop_info_t *info)
{
    uint32_t status = *at(context, CHASQUI_CELL_PROBLEM_STATUS);
    unsigned code = status >> 16;
    *entry = *at(context, CHASQUI_CELL_PROBLEM_NPC);
    if (!(status & CHASQUI_CELL_PROBLEM_STATUS_STOPPED)) {
        *info = (spe_stop_info_t){SPE_RUNTIME_ERROR, (int)status};
        return false;
    }
    if (code == CHASQUI_CELL_STOP_CALL && !serve(context))
        return true;
    if ((code & ~0xffu) == CHASQUI_CELL_STOP_EXIT)
        *info = (spe_stop_info_t){SPE_EXIT, (int)(code & 0xff)};
    else
        *info = (spe_stop_info_t){SPE_STOP_AND_SIGNAL, (int)code};
    return false;
}

/* Whether it has something to say that its caller is to hear: that is taken. */
static bool has_ended(spe_context_ptr_t context, unsigned *entry, spe_stop_info_t *info)
{
    bool command = context->has_wrong_command, error = context->has_error, stop = context->has_stopped;
    context->has_wrong_command = context->has_error = context->has_stopped = false;
    if (command || error)
        *entry = *at(context, CHASQUI_CELL_PROBLEM_NPC);
    if (command)
        *info = (spe_stop_info_t){SPE_DMA_ERROR, 0};
    else if (error)
        *info = (spe_stop_info_t){SPE_RUNTIME_ERROR, (int)*at(context, CHASQUI_CELL_PROBLEM_STATUS)};
    return command || error || (stop && !goes_on(context, entry, info));
}

/* What the kernel has heard of any of them. */
static int hear(spe_context_ptr_t *contexts, int count)
{
    unsigned long mask = 0;
    for (int i = 0; i < count; i++)
        mask |= contexts[i] ? 1ul << contexts[i]->number : 0;
    long news = control(CHASQUI_CELL_CONTROL_WAIT, mask);
    for (int i = 0; i < count && news > 0; i++) {
        if (!contexts[i])
            continue;
        unsigned number = contexts[i]->number;
        contexts[i]->has_stopped |= news >> number & 1;
        contexts[i]->has_wrong_command |= news >> (CHASQUI_CELL_WAIT_COMMANDS + number) & 1;
        contexts[i]->has_error |= news >> (CHASQUI_CELL_WAIT_ERRORS + number) & 1;
    }
    return news < 0 ? -1 : 0;
}

int spe_context_wait(spe_context_ptr_t *contexts, int count, unsigned *entry, spe_stop_info_t *info)
{
    unsigned ended = 0;
    for (;;) {
        for (int i = 0; i < count; i++) {
            if (!contexts[i] || !has_ended(contexts[i], &ended, info))
                continue;
            if (entry)
                *entry = ended;
            return i;
        }
        if (hear(contexts, count))
            return -1;
    }
}

int spe_context_run(spe_context_ptr_t context, unsigned *entry, unsigned flags, void *argument, void *environment,
                    spe_stop_info_t *info)
{
    spe_stop_info_t ended;
    unsigned begin = entry ? *entry : SPE_DEFAULT_ENTRY;
    (void)flags;
    if (spe_context_start(context, begin, argument, environment) || spe_context_wait(&context, 1, &begin, &ended) < 0)
        return -1;
    if (entry)
        *entry = begin;
    if (info)
        *info = ended;
    switch (ended.stop_reason) {
    case SPE_EXIT: return 0;
    case SPE_STOP_AND_SIGNAL: return ended.code;
    default: errno = EIO; return -1;
    }
}

/* --- mailboxes, signals ---------------------------------------------------------------------------------- */

int spe_in_mbox_write(spe_context_ptr_t context, const unsigned *data, int count)
{
    for (int i = 0; i < count; i++) {
        struct chasqui_cell_word word = {.spe = context->number, .value = data[i]};
        if (context->flags & SPE_MAP_PS)
            _spe_in_mbox_write(context->problem + SPE_CONTROL_AREA, data[i]);
        else if (control(CHASQUI_CELL_CONTROL_MAILBOX_PUT, (unsigned long)&word) < 0)
            return i ? i : -1;
    }
    return count;
}

int spe_out_mbox_read(spe_context_ptr_t context, unsigned *data, int count)
{
    int done = 0;
    for (; done < count; done++) {
        struct chasqui_cell_word word = {.spe = context->number};
        if (context->flags & SPE_MAP_PS) {
            if (!spe_out_mbox_status(context))
                break;
            data[done] = *at(context, CHASQUI_CELL_PROBLEM_OUT_MBOX);
            continue;
        }
        long result = control(CHASQUI_CELL_CONTROL_MAILBOX_TAKE, (unsigned long)&word);
        if (result <= 0)
            return done || !result ? done : -1;
        data[done] = (unsigned)word.value;
    }
    return done;
}

int spe_out_intr_mbox_read(spe_context_ptr_t context, unsigned *data, int count)
{
    int done = 0;
    while (done < count) {
        struct chasqui_cell_word word = {.spe = context->number};
        if (done && !(*at(context, CHASQUI_CELL_PROBLEM_MBOX_STAT) >> 16 & 0xff))
            break;
        if (control(CHASQUI_CELL_CONTROL_READ, (unsigned long)&word) < 0)
            return done ? done : -1;
        data[done++] = (unsigned)word.value;
    }
    return done;
}

int spe_in_mbox_status(spe_context_ptr_t context)
{
    return (int)(*at(context, CHASQUI_CELL_PROBLEM_MBOX_STAT) >> 8 & 0xff);
}

int spe_out_mbox_status(spe_context_ptr_t context)
{
    return (int)(*at(context, CHASQUI_CELL_PROBLEM_MBOX_STAT) & 0xff);
}

int spe_signal_write(spe_context_ptr_t context, int which, unsigned data)
{
    if (which != 1 && which != 2) {
        errno = EINVAL;
        return -1;
    }
    *at(context, which == 1 ? CHASQUI_CELL_PROBLEM_SIG_NOTIFY_1 : CHASQUI_CELL_PROBLEM_SIG_NOTIFY_2) = data;
    return 0;
}

int spe_signal_collects(spe_context_ptr_t context, unsigned which)
{
    struct chasqui_cell_word word = {.spe = context->number, .value = which};
    return (int)control(CHASQUI_CELL_CONTROL_SIGNALS, (unsigned long)&word);
}

/* --- proxy DMA ------------------------------------------------------------------------------------------- */

/* A program that keeps its SPEs' errors waits for no command of an MFC that has stopped at a wrong one. */
static bool is_stuck(spe_context_ptr_t context)
{
    if (!(context->flags & SPE_KEEP_ERRORS) || control(CHASQUI_CELL_CONTROL_STUCK, context->number) <= 0)
        return false;
    errno = EIO;
    return true;
}

static int enter(spe_context_ptr_t context, unsigned local, const volatile void *address, unsigned bytes, unsigned tag,
                 unsigned command)
{
    /* The register has 16 bits for each. */
    if (bytes >> 16 || tag >> 16) {
        errno = EINVAL;
        return -1;
    }
    do {
        if (is_stuck(context))
            return -1;
        *at(context, CHASQUI_CELL_PROBLEM_MFC_LSA) = local;
        *(volatile uint64_t *)(context->problem + CHASQUI_CELL_PROBLEM_MFC_EAH) = (uintptr_t)address;
        *at(context, CHASQUI_CELL_PROBLEM_MFC_SIZE_TAG) = bytes << 16 | tag;
        /* What the program has stored comes before the command. */
        __asm__ volatile("fence rw, o" : : : "memory");
        *at(context, CHASQUI_CELL_PROBLEM_MFC_CLASS_CMD) = command;
    } while (*at(context, CHASQUI_CELL_PROBLEM_MFC_CLASS_CMD) == CHASQUI_CELL_PROBLEM_CMD_NO_ROOM);
    return 0;
}

int spe_mfcio_put(spe_context_ptr_t context, unsigned local, void *address, unsigned bytes, unsigned tag)
{
    return enter(context, local, address, bytes, tag, CHASQUI_CELL_MFC_PUT);
}

int spe_mfcio_putf(spe_context_ptr_t context, unsigned local, void *address, unsigned bytes, unsigned tag)
{
    return enter(context, local, address, bytes, tag, CHASQUI_CELL_MFC_PUT | CHASQUI_CELL_MFC_FENCE_FLAG);
}

int spe_mfcio_putb(spe_context_ptr_t context, unsigned local, void *address, unsigned bytes, unsigned tag)
{
    return enter(context, local, address, bytes, tag, CHASQUI_CELL_MFC_PUT | CHASQUI_CELL_MFC_BARRIER_FLAG);
}

int spe_mfcio_get(spe_context_ptr_t context, unsigned local, const void *address, unsigned bytes, unsigned tag)
{
    return enter(context, local, address, bytes, tag, CHASQUI_CELL_MFC_GET);
}

int spe_mfcio_getf(spe_context_ptr_t context, unsigned local, const void *address, unsigned bytes, unsigned tag)
{
    return enter(context, local, address, bytes, tag, CHASQUI_CELL_MFC_GET | CHASQUI_CELL_MFC_FENCE_FLAG);
}

int spe_mfcio_getb(spe_context_ptr_t context, unsigned local, const void *address, unsigned bytes, unsigned tag)
{
    return enter(context, local, address, bytes, tag, CHASQUI_CELL_MFC_GET | CHASQUI_CELL_MFC_BARRIER_FLAG);
}

int spe_mfcio_tag_status_read(spe_context_ptr_t context, unsigned mask, unsigned behaviour, unsigned *status)
{
    *at(context, CHASQUI_CELL_PROBLEM_PRXY_QUERY_MASK) = mask;
    for (;;) {
        *status = *at(context, CHASQUI_CELL_PROBLEM_PRXY_TAG_STATUS);
        bool is_so = behaviour == SPE_TAG_IMMEDIATE || (behaviour == SPE_TAG_ANY ? *status != 0 : *status == mask);
        if (is_so)
            break;
        if (is_stuck(context))
            return -1;
        __asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010"); /* pause */
    }
    __asm__ volatile("fence" : : : "memory");
    return 0;
}
