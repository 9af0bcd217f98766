/* Channels of the processes of several jobs. A process has some to the ranks of its own job, and there is no other way for it to
 * anybody: so jobs know nothing of each other but by how long the card takes for each.
 *
 * The numbers of a process's channels are as many as the largest job has ranks; those of a smaller one leave some closed. */
#include "mcp/jobs/image.h"

#include "jobs.h"
#include "mcp/mcp.h"

static uint32_t kernels; /* processes that the kernel has a number for */

void open_channels(unsigned process)
{
    struct place_of_job here = job_place(process);
    for (uint32_t closed = 0; closed < ranks; closed++) /* No message is in it. */
        protocol.channels[process * ranks + closed].table_first = PROTOCOL_TABLE_SLOTS;
    if (!here.is_there)
        return;
    processes[process].rank = (uint16_t)here.rank;
    processes[process].job_ranks = (uint16_t)here.ranks;
    processes[process].kernels = (uint16_t)kernels++;
    for (uint32_t peer = 0; peer < here.ranks; peer++) {
        uint32_t node = here.is_by_node ? peer % here.nodes : peer / here.per_job;
        uint32_t place = here.first + (here.is_by_node ? peer / here.nodes : peer % here.per_job);
        unsigned channel = process * ranks + peer;
        protocol_open(&protocol, channel, process);
        peers[channel] = (struct peer){
            .node = (uint16_t)node, .channel = (uint16_t)(place * ranks + here.rank), .rank = (uint16_t)peer};
    }
}
