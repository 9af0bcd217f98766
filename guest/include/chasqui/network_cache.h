/* Instructions of a network cache (Khunjush, 2008, 3.1.5), Chasqui's own, in the opcode custom-0:
 *
 *   nload  rd, imm(rs1)   funct3 1, I-type: loads a doubleword of network memory
 *   nstore rs2, imm(rs1)  funct3 2, S-type: stores one
 *   remap  rd, rs1, rs2   funct3 3, R-type, funct7 0: binds the message named rs1 to the address rs2; rd: the outcome
 *   prebind rd, rs1, rs2, rs3  funct3 4, R4-type, funct2 0: the message of key rs1 that comes next is bound to the
 *                         address rs2 as it comes; rs3: its longest length in the high half, in the low half how many
 *                         arrivals the program has dealt with; rd: the outcome
 *   withdraw rd, rs1, rs2 funct3 5, R-type, funct7 0: takes that back; rd: 0, or 1 where the message has come
 *
 * nload and nstore search the network section only, by the address in network memory, which is aligned to 8 and the
 * NI's; else the process gets SIGBUS. remap binds a message, once: from then on ordinary loads and stores find it there.
 * To a multiple of 16 prebind does so, too, for a message of up to 16 bytes. On a processor without a network cache all
 * are illegal. */
#ifndef CHASQUI_NETWORK_CACHE_H
#define CHASQUI_NETWORK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Outcomes of remap: it is bound; the message is in no section any more, software copies it from network memory. */
#define CHASQUI_REMAP_BOUND 0
#define CHASQUI_REMAP_UNKNOWN 1

/* Outcomes of prebind: it waits; there is no room for it; the address is no multiple of 16; a message of the key
 * has come that the program has not dealt with, or may have. */
#define CHASQUI_PREBIND_RESERVED 0
#define CHASQUI_PREBIND_FULL 1
#define CHASQUI_PREBIND_UNALIGNED 2
#define CHASQUI_PREBIND_LATE 3

static inline uint64_t chasqui_network_load(const volatile uint64_t *from)
{
    uint64_t value;
    __asm__ volatile(".insn i 0x0b, 1, %0, 0(%1)" : "=r"(value) : "r"(from) : "memory");
    return value;
}

static inline void chasqui_network_store(volatile uint64_t *to, uint64_t value)
{
    __asm__ volatile(".insn s 0x0b, 2, %0, 0(%1)" : : "r"(value), "r"(to) : "memory");
}

static inline uint64_t chasqui_remap(uint64_t message, void *to)
{
    uint64_t outcome;
    __asm__ volatile(".insn r 0x0b, 3, 0, %0, %1, %2" : "=r"(outcome) : "r"(message), "r"(to) : "memory");
    return outcome;
}

static inline uint64_t chasqui_prebind(uint64_t key, void *to, uint32_t bytes, uint32_t dealt_with)
{
    uint64_t outcome, how = (uint64_t)bytes << 32 | dealt_with;
    __asm__ volatile(".insn r4 0x0b, 4, 0, %0, %1, %2, %3" : "=r"(outcome) : "r"(key), "r"(to), "r"(how) : "memory");
    return outcome;
}

static inline bool chasqui_withdraw(uint64_t key, void *to)
{
    uint64_t has_come;
    __asm__ volatile(".insn r 0x0b, 5, 0, %0, %1, %2" : "=r"(has_come) : "r"(key), "r"(to) : "memory");
    return !has_come;
}

#endif
