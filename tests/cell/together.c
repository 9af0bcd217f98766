#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "spe.h"
SPE_EMBED(program, SPE_IMAGE)
struct plan {
    uint64_t counter, data, next_sig, next_store;
    uint32_t turns, number, count, pad;
};
enum { MAX = 8, TURNS = 5 };
static struct {
    struct plan plan;
    char pad[128 - sizeof(struct plan)];
} plans[MAX] __attribute__((aligned(128)));
static volatile uint32_t counter[32] __attribute__((aligned(128)));
static unsigned char data[MAX][16384] __attribute__((aligned(128)));
static spe_context_ptr_t contexts[MAX];
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : spe_count();
    if (n > spe_count())
        n = spe_count();
    for (int i = 0; i < n; i++) {
        contexts[i] = spe_context_create(i % 2 ? SPE_MAP_PS : 0, 0);
        if (!contexts[i]) {
            perror("create");
            return 1;
        }
        if (spe_program_load(contexts[i], &program)) {
            perror("load");
            return 1;
        }
        for (int b = 0; b < 16384; b++)
            data[i][b] = (unsigned char)(b ^ i);
    }
    for (int i = 0; i < n; i++) {
        spe_context_ptr_t next = contexts[(i + 1) % n];
        plans[i].plan = (struct plan){(uintptr_t)counter,
                                      (uintptr_t)data[i],
                                      (uintptr_t)spe_ps_area_get(next, SPE_SIG_NOTIFY_1_AREA) + 12,
                                      (uintptr_t)spe_ls_area_get(next),
                                      TURNS,
                                      i,
                                      n,
                                      0};
    }
    for (int i = 0; i < n; i++)
        if (spe_context_start(contexts[i], SPE_DEFAULT_ENTRY, &plans[i], 0)) {
            perror("start");
            return 1;
        }
    unsigned where[MAX];
    for (int i = 0; i < n; i++)
        while (spe_out_mbox_read(contexts[i], &where[i], 1) == 0)
            ;
    /* the PPE takes part in the counting */
    for (int i = 0; i < TURNS; i++)
        __atomic_fetch_add(&counter[0], 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < n; i++)
        spe_in_mbox_write(contexts[i], &where[(i + 1) % n], 1);
    unsigned last = 0;
    if (spe_out_intr_mbox_read(contexts[0], &last, 1) != 1) {
        perror("intr");
        return 1;
    }
    int left = n, sum = 0, wrong = 0;
    while (left > 0) {
        spe_stop_info_t info;
        int which = spe_context_wait(contexts, n, 0, &info);
        if (which < 0) {
            perror("wait");
            return 1;
        }
        if (info.stop_reason != SPE_EXIT) {
            printf("spe %d: reason %u, %x\n", which, info.stop_reason, info.code);
            return 1;
        }
        sum += info.code;
        spe_context_destroy(contexts[which]);
        contexts[which] = 0;
        left--;
    }
    for (int i = 0; i < n; i++)
        for (int b = 0; b < 16384; b++)
            wrong += data[i][b] != (unsigned char)((unsigned char)(b ^ i) * 3 + i);
    printf("counter %u of %u, token %u, codes %d, wrong %d\n", counter[0], (n + 1) * TURNS, last, sum, wrong);
    return wrong != 0;
}
