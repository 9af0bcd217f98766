/* Attributes of communicators: see attribute.c. */
#ifndef CHASQUI_ATTRIBUTE_H
#define CHASQUI_ATTRIBUTE_H

struct communicator;

/* Copies what the copy functions want copied (MPI_Comm_dup); an error code of theirs ends it. */
int chq_attributes_copy(struct communicator *from, struct communicator *to);
/* Deletes all, latest first. */
int chq_attributes_delete(struct communicator *comm);
/* Those of MPI_COMM_SELF, first thing in MPI_Finalize (MPI 5.0, section 11.2.4). */
void chq_attributes_finalize(void);

int chq_last_used_code(void);

#endif
