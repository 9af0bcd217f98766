/* Communicators: their life and what can be asked of them (MPI 5.0, section 7.4). New ones:
 * comm_new.c. */
#include "mpi/comm/comm.h"

#include "mpi/comm/attribute.h"
#include "mpi/comm/errhandler.h"
#include "mpi/comm/info.h"
#include "mpi/comm/raise.h"
#include "mpi/comm/topology.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/process.h"
#include "mpi/runtime/text.h"
#include "mpi/runtime/thread.h"

struct communicator chq_comms[3];

static struct group world_group, self_group;
static uint16_t self_rank;

void chq_comm_set_context(struct communicator *comm, uint16_t context)
{
    comm->context = context;
    comm->head = CHASQUI_PACKET_EAGER | (uint64_t)context << 16 | (uint64_t)chq.rank << 32;
    chq_context_take(context);
}

static void comm_fill(struct communicator *comm, struct group *group, uint16_t context)
{
    comm->valid = chq.threaded ? COMM_SHARED : COMM_VALID;
    comm->references = 1;
    comm->size = comm->local_size = group->size;
    comm->rank = group->rank;
    comm->world = group->world;
    chq_comm_set_context(comm, context);
    comm->group = comm->remote = group;
}

void chq_comm_init(int rank, int size)
{
    self_rank = (uint16_t)rank;
    world_group = (struct group){GROUP_VALID, 2, size, rank, NULL, NULL};
    self_group = (struct group){GROUP_VALID, 2, 1, 0, &self_rank, NULL};
    comm_fill(&chq_world, &world_group, 0);
    comm_fill(&chq_self, &self_group, CONTEXTS);
    chq_world.errhandler = chq_self.errhandler = &chq_errors_are_fatal;
}

/* Those that the program has made and not freed. */
static struct communicator *made;

void chq_comms_finalize(void)
{
    chq_world.valid = chq_self.valid = 0;
    for (struct communicator *comm = made; comm; comm = comm->next)
        comm->valid = 0;
}

struct communicator *chq_comm_new(struct communicator *parent, struct group *group, uint16_t context)
{
    struct communicator *comm = chq_malloc(sizeof *comm);
    memset(comm, 0, sizeof *comm);
    comm_fill(comm, group, context);
    comm->errhandler = parent->errhandler;
    chq_errhandler_retain(comm->errhandler);
    comm->next = made;
    comm->link = &made;
    if (made)
        made->link = &comm->next;
    made = comm;
    return comm;
}

struct communicator *chq_comm_new_inter(struct communicator *parent, struct group *group, struct group *remote,
                                        uint16_t context)
{
    struct communicator *comm = chq_comm_new(parent, group, context);
    comm->inter = true;
    comm->remote = remote;
    comm->size = remote->size;
    comm->world = remote->world;
    return comm;
}

/* The last reference is gone. */
void chq_comm_destroy(struct communicator *comm)
{
    comm->valid = 0;
    *comm->link = comm->next;
    if (comm->next)
        comm->next->link = comm->link;
    chq_context_free(comm->context);
    chq_errhandler_release(comm->errhandler);
    chq_topology_release(comm->topology);
    chq_info_free(comm->info);
    free(comm->name);
    chq_group_release(comm->group);
    if (comm->inter)
        chq_group_release(comm->remote);
    free(comm); // NOLINT(clang-analyzer-unix.Malloc): the predefined ones are never destroyed
}

int chq_comm_check(const struct communicator *comm)
{
    if (likely(comm_is_valid(comm)))
        return MPI_SUCCESS;
    if (!chq_is_up())
        return chq_reason(MPI_ERR_OTHER, chq_why_not_up());
    return chq_reason(MPI_ERR_COMM, "not a communicator");
}

int chq_comm_check_intra(const struct communicator *comm)
{
    int error = chq_comm_check(comm);
    if (!error && comm->inter)
        error = chq_reason(MPI_ERR_COMM, "not for an intercommunicator");
    return error;
}

int chq_comm_check_inter(const struct communicator *comm)
{
    int error = chq_comm_check(comm);
    if (!error && !comm->inter)
        error = chq_reason(MPI_ERR_COMM, "only for an intercommunicator");
    return error;
}

int chq_comm_free(struct communicator *comm)
{
    int error = chq_attributes_delete(&comm->attributes, comm_handle(comm));
    if (!error)
        comm_release(comm);
    return error;
}

static int free_and_clear(MPI_Comm *comm, const char *call)
{
    struct communicator *c = comm_of(*comm);
    int error = chq_comm_check(c);
    if (!error && (c == &chq_world || c == &chq_self))
        error = chq_reason(MPI_ERR_COMM, "a predefined communicator can't be freed");
    if (!error)
        error = chq_comm_free(c);
    if (error)
        error = chq_fail(c, call, error, NULL);
    else
        *comm = MPI_COMM_NULL;
    return error;
}

int PMPI_Comm_free(MPI_Comm *comm)
{
    CALL_ENTER(CALL_COMM_FREE);
    int error = free_and_clear(comm, "MPI_Comm_free");
    CALL_LEAVE(CALL_COMM_FREE);
    return error;
}
MPI_ALIAS(Comm_free);

int PMPI_Comm_disconnect(MPI_Comm *comm)
{
    CALL_ENTER(CALL_COMM_FREE);
    int error = free_and_clear(comm, "MPI_Comm_disconnect");
    CALL_LEAVE(CALL_COMM_FREE);
    return error;
}
MPI_ALIAS(Comm_disconnect);

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (error)
        return chq_fail(c, "MPI_Comm_size", error, NULL);
    *size = c->local_size;
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_size);

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (error)
        return chq_fail(c, "MPI_Comm_rank", error, NULL);
    *rank = c->rank;
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_rank);

int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    LOCAL_CALL();
    struct communicator *a = comm_of(comm1), *b = comm_of(comm2);
    int error = chq_comm_check(a);
    if (!error)
        error = chq_comm_check(b);
    if (error)
        return chq_fail(NULL, "MPI_Comm_compare", error, NULL);
    *result = a == b ? MPI_IDENT : a->inter == b->inter ? chq_group_compare(a->group, b->group) : MPI_UNEQUAL;
    if (a != b && a->inter && b->inter) {
        int remote = chq_group_compare(a->remote, b->remote);
        *result = remote > *result ? remote : *result; /* The constants ascend as groups differ more. */
    }
    if (a != b && *result == MPI_IDENT)
        *result = MPI_CONGRUENT;
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_compare);

int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (error)
        return chq_fail(c, "MPI_Comm_test_inter", error, NULL);
    *flag = c->inter;
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_test_inter);

int PMPI_Comm_remote_size(MPI_Comm comm, int *size)
{
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check_inter(c);
    if (error)
        return chq_fail(c, "MPI_Comm_remote_size", error, NULL);
    *size = c->size;
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_remote_size);

int PMPI_Comm_set_name(MPI_Comm comm, const char *comm_name)
{
    LOCAL_CALL();
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (error)
        return chq_fail(c, "MPI_Comm_set_name", error, NULL);
    if (!c->name)
        c->name = chq_malloc(MPI_MAX_OBJECT_NAME);
    text_copy(c->name, comm_name, MPI_MAX_OBJECT_NAME);
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_set_name);

int PMPI_Comm_get_name(MPI_Comm comm, char *comm_name, int *resultlen)
{
    LOCAL_CALL();
    struct communicator *c = comm_of(comm);
    const char *name = "MPI_COMM_NULL";
    if (comm != MPI_COMM_NULL) {
        int error = chq_comm_check(c);
        if (error)
            return chq_fail(c, "MPI_Comm_get_name", error, NULL);
        name = c->name ? c->name : c == &chq_world ? "MPI_COMM_WORLD" : c == &chq_self ? "MPI_COMM_SELF" : "";
    }
    *resultlen = (int)text_copy(comm_name, name, MPI_MAX_OBJECT_NAME);
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_get_name);

int PMPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    LOCAL_CALL();
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    struct info *copy = NULL;
    if (!error)
        error = chq_info_copy(info, &copy);
    if (error)
        return chq_fail(c, "MPI_Comm_set_info", error, NULL);
    chq_info_free(c->info);
    c->info = copy;
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_set_info);

int PMPI_Comm_get_info(MPI_Comm comm, MPI_Info *info_used)
{
    LOCAL_CALL();
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (error)
        return chq_fail(c, "MPI_Comm_get_info", error, NULL);
    if (!c->info)
        return PMPI_Info_create(info_used);
    return PMPI_Info_dup((MPI_Info)c->info, info_used);
}
MPI_ALIAS(Comm_get_info);
