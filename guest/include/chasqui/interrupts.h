/* Generated from crates/abi/src/interrupts.rs; change that and run `make headers`. */
#ifndef CHASQUI_INTERRUPTS_H
#define CHASQUI_INTERRUPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_INTERRUPTS_PRIORITY 0x0ull /* Priority of source n at n times 4: 0 to 7, and 0 never interrupts. */
#define CHASQUI_INTERRUPTS_PENDING 0x1000ull /* Bits of the sources that are pending. */
#define CHASQUI_INTERRUPTS_ENABLE 0x2000ull /* Bits of the sources that are enabled in context 0; read only is what there is no source for. */
#define CHASQUI_INTERRUPTS_ENABLE_STRIDE 0x80ull /* From those of a context to those of the next [bytes]. */
#define CHASQUI_INTERRUPTS_THRESHOLD 0x200000ull /* Threshold of context 0: sources of at most this priority do not interrupt it. */
#define CHASQUI_INTERRUPTS_CLAIM 0x200004ull /* A load claims a source for context 0: its id, or 0. A store of the id completes it. */
#define CHASQUI_INTERRUPTS_CONTEXT_STRIDE 0x1000ull /* From threshold and claim of a context to those of the next [bytes]. */
#define CHASQUI_INTERRUPTS_BYTES 0x400000ull /* Addresses that the controller has [bytes]. */

#endif
