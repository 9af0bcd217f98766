/* Packets between the library's processes: envelopes with up to the device's eager limit of payload. */
#ifndef CHASQUI_PACKET_H
#define CHASQUI_PACKET_H

#include "mpi/transport/progress.h"

/* queue.c. Sends now if the device has room and nothing to that destination waits, else in order later. False: queued;
 * the payload must stay as it is until it has left. `request`, unless null, is completed when it has left later; what
 * leaves at once is the caller's to complete. */
bool chq_send_in_order(const struct chasqui_envelope *envelope, const void *payload, size_t bytes, struct request *request);

/* Likewise, for packets that nothing waits for: up to 8 bytes of payload are copied. */
void chq_send_control(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);

#endif
