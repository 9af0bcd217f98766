/* The firmware that matches (MPI-NP, chapter 3): requests of processes, what comes from the wire, and what engines have done are
 * events of the protocol; what that asks for goes to the engines.
 */
#include "mcp.h"

struct protocol protocol;
struct process *processes;
uint32_t process_count, ranks, window_bytes, unit_count;
#ifdef PROTOCOL_CACHE
struct peer *peers;
#else
struct peer peers[PROTOCOL_CHANNELS];
#endif
struct stored stored[TABLES][PROTOCOL_TABLE_SLOTS];

extern char _end[]; /* of the image */

static uint32_t per_node;

#ifndef SEVERAL_JOBS

static uint32_t job_nodes;
static bool is_by_node;

static uint32_t node_of(uint32_t rank) { return is_by_node ? rank % job_nodes : rank / per_node; }
static uint32_t place_of(uint32_t rank) { return is_by_node ? rank / job_nodes : rank % per_node; }

/* A channel for each process here and each rank. */
static void open_channels(unsigned process)
{
    uint32_t node = (uint32_t)np_load(CHASQUI_NP_SETTING_NODE);
    uint32_t rank = is_by_node ? process * job_nodes + node : node * per_node + process;
    if (rank >= ranks || node >= job_nodes)
        return;
    processes[process].rank = (uint16_t)rank;
    for (uint32_t peer = 0; peer < ranks; peer++) {
        unsigned channel = process * ranks + peer;
        protocol_open(&protocol, channel, process);
        peers[channel] = (struct peer){.node = (uint16_t)node_of(peer),
                                       .channel = (uint16_t)(place_of(peer) * ranks + rank),
                                       .rank = (uint16_t)peer};
    }
}

#endif

#ifdef PROTOCOL_CACHE

/* Rings, tables and buffers. */
static uint32_t places(void) { return least(per_node * ranks, (uint32_t)np_load(CHASQUI_NP_SETTING_CHANNELS)); }

static char *channels_begin(char *heap, uint32_t channels)
{
    protocol.channels = (struct protocol_channel *)(void *)heap;
    peers = (struct peer *)(void *)(protocol.channels + channels);
    return collectives_begin((char *)(peers + channels), channels);
}

#else

#define channels_begin(heap, channels) (heap)
#define places() (per_node * ranks)

#endif

static void begin(void)
{
    uint64_t windows = np_load(CHASQUI_NP_SETTING_WINDOWS), host = np_load(CHASQUI_NP_SETTING_HOST_MEMORY);
    window_bytes = (uint32_t)np_load(CHASQUI_NP_SETTING_WINDOW_BYTES);
    uint64_t host_bytes = np_load(CHASQUI_NP_SETTING_HOST_MEMORY_BYTES);
    process_count = (uint32_t)np_load(CHASQUI_NP_SETTING_PROCESSES);
    ranks = (uint32_t)np_load(CHASQUI_NP_SETTING_RANKS);
    per_node = (uint32_t)np_load(CHASQUI_NP_SETTING_PER_NODE);
#ifndef SEVERAL_JOBS
    is_by_node = np_load(CHASQUI_NP_SETTING_BY_NODE);
    job_nodes = (ranks + per_node - 1) / per_node;
#endif
    check(process_count <= PROTOCOL_PROCESSES && per_node * ranks <= PROTOCOL_CHANNELS);
    char *heap = (char *)(((uintptr_t)_end + 63) & ~(uintptr_t)63);
    processes = (struct process *)(void *)heap;
    heap += process_count * sizeof *processes;
    heap = channels_begin(pages_begin(out_begin(heap, per_node)), per_node * ranks);
    check(heap < (char *)at(windows));
    /* Buffers are as long on all cards. */
    buffers_begin(heap, at(windows), places());
    protocol_begin(&protocol,
                   &(struct protocol_settings){.eager_bytes_max = (uint32_t)np_load(CHASQUI_NP_SETTING_EAGER),
#ifdef PROTOCOL_CACHE
                                               .channels = per_node * ranks,
                                               .places = places(),
#endif
                                               .unit_bytes = UNIT,
                                               .buffer_units = unit_count,
                                               .table_slots = (uint32_t)np_load(CHASQUI_NP_SETTING_SLOTS)});
    for (uint32_t i = 0; i < process_count; i++) {
        processes[i].window = at(windows + i * window_bytes);
        processes[i].host = host + i * host_bytes;
        open_channels(i);
    }
    in_begin();
    interrupt_begin();
    paged_begin();
}

/* Engines first: what the next header leads to takes long. */
static void go_on(void)
{
    do {
#ifdef PROTOCOL_CACHE
        rings_go_on();
#endif
        host_go_on();
        out_go_on();
    } while (in_go_on());
    host_go_on();
}

/* EVENT has something to say: an engine that was started is not busy any more. */
static bool has_happened(void)
{
    uint64_t started = (in_is_receiving() ? CHASQUI_NP_BUSY_RECEIVE : 0) |
                       (out_is_sending() ? CHASQUI_NP_BUSY_SEND : 0) | (host_is_moving() ? CHASQUI_NP_BUSY_HOST : 0);
    return started & ~np_load(CHASQUI_NP_BUSY);
}

/* Requests, one at a time: engines come first. */
static void take_requests(void)
{
    while (requests_wait() && out_has_room() && !has_happened()) {
        requests_take();
        go_on();
    }
}

void _start(void)
{
    begin();
    for (;;) {
        uint64_t event = np_load(CHASQUI_NP_EVENT);
        barrier();
        if (event & CHASQUI_NP_EVENT_RECEIVED)
            in_received();
        if (event & CHASQUI_NP_EVENT_HOST)
            host_done();
        if (event & CHASQUI_NP_EVENT_SENT)
            out_sent();
        if (event & CHASQUI_NP_EVENT_DOORBELL) {
            requests_rung();
            paged_rung();
        }
        go_on();
        take_requests();
    }
}
