/* Several jobs on the same nodes: which processes there are. A node has places for the processes of the first job, then for those of
 * the next, for each as many; a job may be on fewer nodes than another, and leaves its places empty elsewhere. */
#ifndef JOBS_H
#define JOBS_H

#include "card.h"

/* Who is at a place of this node. */
struct place_of_job {
    uint32_t first; /* the first place of its job */
    uint32_t per_job; /* places of each job */
    uint32_t ranks, nodes; /* of its job */
    uint32_t rank; /* in it */
    bool is_by_node, is_there;
};

static inline struct place_of_job job_place(uint32_t process)
{
    uint32_t per_job = (uint32_t)np_load(CHASQUI_NP_SETTING_PER_JOB), job = process / per_job, first = job * per_job;
    uint32_t ranks = (uint32_t)np_load(CHASQUI_NP_SETTING_JOB_RANKS + 8 * job), nodes = (ranks + per_job - 1) / per_job;
    uint32_t node = (uint32_t)np_load(CHASQUI_NP_SETTING_NODE), here = process - first;
    bool is_by_node = np_load(CHASQUI_NP_SETTING_BY_NODE);
    uint32_t rank = is_by_node ? here * nodes + node : node * per_job + here;
    return (struct place_of_job){.first = first,
                                 .per_job = per_job,
                                 .ranks = ranks,
                                 .nodes = nodes,
                                 .rank = rank,
                                 .is_by_node = is_by_node,
                                 .is_there = rank < ranks && node < nodes};
}

#endif
