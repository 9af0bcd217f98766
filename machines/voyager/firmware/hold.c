/* Jobs that fill a miss queue are held up at their source. What comes behind a packet that finds neither its queue nor the
 * miss queue with room waits on the link, of any job, and the sP takes longer to keep a packet than the link to bring it. So
 * when packets of a job gather in the miss queue, the sP has their sources hold the job up, and those that made them gather
 * before. When all of the job have been taken they go on, a few at a time: a site answers when it has been told, and then, unless
 * packets of the job wait here, the next one is told. What many send at once is in the network before any of them can hear of
 * it. This waits for no receiver: the sP takes what has come.
 */
#include "firmware.h"

struct job;

/* A source of packets that gathered: a site, and the job there, which is held up for this site's sake or not. One from which
 * nothing comes while it is held up is forgotten. */
struct source {
    struct source *next; /* in the list that it is in */
    struct source *next_of_like; /* of those whose site ends in the same bits */
    struct job *job;
    uint16_t site;
    bool is_held, has_sent; /* has_sent: since it was held up */
};

/* The oldest first. */
struct sources {
    struct source *first, *last;
};

/* A new source may take the place of one that is not held up; where all are, what more sites send is as without. */
#define SOURCES_MAX 64
static struct source sources[SOURCES_MAX], *by_site[SOURCES_MAX], *unused;
static unsigned source_count;

/* Sites that are told to go on and have not answered. What few send finds places in the miss queue; more take fewer messages
 * between the sPs. */
#define RELEASED_MAX 4

static struct job {
    uint16_t holders; /* sites for whose sake it is held up here */
    struct sources sending, held; /* those whose packets have gathered here */
    /* Packets that have come since from sites where it is not held up, and after how many one goes on even so: these could keep
     * some in the miss queue for ever. What the others had sent until they heard comes to an end, however much it is; were they
     * let go on amid it they would fill the queue again. */
    uint16_t others;
    uint16_t released[RELEASED_MAX]; /* sites that have been told that it may go on and have not answered */
    uint8_t released_count;
    bool waits; /* packets do in the miss queue */
} jobs[CHASQUI_VOYAGER_QUEUES], *job_of[CHASQUI_VOYAGER_QUEUES]; /* job_of: the process's */
#define HELD_FOR 256

/* Packets whose sources are looked at before one is taken: meanwhile more come. */
#define AHEAD_MAX 8

unsigned jobs_held; /* here */

/* Sites that have told this one that a job may go on and have no answer yet, for lack of room, a bit each. */
#define SITES_MAX (1u << CHASQUI_VOYAGER_EXPRESS_SOURCE_BITS)
static uint64_t unanswered[SITES_MAX / 64];
static unsigned unanswered_count;

/* Packets of a job in the miss queue from which on it is held up (0: never), jobs, processes of each, this site. */
static unsigned limit, job_count, of_each, here;

void hold_begin(void)
{
    limit = nes_load(CHASQUI_SP_SETTING_HOLD);
    unsigned processes = express_count / CHASQUI_VOYAGER_EXPRESS_QUEUES;
    of_each = nes_load(CHASQUI_SP_SETTING_JOB_PROCESSES);
    for (unsigned process = 0; process < processes; process++)
        job_of[process] = &jobs[process / of_each];
    job_count = processes / of_each;
    here = nes_load(CHASQUI_SP_SETTING_SITE);
    for (unsigned i = 0; i < SOURCES_MAX; i++) {
        sources[i].next = unused;
        unused = &sources[i];
    }
}

static unsigned number(const struct job *job) { return job - jobs; }

/* --- at the source --- */

static void hold_here(struct job *job)
{
    if (job->holders++ > 0)
        return;
    jobs_held++;
    nes_store(CHASQUI_SP_HOLD, number(job));
    look_for_accesses(); /* The one that waits for the launcher may be this job's, which is none now. */
}

static void release_here(struct job *job)
{
    check(job->holders > 0);
    if (--job->holders > 0)
        return;
    jobs_held--;
    nes_store(CHASQUI_SP_HOLD, CHASQUI_SP_HOLD_OVER | number(job));
    launch_again(number(job) * of_each, of_each);
    launch_next();
}

bool is_job_held(unsigned process) { return job_of[process]->holders > 0; }

/* There is room in the own queue. */
static void tell(unsigned site, uint64_t what, unsigned job) { own_send(site, what << 32 | job, 0); }

/* What the firmware does about the event is for the job's sake. */
static void charge(const struct job *job) { nes_store(CHASQUI_SP_CHARGE, number(job)); }

void take_hold(unsigned job)
{
    check(job < job_count);
    charge(&jobs[job]);
    hold_here(&jobs[job]);
}

void take_release(unsigned site, unsigned job)
{
    check(job < job_count);
    charge(&jobs[job]);
    release_here(&jobs[job]);
    if (own_has_room()) {
        tell(site, CHASQUI_SP_RELEASED, 0);
    } else if (!(unanswered[site / 64] >> site % 64 & 1)) {
        unanswered[site / 64] |= 1ull << site % 64;
        unanswered_count++;
    }
}

static void answer_releases(void)
{
    for (unsigned i = 0; unanswered_count > 0 && i < SITES_MAX / 64; i++) {
        while (unanswered[i] && own_has_room()) {
            tell(i * 64 + __builtin_ctzll(unanswered[i]), CHASQUI_SP_RELEASED, 0);
            unanswered[i] &= unanswered[i] - 1;
            unanswered_count--;
        }
    }
}

/* --- where packets gather --- */

static void append(struct sources *list, struct source *source)
{
    source->next = NULL;
    if (list->first)
        list->last->next = source;
    else
        list->first = source;
    list->last = source;
}

static struct source *take_first(struct sources *list)
{
    struct source *source = list->first;
    if (source)
        list->first = source->next;
    return source;
}

static struct source *source_of(unsigned site, const struct job *job)
{
    struct source *source = by_site[site % SOURCES_MAX];
    while (source && (source->site != site || source->job != job))
        source = source->next_of_like;
    return source;
}

/* It is in no list. */
static void forget_source(struct source *source)
{
    struct source **place = &by_site[source->site % SOURCES_MAX];
    while (*place != source)
        place = &(*place)->next_of_like;
    *place = source->next_of_like;
    source->next = unused;
    unused = source;
    source_count--;
}

void forget_sources(unsigned process)
{
    struct job *job = job_of[process];
    struct source *source;
    while ((source = take_first(&job->sending)))
        forget_source(source);
    for (source = job->held.first; source; source = source->next)
        source->has_sent = false;
}

/* Null: all are held up. */
__attribute__((noinline)) static struct source *new_source(unsigned site, struct job *job)
{
    for (unsigned i = 0; !unused && i < job_count; i++) {
        struct source *other = take_first(&jobs[i].sending);
        if (other)
            forget_source(other);
    }
    struct source *source = unused;
    if (!source)
        return NULL;
    unused = source->next;
    source_count++;
    struct source **place = &by_site[site % SOURCES_MAX];
    *source = (struct source){.site = site, .job = job, .next_of_like = *place};
    *place = source;
    append(&job->sending, source);
    return source;
}

static void release(struct source *source)
{
    struct job *job = source->job;
    if (source->site == here) {
        release_here(job);
    } else {
        tell(source->site, CHASQUI_SP_RELEASE_JOB, number(job));
        job->released[job->released_count++] = source->site;
    }
    source->is_held = false;
    if (source->has_sent)
        append(&job->sending, source);
    else
        forget_source(source);
}

/* Lets the job go on at sites, unless as many are to answer, or packets wait here. */
static void release_next(struct job *job)
{
    while (job->held.first && job->released_count < RELEASED_MAX && !job->waits && own_has_room())
        release(take_first(&job->held));
}

/* A site has done as it was told, with every job. */
void take_released(unsigned site)
{
    for (struct job *job = jobs; job < &jobs[job_count]; job++) {
        unsigned awaited = 0;
        for (unsigned i = 0; i < job->released_count; i++) {
            if (job->released[i] != site)
                job->released[awaited++] = job->released[i];
        }
        if (awaited == job->released_count)
            continue;
        job->released_count = awaited;
        charge(job);
        release_next(job);
    }
}

void hold_left(void)
{
    for (struct job *job = jobs; source_count > 0 && job < &jobs[job_count]; job++)
        release_next(job);
    answer_releases();
}

void missed_is_taken(unsigned process, bool is_last)
{
    if (source_count == 0)
        return;
    struct job *job = job_of[process];
    if (!job->held.first || (job->others < HELD_FOR && !is_last))
        return;
    job->waits = false;
    job->others = 0;
    release_next(job);
}

/* Looks at the next packet of the job that has come. `gather`: too many wait. */
static void look_ahead(struct job *job, bool gather)
{
    uint64_t packet = nes_load(CHASQUI_SP_MISSED_AHEAD);
    /* Answers of a site's sP: its job sends no such packets, and is not held up for them, nor do they end. */
    bool is_of_sp = packet & CHASQUI_SP_AHEAD_OWN;
    unsigned site = packet & CHASQUI_SP_AHEAD_SITE;
    struct source *source = source_of(site, job);
    if (!source && gather && !is_of_sp)
        source = new_source(site, job);
    if (source)
        source->has_sent = true;
    job->others += !source || !source->is_held || is_of_sp;
}

static void hold(struct source *source)
{
    struct job *job = source->job;
    append(&job->held, source);
    job->others = 0;
    source->is_held = true;
    source->has_sent = false;
    if (source->site == here)
        hold_here(job);
    else
        tell(source->site, CHASQUI_SP_HOLD_JOB, number(job));
}

__attribute__((noinline)) static void hold_sending(struct job *job)
{
    while (job->sending.first && own_has_room())
        hold(take_first(&job->sending));
}

/* Apart: what each packet goes through must not save registers for it. */
__attribute__((noinline)) static void look(struct job *job, unsigned waiting, unsigned unseen)
{
    bool gather = waiting >= limit;
    job->waits = waiting > 1;
    for (unsigned i = 0; i < unseen && i < AHEAD_MAX; i++) {
        look_ahead(job, gather);
        if (gather && job->sending.first)
            hold_sending(job);
    }
    if (gather && job->sending.first)
        hold_sending(job);
}

/* Those of other jobs make no packet of this one take longer. */
static inline bool has_sources(const struct job *job) { return job->sending.first || job->held.first; }

/* Before the oldest of `waiting` packets in the miss queue of a job, that of `process`, is taken. */
void hold_if_full(unsigned process, unsigned waiting, unsigned unseen)
{
    if (limit > 0 && (waiting >= limit || (source_count > 0 && has_sources(job_of[process]))))
        look(job_of[process], waiting, unseen);
}
