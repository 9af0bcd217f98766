/* Jobs that fill a miss queue are held up at their source. What comes behind a packet that finds neither its queue nor the
 * miss queue with room waits on the link, of any job, and the sP takes longer to keep a packet than the link to bring it. So
 * when packets gather in the miss queue, the sP has the source of the next one hold its job up, if that job sends at least
 * its share of them. When they have been taken, the job goes on. This waits for no receiver: the sP takes what has come.
 */
#include "firmware.h"

/* Jobs that are held up for this site's sake, and where. One that finds no place here is not held up. */
#define HELD_MAX 64
static struct {
    uint16_t site, job;
} held[HELD_MAX];
static unsigned held_count;
static bool may_release;

/* Packets that have been taken since the oldest of them was held up, and after how many all may go on even so: those of
 * jobs that have less than their share are not held up, and could keep the miss queue from ever being empty. */
#define HELD_FOR 256
static unsigned held_for;

/* Packets taken since the miss queue was empty, of each job and of all; halved when held jobs go on. */
static unsigned taken[CHASQUI_VOYAGER_QUEUES], taken_in_all, jobs;

/* Sites for whose sake a job is held up here, and jobs that are. */
static uint16_t holders[CHASQUI_VOYAGER_QUEUES];
unsigned jobs_held;

/* Packets of the miss queue from which on jobs are held up (0: never), processes of a job, this site. */
static unsigned limit, job_processes, here;

void hold_begin(void)
{
    limit = nes_load(CHASQUI_SP_SETTING_HOLD);
    job_processes = nes_load(CHASQUI_SP_SETTING_JOB_PROCESSES);
    here = nes_load(CHASQUI_SP_SETTING_SITE);
    jobs = nes_load(CHASQUI_SP_SETTING_SHARES) / job_processes;
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
    while (may_release && held_count > 0 && own_has_room()) {
        held_count--;
        tell(held[held_count].site, CHASQUI_SP_RELEASE_JOB, held[held_count].job);
    }
    may_release &= held_count > 0;
}

void missed_is_taken(bool is_last)
{
    if (taken_in_all == 0 || !(is_last || (held_count > 0 && ++held_for >= HELD_FOR)))
        return;
    /* Which job sends most is known already, unless all that waited have been taken. */
    taken_in_all = held_for = 0;
    for (unsigned job = 0; job < jobs; job++)
        taken_in_all += taken[job] = is_last ? 0 : taken[job] / 2;
    may_release = true;
    release_on();
}

/* An answer of a site's sP: its job sends no such packets. */
static bool is_of_sp(struct chasqui_voyager_packet header)
{
    return header.kind == CHASQUI_SP_PACKET_EXPRESS && header.flags & CHASQUI_SP_PACKET_OWN;
}

/* A packet from `site` for `process` is the oldest of `waiting` in the miss queue. */
void hold_if_full(unsigned process, unsigned site, unsigned waiting)
{
    /* One that comes alone, and is taken before the next, does not gather. */
    if (limit == 0 || (waiting == 1 && taken_in_all == 0))
        return;
    unsigned job = process / job_processes;
    bool has_its_share = ++taken[job] * jobs >= ++taken_in_all;
    /* One packet may be of any job. */
    if (waiting < limit || taken[job] == 1 || !has_its_share)
        return;
    if (held_count == HELD_MAX || is_held(site, job) || is_of_sp(header_of(nes_load(CHASQUI_SP_MISSED))) ||
        !own_has_room())
        return;
    if (held_count == 0)
        held_for = 0;
    held[held_count].site = site;
    held[held_count++].job = job;
    tell(site, CHASQUI_SP_HOLD_JOB, job);
}
