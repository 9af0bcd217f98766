/* Instructions of a network cache (Khunjush, 2008, 3.1.5), Chasqui's own, in the opcode custom-0:
 *
 *   nload  rd, imm(rs1)   funct3 1, I-type: loads a doubleword of network memory
 *   nstore rs2, imm(rs1)  funct3 2, S-type: stores one
 *   remap  rd, rs1, rs2   funct3 3, R-type, funct7 0: binds the message named rs1 to the address rs2; rd: the outcome
 *   prebind rd, rs1, rs2, rs3  funct3 4, R4-type, funct2 0: remap by name: binds the message with the envelope rs1 and,
 *                         in the low half of rs3, the ordinal to the address rs2, if it has no more bytes than rs3's
 *                         high half says; if it has not come it is bound as it comes. rd: 0: it is not there; else its
 *                         length in the low half, its number in the high one
 *   withdraw rd, rs1, rs2 funct3 5, R-type, funct7 0: takes that back; rd: 0, or 1 where the message is there
 *
 * nload and nstore search the network section only, by the address in network memory, which is aligned to 8 and the
 * NI's; else the process gets SIGBUS. A message is bound once: from then on ordinary loads and stores find it there. As it
 * comes one of up to 16 bytes is bound, to a multiple of 16; another when prebind is executed again. On a processor without a network cache all
 * are illegal. */
#ifndef CHASQUI_NETWORK_CACHE_H
#define CHASQUI_NETWORK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Outcomes of remap: it is bound; the message is in no section any more, software copies it from network memory. */
#define CHASQUI_REMAP_BOUND 0
#define CHASQUI_REMAP_UNKNOWN 1

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

static inline uint64_t chasqui_prebind(uint64_t envelope, void *to, uint32_t room, uint32_t ordinal)
{
    uint64_t outcome, how = (uint64_t)room << 32 | ordinal;
    __asm__ volatile(".insn r4 0x0b, 4, 0, %0, %1, %2, %3"
                     : "=r"(outcome)
                     : "r"(envelope), "r"(to), "r"(how)
                     : "memory");
    return outcome;
}

static inline bool chasqui_withdraw(uint64_t envelope, void *to)
{
    uint64_t has_come;
    __asm__ volatile(".insn r 0x0b, 5, 0, %0, %1, %2" : "=r"(has_come) : "r"(envelope), "r"(to) : "memory");
    return !has_come;
}

#endif
