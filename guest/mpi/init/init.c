/* Start and end (MPI 5.0, chapter 11). Starting must be cheap: it is simulated work on every rank,
 * so it touches little more than the identification page. */
#include "chasqui/collectives.h"

#include "local/local.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/attribute.h"
#include "mpi/comm/raise.h"
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/text.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/eager.h"
#include "mpi/transport/transport.h"

/* Every rank finds the same: rank 0 says it. */
static _Noreturn void refuse_version(void)
{
    if (chq.ni->rank > 0)
        chq_platform_exit(1);
    chq_die("this program was linked with the MPI library of another version: link the program again");
}

static void find_device(void)
{
    chq.ni = chq_platform_open_ni(&chq.ni_fd);
    if (!chq.ni)
        chq_die("can't open /dev/ni0: this program must run on a simulated machine");
    if (chq.ni->magic != CHASQUI_NI_MAGIC || chq.ni->version != CHASQUI_ABI_VERSION)
        refuse_version();
    struct mpi_device *const *device = mpi_devices;
    while (*device && (*device)->id != chq.ni->device)
        device++;
    chq.device = *device;
    if (!chq.device)
        chq_die("this library has no device for the machine's network interface: link the program again");
    if (chq.device->interface != chq.ni->interface)
        refuse_version();
    if (!chq.device->open(chq.ni, chq.ni_fd))
        chq_die("the network interface can't be used");
}

static uint32_t number_of(const char *digits)
{
    uint32_t number = 0;
    while (*digits)
        number = 10 * number + (uint32_t)(*digits++ - '0');
    return number;
}

/* Apart from MPI_Init, which is executed always. False: there is no such setting. */
static __attribute__((noinline)) bool set_rare(const char *name, const char *value)
{
    if (!text_equal(name, "local.channel"))
        return chq_eager_set(name, value);
    chq_local_open(); /* It is said where it is memory. */
    return true;
}

/* What --mpi says (crates/machine/src/library.rs): pairs of texts, name and value, up to an empty one. */
static void set_all(const char *pairs)
{
    while (*pairs) {
        const char *value = pairs + text_length(pairs) + 1;
        if (text_equal(pairs, "wait.polls"))
            chq_yield_after(number_of(value));
        else if (!set_rare(pairs, value))
            chq_die("this library lacks an algorithm that --mpi names: link the program again");
        pairs = value + text_length(value) + 1;
    }
}

static int init(int required, const char *call)
{
    if (chq.initialized)
        return chq_fail(NULL, call, MPI_ERR_OTHER, "called a second time");
    chq_request_init();
    find_device();
    chq.rank = chq.ni->rank;
    chq.size = chq.ni->ranks;
    chq.seconds_per_tick = chq.ni->timebase_hz ? 1.0 / chq.ni->timebase_hz : 0.0;
    chq.thread_level = chq_thread_init(required);
    chq.transport = chq.device->transport ? chq.device->transport : &chq_host_matching;
    chq.transport->init();
    chq_sleep_in_waits();
    chq_comm_init((int)chq.rank, (int)chq.size);
    if (chq.device->collective)
        chq_coll_ask_device();
    if (chq.ni->mpi_settings)
        set_all((const char *)chq.ni + chq.ni->mpi_settings);
    chq.initialized = true;
    return MPI_SUCCESS;
}

int PMPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    MARK_CALL(CALL_INIT);
    int error = init(MPI_THREAD_SINGLE, "MPI_Init");
    MARK_RETURN(CALL_INIT);
    return error;
}
MPI_ALIAS(Init);

/* Threads that call MPI at the same time need harts of their own. Every rank finds the same: rank 0 says it. */
static __attribute__((cold, noinline)) void refuse_threads(void)
{
    struct line line = {.length = 0};
    if (chq.rank > 0)
        return;
    line_add(&line, "rank 0: MPI_Init_thread: MPI_THREAD_MULTIPLE is not provided, since each rank has one hart ");
    line_add(&line, "(node.harts, shared out among a node's ranks)\n");
    chq_platform_write(2, line.text, line.length);
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc, (void)argv;
    MARK_CALL(CALL_INIT);
    int error = init(required, "MPI_Init_thread");
    *provided = chq.thread_level;
    if (unlikely(*provided < required) && required == MPI_THREAD_MULTIPLE && !error)
        refuse_threads();
    MARK_RETURN(CALL_INIT);
    return error;
}
MPI_ALIAS(Init_thread);
MPI_PARTIAL(Init_thread, "provides MPI_THREAD_MULTIPLE where a rank has several harts alone (node.harts)");

/* No process stops polling while another still needs an answer. The barrier has the context of MPI_COMM_SELF, which no other
 * message between processes has: none that the program itself is still in answers it. */
static void wait_for_the_others(void)
{
    chq_world.head += (uint64_t)(chq_self.context - chq_world.context) << 16;
    chq_world.context = chq_self.context;
    MARK_WAITING("MPI_Finalize: the other processes");
    chq_barrier_dissemination(&chq_world);
    MARK_WAITED();
}

int PMPI_Finalize(void)
{
    CALL_ENTER(CALL_FINALIZE);
    chq_attributes_finalize();
    chq_buffer_flush();
    MARK_WAITING("MPI_Finalize: sends that are under way");
    while (chq.outstanding || chq_is_blocked())
        chq_progress();
    MARK_WAITED();
    wait_for_the_others();
    while (chq_is_blocked())
        chq_progress();
    chq.device->close();
    chq_comms_finalize();
    CALL_LEAVE(CALL_FINALIZE);
    /* What is called from here on finds no communicator, or is refused the lock, at no cost for what was called before. */
    chq.finalized = chq.threaded = true;
    return MPI_SUCCESS;
}
MPI_ALIAS(Finalize);

int PMPI_Abort(MPI_Comm comm, int errorcode)
{
    (void)comm;
    MARK_CALL(CALL_ABORT);
    chq_platform_exit(errorcode);
}
MPI_ALIAS(Abort);

int PMPI_Initialized(int *flag)
{
    *flag = chq.initialized;
    return MPI_SUCCESS;
}
MPI_ALIAS(Initialized);

int PMPI_Finalized(int *flag)
{
    *flag = chq.finalized;
    return MPI_SUCCESS;
}
MPI_ALIAS(Finalized);

int PMPI_Query_thread(int *provided)
{
    *provided = chq.thread_level;
    return MPI_SUCCESS;
}
MPI_ALIAS(Query_thread);

int PMPI_Is_thread_main(int *flag)
{
    *flag = chq_thread_is_main();
    return MPI_SUCCESS;
}
MPI_ALIAS(Is_thread_main);
