/* Instructions of a network cache (Khunjush, 2008, 3.1.5), Chasqui's own, in the opcode custom-0:
 *
 *   nload  rd, imm(rs1)   funct3 1, I-type: loads a doubleword of network memory
 *   nstore rs2, imm(rs1)  funct3 2, S-type: stores one
 *   remap  rd, rs1, rs2   funct3 3, R-type, funct7 0: binds the message named rs1 to the address rs2; rd: the outcome
 *
 * nload and nstore search the network section only, by the address in network memory, which is aligned to 8 and the
 * NI's; else the process gets SIGBUS. remap binds a message of up to 16 bytes to a multiple of 16, once: from then on
 * ordinary loads and stores find it there. On a processor without a network cache all three are illegal. */
#ifndef CHASQUI_NETWORK_CACHE_H
#define CHASQUI_NETWORK_CACHE_H

#include <stdint.h>

/* Outcomes of remap: it is bound; nobody knows the message any more, software copies it from network memory; the
 * address is no multiple of 16, likewise. */
#define CHASQUI_REMAP_BOUND 0
#define CHASQUI_REMAP_UNKNOWN 1
#define CHASQUI_REMAP_UNALIGNED 2

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

#endif
