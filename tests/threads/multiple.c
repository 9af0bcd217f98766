/* MPI by several threads of each rank at a time (MPI_THREAD_MULTIPLE).
 *
 *   multiple CASE THREADS SEED
 *
 * Each case checks its own answers; exit status 0 if all are right. The main thread is one of THREADS. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 16, LONGEST = 20000 };

static int threads, rank, ranks, seed;
static pthread_barrier_t barrier;

static void check(int right, const char *what, int line)
{
    if (right)
        return;
    fprintf(stderr, "rank %d, line %d: wrong: %s (SEED=%d)\n", rank, line, what, seed);
    MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(condition) check(condition, #condition, __LINE__)

/* Runs `work` on all threads; its argument is the thread's number. */
static void on_all(void *(*work)(void *))
{
    pthread_t other[THREADS_MAX];
    for (intptr_t i = 1; i < threads; i++)
        CHECK(pthread_create(&other[i], NULL, work, (void *)i) == 0);
    work(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(other[i], NULL);
}

/* xorshift32 (Marsaglia: Xorshift RNGs. J. of Statistical Software 8(14), 2003). */
static uint32_t draw(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

/* --- each thread with its like on the next rank -------------------------------------------------- */

static MPI_Comm own[THREADS_MAX];

static void duplicate_for_all(void)
{
    for (int i = 0; i < threads; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
}

static void free_all(void)
{
    for (int i = 0; i < threads; i++)
        MPI_Comm_free(&own[i]);
}

static void *ping(void *argument)
{
    int me = (int)(intptr_t)argument, peer = rank ^ 1;
    if (peer >= ranks)
        return NULL;
    for (int i = 0; i < 10; i++) {
        int sent = 1000 * me + i, got = -1;
        if (rank < peer) {
            MPI_Send(&sent, 1, MPI_INT, peer, 7, own[me]);
            MPI_Recv(&got, 1, MPI_INT, peer, 7, own[me], MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&got, 1, MPI_INT, peer, 7, own[me], MPI_STATUS_IGNORE);
            MPI_Send(&got, 1, MPI_INT, peer, 7, own[me]);
        }
        CHECK(got == sent);
        /* The same without a communicator of one's own. */
        MPI_Sendrecv(&sent, 1, MPI_INT, peer, 100 + me, &got, 1, MPI_INT, peer, 100 + me, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(got == sent);
    }
    return NULL;
}

static void pingpong(void)
{
    duplicate_for_all();
    on_all(ping);
    free_all();
}

/* --- random lengths, tags and modes -------------------------------------------------------------- */

/* What both ends of an exchange draw alike. */
static uint32_t stream(int from, int thread) { return (uint32_t)(seed * 7919 + from * 131 + thread * 17 + 1); }

static size_t length_of(uint32_t drawn) { return drawn % 3 == 0 ? drawn / 3 % LONGEST : drawn / 3 % 100; }

static void *exchange(void *argument)
{
    int me = (int)(intptr_t)argument, to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    uint32_t out = stream(rank, me), in = stream(from, me);
    char *sent = malloc(LONGEST), *got = malloc(LONGEST);
    for (int i = 0; i < 12; i++) {
        MPI_Request request[2];
        MPI_Status status;
        uint32_t a = draw(&out), b = draw(&in);
        size_t bytes = length_of(a), expected = length_of(b);
        int tag = (int)(a % 5) * THREADS_MAX + me, awaited = (int)(b % 5) * THREADS_MAX + me;
        memset(sent, (int)(a >> 24), bytes);
        if (a % 2)
            MPI_Isend(sent, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request[0]);
        else
            MPI_Issend(sent, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request[0]);
        MPI_Irecv(got, LONGEST, MPI_BYTE, i % 2 ? from : MPI_ANY_SOURCE, awaited, MPI_COMM_WORLD, &request[1]);
        if (i % 3) {
            MPI_Wait(&request[1], &status);
            MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Status both[2];
            MPI_Waitall(2, request, both);
            status = both[1];
        }
        int count;
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == (int)expected && status.MPI_SOURCE == from && status.MPI_TAG == awaited);
        for (size_t k = 0; k < expected; k++)
            CHECK(got[k] == (char)(b >> 24));
    }
    free(sent);
    free(got);
    return NULL;
}

static void random_messages(void) { on_all(exchange); }

/* --- collectives of different communicators at a time -------------------------------------------- */

static void *collect(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int i = 0; i < 5; i++) {
        long mine = 100 * me + rank + i, sum = 0, all[64];
        int root = (me + i) % ranks;
        MPI_Request request;
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, own[me]);
        CHECK(sum == (long)ranks * (100 * me + i) + (long)ranks * (ranks - 1) / 2);
        MPI_Iallgather(&mine, 1, MPI_LONG, all, 1, MPI_LONG, own[me], &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int r = 0; r < ranks; r++)
            CHECK(all[r] == 100 * me + r + i);
        MPI_Bcast(&mine, 1, MPI_LONG, root, own[me]);
        CHECK(mine == 100 * me + root + i);
        MPI_Barrier(own[me]);
    }
    /* Communicators are made at a time, too. */
    MPI_Comm part;
    MPI_Comm_split(own[me], rank % 2, -rank, &part);
    int size, expected = (ranks + 1 - rank % 2) / 2;
    MPI_Comm_size(part, &size);
    CHECK(size == expected);
    MPI_Comm_free(&part);
    return NULL;
}

static void collectives(void)
{
    duplicate_for_all();
    on_all(collect);
    free_all();
}

/* --- one waits while another works --------------------------------------------------------------- */

static void *receive_or_feed(void *argument)
{
    int me = (int)(intptr_t)argument, token = 0;
    if (me == 0) {
        /* Nothing comes until the other thread has talked to itself. */
        MPI_Recv(&token, 1, MPI_INT, (rank + 1) % ranks, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(token == 42);
        return NULL;
    }
    if (me > 1)
        return NULL;
    for (int i = 0; i < 20; i++) {
        MPI_Request request;
        int got = -1;
        MPI_Irecv(&got, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &request);
        MPI_Send(&i, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(got == i);
    }
    token = 42;
    MPI_Send(&token, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD);
    return NULL;
}

static void blocked(void) { on_all(receive_or_feed); }

/* --- requests that another thread completes ------------------------------------------------------ */

static MPI_Request generalized;

static int nothing(void *state) { return state == NULL ? MPI_SUCCESS : MPI_ERR_OTHER; }
static int query(void *state, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return nothing(state);
}
static int cancel(void *state, int complete) { return complete ? MPI_SUCCESS : nothing(state); }

static void *wait_or_complete(void *argument)
{
    int me = (int)(intptr_t)argument;
    if (me == 0) {
        MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        int index, got;
        MPI_Grequest_start(query, nothing, cancel, NULL, &generalized);
        request[1] = generalized;
        MPI_Irecv(&got, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &request[0]);
        pthread_barrier_wait(&barrier);
        MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
        CHECK(index == 1 && request[1] == MPI_REQUEST_NULL);
        /* Another thread cancels the other: Wait returns. */
        MPI_Status status;
        int cancelled;
        generalized = request[0];
        pthread_barrier_wait(&barrier);
        MPI_Wait(&request[0], &status);
        MPI_Test_cancelled(&status, &cancelled);
        CHECK(cancelled);
        return NULL;
    }
    pthread_barrier_wait(&barrier);
    if (me == 1)
        MPI_Grequest_complete(generalized);
    pthread_barrier_wait(&barrier);
    if (me == 1)
        MPI_Cancel(&generalized);
    return NULL;
}

static void completed(void) { on_all(wait_or_complete); }

/* --- sends to oneself that another thread's receive completes --------------------------------------- */

static void delay(int turns)
{
    for (volatile int i = 0; i < turns; i++)
        ;
}

/* The others look at the network meanwhile, and nothing comes. */
static void *send_to_oneself(void *argument)
{
    int me = (int)(intptr_t)argument, token = me;
    static char sent[LONGEST], got[LONGEST];
    pthread_barrier_wait(&barrier);
    if (me == 0) {
        for (int bytes = 1; bytes <= LONGEST; bytes += LONGEST - 1) {
            delay(2000);
            memset(sent, bytes % 100, (size_t)bytes);
            MPI_Ssend(sent, bytes, MPI_BYTE, rank, 4, MPI_COMM_WORLD);
        }
        for (int i = 2; i < threads; i++)
            MPI_Send(&i, 1, MPI_INT, rank, 100 + i, MPI_COMM_WORLD);
    } else if (me == 1) {
        for (int bytes = 1; bytes <= LONGEST; bytes += LONGEST - 1) {
            delay(20000);
            MPI_Recv(got, LONGEST, MPI_BYTE, rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(got[bytes - 1] == bytes % 100);
        }
    } else {
        MPI_Recv(&token, 1, MPI_INT, rank, 100 + me, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(token == me);
    }
    return NULL;
}

static void to_oneself(void) { on_all(send_to_oneself); }

/* --- threads that probe for the same messages ----------------------------------------------------- */

static int received[THREADS_MAX * 8];

static void *probe(void *argument)
{
    int me = (int)(intptr_t)argument, peer = rank ^ 1, each = 8;
    if (peer >= ranks)
        return NULL;
    for (int i = 0; i < each; i++) {
        int number = me * each + i;
        MPI_Send(&number, 1, MPI_INT, peer, 9, MPI_COMM_WORLD);
    }
    for (int i = 0; i < each; i++) {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        int number = -1, flag = 1;
        if (i % 2)
            MPI_Mprobe(peer, 9, MPI_COMM_WORLD, &message, &status);
        else
            for (flag = 0; !flag;)
                MPI_Improbe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, &message, &status);
        MPI_Mrecv(&number, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        CHECK(number >= 0 && number < threads * each);
        __atomic_fetch_add(&received[number], 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void probes(void)
{
    on_all(probe);
    for (int i = 0; (rank ^ 1) < ranks && i < threads * 8; i++)
        CHECK(received[i] == 1);
    /* MPI_Probe, whose message nobody else takes. */
    int one = 1, got = 0;
    MPI_Request request;
    MPI_Isend(&one, 1, MPI_INT, rank, 10, MPI_COMM_WORLD, &request);
    MPI_Probe(rank, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&got, 1, MPI_INT, rank, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == 1);
}

/* --- the program's functions call MPI ------------------------------------------------------------- */

static int keyval, copies;
static MPI_Op op;

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int size;
    MPI_Type_size(*type, &size);
    CHECK(size == (int)sizeof(long));
    for (int i = 0; i < *length; i++)
        ((long *)inout)[i] += ((long *)in)[i];
}

static int copy(MPI_Comm comm, int key, void *state, void *value, void *result, int *flag)
{
    int found;
    void *attribute;
    MPI_Comm_get_attr(comm, key, &attribute, &found);
    CHECK(found && state == NULL);
    __atomic_fetch_add(&copies, 1, __ATOMIC_RELAXED);
    *(void **)result = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(*code, text, &length);
    /* Communication, too: to oneself, and while others are in MPI. */
    int value = 5, got = 0;
    MPI_Sendrecv(&value, 1, MPI_INT, rank, 77, &got, 1, MPI_INT, rank, 77, *comm, MPI_STATUS_IGNORE);
    CHECK(got == 5 && length > 0);
}

static void *call_back(void *argument)
{
    int me = (int)(intptr_t)argument;
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(own[me], handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_attr(own[me], keyval, &keyval);
    for (int i = 0; i < 3; i++) {
        long mine = rank, sum;
        MPI_Comm other;
        MPI_Datatype pair;
        MPI_Request request;
        CHECK(MPI_Send(&mine, -1, MPI_LONG, 0, 0, own[me]) != MPI_SUCCESS);
        MPI_Iallreduce(&mine, &sum, 1, MPI_LONG, op, own[me], &request);
        MPI_Type_contiguous(2, MPI_LONG, &pair);
        MPI_Type_commit(&pair);
        MPI_Type_free(&pair);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(sum == (long)ranks * (ranks - 1) / 2);
        MPI_Comm_dup(own[me], &other);
        MPI_Comm_free(&other);
    }
    return NULL;
}

static void callbacks(void)
{
    duplicate_for_all();
    MPI_Op_create(add, 1, &op);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    on_all(call_back);
    CHECK(copies == 3 * threads);
    MPI_Comm_free_keyval(&keyval);
    MPI_Op_free(&op);
    free_all();
}

/* --- which thread is which ------------------------------------------------------------------------ */

static void *inquire(void *argument)
{
    int is_main, level, flag;
    MPI_Is_thread_main(&is_main);
    CHECK(is_main == (argument == NULL));
    MPI_Query_thread(&level);
    CHECK(level == MPI_THREAD_MULTIPLE);
    MPI_Initialized(&flag);
    CHECK(flag);
    return NULL;
}

static void inquiries(void) { on_all(inquire); }

/* --- a deadlock, which must be named -------------------------------------------------------------- */

static void *wait_in_vain(void *argument)
{
    int got, me = (int)(intptr_t)argument;
    MPI_Recv(&got, 1, MPI_INT, rank, me, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

static void deadlock(void) { on_all(wait_in_vain); }

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"pingpong", pingpong},     {"random", random_messages}, {"collectives", collectives}, {"blocked", blocked},
    {"completed", completed},   {"probes", probes},          {"callbacks", callbacks},     {"inquiries", inquiries},
    {"to_oneself", to_oneself}, {"deadlock", deadlock},
};

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 || (threads = atoi(argv[2])) < 1 || threads > THREADS_MAX)
        MPI_Abort(MPI_COMM_WORLD, 2);
    seed = atoi(argv[3]);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    int ran = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            ran = 1;
        }
    CHECK(ran);
    MPI_Finalize();
    if (rank == 0)
        printf("%s: %d ranks of %d threads, seed %d: all is right\n", argv[1], ranks, threads, seed);
    return 0;
}
