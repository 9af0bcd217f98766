/* Several jobs on the same nodes. A node's processes are those of the first job, then those of the next, of each as many. A process has
 * channels to the ranks of its own job, and there is no other way for it to anybody: so jobs know nothing of each other but by how
 * long the card takes for each.
 *
 * The numbers of a process's channels are as many as the largest job has ranks; those of a smaller one leave some of them closed. */
#include "mcp/jobs/image.h"

#include "mcp/mcp.h"

void open_channels(unsigned process)
{
    uint32_t per_job = (uint32_t)np_load(CHASQUI_NP_SETTING_PER_JOB), job = process / per_job, first = job * per_job;
    uint32_t of_job = (uint32_t)np_load(CHASQUI_NP_SETTING_JOB_RANKS + 8 * job);
    uint32_t nodes = (of_job + per_job - 1) / per_job;
    uint32_t node = (uint32_t)np_load(CHASQUI_NP_SETTING_NODE), here = process - first;
    bool is_by_node = np_load(CHASQUI_NP_SETTING_BY_NODE);
    uint32_t rank = is_by_node ? here * nodes + node : node * per_job + here;
    for (uint32_t closed = 0; closed < ranks; closed++) /* No message is in it. */
        protocol.channels[process * ranks + closed].table_first = PROTOCOL_TABLE_SLOTS;
    if (rank >= of_job || node >= nodes)
        return;
    processes[process].rank = (uint16_t)rank;
    processes[process].job_ranks = (uint16_t)of_job;
    for (uint32_t peer = 0; peer < of_job; peer++) {
        uint32_t there = is_by_node ? peer % nodes : peer / per_job;
        uint32_t place = first + (is_by_node ? peer / nodes : peer % per_job);
        unsigned channel = process * ranks + peer;
        protocol_open(&protocol, channel, process);
        peers[channel] = (struct peer){
            .node = (uint16_t)there, .channel = (uint16_t)(place * ranks + rank), .rank = (uint16_t)peer};
    }
}
