/* Notes between processes, about synchronous messages that were drained: the card keeps none of them. The receiver says when
 * one has met its receive; the sender may ask to cancel it. One note to each process is under way at a time, the others wait
 * here, so that events have room. */
#include "host.h"
#include "mpi/runtime/memory.h"

struct note {
    struct note *next;
    uint32_t sequence;
    uint8_t what;
};

/* By rank. */
struct correspondent {
    struct note *first, *last; /* that wait */
    bool is_awaiting; /* the answer to the last */
    bool owes_answer;
};

static struct correspondent *correspondents;
static uint32_t waiting; /* ranks for which notes or an answer wait */
static bool is_blocked;

static bool mcp_notes_wait(const struct correspondent *to) { return to->first || to->owes_answer; }

void mcp_notes_init(void)
{
    correspondents = chq_malloc(chq.size * sizeof *correspondents);
    memset(correspondents, 0, chq.size * sizeof *correspondents);
}

static void mcp_note_post(uint32_t rank, uint8_t what, uint32_t sequence)
{
    struct chasqui_mpinp_request request = {
        .kind = CHASQUI_MPINP_NOTE, .flags = what, .rank = (uint16_t)rank, .sequence = sequence};
    mcp_card_post(&request);
}

static void mcp_notes_to(uint32_t rank)
{
    struct correspondent *to = &correspondents[rank];
    if (to->owes_answer && mcp_card_room() > 0) {
        to->owes_answer = false;
        mcp_note_post(rank, CHASQUI_MPINP_NOTE_ANSWER, 0);
    }
    struct note *note = to->first;
    if (note && !to->is_awaiting && mcp_card_room() > 0) {
        to->first = note->next;
        to->is_awaiting = true;
        mcp_note_post(rank, note->what, note->sequence);
        free(note);
    }
    waiting -= !mcp_notes_wait(to);
}

static bool mcp_notes_step(struct blocked *blocked)
{
    (void)blocked;
    for (uint32_t rank = 0; rank < chq.size && waiting > 0; rank++)
        if (mcp_notes_wait(&correspondents[rank]))
            mcp_notes_to(rank);
    return waiting == 0;
}

static void mcp_notes_gone(struct blocked *blocked)
{
    (void)blocked;
    is_blocked = false;
}

static struct blocked blocked_notes = {.step = mcp_notes_step, .gone = mcp_notes_gone};

/* More is to be said to `rank`, to which nothing was before if not `was_waiting`. */
static void mcp_notes_more(uint32_t rank, bool was_waiting)
{
    waiting += !was_waiting;
    mcp_notes_to(rank);
    if (waiting > 0 && !is_blocked) {
        is_blocked = true;
        chq_block(&blocked_notes);
    }
}

void mcp_note(uint32_t rank, uint8_t what, uint32_t sequence)
{
    struct correspondent *to = &correspondents[rank];
    bool was_waiting = mcp_notes_wait(to);
    struct note *note = chq_malloc(sizeof *note);
    *note = (struct note){.what = what, .sequence = sequence};
    if (to->first)
        to->last->next = note;
    else
        to->first = note;
    to->last = note;
    mcp_notes_more(rank, was_waiting);
}

void mcp_noted(const struct chasqui_mpinp_event *event)
{
    struct correspondent *from = &correspondents[event->rank];
    bool was_waiting = mcp_notes_wait(from);
    switch (event->result) {
    case CHASQUI_MPINP_NOTE_ANSWER:
        from->is_awaiting = false;
        if (was_waiting)
            mcp_notes_more(event->rank, true);
        return;
    case CHASQUI_MPINP_NOTE_CANCEL: mcp_drained_cancel(event->rank, event->bytes); break;
    default: mcp_drained_over(event->bytes, event->result == CHASQUI_MPINP_NOTE_GONE); break;
    }
    was_waiting = mcp_notes_wait(from);
    from->owes_answer = true;
    mcp_notes_more(event->rank, was_waiting);
}
