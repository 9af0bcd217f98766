/* What a program does rarely, and must come out well. Usage: odd WHAT [NUMBER]; runs odd.spe.c. */
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spe.h"

SPE_EMBED(program, SPE_IMAGE)

static spe_context_ptr_t context;
static unsigned char memory[65536 + 128] __attribute__((aligned(4096)));

/* A context with the program in it, which is started with `what`. */
static void begin(unsigned flags, unsigned long what)
{
    context = spe_context_create(flags, NULL);
    if (!context || spe_program_load(context, &program)) {
        perror("begin");
        exit(3);
    }
    if (what != ~0ul && spe_context_start(context, SPE_DEFAULT_ENTRY, memory, (void *)what))
        exit(3);
}

static void end(void)
{
    spe_stop_info_t info = {0};
    int which = spe_context_wait(&context, 1, NULL, &info);
    printf("ends: %d, reason %u, code %d\n", which, info.stop_reason, info.code);
}

static void *wait_for_end(void *unused)
{
    spe_stop_info_t info;
    int which = spe_context_wait(&context, 1, NULL, &info);
    printf("waited: %d, errno %d\n", which, errno);
    return unused;
}

static void *answer(void *unused)
{
    unsigned word = 0;
    int count = spe_out_intr_mbox_read(context, &word, 1);
    printf("heard: %d, %u\n", count, word);
    spe_signal_write(context, 1, 10);
    return unused;
}

/* A new context finds nothing of the one before. */
static void again(void)
{
    unsigned words[] = {1, 2, 3};
    begin(0, 3);
    end();
    spe_in_mbox_write(context, words, 3);
    spe_signal_write(context, 2, 4);
    spe_context_destroy(context);
    context = spe_context_create(0, NULL);
    volatile char *control = spe_ps_area_get(context, SPE_CONTROL_AREA);
    volatile char *signal = spe_ps_area_get(context, SPE_SIG_NOTIFY_2_AREA);
    printf("mailboxes %x, status %x, signal %x\n", *spe_register(control, CHASQUI_CELL_PROBLEM_MBOX_STAT),
           *spe_register(control, CHASQUI_CELL_PROBLEM_STATUS),
           *spe_register(signal, CHASQUI_CELL_PROBLEM_SIG_NOTIFY_2));
}

/* A thread waits for the SPE's word, and the other for room in its mailbox. */
static void mail(void)
{
    unsigned words[] = {1, 2, 3, 4, 5};
    pthread_t thread;
    begin(0, 4);
    pthread_create(&thread, NULL, answer, NULL);
    usleep(10);
    printf("wrote %d\n", spe_in_mbox_write(context, words, 5));
    pthread_join(thread, NULL);
    end();
}

/* A context ends while a thread waits for it. */
static void given(void)
{
    pthread_t thread;
    begin(0, 4);
    pthread_create(&thread, NULL, wait_for_end, NULL);
    usleep(10);
    spe_context_destroy(context);
    pthread_join(thread, NULL);
}

/* A command that is wrong, its waiting, and what works when it has been purged. */
static void stuck(void)
{
    unsigned status = 0;
    begin(SPE_KEEP_ERRORS, ~0ul);
    int result = spe_mfcio_get(context, 0x8000, memory, 24, 1);
    int waited = spe_mfcio_tag_status_read(context, 2, SPE_TAG_ALL, &status);
    printf("entered %d, waited %d, errno %d\n", result, waited, errno);
    spe_purge(context);
    result = spe_mfcio_get(context, 0x8000, memory, 16, 1);
    waited = spe_mfcio_tag_status_read(context, 2, SPE_TAG_ALL, &status);
    printf("entered %d, waited %d, status %x\n", result, waited, status);
    result = spe_mfcio_get(context, 0x8000, memory, 65536 + 16, 1);
    printf("entered %d, errno %d\n", result, errno);
}

/* Images that are none: by what is changed of one that is. */
static void images(void)
{
    begin(0, ~0ul);
    for (int what = 0; what < 6; what++) {
        char *copy = aligned_alloc(128, (program.bytes + 127) / 128 * 128);
        memcpy(copy, program.elf, program.bytes);
        Elf64_Ehdr *header = (void *)copy;
        Elf64_Phdr *segment = (void *)(copy + header->e_phoff);
        switch (what) {
        case 1: header->e_phoff = ~0ull - 100; break;
        case 2: segment->p_filesz = segment->p_memsz + 65536; break;
        case 3: segment->p_offset = ~0ull - 8; break;
        case 4: segment->p_memsz = 1 << 20; break;
        case 5: header->e_entry = CHASQUI_CELL_STORE_ADDRESS + (256 << 10) - 4; break;
        }
        spe_program_handle_t image = {copy, program.bytes};
        int result = spe_program_load(context, &image);
        printf("image %d: %d, %s\n", what, result, result ? strerror(errno) : "right");
        free(copy);
    }
}

/* Commands that miss are purged before the kernel has brought their pages in. */
static void purged(void)
{
    for (int turn = 0; turn < 24; turn++) {
        unsigned status;
        begin(0, ~0ul);
        unsigned char *page = aligned_alloc(4096, 4096);
        spe_mfcio_get(context, 0x8000, page, 128, 1);
        for (volatile int i = 0; i < turn * 8; i++)
            ;
        spe_purge(context);
        spe_mfcio_tag_status_read(context, 2, SPE_TAG_ALL, &status);
        spe_context_destroy(context);
    }
    printf("purged\n");
}

/* Two functions, each of which returns its number, for the SPE to get and call. */
static void overlays(void)
{
    for (unsigned i = 0; i < 2; i++) {
        uint32_t *code = (uint32_t *)(void *)(memory + i * 128);
        code[0] = 0x00000513 | (i + 3) << 20; /* li a0, i + 3 */
        code[1] = 0x00008067;                 /* ret */
    }
    begin(0, 5);
    end();
}

/* A program stops, and is run on from where it has. */
static void stops(void)
{
    unsigned entry = SPE_DEFAULT_ENTRY;
    spe_stop_info_t info;
    begin(0, ~0ul);
    int first = spe_context_run(context, &entry, 0, memory, (void *)6, &info);
    int second = spe_context_run(context, &entry, 0, NULL, NULL, &info);
    printf("stopped with %x, ended %d with %d\n", first, second, info.code);
}

static unsigned long cycles_of_load(const volatile unsigned char *at)
{
    unsigned long from, to;
    __asm__ volatile("fence\n rdcycle %0" : "=r"(from) : : "memory");
    (void)*at;
    __asm__ volatile("fence\n rdcycle %0" : "=r"(to) : : "memory");
    return to - from;
}

/* DMA and the PPE's caches: what the PPE has changed comes from there, and a put takes its line from it. */
static void lines(void)
{
    begin(0, ~0ul);
    spe_pin(memory, sizeof memory, 1);
    for (unsigned i = 0; i < 1024; i += 128)
        memory[i] = 1;
    for (int i = 0; i < 4; i++)
        (void)cycles_of_load(memory + 8192);
    unsigned long before = cycles_of_load(memory + 8192);
    spe_context_start(context, SPE_DEFAULT_ENTRY, memory, (void *)7);
    end();
    unsigned long after = cycles_of_load(memory + 8192);
    printf("the line is %s\n", after > before + 100 ? "taken" : "still there");
}

static void lists(void)
{
    memory[0] = 5;
    memory[16] = 6;
    begin(0, 8);
    end();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } all[] = {{"again", again},   {"mail", mail},         {"given", given}, {"stuck", stuck}, {"images", images},
               {"purged", purged}, {"overlays", overlays}, {"stops", stops}, {"lines", lines}, {"lists", lists}};
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
        if (!strcmp(argv[1], all[i].name)) {
            all[i].function();
            return 0;
        }
    begin(0, argc > 1 ? strtoul(argv[1], NULL, 10) : 99);
    end();
    return 0;
}
