/* Running programs on the SPEs of a chip, for programs of the PPE: after libspe 2, as far as it goes.
 *
 * A context is an SPE from its creation to its end (ours: the original gives contexts SPEs in turn). Errors are -1 or a null
 * pointer, with errno. Link with spe.c; `chasqui spe-cc --library` says where it is. */
#ifndef CHASQUI_SPE_H
#define CHASQUI_SPE_H

#include <stddef.h>
#include <stdint.h>

#include "../registers.h"

typedef struct spe_context *spe_context_ptr_t;

/* An image: in memory, or of a file. */
typedef struct spe_program_handle {
    const void *elf;
    size_t bytes;
} spe_program_handle_t;

/* Flags of a context. */
enum {
    SPE_MAP_PS = 1,   /* the library's mailboxes and proxy DMA use problem state, not the kernel */
    SPE_KEEP_ERRORS = 2 /* ours: what the SPE does wrong ends its run, not the process */
};

/* How a run ended. */
enum {
    SPE_EXIT = 1,
    SPE_STOP_AND_SIGNAL = 2,
    SPE_RUNTIME_ERROR = 3, /* of the program */
    SPE_DMA_ERROR = 4      /* of a command */
};

typedef struct spe_stop_info {
    unsigned stop_reason;
    int code; /* status of an exit, code of a stop, number of what was wrong (registers.h, COMMAND_ERROR) */
} spe_stop_info_t;

enum ps_area {
    SPE_MFC_COMMAND_AREA = 0x3000,
    SPE_CONTROL_AREA = 0x4000,
    SPE_SIG_NOTIFY_1_AREA = 0x14000,
    SPE_SIG_NOTIFY_2_AREA = 0x1c000
};

enum { SPE_TAG_ALL = 0, SPE_TAG_ANY = 1, SPE_TAG_IMMEDIATE = 2 };

/* SPEs that the machine has. */
int spe_count(void);

spe_context_ptr_t spe_context_create(unsigned flags, void *gang);
int spe_context_destroy(spe_context_ptr_t context);

spe_program_handle_t *spe_image_open(const char *file);
int spe_image_close(spe_program_handle_t *program);
int spe_program_load(spe_context_ptr_t context, const spe_program_handle_t *program);

/* Runs the program that is loaded until it stops, and serves its calls: from its entry on, or where *entry says that it
 * stopped. Returns 0 for an exit, the code of a stop, or -1. */
int spe_context_run(spe_context_ptr_t context, unsigned *entry, unsigned flags, void *argument, void *environment,
                    spe_stop_info_t *info);

/* Ours: the two halves of that, so that a thread may have several SPEs run. The second waits for any of `count` contexts,
 * and returns which, its place; calls are served in it. */
#define SPE_DEFAULT_ENTRY 0xffffffffu
int spe_context_start(spe_context_ptr_t context, unsigned entry, void *argument, void *environment);
int spe_context_wait(spe_context_ptr_t *contexts, int count, unsigned *entry, spe_stop_info_t *info);

/* Mailboxes, by the kernel unless SPE_MAP_PS. They return how many words were moved. */
int spe_in_mbox_write(spe_context_ptr_t context, const unsigned *data, int count);
int spe_in_mbox_status(spe_context_ptr_t context);
int spe_out_mbox_read(spe_context_ptr_t context, unsigned *data, int count);
int spe_out_mbox_status(spe_context_ptr_t context);
int spe_out_intr_mbox_read(spe_context_ptr_t context, unsigned *data, int count); /* waits for the first */
int spe_signal_write(spe_context_ptr_t context, int which, unsigned data);
int spe_signal_collects(spe_context_ptr_t context, unsigned which); /* ours: bits 0 and 1 */

/* Proxy DMA: commands of the PPE to the SPE's MFC. A put takes from the local store. They wait for room in the queue. */
int spe_mfcio_put(spe_context_ptr_t context, unsigned local, void *address, unsigned bytes, unsigned tag);
int spe_mfcio_putf(spe_context_ptr_t context, unsigned local, void *address, unsigned bytes, unsigned tag);
int spe_mfcio_putb(spe_context_ptr_t context, unsigned local, void *address, unsigned bytes, unsigned tag);
int spe_mfcio_get(spe_context_ptr_t context, unsigned local, const void *address, unsigned bytes, unsigned tag);
int spe_mfcio_getf(spe_context_ptr_t context, unsigned local, const void *address, unsigned bytes, unsigned tag);
int spe_mfcio_getb(spe_context_ptr_t context, unsigned local, const void *address, unsigned bytes, unsigned tag);
int spe_mfcio_tag_status_read(spe_context_ptr_t context, unsigned mask, unsigned behaviour, unsigned *status);

volatile void *spe_ps_area_get(spe_context_ptr_t context, enum ps_area area);
volatile void *spe_ls_area_get(spe_context_ptr_t context);
size_t spe_ls_size_get(spe_context_ptr_t context);
int spe_number(spe_context_ptr_t context); /* ours */

/* Ours: the pages are there, for DMA of whichever SPE. */
int spe_pin(const volatile void *address, size_t bytes, int write);
/* Ours: the SPE's MFC drops its commands, and goes on. */
int spe_purge(spe_context_ptr_t context);

/* --- direct access to problem state ---------------------------------------------------------------------- */

static inline volatile uint32_t *spe_register(volatile void *area, uint64_t offset)
{
    return (volatile uint32_t *)((volatile char *)area + (offset & 0xfff));
}

/* In the area of control: they wait by polling. */
static inline void _spe_in_mbox_write(volatile void *control, uint32_t value)
{
    while (!(*spe_register(control, CHASQUI_CELL_PROBLEM_MBOX_STAT) >> 8 & 0xff))
        __asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010"); /* pause */
    *spe_register(control, CHASQUI_CELL_PROBLEM_IN_MBOX) = value;
}

static inline uint32_t _spe_out_mbox_read(volatile void *control)
{
    while (!(*spe_register(control, CHASQUI_CELL_PROBLEM_MBOX_STAT) & 0xff))
        __asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010"); /* pause */
    return *spe_register(control, CHASQUI_CELL_PROBLEM_OUT_MBOX);
}

/* Time base: 12.5 ns a tick. */
static inline uint64_t spe_timebase(void)
{
    uint64_t ticks;
    __asm__ volatile("rdtime %0" : "=r"(ticks) : : "memory");
    return ticks;
}

/* Has the image of a file in the program: SPE_EMBED(name, "file") defines spe_program_handle_t name. */
#define SPE_EMBED(name, file)                                                                   \
    __asm__(".section .rodata\n .balign 128\n" #name "_image:\n .incbin \"" file "\"\n" #name   \
            "_image_end:\n .byte 0\n .text\n");                                                 \
    extern const char name##_image[], name##_image_end[];                                       \
    static spe_program_handle_t name;                                                           \
    __attribute__((constructor)) static void name##_begin(void)                                 \
    {                                                                                           \
        name = (spe_program_handle_t){name##_image, (size_t)(name##_image_end - name##_image)}; \
    }

#endif
