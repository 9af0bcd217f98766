/* What a program begins with: the first communication meets a device that has no connections yet and has sent nothing,
 * and here nothing follows it but MPI_Finalize. Arguments: the kind of communication; integers of a message; a node that
 * comes late to MPI_Init. Without a kind: names all that there are. */
#define _POSIX_C_SOURCE 200112L
#include <unistd.h>

#include "check.h"

static int elements, right, left;
static int *out, *in, *all_out, *all_in; /* `all_`: a block a process. */

static int value(int from, int i) { return from * 100003 + i; }

static void check_from(int from, const int *data)
{
    for (int i = 0; i < elements; i += 1 + elements / 100)
        CHECK_EQUAL(data[i], value(from, i));
    CHECK_EQUAL(data[elements - 1], value(from, elements - 1));
}

static void check_sum(const int *data, int ranks)
{
    for (int i = 0; i < elements; i += 1 + elements / 100) {
        int sum = 0;
        for (int rank = 0; rank < ranks; rank++)
            sum += value(rank, i);
        CHECK_EQUAL(data[i], sum);
    }
}

/* --- messages ------------------------------------------------------------------------------------- */

enum form { SEND, SSEND, BSEND };

static void send_right(enum form form)
{
    if (form == SEND)
        MPI_Send(out, elements, MPI_INT, right, 0, MPI_COMM_WORLD);
    else if (form == SSEND)
        MPI_Ssend(out, elements, MPI_INT, right, 0, MPI_COMM_WORLD);
    else
        MPI_Bsend(out, elements, MPI_INT, right, 0, MPI_COMM_WORLD);
}

/* The first rank begins with a send, the others with a receive. */
static void pass_on(enum form form)
{
    if (check_rank == 0)
        send_right(form);
    MPI_Recv(in, elements, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_from(left, in);
    if (check_rank != 0)
        send_right(form);
}

static void by_send(void) { pass_on(SEND); }
static void by_ssend(void) { pass_on(SSEND); }

static void by_bsend(void)
{
    int bytes = elements * (int)sizeof(int) + MPI_BSEND_OVERHEAD;
    MPI_Buffer_attach(malloc((size_t)bytes), bytes);
    pass_on(BSEND); /* MPI_Finalize must see to what has not left. */
}

static void begin_exchange(MPI_Request requests[2])
{
    MPI_Irecv(in, elements, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, elements, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
}

static void by_sendrecv(void)
{
    MPI_Sendrecv(out, elements, MPI_INT, right, 0, in, elements, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_from(left, in);
}

/* Until `count` requests are complete. */
typedef void wait_for(int count, MPI_Request requests[]);

static void wait_each(int count, MPI_Request requests[])
{
    for (int i = 0; i < count; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static void wait_all(int count, MPI_Request requests[]) { MPI_Waitall(count, requests, MPI_STATUSES_IGNORE); }

static void wait_any(int count, MPI_Request requests[])
{
    for (int done = 0, index; done < count; done++)
        MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
}

static void wait_some(int count, MPI_Request requests[])
{
    int indices[8];
    for (int done = 0, some = 0; done < count; done += some)
        MPI_Waitsome(count, requests, &some, indices, MPI_STATUSES_IGNORE);
}

static void test_all(int count, MPI_Request requests[])
{
    for (int flag = 0; !flag;)
        MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
}

static void exchange(wait_for *wait)
{
    MPI_Request requests[2];
    begin_exchange(requests);
    wait(2, requests);
    check_from(left, in);
}

static void by_wait(void) { exchange(wait_each); }
static void by_waitall(void) { exchange(wait_all); }
static void by_waitany(void) { exchange(wait_any); }
static void by_waitsome(void) { exchange(wait_some); }
static void by_testall(void) { exchange(test_all); }

static void by_probe(void)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Isend(out, elements, MPI_INT, right, 0, MPI_COMM_WORLD, &request);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Recv(in, elements, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_from(left, in);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void by_mprobe(void)
{
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Issend(out, elements, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Mprobe(left, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, elements, MPI_INT, &message, &requests[1]);
    wait_any(2, requests);
    check_from(left, in);
}

static void by_start(void)
{
    MPI_Request requests[2];
    MPI_Recv_init(in, elements, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Ssend_init(out, elements, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 2; round++) {
        memset(in, 0, (size_t)elements * sizeof *in);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        check_from(left, in);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Nothing waits for the sends but MPI_Finalize; the first rank is there at once. */
static void by_finalize(void)
{
    for (int to = 1; check_rank == 0 && to < check_size; to++) {
        MPI_Request request;
        MPI_Isend(out, elements, MPI_INT, to, 0, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    if (check_rank != 0) {
        MPI_Recv(in, elements, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_from(0, in);
    }
}

/* Messages that meet no receive, and receives that meet no message. */
static void by_cancel(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Issend(out, elements, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in, elements, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++)
        MPI_Cancel(&requests[i]);
    MPI_Waitall(2, requests, statuses);
    for (int i = 0, cancelled; i < 2; i++) {
        MPI_Test_cancelled(&statuses[i], &cancelled);
        CHECK(cancelled);
    }
}

/* --- collectives ---------------------------------------------------------------------------------- */

static void by_barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void by_bcast(void)
{
    int *data = check_rank == 0 ? out : in;
    MPI_Bcast(data, elements, MPI_INT, 0, MPI_COMM_WORLD);
    check_from(0, data);
}

static void by_allreduce(void)
{
    MPI_Allreduce(out, in, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_sum(in, check_size);
}

static void check_blocks(void)
{
    for (int from = 0; from < check_size; from++)
        check_from(from, all_in + (size_t)from * (size_t)elements);
}

static void by_alltoall(void)
{
    MPI_Alltoall(all_out, elements, MPI_INT, all_in, elements, MPI_INT, MPI_COMM_WORLD);
    check_blocks();
}

static void by_ibarrier(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void by_ibcast(void)
{
    int *data = check_rank == 0 ? out : in;
    MPI_Request request;
    MPI_Ibcast(data, elements, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_from(0, data);
}

static void iallreduce(wait_for *wait)
{
    MPI_Request request;
    MPI_Iallreduce(out, in, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    wait(1, &request);
    check_sum(in, check_size);
}

static void by_iallreduce(void) { iallreduce(wait_each); }
static void by_iallreduce_waitall(void) { iallreduce(wait_all); }
static void by_iallreduce_waitany(void) { iallreduce(wait_any); }
static void by_iallreduce_waitsome(void) { iallreduce(wait_some); }
static void by_iallreduce_testall(void) { iallreduce(test_all); }

static void by_ialltoall(void)
{
    MPI_Request request;
    MPI_Ialltoall(all_out, elements, MPI_INT, all_in, elements, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_blocks();
}

static void by_igather(void)
{
    MPI_Request request;
    MPI_Igather(out, elements, MPI_INT, all_in, elements, MPI_INT, check_size - 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (check_rank == check_size - 1)
        check_blocks();
}

/* A collective, messages and a probe's wait at a time. */
static void by_several(void)
{
    MPI_Request requests[4];
    int *sum = all_in;
    MPI_Iallreduce(out, sum, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, elements, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    MPI_Probe(left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(in, elements, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[3]);
    wait_some(4, requests);
    check_from(left, in);
    check_sum(sum, check_size);
}

static void start_twice(MPI_Request request)
{
    for (int round = 0; round < 2; round++) {
        memset(in, 0, (size_t)elements * sizeof *in);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_sum(in, check_size);
    }
    MPI_Request_free(&request);
}

static void by_allreduce_init(void)
{
    MPI_Request request;
    MPI_Allreduce_init(out, in, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    start_twice(request);
}

static void by_barrier_init(void)
{
    MPI_Request request;
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

/* A generalized request that the operator of a collective completes. */
static MPI_Request general;
static int general_is_complete;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int forget(void *state) { return state ? MPI_SUCCESS : MPI_ERR_OTHER; }

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void add(void *from, void *to, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)to)[i] += ((int *)from)[i];
    if (!general_is_complete)
        MPI_Grequest_complete(general);
    general_is_complete = 1;
}

/* All processes have the operator applied: by recursive doubling, to few elements. */
static void by_grequest(void)
{
    MPI_Request request;
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    MPI_Grequest_start(query, forget, cancel, out, &general);
    MPI_Iallreduce(out, in, elements, MPI_INT, op, MPI_COMM_WORLD, &request);
    MPI_Request waited = general;
    if (check_size == 2)
        MPI_Wait(&waited, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sum(in, check_size);
}

/* --- communicators -------------------------------------------------------------------------------- */

static void by_comm_dup(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
}

static void by_comm_idup(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int rank;
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_rank(comm, &rank);
    CHECK_EQUAL(rank, check_rank);
    MPI_Iallreduce(out, in, elements, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sum(in, check_size);
    MPI_Comm_free(&comm);
}

static void by_comm_split(void)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &comm);
    MPI_Comm_free(&comm);
}

static void by_neighbors(void)
{
    MPI_Comm ring;
    MPI_Request request;
    int periodic = 1, got[2] = {-1, -1}, sent[2] = {2 * check_rank, 2 * check_rank + 1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, &periodic, 0, &ring);
    MPI_Ineighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQUAL(got[0], 2 * left + 1);
    CHECK_EQUAL(got[1], 2 * right);
    MPI_Comm_free(&ring);
}

/* The first rank and the others. */
static MPI_Comm bridge(MPI_Comm *own)
{
    MPI_Comm both;
    MPI_Group world, part;
    int first = 0, is_first = check_rank == 0;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (is_first)
        MPI_Group_incl(world, 1, &first, &part);
    else
        MPI_Group_excl(world, 1, &first, &part);
    MPI_Comm_create_group(MPI_COMM_WORLD, part, 0, own);
    MPI_Intercomm_create(*own, 0, MPI_COMM_WORLD, is_first ? 1 : 0, 1, &both);
    MPI_Group_free(&world);
    MPI_Group_free(&part);
    return both;
}

static void intercommunicate(MPI_Comm both)
{
    MPI_Request request;
    MPI_Iallreduce(out, in, elements, MPI_INT, MPI_SUM, both, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (check_rank != 0)
        check_from(0, in);
}

static void by_intercomm(void)
{
    MPI_Comm own, both = bridge(&own), merged;
    intercommunicate(both);
    MPI_Barrier(both);
    MPI_Intercomm_merge(both, check_rank != 0, &merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&both);
    MPI_Comm_free(&own);
}

/* --- which ---------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*begin)(void);
} kinds[] = {
    {"send", by_send},
    {"ssend", by_ssend},
    {"bsend", by_bsend},
    {"sendrecv", by_sendrecv},
    {"wait", by_wait},
    {"waitall", by_waitall},
    {"waitany", by_waitany},
    {"waitsome", by_waitsome},
    {"testall", by_testall},
    {"probe", by_probe},
    {"mprobe", by_mprobe},
    {"start", by_start},
    {"finalize", by_finalize},
    {"cancel", by_cancel},
    {"barrier", by_barrier},
    {"bcast", by_bcast},
    {"allreduce", by_allreduce},
    {"alltoall", by_alltoall},
    {"ibarrier", by_ibarrier},
    {"ibcast", by_ibcast},
    {"iallreduce", by_iallreduce},
    {"iallreduce_waitall", by_iallreduce_waitall},
    {"iallreduce_waitany", by_iallreduce_waitany},
    {"iallreduce_waitsome", by_iallreduce_waitsome},
    {"iallreduce_testall", by_iallreduce_testall},
    {"ialltoall", by_ialltoall},
    {"igather", by_igather},
    {"several", by_several},
    {"allreduce_init", by_allreduce_init},
    {"barrier_init", by_barrier_init},
    {"grequest", by_grequest},
    {"comm_dup", by_comm_dup},
    {"comm_idup", by_comm_idup},
    {"comm_split", by_comm_split},
    {"neighbors", by_neighbors},
    {"intercomm", by_intercomm},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void come_late(const char *node)
{
    char name[64];
    gethostname(name, sizeof name);
    for (volatile int i = 0; strcmp(name, node) == 0 && i < 100000; i++)
        ;
}

/* Before the first communication: the program's own memory. */
static void fill(void)
{
    size_t block = (size_t)elements, blocks = block * (size_t)check_size;
    out = malloc(block * sizeof *out);
    in = malloc(block * sizeof *in);
    all_out = malloc(blocks * sizeof *all_out);
    all_in = malloc(blocks * sizeof *all_in);
    for (size_t i = 0; i < blocks; i++)
        all_out[i] = value(check_rank, (int)(i % block));
    memcpy(out, all_out, block * sizeof *out);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
}

int main(int argc, char **argv)
{
    int kind = 0;
    while (kind < KINDS && argc > 2 && strcmp(kinds[kind].name, argv[1]))
        kind++;
    if (argc <= 2 || kind == KINDS) {
        for (kind = 0; kind < KINDS; kind++)
            printf("%s\n", kinds[kind].name);
        return 2;
    }
    if (argc > 3)
        come_late(argv[3]);
    elements = atoi(argv[2]);
    check_init(&argc, &argv);
    fill();
    kinds[kind].begin();
    MPI_Finalize();
    return check_failures != 0;
}
