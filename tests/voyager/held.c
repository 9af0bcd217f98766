/* hold.c alone, beside an NES and sPs of which only this file knows: when jobs are held up, and when they go on. Each job has
 * one process, and is held up from four packets on. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRMWARE_H /* in its place: */
#include "registers.h"
#include "service.h"

enum { LIMIT = 4, HERE = 0, SITES = 100 };

/* What each site has heard last, what this site's NES holds up, and the job that it has charged last. */
static uint64_t heard[SITES], held_here, charged;
/* That of when something was told last. */
static uint64_t sent_for;
/* Processes whose queues were launched from again last. */
static unsigned again_first, again_count;
static bool has_room;

/* Packets of the miss queue that hold.c has not looked at. */
static uint64_t ahead[SITES];
static unsigned ahead_count;

static const unsigned express_count = 16 * CHASQUI_VOYAGER_EXPRESS_QUEUES;

static uint64_t nes_load(uint64_t address)
{
    switch (address) {
    case CHASQUI_SP_SETTING_HOLD: return LIMIT;
    case CHASQUI_SP_SETTING_JOB_PROCESSES: return 1;
    case CHASQUI_SP_SETTING_SITE: return HERE;
    case CHASQUI_SP_MISSED_AHEAD: return ahead_count > 0 ? ahead[--ahead_count] : 0;
    }
    abort();
}

static void nes_store(uint64_t address, uint64_t value)
{
    switch (address) {
    case CHASQUI_SP_HOLD: held_here = value & CHASQUI_SP_HOLD_OVER ? 0 : 1; break;
    case CHASQUI_SP_CHARGE: charged = value; break;
    default: abort();
    }
}

static void check(bool right)
{
    if (!right)
        abort();
}

static bool own_has_room(void) { return has_room; }

static void own_send(unsigned site, uint64_t word, uint64_t tag)
{
    (void)tag;
    heard[site] = word >> 32;
    sent_for = charged;
}

static void launch_again(unsigned process, unsigned processes)
{
    again_first = process;
    again_count = processes;
}

static void launch_next(void) {}
static void look_for_accesses(void) {}

#include "hold.c"

#define EXPECT(condition) expect(condition, #condition, __LINE__)

static bool failed;

static void expect(bool right, const char *condition, int line)
{
    if (!right)
        printf("held: line %d: not %s\n", line, condition);
    failed |= !right;
}

enum { OTHER = SITES - 1 }; /* a site that is not held up, for fewer than LIMIT wait when its packets are taken */

/* A packet of `job` has come from `site`, and is one of `waiting`. */
static void come(unsigned site, unsigned job, unsigned waiting)
{
    ahead[ahead_count++] = site;
    hold_if_full(job, waiting, ahead_count);
}

/* So many packets of `job` from `site` are taken, each with others behind it. */
static void take_from(unsigned site, unsigned job, unsigned packets)
{
    while (packets-- > 0) {
        unsigned before = ahead_count;
        come(site, job, LIMIT - 1);
        missed_is_taken(job, false);
        if (ahead_count > before) /* It was taken without a look at it. */
            ahead_count = before;
    }
}

static void take(unsigned job, unsigned packets) { take_from(OTHER, job, packets); }

/* The last one is taken; it is of a packet that came before. */
static void take_last(unsigned job)
{
    hold_if_full(job, 1, ahead_count);
    missed_is_taken(job, true);
}

/* Sites do what they are told, until none is told any more. */
static void answer_all(unsigned job)
{
    while (jobs[job].released_count > 0)
        take_released(jobs[job].released[0]);
}

static unsigned released(void)
{
    unsigned sites = 0;
    for (unsigned site = 0; site < SITES; site++)
        sites += heard[site] == CHASQUI_SP_RELEASE_JOB;
    return sites;
}

static void begin(void)
{
    has_room = true;
    ahead_count = 0;
    take_last(5);
    answer_all(5);
    forget_sources(5);
    EXPECT(source_count == 0);
    __builtin_memset(heard, 0, sizeof heard);
}

static void a_job_is_held_until_its_last_packet_is_taken(void)
{
    begin();
    come(1, 5, LIMIT - 1);
    EXPECT(heard[1] == 0);
    come(1, 5, LIMIT);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
    take(5, 10);
    missed_is_taken(6, true);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
    take_last(5);
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB);
}

static void all_sites_of_packets_that_wait_hear_before_one_is_taken(void)
{
    begin();
    for (unsigned site = 1; site <= 3; site++)
        ahead[ahead_count++] = site;
    come(4, 5, LIMIT);
    for (unsigned site = 1; site <= 4; site++)
        EXPECT(heard[site] == CHASQUI_SP_HOLD_JOB);
    /* But not more of them than it takes long to look at. */
    begin();
    for (unsigned site = AHEAD_MAX + 1; site > 1; site--)
        ahead[ahead_count++] = site;
    come(1, 5, LIMIT);
    EXPECT(heard[AHEAD_MAX] == CHASQUI_SP_HOLD_JOB && heard[AHEAD_MAX + 1] == 0);
}

static void packets_of_a_job_without_sources_are_not_looked_at(void)
{
    begin();
    come(1, 5, LIMIT);
    come(2, 6, LIMIT - 1);
    EXPECT(ahead_count == 1);
    come(2, 5, LIMIT - 1);
    EXPECT(ahead_count == 0);
    /* Also where it has none any more that is held up, but one that goes on. */
    begin();
    come(1, 5, LIMIT);
    take_from(1, 5, 1);
    take_last(5);
    answer_all(5);
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB && source_of(1, &jobs[5]));
    come(2, 5, LIMIT - 1);
    EXPECT(ahead_count == 0);
}

static void a_few_sites_go_on_at_a_time(void)
{
    enum { SOURCES = RELEASED_MAX + 3 };
    begin();
    for (unsigned site = 1; site <= SOURCES; site++)
        come(site, 5, LIMIT);
    for (unsigned site = 2; site <= SOURCES; site++)
        take_from(site, 5, 1);
    take_last(5);
    EXPECT(heard[RELEASED_MAX] == CHASQUI_SP_RELEASE_JOB && released() == RELEASED_MAX);
    take_last(5);
    take_released(RELEASED_MAX + 1); /* of another job */
    EXPECT(released() == RELEASED_MAX);
    charged = 6;
    take_released(1);
    EXPECT(sent_for == 5); /* whose share has to pay for the message */
    EXPECT(heard[RELEASED_MAX + 1] == CHASQUI_SP_RELEASE_JOB && released() == RELEASED_MAX + 1);
    /* What these send is waited for. */
    come(2, 5, LIMIT - 1);
    take_released(2);
    EXPECT(released() == RELEASED_MAX + 1);
    take_last(5);
    EXPECT(heard[RELEASED_MAX + 2] == CHASQUI_SP_RELEASE_JOB && released() == RELEASED_MAX + 2);
    /* If it is much those that have sent are held up again, and have their turn behind the others. */
    come(3, 5, LIMIT);
    EXPECT(heard[2] == CHASQUI_SP_HOLD_JOB && heard[3] == CHASQUI_SP_HOLD_JOB && released() == 1);
    take_released(3);
    take_last(5);
    EXPECT(heard[SOURCES] == CHASQUI_SP_RELEASE_JOB && released() == 2);
    take_released(4);
    EXPECT(heard[2] == CHASQUI_SP_RELEASE_JOB && released() == 3);
}

static void one_of_which_there_always_are_packets_goes_on_after_so_many(void)
{
    begin();
    come(1, 5, LIMIT);
    take(5, HELD_FOR - 1);
    take(6, HELD_FOR);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
    take(5, 1);
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB);
    take_released(1);
    /* Anew, not after what is left of the count. */
    come(2, 5, LIMIT);
    take(5, HELD_FOR - 1);
    EXPECT(heard[2] == CHASQUI_SP_HOLD_JOB);
    take(5, 1);
    EXPECT(heard[2] == CHASQUI_SP_RELEASE_JOB);
}

static void what_a_site_had_sent_before_it_heard_does_not_count(void)
{
    begin();
    come(1, 5, LIMIT);
    take_from(1, 5, 10 * HELD_FOR);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
    take_last(5);
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB);
}

static void sites_that_have_sent_since_are_held_with_the_next_one(void)
{
    begin();
    for (unsigned site = 1; site <= 3; site++)
        come(site, 5, LIMIT);
    take_from(1, 5, 1);
    take_from(2, 5, 1);
    take_last(5);
    answer_all(5);
    EXPECT(released() == 3);
    come(4, 5, LIMIT);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB && heard[2] == CHASQUI_SP_HOLD_JOB && heard[4] == CHASQUI_SP_HOLD_JOB);
    EXPECT(heard[3] == CHASQUI_SP_RELEASE_JOB);
    take_last(5);
    answer_all(5);
    EXPECT(released() == 4);
    /* Of one that is over none is. */
    forget_sources(5);
    come(4, 5, LIMIT);
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB && heard[4] == CHASQUI_SP_HOLD_JOB);
}

static void without_room_in_the_own_queue_all_is_told_later(void)
{
    begin();
    has_room = false;
    come(1, 5, LIMIT);
    EXPECT(heard[1] == 0);
    has_room = true;
    hold_if_full(5, LIMIT, ahead_count);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
    has_room = false;
    take_last(5);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
    has_room = true;
    hold_left();
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB);
}

static void answers_of_an_sp_hold_nobody_up(void)
{
    begin();
    ahead[ahead_count++] = 1 | CHASQUI_SP_AHEAD_OWN;
    hold_if_full(5, LIMIT, ahead_count);
    EXPECT(heard[1] == 0);
    /* Nor do they come to an end when the job is held up at their site. */
    come(1, 5, LIMIT);
    for (unsigned i = 0; i < HELD_FOR; i++) {
        EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
        ahead[ahead_count++] = 1 | CHASQUI_SP_AHEAD_OWN;
        hold_if_full(5, LIMIT - 1, ahead_count);
        missed_is_taken(5, false);
    }
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB);
}

static void there_are_places_for_so_many(void)
{
    begin();
    for (unsigned site = 1; site <= SOURCES_MAX + 1; site++)
        come(site, 5, LIMIT);
    EXPECT(heard[SOURCES_MAX] == CHASQUI_SP_HOLD_JOB && heard[SOURCES_MAX + 1] == 0);
    take_last(5);
    answer_all(5);
    EXPECT(released() == SOURCES_MAX);
    /* That of one that is not held up is another's. */
    for (unsigned site = 1; site <= SOURCES_MAX; site++)
        come(site, 5, LIMIT);
    take_from(1, 5, 1);
    take_last(5);
    for (unsigned site = SOURCES_MAX + 2; unused; site++)
        come(site, 6, LIMIT);
    EXPECT(source_of(1, &jobs[5]));
    come(SOURCES_MAX + 1, 6, LIMIT);
    EXPECT(heard[SOURCES_MAX + 1] == CHASQUI_SP_HOLD_JOB && !source_of(1, &jobs[5]));
    take_last(6);
    answer_all(6);
    forget_sources(6);
}

static void sites_alike_in_their_last_bits_are_told_apart(void)
{
    begin();
    come(1, 5, LIMIT);
    come(1 + SOURCES_MAX, 5, LIMIT - 1);
    EXPECT(heard[1 + SOURCES_MAX] == 0);
    come(1 + SOURCES_MAX, 5, LIMIT);
    EXPECT(heard[1 + SOURCES_MAX] == CHASQUI_SP_HOLD_JOB);
    take_last(5);
    answer_all(5);
    EXPECT(released() == 2 && !source_of(1, &jobs[5]) && !source_of(1 + SOURCES_MAX, &jobs[5]));
}

static void a_job_goes_on_when_nobody_holds_it_any_more(void)
{
    begin();
    come(HERE, 5, LIMIT);
    come(1, 5, LIMIT);
    charged = 0;
    take_hold(5);
    EXPECT(held_here == 1 && jobs_held == 1 && is_job_held(5) && !is_job_held(6) && charged == 5);
    charged = 0;
    /* This site's own job answers at once. */
    take_last(5);
    EXPECT(held_here == 1 && heard[1] == CHASQUI_SP_RELEASE_JOB && again_count == 0 && charged == 0);
    take_release(7, 5);
    EXPECT(held_here == 0 && jobs_held == 0 && !is_job_held(5) && heard[7] == CHASQUI_SP_RELEASED);
    EXPECT(again_first == 5 && again_count == 1 && charged == 5);
    charged = 0;
    take_released(7); /* of no job of this site */
    EXPECT(charged == 0);
    take_released(1);
    EXPECT(charged == 5);
}

static void who_tells_that_a_job_may_go_on_has_an_answer_when_there_is_room(void)
{
    begin();
    has_room = false;
    for (unsigned i = 0; i < 3; i++)
        take_hold(5);
    take_release(3, 5);
    take_release(70, 5);
    take_release(3, 5);
    EXPECT(held_here == 0 && heard[3] == 0 && heard[70] == 0);
    has_room = true;
    hold_left();
    EXPECT(heard[3] == CHASQUI_SP_RELEASED && heard[70] == CHASQUI_SP_RELEASED && unanswered_count == 0);
    heard[3] = 0;
    hold_left();
    EXPECT(heard[3] == 0);
}

int main(void)
{
    hold_begin();
    a_job_is_held_until_its_last_packet_is_taken();
    all_sites_of_packets_that_wait_hear_before_one_is_taken();
    packets_of_a_job_without_sources_are_not_looked_at();
    a_few_sites_go_on_at_a_time();
    one_of_which_there_always_are_packets_goes_on_after_so_many();
    what_a_site_had_sent_before_it_heard_does_not_count();
    sites_that_have_sent_since_are_held_with_the_next_one();
    without_room_in_the_own_queue_all_is_told_later();
    answers_of_an_sp_hold_nobody_up();
    there_are_places_for_so_many();
    sites_alike_in_their_last_bits_are_told_apart();
    a_job_goes_on_when_nobody_holds_it_any_more();
    who_tells_that_a_job_may_go_on_has_an_answer_when_there_is_room();
    printf("held: %s\n", failed ? "FAILED" : "PASSED");
    return failed;
}
