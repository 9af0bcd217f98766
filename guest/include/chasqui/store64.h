/* Stores of 64 bytes to a device, each one transaction: as ENQCMD and MOVDIR64B (x86) or ST64B and ST64BV (Arm,
 * FEAT_LS64) make them. They are instructions of Chasqui's own, in the opcode custom-0, funct3 0:
 *
 *   st64b rs2, (rs1)       funct7 0: posted; rd is 0
 *   st64bv rd, rs2, (rs1)  funct7 1: waits for the device's answer, which is in rd then
 *
 * The data are the eight registers from rs2 on, which is at most x24. The address is a multiple of 64 and a
 * device's, else the process gets SIGBUS; a device that takes no such store at an address is a fault of the process
 * as well. The store keeps the order of uncached stores: what it must not pass needs a fence. */
#ifndef CHASQUI_STORE64_H
#define CHASQUI_STORE64_H

#include <stdint.h>

/* Answers: the device took the store; it had no room, and nothing has happened. */
#define CHASQUI_STORE_64_ACCEPTED 0
#define CHASQUI_STORE_64_RETRY 1

/* Eight words in a0 to a7. */
#define CHASQUI_EIGHT_WORDS(words)                   \
    register uint64_t w0 __asm__("a0") = (words)[0]; \
    register uint64_t w1 __asm__("a1") = (words)[1]; \
    register uint64_t w2 __asm__("a2") = (words)[2]; \
    register uint64_t w3 __asm__("a3") = (words)[3]; \
    register uint64_t w4 __asm__("a4") = (words)[4]; \
    register uint64_t w5 __asm__("a5") = (words)[5]; \
    register uint64_t w6 __asm__("a6") = (words)[6]; \
    register uint64_t w7 __asm__("a7") = (words)[7]

#define CHASQUI_EIGHT_INPUTS "r"(w0), "r"(w1), "r"(w2), "r"(w3), "r"(w4), "r"(w5), "r"(w6), "r"(w7)

static inline void chasqui_store_64(volatile void *to, const uint64_t words[8])
{
    CHASQUI_EIGHT_WORDS(words);
    __asm__ volatile(".insn r 0x0b, 0, 0, x0, %0, a0" : : "r"(to), CHASQUI_EIGHT_INPUTS : "memory");
}

static inline uint64_t chasqui_store_64_answered(volatile void *to, const uint64_t words[8])
{
    uint64_t answer;
    CHASQUI_EIGHT_WORDS(words);
    __asm__ volatile(".insn r 0x0b, 0, 1, %0, %1, a0" : "=r"(answer) : "r"(to), CHASQUI_EIGHT_INPUTS : "memory");
    return answer;
}

#endif
