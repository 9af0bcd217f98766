/* Actions one after the other. */
#include "player.h"
#include "clock.h"

#include <stdlib.h>

enum { PIECE = 512 /* actions read at a time */, NUMBERS = sizeof(struct trace_action) / sizeof(uint64_t) };

struct sequence {
    const struct player *player;
    struct trace_action *piece;
    uint64_t done, in_piece, at; /* actions before the piece, in it, and the next one there */
    uint64_t *list;
    int *counts, *displacements; /* of two lists */
    MPI_Request *requests, *several;
    MPI_Status *statuses;
    MPI_Comm *communicators;
    MPI_Op nothing; /* an operator that does nothing */
};

static void do_nothing(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)length, (void)type;
}

/* The next action; NULL: there is none. */
static const struct trace_action *next(struct sequence *s)
{
    if (s->at == s->in_piece) {
        s->done += s->in_piece;
        uint64_t left = s->player->part.actions - s->done;
        if (left == 0)
            return NULL;
        s->in_piece = left < PIECE ? left : PIECE;
        s->at = 0;
        read_at(s->player, s->piece, s->in_piece * sizeof *s->piece,
                s->player->part.offset + s->done * sizeof *s->piece);
    }
    return &s->piece[s->at++];
}

/* Reads an action's list. */
static void read_list(struct sequence *s, uint64_t numbers)
{
    for (uint64_t at = 0; at < numbers; at += NUMBERS) {
        const uint64_t *record = (const uint64_t *)next(s);
        if (record == NULL)
            fail(s->player, "a list of the trace ends too soon");
        for (uint64_t i = 0; i < NUMBERS && at + i < numbers; i++)
            s->list[at + i] = record[i];
    }
}

/* Counts and displacements of blocks that lie one behind the other; which: the first or the second such list. */
static int *blocks(struct sequence *s, uint64_t first, int count, int which)
{
    int at = which * count, end = 0;
    for (int i = 0; i < count; i++) {
        s->counts[at + i] = (int)s->list[first + (uint64_t)i];
        s->displacements[at + i] = end;
        end += s->counts[at + i];
    }
    return &s->counts[at];
}

static MPI_Datatype type_of(int tag)
{
    switch ((enum trace_type)(tag & 0xff)) {
    case TYPE_CHAR: return MPI_SIGNED_CHAR;
    case TYPE_SHORT: return MPI_SHORT;
    case TYPE_INT: return MPI_INT;
    case TYPE_LONG: return MPI_LONG;
    case TYPE_FLOAT: return MPI_FLOAT;
    case TYPE_DOUBLE: return MPI_DOUBLE;
    default: return MPI_BYTE;
    }
}

static int size_of(int tag)
{
    static const unsigned char size[] = {
        [TYPE_BYTE] = 1, [TYPE_CHAR] = 1,  [TYPE_SHORT] = 2,  [TYPE_INT] = 4,
        [TYPE_LONG] = 8, [TYPE_FLOAT] = 4, [TYPE_DOUBLE] = 8,
    };
    return size[tag & 0xff];
}

static MPI_Op operator_of(const struct sequence *s, int tag)
{
    switch ((enum trace_operator)(tag >> 8)) {
    case OPERATOR_SUM: return MPI_SUM;
    case OPERATOR_PROD: return MPI_PROD;
    case OPERATOR_MIN: return MPI_MIN;
    case OPERATOR_MAX: return MPI_MAX;
    case OPERATOR_LAND: return MPI_LAND;
    case OPERATOR_LOR: return MPI_LOR;
    case OPERATOR_LXOR: return MPI_LXOR;
    case OPERATOR_BAND: return MPI_BAND;
    case OPERATOR_BOR: return MPI_BOR;
    case OPERATOR_BXOR: return MPI_BXOR;
    default: return s->nothing;
    }
}

static void send_or_receive(struct sequence *s, const struct trace_action *a)
{
    const void *out = s->player->send_buffer;
    void *in = s->player->receive_buffer;
    int bytes = (int)(a->bytes == BYTES_ANY ? s->player->part.receive_bytes : a->bytes);
    int peer = rank_of(a->peer), tag = tag_of(a->tag);
    MPI_Comm comm = s->communicators[a->comm];
    MPI_Request *request = &s->requests[a->request];
    switch (a->kind) {
    case TRACE_SEND: MPI_Send(out, bytes, MPI_BYTE, peer, tag, comm); break;
    case TRACE_SSEND: MPI_Ssend(out, bytes, MPI_BYTE, peer, tag, comm); break;
    case TRACE_RSEND: MPI_Rsend(out, bytes, MPI_BYTE, peer, tag, comm); break;
    case TRACE_BSEND: MPI_Bsend(out, bytes, MPI_BYTE, peer, tag, comm); break;
    case TRACE_ISEND: MPI_Isend(out, bytes, MPI_BYTE, peer, tag, comm, request); break;
    case TRACE_ISSEND: MPI_Issend(out, bytes, MPI_BYTE, peer, tag, comm, request); break;
    case TRACE_IRSEND: MPI_Irsend(out, bytes, MPI_BYTE, peer, tag, comm, request); break;
    case TRACE_IBSEND: MPI_Ibsend(out, bytes, MPI_BYTE, peer, tag, comm, request); break;
    case TRACE_SEND_INIT: MPI_Send_init(out, bytes, MPI_BYTE, peer, tag, comm, request); break;
    case TRACE_RECV: MPI_Recv(in, bytes, MPI_BYTE, peer, tag, comm, MPI_STATUS_IGNORE); break;
    case TRACE_IRECV: MPI_Irecv(in, bytes, MPI_BYTE, peer, tag, comm, request); break;
    default: MPI_Recv_init(in, bytes, MPI_BYTE, peer, tag, comm, request); break;
    }
}

static void send_and_receive(struct sequence *s, const struct trace_action *a)
{
    const struct player *p = s->player;
    int source = rank_of((int32_t)s->list[0]), tag = tag_of((int32_t)s->list[1]), bytes = (int)s->list[2];
    MPI_Comm comm = s->communicators[a->comm];
    if (a->kind == TRACE_SENDRECV)
        MPI_Sendrecv(p->send_buffer, (int)a->bytes, MPI_BYTE, rank_of(a->peer), a->tag, p->receive_buffer, bytes,
                     MPI_BYTE, source, tag, comm, MPI_STATUS_IGNORE);
    else
        MPI_Sendrecv_replace(p->receive_buffer, bytes, MPI_BYTE, rank_of(a->peer), a->tag, source, tag, comm,
                             MPI_STATUS_IGNORE);
}

static void with_one_request(struct sequence *s, const struct trace_action *a)
{
    int flag;
    MPI_Request *request = &s->requests[a->request];
    switch (a->kind) {
    case TRACE_START: MPI_Start(request); break;
    case TRACE_REQUEST_FREE: MPI_Request_free(request); break;
    case TRACE_WAIT: MPI_Wait(request, MPI_STATUS_IGNORE); break;
    default: MPI_Test(request, &flag, MPI_STATUS_IGNORE); break;
    }
}

static void with_requests(struct sequence *s, const struct trace_action *a)
{
    int count = (int)a->more, flag, index, done;
    for (int i = 0; i < count; i++)
        s->several[i] = s->requests[s->list[i]];
    switch (a->kind) {
    case TRACE_STARTALL: MPI_Startall(count, s->several); break;
    case TRACE_WAITALL: MPI_Waitall(count, s->several, MPI_STATUSES_IGNORE); break;
    case TRACE_TESTALL: MPI_Testall(count, s->several, &flag, MPI_STATUSES_IGNORE); break;
    case TRACE_TESTANY: MPI_Testany(count, s->several, &index, &flag, MPI_STATUS_IGNORE); break;
    default: MPI_Testsome(count, s->several, &done, s->counts, MPI_STATUSES_IGNORE); break;
    }
    for (int i = 0; i < count; i++)
        s->requests[s->list[i]] = s->several[i];
}

static void probe_or_attach(struct sequence *s, const struct trace_action *a)
{
    int flag, bytes;
    void *buffer;
    switch (a->kind) {
    case TRACE_PROBE: MPI_Probe(rank_of(a->peer), tag_of(a->tag), s->communicators[a->comm], MPI_STATUS_IGNORE); break;
    case TRACE_IPROBE:
        MPI_Iprobe(rank_of(a->peer), tag_of(a->tag), s->communicators[a->comm], &flag, MPI_STATUS_IGNORE);
        break;
    case TRACE_BUFFER_ATTACH: MPI_Buffer_attach(room(s->player, a->bytes, 1), (int)a->bytes); break;
    default:
        MPI_Buffer_detach((void *)&buffer, &bytes);
        free(buffer);
        break;
    }
}

static void reduce(struct sequence *s, const struct trace_action *a)
{
    const void *out = s->player->send_buffer;
    void *in = s->player->receive_buffer;
    MPI_Datatype type = type_of(a->tag);
    int count = (int)(a->bytes / (uint64_t)size_of(a->tag));
    MPI_Op op = operator_of(s, a->tag);
    MPI_Comm comm = s->communicators[a->comm];
    switch (a->kind) {
    case TRACE_REDUCE: MPI_Reduce(out, in, count, type, op, a->peer, comm); break;
    case TRACE_ALLREDUCE: MPI_Allreduce(out, in, count, type, op, comm); break;
    case TRACE_SCAN: MPI_Scan(out, in, count, type, op, comm); break;
    case TRACE_EXSCAN: MPI_Exscan(out, in, count, type, op, comm); break;
    default:
        for (uint64_t i = 0; i < a->more; i++)
            s->counts[i] = (int)(s->list[i] / (uint64_t)size_of(a->tag));
        MPI_Reduce_scatter(out, in, s->counts, type, op, comm);
        break;
    }
}

static void move(struct sequence *s, const struct trace_action *a)
{
    void *out = s->player->send_buffer, *in = s->player->receive_buffer;
    int bytes = (int)a->bytes, more = (int)a->more;
    MPI_Comm comm = s->communicators[a->comm];
    switch (a->kind) {
    case TRACE_BARRIER: MPI_Barrier(comm); break;
    case TRACE_BCAST: MPI_Bcast(in, bytes, MPI_BYTE, a->peer, comm); break;
    case TRACE_GATHER: MPI_Gather(out, bytes, MPI_BYTE, in, more, MPI_BYTE, a->peer, comm); break;
    case TRACE_ALLGATHER: MPI_Allgather(out, bytes, MPI_BYTE, in, more, MPI_BYTE, comm); break;
    case TRACE_SCATTER: MPI_Scatter(out, bytes, MPI_BYTE, in, more, MPI_BYTE, a->peer, comm); break;
    default: MPI_Alltoall(out, bytes, MPI_BYTE, in, more, MPI_BYTE, comm); break;
    }
}

static void move_blocks(struct sequence *s, const struct trace_action *a)
{
    void *out = s->player->send_buffer, *in = s->player->receive_buffer;
    int bytes = (int)a->bytes, *where = s->displacements;
    MPI_Comm comm = s->communicators[a->comm];
    int half = (int)a->more / 2;
    int *counts = a->kind == TRACE_ALLTOALLV ? blocks(s, 0, half, 0) : blocks(s, 0, (int)a->more, 0);
    switch (a->kind) {
    case TRACE_GATHERV: MPI_Gatherv(out, bytes, MPI_BYTE, in, counts, where, MPI_BYTE, a->peer, comm); break;
    case TRACE_ALLGATHERV: MPI_Allgatherv(out, bytes, MPI_BYTE, in, counts, where, MPI_BYTE, comm); break;
    case TRACE_SCATTERV: MPI_Scatterv(out, counts, where, MPI_BYTE, in, bytes, MPI_BYTE, a->peer, comm); break;
    default: {
        int *received = blocks(s, (uint64_t)half, half, 1);
        MPI_Alltoallv(out, counts, where, MPI_BYTE, in, received, where + half, MPI_BYTE, comm);
        break;
    }
    }
}

static void create(struct sequence *s, const struct trace_action *a)
{
    MPI_Comm comm = s->communicators[a->comm], *made = &s->communicators[a->request];
    int count = (int)a->more;
    switch (a->kind) {
    case TRACE_COMM_DUP: MPI_Comm_dup(comm, made); break;
    case TRACE_COMM_SPLIT: MPI_Comm_split(comm, a->peer < 0 ? MPI_UNDEFINED : a->peer, a->tag, made); break;
    case TRACE_COMM_FREE: MPI_Comm_free(made); break;
    case TRACE_CART_CREATE:
        for (int i = 0; i < count; i++) {
            s->counts[i] = (int)(s->list[i] / 2);
            s->displacements[i] = (int)(s->list[i] % 2);
        }
        MPI_Cart_create(comm, count, s->counts, s->displacements, 0, made);
        break;
    case TRACE_CART_SUB:
        for (int i = 0; i < count; i++)
            s->counts[i] = (int)s->list[i];
        MPI_Cart_sub(comm, s->counts, made);
        break;
    default: {
        MPI_Group whole, part;
        for (int i = 0; i < count; i++)
            s->counts[i] = (int)s->list[i];
        MPI_Comm_group(comm, &whole);
        MPI_Group_incl(whole, count, s->counts, &part);
        MPI_Comm_create(comm, part, made);
        MPI_Group_free(&whole);
        MPI_Group_free(&part);
        break;
    }
    }
}

/* Makes the call that an action asks for. */
static void call(struct sequence *s, const struct trace_action *a)
{
    unsigned kind = a->kind;
    if (kind <= TRACE_IRECV || kind == TRACE_SEND_INIT || kind == TRACE_RECV_INIT)
        send_or_receive(s, a);
    else if (kind <= TRACE_SENDRECV_REPLACE)
        send_and_receive(s, a);
    else if (kind == TRACE_START || kind == TRACE_REQUEST_FREE || kind == TRACE_WAIT || kind == TRACE_TEST)
        with_one_request(s, a);
    else if (kind <= TRACE_TESTSOME)
        with_requests(s, a);
    else if (kind <= TRACE_BUFFER_DETACH)
        probe_or_attach(s, a);
    else if (kind >= TRACE_REDUCE && kind <= TRACE_REDUCE_SCATTER)
        reduce(s, a);
    else if (kind <= TRACE_ALLTOALL)
        move(s, a);
    else if (kind <= TRACE_ALLTOALLV)
        move_blocks(s, a);
    else if (kind <= TRACE_COMM_FREE)
        create(s, a);
    else
        fail(s->player, "an action of the trace is of no known kind");
}

void play_sequence(const struct player *player)
{
    const struct trace_part *part = &player->part;
    struct sequence s = {.player = player};
    s.piece = room(player, PIECE, sizeof *s.piece);
    s.list = room(player, part->list, sizeof *s.list);
    s.counts = room(player, part->list, sizeof *s.counts);
    s.displacements = room(player, part->list, sizeof *s.displacements);
    s.several = room(player, part->list, sizeof(MPI_Request));
    s.requests = room(player, part->requests, sizeof(MPI_Request));
    s.communicators = room(player, part->communicators, sizeof(MPI_Comm));
    for (uint32_t i = 0; i < part->requests; i++)
        s.requests[i] = MPI_REQUEST_NULL;
    MPI_Init(NULL, NULL);
    for (uint32_t i = 0; i < part->communicators; i++)
        s.communicators[i] = i == 0 ? MPI_COMM_WORLD : i == 1 ? MPI_COMM_SELF : MPI_COMM_NULL;
    MPI_Op_create(do_nothing, 1, &s.nothing);
    uint64_t since = clock_cycles();
    const struct trace_action *next_action;
    while ((next_action = next(&s)) != NULL) {
        struct trace_action a = *next_action; /* its list may be in another piece */
        if (a.kind == TRACE_COMPUTE) {
            since += clock_cycles_of(a.bytes);
            clock_wait_until(since);
        } else {
            if (trace_has_list(a.kind))
                read_list(&s, a.more);
            call(&s, &a);
            since = clock_cycles();
        }
    }
    MPI_Finalize();
}
