/* Jobs that fill a miss queue are held up at their source. What comes behind a packet that finds neither its queue nor the
 * miss queue with room waits on the link, of any job, and the sP takes longer to keep a packet than the link to bring it. So
 * when packets of a job gather in the miss queue, the sP has the source of the next one hold its job up. When all of the job
 * have been taken, it goes on. This waits for no receiver: the sP takes what has come.
 */
#include "firmware.h"

/* Jobs that are held up for this site's sake, where, and whether they go on as soon as that can be told. One that finds no
 * place here is not held up. */
#define HELD_MAX 64
static struct {
    uint16_t site, job;
    bool goes_on;
} held[HELD_MAX];
static unsigned held_count;

/* Of each job: where it is held up for this site's sake, packets of it that have been taken since, and after how many it goes
 * on even so: what comes from sites where it is not held up could keep some in the miss queue for ever. */
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

static bool is_held(unsigned site, unsigned job)
{
    for (unsigned i = 0; i < held_count; i++) {
        if (held[i].site == site && held[i].job == job)
            return true;
    }
    return false;
}

void release_on(void)
{
    for (unsigned i = held_count; i-- > 0 && own_has_room();) {
        if (!held[i].goes_on)
            continue;
        unsigned site = held[i].site, job = held[i].job;
        held[i] = held[--held_count];
        held_of[job]--;
        tell(site, CHASQUI_SP_RELEASE_JOB, job);
    }
}

void missed_is_taken(unsigned process, bool is_last)
{
    if (held_count == 0)
        return;
    unsigned job = process / job_processes;
    if (held_of[job] == 0 || (++held_for[job] < HELD_FOR && !is_last))
        return;
    for (unsigned i = 0; i < held_count; i++)
        held[i].goes_on |= held[i].job == job;
    held_for[job] = 0; /* of sites where it is held up before these are told */
    release_on();
}

/* An answer of a site's sP: its job sends no such packets. */
static bool is_of_sp(struct chasqui_voyager_packet header)
{
    return header.kind == CHASQUI_SP_PACKET_EXPRESS && header.flags & CHASQUI_SP_PACKET_OWN;
}

/* A packet from `site` for `process` is the oldest of `waiting` ones of its job in the miss queue. */
void hold_if_full(unsigned process, unsigned site, unsigned waiting)
{
    if (limit == 0 || waiting < limit)
        return;
    unsigned job = process / job_processes;
    if (held_count == HELD_MAX || is_held(site, job) || is_of_sp(header_of(nes_load(CHASQUI_SP_MISSED))) ||
        !own_has_room())
        return;
    if (held_of[job]++ == 0)
        held_for[job] = 0;
    held[held_count].site = site;
    held[held_count].goes_on = false;
    held[held_count++].job = job;
    tell(site, CHASQUI_SP_HOLD_JOB, job);
}
