/* Messages between processes of one node through memory that they share (--mpi local.channel=memory). */
#ifndef CHASQUI_LOCAL_H
#define CHASQUI_LOCAL_H

/* Puts the channel in front of the device, which keeps what goes to other nodes; called by MPI_Init. Nothing where the
 * process is alone on its node. */
void chq_local_open(void);

#endif
