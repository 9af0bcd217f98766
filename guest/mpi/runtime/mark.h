/* Marks name the stages of a message's life to the simulator. A mark is `slti x0, rs1, imm`, a
 * custom HINT (RISC-V unprivileged ISA, section 2.9): it only names a register that is live
 * anyway, the simulator charges nothing for it, and a real processor ignores it. */
#ifndef CHASQUI_MARK_H
#define CHASQUI_MARK_H

#include "chasqui/abi.h"
#include "mpi/runtime/calls.h"

#if defined(__riscv)
/* The 12-bit immediate is signed: calls from 64 on come out negative. */
#define CHQ_MARK_IMMEDIATE(call, code) (((((call) << 5) | (int)(code)) ^ 0x800) - 0x800)
#define CHQ_MARK(call, code) __asm__ volatile("slti x0, x0, %0" : : "i"(CHQ_MARK_IMMEDIATE(call, code)))
#define CHQ_MARK_NAME(code, pointer) \
    __asm__ volatile("slti x0, %0, %1" : : "r"(pointer), "i"(CHQ_MARK_IMMEDIATE(0, code)))
/* The simulator reads what the pointer names, so it must have been stored by now. */
#define CHQ_MARK_CONTENT(code, pointer) \
    __asm__ volatile("slti x0, %0, %1" : : "r"(pointer), "i"(CHQ_MARK_IMMEDIATE(0, code)), "m"(*(pointer)))
#else
#define CHQ_MARK(call, code) ((void)0)
#define CHQ_MARK_NAME(code, pointer) ((void)(pointer))
#define CHQ_MARK_CONTENT(code, pointer) ((void)(pointer))
#endif

#define MARK_CALL(call) CHQ_MARK(call, CHASQUI_MARK_CALL)
#define MARK_RETURN(call) CHQ_MARK(call, CHASQUI_MARK_RETURN)
/* The data are there already: the caller of the public function has stored them, or a function of the library. */
#define MARK_SEND(envelope, data)                      \
    do {                                               \
        CHQ_MARK_NAME(CHASQUI_MARK_DATA, data);        \
        CHQ_MARK_CONTENT(CHASQUI_MARK_SEND, envelope); \
    } while (0)
#define MARK_READY(envelope) CHQ_MARK_CONTENT(CHASQUI_MARK_READY, envelope)
#define MARK_POST(request) CHQ_MARK_NAME(CHASQUI_MARK_POST, request)
#define MARK_MATCH(request, envelope)                       \
    do {                                                    \
        CHQ_MARK_NAME(CHASQUI_MARK_MATCH_REQUEST, request); \
        CHQ_MARK_CONTENT(CHASQUI_MARK_MATCH, envelope);     \
    } while (0)
#define MARK_QUEUED(envelope) CHQ_MARK_CONTENT(CHASQUI_MARK_QUEUED, envelope)
#define MARK_COPIED(envelope) CHQ_MARK_CONTENT(CHASQUI_MARK_COPIED, envelope)
#define MARK_DELIVER(request) CHQ_MARK_CONTENT(CHASQUI_MARK_DELIVER, request)
#define MARK_CARRY(envelope) CHQ_MARK_CONTENT(CHASQUI_MARK_CARRY, envelope)
#define MARK_TAKEN(envelope) CHQ_MARK_CONTENT(CHASQUI_MARK_TAKEN, envelope)
#define MARK_DONE(request) CHQ_MARK_NAME(CHASQUI_MARK_DONE, request)
#define MARK_YIELDED() CHQ_MARK(0, CHASQUI_MARK_YIELDED)
#define MARK_BLOCKED(request) CHQ_MARK_NAME(CHASQUI_MARK_BLOCKED, request)
#define MARK_UNBLOCKED() CHQ_MARK(0, CHASQUI_MARK_BLOCKED)
#define MARK_WAITING(text) CHQ_MARK_NAME(CHASQUI_MARK_WAITING, text)
#define MARK_WAITED() CHQ_MARK(0, CHASQUI_MARK_WAITING)

#endif
