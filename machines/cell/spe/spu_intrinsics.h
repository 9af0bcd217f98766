/* An SPE's channels, for its programs. The original has instructions for them; here they are registers (registers.h). A read of
 * a channel that has nothing, and a write to one that has no room, waits. */
#ifndef CHASQUI_SPU_INTRINSICS_H
#define CHASQUI_SPU_INTRINSICS_H

#include <stddef.h>
#include <stdint.h>

#include "registers.h"

#define SPU_CHANNEL(number) \
    (*(volatile uint32_t *)(CHASQUI_CELL_CHANNELS + (number) * CHASQUI_CELL_CHANNEL_ADDRESS_BYTES))

static inline uint32_t spu_readch(unsigned number) { return SPU_CHANNEL(number); }

static inline void spu_writech(unsigned number, uint32_t value) { SPU_CHANNEL(number) = value; }

/* How many accesses to the channel would not wait. */
static inline uint32_t spu_readchcnt(unsigned number)
{
    return *(volatile uint32_t *)(CHASQUI_CELL_CHANNELS + CHASQUI_CELL_CHANNEL_COUNTS +
                                  number * CHASQUI_CELL_CHANNEL_ADDRESS_BYTES);
}

/* What was stored to channels has been done: a load does not go past it. */
static inline void spu_dsync(void) { __asm__ volatile("fence" : : : "memory"); }

/* The program stops with a code of 14 bits, and goes on when it is run again. */
static inline void spu_stop(unsigned code)
{
    spu_dsync();
    (void)*(volatile uint32_t *)(CHASQUI_CELL_CHANNELS + CHASQUI_CELL_STOP +
                                 (code & (CHASQUI_CELL_STOP_CODES - 1)) * 8ull);
    __asm__ volatile("" : : : "memory");
}

/* Address in the local store. */
static inline uint32_t spu_address(const volatile void *place)
{
    return (uint32_t)(uintptr_t)place - (uint32_t)CHASQUI_CELL_STORE_ADDRESS;
}

/* What is there. */
static inline void *spu_at(uint32_t address) { return (void *)(CHASQUI_CELL_STORE_ADDRESS + address); }

static inline void spu_write_decrementer(uint32_t value) { spu_writech(CHASQUI_CELL_CHANNEL_WR_DEC, value); }

/* It counts down, 12.5 ns a tick. */
static inline uint32_t spu_read_decrementer(void) { return spu_readch(CHASQUI_CELL_CHANNEL_RD_DEC); }

static inline uint32_t spu_read_in_mbox(void) { return spu_readch(CHASQUI_CELL_CHANNEL_RD_IN_MBOX); }

static inline uint32_t spu_stat_in_mbox(void) { return spu_readchcnt(CHASQUI_CELL_CHANNEL_RD_IN_MBOX); }

static inline void spu_write_out_mbox(uint32_t value) { spu_writech(CHASQUI_CELL_CHANNEL_WR_OUT_MBOX, value); }

static inline uint32_t spu_stat_out_mbox(void) { return spu_readchcnt(CHASQUI_CELL_CHANNEL_WR_OUT_MBOX); }

static inline void spu_write_out_intr_mbox(uint32_t value)
{
    spu_writech(CHASQUI_CELL_CHANNEL_WR_OUT_INTR_MBOX, value);
}

static inline uint32_t spu_read_signal1(void) { return spu_readch(CHASQUI_CELL_CHANNEL_RD_SIG_NOTIFY_1); }

static inline uint32_t spu_read_signal2(void) { return spu_readch(CHASQUI_CELL_CHANNEL_RD_SIG_NOTIFY_2); }

static inline void spu_write_event_mask(uint32_t mask) { spu_writech(CHASQUI_CELL_CHANNEL_WR_EVENT_MASK, mask); }

static inline uint32_t spu_read_event_status(void) { return spu_readch(CHASQUI_CELL_CHANNEL_RD_EVENT_STAT); }

static inline void spu_write_event_ack(uint32_t events) { spu_writech(CHASQUI_CELL_CHANNEL_WR_EVENT_ACK, events); }

#endif
