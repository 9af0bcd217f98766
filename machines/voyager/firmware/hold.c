/* Jobs that fill a miss queue are held up at their source. What comes behind a packet that finds neither its queue nor the
 * miss queue with room waits on the link, of any job, and the sP takes longer to keep a packet than the link to bring it. So
 * when packets of a job gather in the miss queue, the sP has their sources hold the job up: that of the next one, and those that
 * made them gather before. When all of the job have been taken, it goes on. This waits for no receiver: the sP takes what has
 * come.
 */
#include "firmware.h"

/* Sources of packets that gathered: a site, and the job there, which is held up for this site's sake or not, and goes on as soon
 * as that can be told. One from which nothing comes while it is held up is forgotten. A new one may take the place of one that
 * is not held up; where all are, what more sites send is as without. */
#define SOURCES_MAX 64
static struct source {
    uint16_t site, job;
    enum { SENDS, HELD, GOES_ON } state;
    bool has_sent; /* since it was held up */
} sources[SOURCES_MAX];
static unsigned source_count;

/* Of each job: where it is held up for this site's sake, packets of it that have come since from sites where it is not, and after
 * how many it goes on even so: these could keep some in the miss queue for ever. What the others had sent until they heard comes
 * to an end, however much it is; were they let go on amid it they would fill the queue again. */
#define HELD_FOR 256
static uint16_t held_of[CHASQUI_VOYAGER_QUEUES], held_for[CHASQUI_VOYAGER_QUEUES];

/* Sites for whose sake a job is held up here, and jobs that are. */
static uint16_t holders[CHASQUI_VOYAGER_QUEUES];
unsigned jobs_held;

/* Packets of a job in the miss queue from which on it is held up (0: never), processes of a job, this site. */
static unsigned limit, job_processes, here;

void hold_begin(void)
{
    limit = nes_load(CHASQUI_SP_SETTING_HOLD);
    job_processes = nes_load(CHASQUI_SP_SETTING_JOB_PROCESSES);
    here = nes_load(CHASQUI_SP_SETTING_SITE);
}

void hold_job(unsigned job)
{
    check(job < CHASQUI_VOYAGER_QUEUES);
    if (holders[job]++ > 0)
        return;
    jobs_held++;
    nes_store(CHASQUI_SP_HOLD, job);
    look_for_accesses(); /* The one that waits for the launcher may be this job's, which is none now. */
}

void release_job(unsigned job)
{
    check(job < CHASQUI_VOYAGER_QUEUES && holders[job] > 0);
    if (--holders[job] > 0)
        return;
    jobs_held--;
    nes_store(CHASQUI_SP_HOLD, CHASQUI_SP_HOLD_OVER | job);
    launch_next();
}

bool is_job_held(unsigned process) { return holders[process / job_processes] > 0; }

/* Tells the sP of `site`, be it this one; there is room in the own queue. */
static void tell(unsigned site, uint64_t what, unsigned job)
{
    if (site != here)
        own_send(site, what << 32 | job, 0);
    else if (what == CHASQUI_SP_HOLD_JOB)
        hold_job(job);
    else
        release_job(job);
}

static struct source *source_of(unsigned site, unsigned job)
{
    for (struct source *source = sources; source < &sources[source_count]; source++) {
        if (source->site == site && source->job == job)
            return source;
    }
    return NULL;
}

static void forget_source(struct source *source) { *source = sources[--source_count]; }

void forget_sources(unsigned process)
{
    unsigned job = process / job_processes;
    for (unsigned i = source_count; i-- > 0;) {
        if (sources[i].job != job)
            continue;
        sources[i].has_sent = false;
        if (sources[i].state == SENDS)
            forget_source(&sources[i]);
    }
}

static void release(struct source *source)
{
    held_of[source->job]--;
    tell(source->site, CHASQUI_SP_RELEASE_JOB, source->job);
    if (source->has_sent) {
        source->state = SENDS;
        source->has_sent = false;
    } else {
        forget_source(source);
    }
}

void release_on(void)
{
    for (unsigned i = source_count; i-- > 0 && own_has_room();) {
        if (sources[i].state == GOES_ON)
            release(&sources[i]);
    }
}

void missed_is_taken(unsigned process, bool is_last)
{
    if (source_count == 0)
        return;
    unsigned job = process / job_processes;
    if (held_of[job] == 0 || (held_for[job] < HELD_FOR && !is_last))
        return;
    for (unsigned i = 0; i < source_count; i++) {
        if (sources[i].job == job && sources[i].state == HELD)
            sources[i].state = GOES_ON;
    }
    held_for[job] = 0; /* of sites where it is held up before these are told */
    release_on();
}

/* The packet is an answer of a site's sP: its job sends no such packets, and is not held up for them, nor do they end. */
static bool is_of_sp(void)
{
    struct chasqui_voyager_packet header = header_of(nes_load(CHASQUI_SP_MISSED));
    return header.kind == CHASQUI_SP_PACKET_EXPRESS && header.flags & CHASQUI_SP_PACKET_OWN;
}

/* For a new source; null: all are held up. */
static struct source *place_for_source(void)
{
    if (source_count < SOURCES_MAX)
        return &sources[source_count++];
    for (unsigned i = 0; i < source_count; i++) {
        if (sources[i].state == SENDS)
            return &sources[i];
    }
    return NULL;
}

/* A packet of the job from `site` is taken; `gather`: too many wait. */
static void note(unsigned site, unsigned job, bool gather)
{
    struct source *source = source_of(site, job);
    if (!source && gather && !is_of_sp()) {
        source = place_for_source();
        if (source)
            *source = (struct source){.site = site, .job = job};
    }
    if (source)
        source->has_sent = true;
    held_for[job] += !source || source->state != HELD || is_of_sp();
}

/* Apart: what each packet goes through must not save registers for it. */
__attribute__((noinline)) static void look(unsigned job, unsigned site, bool gather)
{
    note(site, job, gather);
    for (unsigned i = 0; gather && i < source_count && own_has_room(); i++) {
        if (sources[i].job != job || sources[i].state != SENDS)
            continue;
        held_of[job]++;
        held_for[job] = 0;
        sources[i].state = HELD;
        sources[i].has_sent = false;
        tell(sources[i].site, CHASQUI_SP_HOLD_JOB, job);
    }
}

/* A packet from `site` for `process` is the oldest of `waiting` ones of its job in the miss queue. */
void hold_if_full(unsigned process, unsigned site, unsigned waiting)
{
    if (limit > 0 && (waiting >= limit || source_count > 0))
        look(process / job_processes, site, waiting >= limit);
}
