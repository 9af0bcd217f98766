/* DMA by an SPE's own program, after GCC's header of this name. Addresses in the local store are pointers. */
#ifndef CHASQUI_SPU_MFCIO_H
#define CHASQUI_SPU_MFCIO_H

#include "spu_intrinsics.h"

/* An element of a list. */
typedef struct mfc_list_element {
    uint32_t notify_and_size; /* bit 31: the list waits behind it for spu_mfcio's acknowledgement */
    uint32_t eal;
} mfc_list_element_t;

static inline void mfc_command(uint32_t local, uint64_t effective, uint32_t bytes, uint32_t tag, uint32_t command)
{
    /* What the program has stored is there, and the compiler moves nothing past it. */
    __asm__ volatile("" : : : "memory");
    spu_writech(CHASQUI_CELL_CHANNEL_MFC_LSA, local);
    spu_writech(CHASQUI_CELL_CHANNEL_MFC_EAH, (uint32_t)(effective >> 32));
    spu_writech(CHASQUI_CELL_CHANNEL_MFC_EAL, (uint32_t)effective);
    spu_writech(CHASQUI_CELL_CHANNEL_MFC_SIZE, bytes);
    spu_writech(CHASQUI_CELL_CHANNEL_MFC_TAG_ID, tag);
    spu_writech(CHASQUI_CELL_CHANNEL_MFC_CMD, command);
}

static inline void mfc_put(const volatile void *local, uint64_t effective, uint32_t bytes, uint32_t tag)
{
    mfc_command(spu_address(local), effective, bytes, tag, CHASQUI_CELL_MFC_PUT);
}

static inline void mfc_putf(const volatile void *local, uint64_t effective, uint32_t bytes, uint32_t tag)
{
    mfc_command(spu_address(local), effective, bytes, tag, CHASQUI_CELL_MFC_PUT | CHASQUI_CELL_MFC_FENCE_FLAG);
}

static inline void mfc_putb(const volatile void *local, uint64_t effective, uint32_t bytes, uint32_t tag)
{
    mfc_command(spu_address(local), effective, bytes, tag, CHASQUI_CELL_MFC_PUT | CHASQUI_CELL_MFC_BARRIER_FLAG);
}

static inline void mfc_get(volatile void *local, uint64_t effective, uint32_t bytes, uint32_t tag)
{
    mfc_command(spu_address(local), effective, bytes, tag, CHASQUI_CELL_MFC_GET);
}

static inline void mfc_getf(volatile void *local, uint64_t effective, uint32_t bytes, uint32_t tag)
{
    mfc_command(spu_address(local), effective, bytes, tag, CHASQUI_CELL_MFC_GET | CHASQUI_CELL_MFC_FENCE_FLAG);
}

static inline void mfc_getb(volatile void *local, uint64_t effective, uint32_t bytes, uint32_t tag)
{
    mfc_command(spu_address(local), effective, bytes, tag, CHASQUI_CELL_MFC_GET | CHASQUI_CELL_MFC_BARRIER_FLAG);
}

/* By a list: `effective` gives the upper half of all addresses, `bytes` is the list's length. */
static inline void mfc_getl(volatile void *local, uint64_t effective, const volatile mfc_list_element_t *list,
                            uint32_t bytes, uint32_t tag)
{
    uint64_t place = (effective & 0xffffffff00000000ull) | spu_address(list);
    mfc_command(spu_address(local), place, bytes, tag, CHASQUI_CELL_MFC_GET | CHASQUI_CELL_MFC_LIST_FLAG);
}

static inline void mfc_putl(const volatile void *local, uint64_t effective, const volatile mfc_list_element_t *list,
                            uint32_t bytes, uint32_t tag)
{
    uint64_t place = (effective & 0xffffffff00000000ull) | spu_address(list);
    mfc_command(spu_address(local), place, bytes, tag, CHASQUI_CELL_MFC_PUT | CHASQUI_CELL_MFC_LIST_FLAG);
}

/* Four bytes of the local store to a signal register. */
static inline void mfc_sndsig(const volatile void *local, uint64_t effective, uint32_t tag)
{
    mfc_command(spu_address(local), effective, 4, tag, CHASQUI_CELL_MFC_SNDSIG);
}

/* A line of 128 bytes is read and reserved; and written, if it still is. */
static inline void mfc_getllar(volatile void *local, uint64_t effective)
{
    mfc_command(spu_address(local), effective, 128, 0, CHASQUI_CELL_MFC_GETLLAR);
}

static inline void mfc_putllc(const volatile void *local, uint64_t effective)
{
    mfc_command(spu_address(local), effective, 128, 0, CHASQUI_CELL_MFC_PUTLLC);
}

/* How the last of these ended: 4: reserved; 0: written; 1: the reservation was lost. */
static inline uint32_t mfc_read_atomic_status(void) { return spu_readch(CHASQUI_CELL_CHANNEL_RD_ATOMIC_STAT); }

static inline void mfc_write_tag_mask(uint32_t mask) { spu_writech(CHASQUI_CELL_CHANNEL_WR_TAG_MASK, mask); }

static inline uint32_t mfc_tag_status(uint32_t condition)
{
    spu_writech(CHASQUI_CELL_CHANNEL_WR_TAG_UPDATE, condition);
    uint32_t tags = spu_readch(CHASQUI_CELL_CHANNEL_RD_TAG_STAT);
    __asm__ volatile("" : : : "memory");
    return tags;
}

static inline uint32_t mfc_read_tag_status_all(void) { return mfc_tag_status(CHASQUI_CELL_CHANNEL_TAG_UPDATE_ALL); }

static inline uint32_t mfc_read_tag_status_any(void) { return mfc_tag_status(CHASQUI_CELL_CHANNEL_TAG_UPDATE_ANY); }

static inline uint32_t mfc_read_tag_status_immediate(void)
{
    return mfc_tag_status(CHASQUI_CELL_CHANNEL_TAG_UPDATE_IMMEDIATE);
}

/* Waits until nothing of the tag group is left. */
static inline void mfc_wait(uint32_t tag)
{
    mfc_write_tag_mask(1u << tag);
    (void)mfc_read_tag_status_all();
}

/* Commands for which the queue has room. */
static inline uint32_t mfc_stat_cmd_queue(void) { return spu_readchcnt(CHASQUI_CELL_CHANNEL_MFC_CMD); }

#endif
