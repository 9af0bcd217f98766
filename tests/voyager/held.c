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

/* What each site has heard last, and what this site's NES holds up. */
static uint64_t heard[SITES], held_here;
static bool has_room;
static struct chasqui_voyager_packet missed;

static uint64_t nes_load(uint64_t address)
{
    uint64_t word = 0;
    switch (address) {
    case CHASQUI_SP_SETTING_HOLD: return LIMIT;
    case CHASQUI_SP_SETTING_JOB_PROCESSES: return 1;
    case CHASQUI_SP_SETTING_SITE: return HERE;
    case CHASQUI_SP_MISSED: __builtin_memcpy(&word, &missed, sizeof missed); return word;
    }
    abort();
}

static void nes_store(uint64_t address, uint64_t value)
{
    if (address != CHASQUI_SP_HOLD)
        abort();
    held_here = value & CHASQUI_SP_HOLD_OVER ? 0 : 1;
}

static void check(bool right)
{
    if (!right)
        abort();
}

static struct chasqui_voyager_packet header_of(uint64_t word)
{
    struct chasqui_voyager_packet header;
    __builtin_memcpy(&header, &word, sizeof header);
    return header;
}

static bool own_has_room(void) { return has_room; }

static void own_send(unsigned site, uint64_t word, uint64_t tag)
{
    (void)tag;
    heard[site] = word >> 32;
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

/* So many packets of `job` from `site` are taken, each with others behind it. */
static void take_from(unsigned site, unsigned job, unsigned packets)
{
    while (packets-- > 0) {
        hold_if_full(job, site, LIMIT - 1);
        missed_is_taken(job, false);
    }
}

static void take(unsigned job, unsigned packets) { take_from(OTHER, job, packets); }

static void begin(void)
{
    forget_sources(5);
    __builtin_memset(heard, 0, sizeof heard);
    missed = (struct chasqui_voyager_packet){.kind = CHASQUI_SP_PACKET_EXPRESS};
    has_room = true;
}

static void a_job_is_held_until_its_last_packet_is_taken(void)
{
    begin();
    hold_if_full(5, 1, LIMIT - 1);
    EXPECT(heard[1] == 0);
    hold_if_full(5, 1, LIMIT);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
    take(5, 10);
    missed_is_taken(6, true);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
    missed_is_taken(5, true);
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB);
}

static void one_of_which_there_always_are_packets_goes_on_after_so_many(void)
{
    begin();
    hold_if_full(5, 1, LIMIT);
    take(5, HELD_FOR - 1);
    take(6, HELD_FOR);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
    take(5, 1);
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB);
    /* Anew, not after what is left of the count. */
    hold_if_full(5, 2, LIMIT);
    take(5, HELD_FOR - 1);
    EXPECT(heard[2] == CHASQUI_SP_HOLD_JOB);
    take(5, 1);
    EXPECT(heard[2] == CHASQUI_SP_RELEASE_JOB);
}

static void what_a_site_had_sent_before_it_heard_does_not_count(void)
{
    begin();
    hold_if_full(5, 1, LIMIT);
    take_from(1, 5, 10 * HELD_FOR);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
    missed_is_taken(5, true);
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB);
}

static void sites_that_have_sent_since_are_held_with_the_next_one(void)
{
    begin();
    for (unsigned site = 1; site <= 3; site++)
        hold_if_full(5, site, LIMIT);
    take_from(1, 5, 1);
    take_from(2, 5, 1);
    missed_is_taken(5, true);
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB && heard[3] == CHASQUI_SP_RELEASE_JOB);
    hold_if_full(5, 4, LIMIT);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB && heard[2] == CHASQUI_SP_HOLD_JOB && heard[4] == CHASQUI_SP_HOLD_JOB);
    EXPECT(heard[3] == CHASQUI_SP_RELEASE_JOB);
    missed_is_taken(5, true);
    /* Of one that is over none is. */
    forget_sources(5);
    hold_if_full(5, 4, LIMIT);
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB && heard[4] == CHASQUI_SP_HOLD_JOB);
    missed_is_taken(5, true);
}

static void without_room_in_the_own_queue_all_is_told_later(void)
{
    begin();
    has_room = false;
    hold_if_full(5, 1, LIMIT);
    EXPECT(heard[1] == 0);
    has_room = true;
    hold_if_full(5, 1, LIMIT);
    has_room = false;
    missed_is_taken(5, true);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
    has_room = true;
    release_on();
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB);
}

static void a_hold_that_begins_before_another_is_told_its_end_lasts_as_long(void)
{
    begin();
    hold_if_full(5, 1, LIMIT);
    has_room = false;
    take(5, HELD_FOR);
    has_room = true;
    hold_if_full(5, 2, LIMIT);
    release_on();
    take(5, HELD_FOR - 1);
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB && heard[2] == CHASQUI_SP_HOLD_JOB);
    take(5, 1);
    EXPECT(heard[2] == CHASQUI_SP_RELEASE_JOB);
}

static void answers_of_an_sp_hold_nobody_up(void)
{
    begin();
    missed.flags = CHASQUI_SP_PACKET_OWN;
    hold_if_full(5, 1, LIMIT);
    EXPECT(heard[1] == 0);
    /* Nor do they come to an end when the job is held up at their site. */
    missed.flags = 0;
    hold_if_full(5, 1, LIMIT);
    missed.flags = CHASQUI_SP_PACKET_OWN;
    take_from(1, 5, HELD_FOR - 1);
    EXPECT(heard[1] == CHASQUI_SP_HOLD_JOB);
    take_from(1, 5, 1);
    EXPECT(heard[1] == CHASQUI_SP_RELEASE_JOB);
}

static void there_are_places_for_so_many(void)
{
    begin();
    for (unsigned site = 1; site <= SOURCES_MAX + 1; site++)
        hold_if_full(5, site, LIMIT);
    EXPECT(heard[SOURCES_MAX] == CHASQUI_SP_HOLD_JOB && heard[SOURCES_MAX + 1] == 0);
    missed_is_taken(5, true);
    unsigned released = 0;
    for (unsigned site = 0; site < SITES; site++)
        released += heard[site] == CHASQUI_SP_RELEASE_JOB;
    EXPECT(released == SOURCES_MAX);
}

static void a_job_goes_on_when_nobody_holds_it_any_more(void)
{
    begin();
    hold_if_full(5, HERE, LIMIT);
    hold_job(5);
    EXPECT(held_here == 1 && jobs_held == 1 && is_job_held(5) && !is_job_held(6));
    missed_is_taken(5, true);
    EXPECT(held_here == 1);
    release_job(5);
    EXPECT(held_here == 0 && jobs_held == 0 && !is_job_held(5));
}

int main(void)
{
    hold_begin();
    a_job_is_held_until_its_last_packet_is_taken();
    one_of_which_there_always_are_packets_goes_on_after_so_many();
    what_a_site_had_sent_before_it_heard_does_not_count();
    sites_that_have_sent_since_are_held_with_the_next_one();
    without_room_in_the_own_queue_all_is_told_later();
    a_hold_that_begins_before_another_is_told_its_end_lasts_as_long();
    answers_of_an_sp_hold_nobody_up();
    there_are_places_for_so_many();
    a_job_goes_on_when_nobody_holds_it_any_more();
    printf("held: %s\n", failed ? "FAILED" : "PASSED");
    return failed;
}
