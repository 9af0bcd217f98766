/* own.c, launch.c, message.c and main.c alone, beside an NES of which only this file knows: what waits for room in the sP's own
 * queue hears of it, and what a job that was held up had left to send is sent. */
#define nes_load device_load
#define nes_store device_store
#include "firmware.h"
#undef nes_load
#undef nes_store

#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 4, PROCESS = 2, PROCESSES = 4, QUEUES = 8 };

static uint64_t sent_by_nes, mask = ~0ull, launched_word;
static unsigned told, answered;

static uint64_t nes_load(uint64_t address)
{
    switch (address) {
    case CHASQUI_SP_SETTING_PLACES: return ROOM;
    case CHASQUI_SP_SETTING_SITES: return 8;
    case CHASQUI_SP_OWN_SENT: return sent_by_nes;
    }
    abort();
}

static void nes_store(uint64_t address, uint64_t value)
{
    switch (address) {
    case CHASQUI_SP_OWN_SEND: told++; break;
    case CHASQUI_SP_MASK: mask = value; break;
    case CHASQUI_SP_LAUNCH: launched_word = value; break;
    default: abort();
    }
}

struct queue queues[CHASQUI_VOYAGER_QUEUES];
unsigned queue_count = PROCESSES * (CHASQUI_VOYAGER_EXPRESS_QUEUES + QUEUES);
unsigned express_count = PROCESSES * CHASQUI_VOYAGER_EXPRESS_QUEUES, express_messages = ROOM, jobs_held;
static bool is_held;

#define _start firmware_start
#include "launch.c"
#include "main.c"
#include "own.c"

bool is_job_held(unsigned process) { return is_held && process == PROCESS; }

/* Something for a site waits for room, as answers of hold.c do. */
static unsigned to_tell;
void hold_left(void)
{
    while (to_tell > 0 && own_has_room()) {
        own_send(1, 0, 0);
        to_tell--;
        answered++;
    }
}

/* Of no use here. */
void queues_begin(void) {}
void drain_begin(void) {}
void drain_on(void) {}
void hold_begin(void) {}
void turn_is_over(void) {}
void quiescent(void) {}
void second_mark(void) {}
void overrun(unsigned process) { (void)process; }
void forget(unsigned process) { (void)process; }
void serve_room(unsigned name) { (void)name; }
void take_hold(unsigned job) { (void)job; }
void take_released(unsigned site) { (void)site; }
void take_release(unsigned site, unsigned job) { (void)site, (void)job; }
void first_mark(uint32_t live, bool idle) { (void)live, (void)idle; }
void serve_miss(unsigned name, unsigned waiting, unsigned unseen) { (void)name, (void)waiting, (void)unseen; }
void message_free(unsigned process, struct message *message) { (void)process, (void)message; }
void list_append(struct list *list, struct message *message) { (void)list, (void)message; }
bool is_site(unsigned source) { return source < 8; }
bool is_over(unsigned process) { return process == UINT32_MAX; }
bool may_keep(unsigned process) { return process != UINT32_MAX; }
bool another_may_come(void) { return true; }
uint64_t command(uint64_t operation, unsigned name) { return operation + name; }
struct message *message_new(unsigned process)
{
    (void)process;
    abort();
}
struct message *list_take(struct list *list) { return list->first; }
enum outcome serve_access(unsigned what, unsigned name) { return what + name ? DONE : LATER; }

#define EXPECT(condition) expect(condition, #condition, __LINE__)

static bool failed;

static void expect(bool right, const char *condition, int line)
{
    if (!right)
        printf("room: line %d: not %s\n", line, condition);
    failed |= !right;
}

static bool hears_of_room(void) { return mask >> CHASQUI_SP_KIND_LEFT & 1; }

/* The queue is full, and some messages wait: after each event there is a place for one. */
static void what_waits_hears_of_each_place(void)
{
    serve(CHASQUI_SP_KIND_LEFT); /* nothing waits: none is heard any more */
    EXPECT(!hears_of_room());
    while (own_has_room())
        own_send(1, 0, 0);
    EXPECT(told == ROOM && hears_of_room());
    to_tell = 3;
    for (unsigned i = 1; i <= 3; i++) {
        EXPECT(hears_of_room());
        sent_by_nes++;
        serve(CHASQUI_SP_KIND_LEFT);
        EXPECT(answered == i);
    }
    EXPECT(to_tell == 0);
    sent_by_nes++;
    serve(CHASQUI_SP_KIND_LEFT);
    EXPECT(!hears_of_room());
}

/* It was posted while the job was held up, and nothing is posted behind it. */
static void what_was_left_is_launched(void)
{
    unsigned name = first_basic(PROCESS) + 1;
    queues[name].process = PROCESS;
    is_held = true;
    jobs_held = 1;
    launch_up_to(name, 1);
    launch_next();
    EXPECT(launched_word == 0 && launcher_is_free());
    is_held = false;
    jobs_held = 0;
    launch_again(PROCESS, 1);
    launch_next();
    EXPECT(launched_word == (uint64_t)name << 32 && is_launching(name));
    EXPECT(launched());
    launched_word = 0;
    launch_again(PROCESS, 1); /* all has been sent */
    launch_next();
    EXPECT(launched_word == 0 && launcher_is_free());
}

int main(void)
{
    own_begin();
    what_waits_hears_of_each_place();
    what_was_left_is_launched();
    printf("room: %s\n", failed ? "FAILED" : "PASSED");
    return failed;
}
