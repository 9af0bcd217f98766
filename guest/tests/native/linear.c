/* A transport beside host matching, as a network interface's firmware would be one: the library posts descriptors and gets
 * completions, and the firmware matches by linear lists, with a rendezvous of its own. It runs within this process, over the
 * test device, whose packets of kinds of its own it exchanges. What it shows is that mpi/transport/transport.h is all that
 * the library asks for: the same programs must run.
 *
 * CHQ_NATIVE_TRANSPORT=1 takes it (device.c). */
#include <stdlib.h>
#include <string.h>

#include "mpi/transport/packet.h"
#include "mpi/transport/transport.h"
#include "native.h"

/* The firmware's packets. */
enum {
    SHORT = 16, /* A message with its data; `sender` unless 0 wants MATCHED. */
    LONG, /* A message whose data wait for CLEAR. */
    CLEAR, /* `bytes` bytes of `sender`'s message are wanted for `receiver`. */
    DATA, /* The next of them. */
    MATCHED, /* `sender`'s message has met its receive. */
    WITHDRAW, /* `sender`'s message is not wanted any more. */
    WITHDRAWN, /* It is gone. */
};

enum command_kind { SEND, POST, CANCEL };

/* A descriptor of the library's. When the firmware takes it the request may be over, so all that it needs is here. */
struct command {
    enum command_kind kind;
    bool receives; /* Of CANCEL: a receive. */
    struct request *cookie; /* What a completion names it by. */
    struct chasqui_envelope envelope;
    uint64_t key, mask;
    void *data;
    size_t bytes;
};

enum { COMMANDS = 4 };
static struct command commands[COMMANDS]; /* A ring. */
static unsigned first_command, command_count;

struct completion {
    struct completion *next;
    struct request *cookie;
    bool cancelled, received;
    struct chasqui_envelope envelope; /* Of what was received. */
};
static struct completion *completions, **last_completion = &completions;

/* A receive that waits for a message, then, if it is a long one, for its data. */
struct posted {
    struct posted *next;
    struct command command;
    struct chasqui_envelope envelope;
    char *to;
    size_t left;
};
static struct posted *all_posted;

/* A message that waits for a receive. */
struct waiting {
    struct message message; /* What probing shows. */
    struct waiting *next;
    const void *own; /* Sent by this process to itself: its data, where they are; null: `data`. */
    char data[];
};
static struct waiting *all_waiting;

/* The data of a long message on their way. */
struct stream {
    struct blocked blocked;
    struct request *cookie;
    struct chasqui_envelope envelope;
    const char *from;
    size_t left;
};

static void complete(struct request *cookie, bool cancelled, const struct chasqui_envelope *received)
{
    struct completion *made = malloc(sizeof *made);
    *made = (struct completion){.cookie = cookie, .cancelled = cancelled, .received = received != NULL};
    if (received)
        made->envelope = *received;
    *last_completion = made;
    last_completion = &made->next;
}

static void answer(const struct chasqui_envelope *about, int kind, uint64_t receiver, size_t bytes)
{
    struct chasqui_envelope packet = {
        .kind = (uint8_t)kind,
        .source = (uint16_t)chq.rank,
        .destination = about->source,
        .sender = about->sender,
        .receiver = receiver,
        .bytes = bytes,
    };
    chq_send_control(&packet, NULL, 0);
}

static struct request *request_of(uint64_t name) { return (struct request *)(uintptr_t)name; }

/* --- the firmware: matching ------------------------------------------------------------------- */

static bool is_for(const struct command *receive, const struct chasqui_envelope *envelope)
{
    return ((receive->key ^ match_envelope_key(envelope)) & receive->mask) == 0;
}

/* A receive has met a message: its data are at `data` (null and some: the device's `take`), unless it is a long one. */
static void meet(const struct command *receive, const struct chasqui_envelope *envelope, const void *data)
{
    size_t bytes = envelope->bytes < receive->bytes ? envelope->bytes : receive->bytes;
    if (envelope->kind == LONG && envelope->source != chq.rank) {
        struct posted *lands = malloc(sizeof *lands);
        *lands = (struct posted){.command = *receive, .envelope = *envelope, .to = receive->data, .left = bytes};
        answer(envelope, CLEAR, (uintptr_t)lands, bytes);
        if (bytes > 0)
            return;
        free(lands);
    } else {
        chq_packet_take(receive->data, data, bytes);
        if (envelope->sender && envelope->source == chq.rank)
            complete(request_of(envelope->sender), false, NULL);
        else if (envelope->sender)
            answer(envelope, MATCHED, 0, 0);
    }
    complete(receive->cookie, false, envelope);
}

/* The message meets the first receive in the list that takes it, or waits. */
static void message_came(const struct chasqui_envelope *envelope, const void *data, size_t bytes, const void *own)
{
    struct posted **link = &all_posted, *posted;
    while ((posted = *link) && !is_for(&posted->command, envelope))
        link = &posted->next;
    if (posted) {
        *link = posted->next;
        meet(&posted->command, envelope, own ? own : data);
        free(posted);
        return;
    }
    struct waiting **end = &all_waiting, *made = malloc(sizeof *made + bytes);
    *made = (struct waiting){.message = {.envelope = *envelope}, .own = own};
    chq_packet_take(made->data, data, bytes);
    while (*end)
        end = &(*end)->next;
    *end = made;
}

static struct waiting **find_waiting(const struct command *receive)
{
    struct waiting **link = &all_waiting;
    while (*link && !is_for(receive, &(*link)->message.envelope))
        link = &(*link)->next;
    return link;
}

static void meet_waiting(const struct command *receive, struct waiting *waiting)
{
    meet(receive, &waiting->message.envelope, waiting->own ? waiting->own : waiting->data);
    free(waiting);
}

static void post_command(const struct command *receive)
{
    struct waiting **link = find_waiting(receive), *waiting = *link;
    if (waiting) {
        *link = waiting->next;
        meet_waiting(receive, waiting);
        return;
    }
    struct posted **end = &all_posted;
    while (*end)
        end = &(*end)->next;
    *end = malloc(sizeof **end);
    **end = (struct posted){.command = *receive};
}

/* True: a message of this process's or another's waited and is gone. */
static bool withdraw(uint64_t sender, uint32_t source)
{
    struct waiting **link = &all_waiting, *waiting;
    while ((waiting = *link) &&
           (waiting->message.envelope.sender != sender || waiting->message.envelope.source != source))
        link = &waiting->next;
    if (!waiting)
        return false;
    *link = waiting->next;
    free(waiting);
    return true;
}

/* --- the firmware: packets -------------------------------------------------------------------- */

static void message_packet(const struct chasqui_envelope *envelope, const void *data, size_t bytes)
{
    message_came(envelope, data, bytes, NULL);
}

static bool stream_step(struct blocked *blocked)
{
    struct stream *stream = (struct stream *)blocked;
    while (stream->left > 0) {
        size_t piece = stream->left < chq.eager_bytes_max ? stream->left : chq.eager_bytes_max;
        stream->envelope.bytes = piece;
        if (!chq.device->send(&stream->envelope, stream->from, piece))
            return false;
        stream->from += piece;
        stream->left -= piece;
    }
    return true;
}

static void work(void);

static void stream_gone(struct blocked *blocked)
{
    struct stream *stream = (struct stream *)blocked;
    complete(stream->cookie, false, NULL);
    free(stream);
    work();
}

static void clear_packet(const struct chasqui_envelope *clear, const void *data, size_t bytes)
{
    (void)data, (void)bytes;
    struct request *cookie = request_of(clear->sender);
    struct stream *stream = malloc(sizeof *stream);
    *stream = (struct stream){
        .blocked = {.step = stream_step, .gone = stream_gone},
        .cookie = cookie,
        .from = cookie->buffer,
        .left = clear->bytes,
        .envelope = {.kind = DATA,
                     .source = (uint16_t)chq.rank,
                     .destination = clear->source,
                     .receiver = clear->receiver},
    };
    chq_block(&stream->blocked);
}

static void data_packet(const struct chasqui_envelope *envelope, const void *data, size_t bytes)
{
    struct posted *lands = (struct posted *)(uintptr_t)envelope->receiver;
    chq_packet_take(lands->to, data, bytes);
    lands->to += bytes;
    lands->left -= bytes;
    if (lands->left > 0)
        return;
    complete(lands->command.cookie, false, &lands->envelope);
    free(lands);
}

static void matched_packet(const struct chasqui_envelope *envelope, const void *data, size_t bytes)
{
    (void)data, (void)bytes;
    complete(request_of(envelope->sender), false, NULL);
}

static void withdraw_packet(const struct chasqui_envelope *envelope, const void *data, size_t bytes)
{
    (void)data, (void)bytes;
    if (withdraw(envelope->sender, envelope->source))
        answer(envelope, WITHDRAWN, 0, 0);
}

static void withdrawn_packet(const struct chasqui_envelope *envelope, const void *data, size_t bytes)
{
    (void)data, (void)bytes;
    complete(request_of(envelope->sender), true, NULL);
}

/* --- the firmware: descriptors ---------------------------------------------------------------- */

static void send_command(const struct command *send)
{
    const struct chasqui_envelope *envelope = &send->envelope;
    if (envelope->destination == chq.rank) {
        message_came(envelope, send->data, envelope->sender ? 0 : send->bytes, envelope->sender ? send->data : NULL);
        if (!envelope->sender)
            complete(send->cookie, false, NULL);
    } else if (envelope->kind == LONG) {
        chq_send_in_order(envelope, NULL, 0, NULL);
    } else if (envelope->sender) {
        chq_send_in_order(envelope, send->data, send->bytes, NULL);
    } else if (chq_send_in_order(envelope, send->data, send->bytes, send->cookie)) {
        complete(send->cookie, false, NULL);
    }
}

static void cancel_receive(struct request *cookie)
{
    struct posted **link = &all_posted, *posted;
    while ((posted = *link) && posted->command.cookie != cookie)
        link = &posted->next;
    if (!posted)
        return;
    *link = posted->next;
    free(posted);
    complete(cookie, true, NULL);
}

static void cancel_command(const struct command *cancel)
{
    struct request *cookie = cancel->cookie;
    struct chasqui_envelope about = cancel->envelope;
    if (cancel->receives) {
        cancel_receive(cookie);
    } else if (about.sender && about.destination == chq.rank) {
        if (withdraw(about.sender, chq.rank))
            complete(cookie, true, NULL);
    } else if (about.sender) {
        about.source = about.destination;
        answer(&about, WITHDRAW, 0, 0);
    }
}

static void commands_take(void)
{
    while (command_count > 0) {
        const struct command command = commands[first_command];
        first_command = (first_command + 1) % COMMANDS;
        command_count--;
        if (command.kind == SEND)
            send_command(&command);
        else if (command.kind == POST)
            post_command(&command);
        else
            cancel_command(&command);
    }
}

/* --- the library's side ----------------------------------------------------------------------- */

/* A receive's data are in its buffer, or, packed, beside it. */
static void received(struct request *request, const struct chasqui_envelope *envelope)
{
    transport_matched(request, envelope);
    chq_deliver(request, request->type ? request->packed : NULL, request->type ? request->got : 0);
}

static void completions_take(void)
{
    struct completion *completion;
    while ((completion = completions)) {
        completions = completion->next;
        if (!completions)
            last_completion = &completions;
        chq_tell();
        if (completion->cancelled)
            chq_cancelled(completion->cookie);
        else if (completion->received)
            received(completion->cookie, &completion->envelope);
        else
            request_complete(completion->cookie);
        free(completion);
    }
}

/* Descriptors first: a completion may end a request that one still names. */
static void work(void)
{
    commands_take();
    completions_take();
}

/* The doorbell: descriptors wait until the library next looks at what is blocked. */
static bool bell_step(struct blocked *blocked)
{
    (void)blocked;
    commands_take();
    return true;
}

static bool rung;

static void bell_gone(struct blocked *blocked)
{
    (void)blocked;
    rung = false;
    work();
}
static struct blocked bell = {.step = bell_step, .gone = bell_gone};

static void command(const struct command *given)
{
    if (command_count == COMMANDS)
        commands_take();
    commands[(first_command + command_count++) % COMMANDS] = *given;
    if (!rung)
        chq_block(&bell);
    rung = true;
}

static void look(void)
{
    chq.device->poll();
    work();
}

/* Nothing is in the ring, or the library would have asked `send`. */
static bool send_short(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct chasqui_envelope packet = *envelope;
    packet.kind = SHORT;
    return chq.device->send(&packet, payload, bytes);
}

static void send(struct request *request, enum send_mode mode)
{
    struct chasqui_envelope *envelope = &request->envelope;
    envelope->kind = request->bytes > chq.eager_bytes_max ? LONG : SHORT;
    if (envelope->kind == LONG || mode == MODE_SYNCHRONOUS)
        envelope->sender = (uintptr_t)request;
    MARK_SEND(envelope, request->buffer);
    command(&(struct command){
        .kind = SEND, .cookie = request, .envelope = *envelope, .data = request->buffer, .bytes = request->bytes});
}

static void send_refused(struct request *request)
{
    request->envelope.kind = SHORT;
    command(&(struct command){.kind = SEND,
                              .cookie = request,
                              .envelope = request->envelope,
                              .data = request->buffer,
                              .bytes = request->bytes});
}

static struct command receive_command(struct request *request, uint64_t key, int pattern)
{
    struct command receive = {.kind = POST,
                              .cookie = request,
                              .key = key,
                              .mask = match_mask(pattern),
                              .data = request->buffer,
                              .bytes = request->bytes};
    if (request->type && request->bytes > 0)
        receive.data = request->packed = malloc(request->bytes); /* Freed when the request ends. */
    return receive;
}

static void post(struct request *request, uint64_t key, int pattern)
{
    struct command receive = receive_command(request, key, pattern);
    command(&receive);
}

static struct message *probe(uint64_t key, int pattern)
{
    struct command receive = {.key = key, .mask = match_mask(pattern)};
    work();
    struct waiting *found = *find_waiting(&receive);
    return found ? &found->message : NULL;
}

static void claim(struct message *message)
{
    struct waiting **link = &all_waiting;
    while (&(*link)->message != message)
        link = &(*link)->next;
    *link = (*link)->next;
}

static void receive(struct request *request, struct message *message)
{
    struct command claimed = receive_command(request, 0, PATTERN_EXACT);
    meet_waiting(&claimed, (struct waiting *)(void *)message);
    work();
}

static void cancel(struct request *request)
{
    bool receives = request->kind == REQUEST_RECEIVE;
    struct command cancel = {.kind = CANCEL, .receives = receives, .cookie = request};
    if (!receives)
        cancel.envelope = request->envelope;
    command(&cancel);
}

static void init(void)
{
    chq.send = send_short;
    chq.eager_bytes_max = chq.device->eager_bytes_max;
    chq.unexpected_count = CHQ_POSTS;
    chq_set_network(look);
    chq_packet_register(SHORT, message_packet);
    chq_packet_register(LONG, message_packet);
    chq_packet_register(CLEAR, clear_packet);
    chq_packet_register(DATA, data_packet);
    chq_packet_register(MATCHED, matched_packet);
    chq_packet_register(WITHDRAW, withdraw_packet);
    chq_packet_register(WITHDRAWN, withdrawn_packet);
}

const struct transport native_linear = {
    .name = "linear lists",
    .init = init,
    .send = send,
    .send_refused = send_refused,
    .post = post,
    .probe = probe,
    .claim = claim,
    .receive = receive,
    .cancel = cancel,
};
