/* Packets between the library's processes: envelopes with up to the device's eager limit of payload. A packet is an active
 * message: its kind names the function that takes it where it arrives (von Eicken, Culler, Goldstein, Schauser: Active
 * Messages: a Mechanism for Integrated Communication and Computation. ISCA 1992). Which kinds there are stands in
 * crates/abi; what begins a message (up to LAST_MESSAGE) is the matching's, and goes past this table. */
#ifndef CHASQUI_PACKET_H
#define CHASQUI_PACKET_H

#include "mpi/transport/progress.h"

/* Takes a packet. `payload` may be read until it returns; null, with `bytes` more than 0: the device's `take` copies it.
 * It is called within a look at the network: it may send, and must not look or wait. */
typedef void packet_handler(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);

/* From now on packets of `kind` go to `handler`. All processes must do so before they can get one: at MPI_Init, or before
 * they agree to use it. */
extern packet_handler *chq_packet_handlers[CHASQUI_PACKET_KINDS];
static inline void chq_packet_register(unsigned kind, packet_handler *handler) { chq_packet_handlers[kind] = handler; }

/* packet.c. A packet has come that begins no message. */
void chq_packet_arrived(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);

/* For handlers: copies the payload, from wherever it is. */
void chq_packet_take(void *to, const void *payload, size_t bytes);

/* queue.c. Sends now if the device has room and nothing to that destination waits, else in order later. False: queued;
 * the payload must stay as it is until it has left. `request`, unless null, is completed when it has left later; what
 * leaves at once is the caller's to complete. The destination is another process. */
bool chq_send_in_order(const struct chasqui_envelope *envelope, const void *payload, size_t bytes,
                       struct request *request);

/* Likewise, for packets that nothing waits for: up to 8 bytes of payload are copied. */
void chq_send_control(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);

#endif
