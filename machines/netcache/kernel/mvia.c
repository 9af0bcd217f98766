/* VIA's NIC in the kernel, over the Ethernet controller, as M-VIA 1.2 is one (Khunjush, 7.1.2 and 7.2.1): doorbells are
 * fast traps, the interrupt's handler takes messages apart, and one copy brings them to the process's memory.
 *
 * Sending: the controller takes a frame from one place, so a message is copied behind its header, from the process's
 * memory, from which it can be sent again: its descriptor is complete when all of it has been acknowledged.
 *
 * Reliability is the hardware NIC's (src/via/sequence.rs): packets of a connection are numbered, a window is under way,
 * what finds no descriptor is refused and sent again, with all behind it (go back n). Frames may be lost here, so there is
 * a time-out, too; then one packet is under way, and one more after each reply (as in slow start, RFC 5681). Each time-out in
 * a row is a quarter longer than the one before, until one outlasts the way there and back, or it would be longer than
 * TIMEOUT_MAX_NS, which ends the connection; one of anything more makes it short again (ours: RFC 6298 doubles it, and
 * where half of all round trips fail, such a wait has no mean).
 * Acknowledgements are ours: of M-VIA the paper says that what is dropped is sent again.
 *
 * All of the process's memory is used through the registration table, by its physical address: the interrupt may find any
 * process on the hart. */
#include "agent.h"
#include "ethernet.h"

#define HEADER_BYTES ((uint32_t)sizeof(struct chasqui_via_frame))
#define TIMEOUT_MAX_NS 60000000000ull /* of one time-out: as TCP's greatest */

/* An entry of the translation and protection table, in the words of the NIC's. */
struct entry {
    uint64_t page, tag;
};

struct completions {
    struct chasqui_via_queue memory; /* without entries: there is none */
    uint32_t produced, consumed;
    bool is_armed; /* the process sleeps until there are more than `consumed` */
};

/* A descriptor as its doorbell names it; of one to be sent also its packets, once it has been read. */
struct posted {
    uint64_t address;
    uint32_t handle;
    uint32_t first, packets;
};

struct vi {
    struct timer timer; /* first: expire() gets its address */
    uint32_t number, own; /* of all processes', and of its process's */
    uint32_t state, tag;
    uint32_t node, remote;
    uint32_t send_queue, receive_queue;
    /* Rings: work that has been posted, that has been read, that is complete. */
    struct posted *sends, *receives;
    uint32_t posted, planned, complete;
    uint32_t received_posted, received;
    /* Packets: the oldest that is not acknowledged, the next, the first that never was sent, the end of what has been read. */
    uint32_t base, next, sent, end;
    uint32_t current; /* work that `next` is of */
    uint32_t refusals; /* in a row */
    uint32_t timeouts; /* in a row */
    uint32_t allowed; /* packets under way: the window, or fewer after one was lost */
    bool waits; /* until the timer, after a refusal */
    uint32_t expected; /* packet that is awaited */
};

static struct driver mvia;
static struct entry *tables[PROCESSES];
static struct completions queues[PROCESSES * QUEUES_MAX];
static struct vi **vis[PROCESSES]; /* of each its own, by number; 0: there is none */
static uint32_t vis_each, entries_each;
static uint32_t depth, window, retries, transfer, data_max;
static uint64_t retry, timeout, timeout_max; /* ticks */

/* --- memory of processes ---------------------------------------------------------------------------------- */

/* Of what is numbered through all processes: the process, and its own number. */
static inline uint32_t process_of(uint32_t number, uint32_t each) { return HARTS > 1 ? number / each : 0; }

static inline uint32_t own_of_all(uint32_t number, uint32_t each) { return number - process_of(number, each) * each; }

/* Where the kernel sees an address of a process's, up to the end of its page; 0: handle, tag and rights do not allow it. */
static void *place(uint64_t address, uint32_t handle, uint32_t tag, uint64_t access)
{
    uint32_t page = (uint32_t)(address / PAGE_BYTES), entry = handle + page;
    uint32_t process = process_of(entry, entries_each), own = own_of_all(entry, entries_each);
    if (process >= PROCESSES || own >= entries_each || !tables[process])
        return 0;
    const struct entry *found = &tables[process][own];
    access |= CHASQUI_VIA_TABLE_VALID;
    if ((found->page & access) != access || found->tag != (tag | (uint64_t)page << 32))
        return 0;
    return of_physical((found->page & ~(uint64_t)(PAGE_BYTES - 1)) | address % PAGE_BYTES);
}

static struct chasqui_via_descriptor *descriptor_at(const struct posted *posted, uint32_t tag, uint64_t access)
{
    return place(posted->address, posted->handle, tag, access);
}

/* Copies between a packet and `bytes` of the process's from `address` on. False: they may not be used so. */
static bool copy(uint8_t *packet, uint64_t address, uint32_t handle, uint32_t bytes, uint32_t tag, uint64_t access)
{
    while (bytes > 0) {
        uint32_t part = least(bytes, PAGE_BYTES - (uint32_t)(address % PAGE_BYTES));
        void *users = place(address, handle, tag, access);
        if (!users)
            return false;
        if (access & CHASQUI_VIA_TABLE_WRITE)
            memory_copy(users, packet, part);
        else
            memory_copy(packet, users, part);
        packet += part;
        address += part;
        bytes -= part;
    }
    return true;
}

/* The same with bytes `from` on of what data segments name. */
static bool copy_segments(const struct chasqui_via_segment *segment, uint32_t count, uint8_t *packet, uint32_t from,
                          uint32_t bytes, uint32_t tag, uint64_t access)
{
    for (; count > 0 && bytes > 0; count--, segment++) {
        uint32_t length = segment->bytes;
        if (from >= length) {
            from -= length;
            continue;
        }
        uint32_t part = least(bytes, length - from);
        if (!copy(packet, segment->address + from, segment->handle, part, tag, access))
            return false;
        packet += part;
        bytes -= part;
        from = 0;
    }
    return bytes == 0;
}

static struct vi *find(uint32_t number)
{
    uint32_t process = process_of(number, vis_each), own = own_of_all(number, vis_each);
    return process < PROCESSES && own < vis_each && vis[process] ? vis[process][own] : 0;
}

/* What comes before is seen by who sees this, whichever hart that is on. */
static void publish(uint32_t *word, uint32_t value)
{
    if (HARTS > 1)
        __atomic_thread_fence(__ATOMIC_RELEASE);
    *(volatile uint32_t *)word = value;
}

/* --- completions -------------------------------------------------------------------------------------------- */

static void enter(const struct vi *vi, uint32_t number, bool is_receive)
{
    struct completions *queue = &queues[number];
    const struct chasqui_via_queue *memory = &queue->memory;
    if (memory->entries == 0)
        return;
    uint64_t address = memory->address + (queue->produced & (memory->entries - 1)) * sizeof(struct chasqui_via_entry);
    struct chasqui_via_entry *entry = place(address, memory->handle, memory->tag, CHASQUI_VIA_TABLE_WRITE);
    if (!entry)
        return;
    entry->vi = vi->own | (is_receive ? (uint32_t)CHASQUI_VIA_ENTRY_RECEIVE : 0);
    publish(&entry->number, ++queue->produced);
    if (queue->is_armed) {
        queue->is_armed = false;
        via_wake();
    }
}

/* The descriptor's status, behind all else. */
static void conclude(const struct vi *vi, const struct posted *posted, bool is_receive, uint32_t length,
                     uint32_t immediate, uint32_t status)
{
    struct chasqui_via_descriptor *descriptor = descriptor_at(posted, vi->tag, CHASQUI_VIA_TABLE_WRITE);
    if (!descriptor)
        return;
    descriptor->immediate = immediate;
    descriptor->length = length;
    publish(&descriptor->status, (uint32_t)CHASQUI_VIA_STATUS_DONE | status);
    uint32_t queue = is_receive ? vi->receive_queue : vi->send_queue;
    if (queue != CHASQUI_VIA_NO_QUEUE)
        enter(vi, queue, is_receive);
}

static bool is_write(const struct chasqui_via_descriptor *descriptor)
{
    return (descriptor->control & CHASQUI_VIA_CONTROL_OPERATION) == CHASQUI_VIA_CONTROL_RDMA_WRITE;
}

static void conclude_send(const struct vi *vi, const struct posted *posted, uint32_t status)
{
    const struct chasqui_via_descriptor *descriptor = descriptor_at(posted, vi->tag, 0);
    if (!descriptor)
        return;
    uint32_t operation = is_write(descriptor) ? CHASQUI_VIA_STATUS_RDMA_WRITE : CHASQUI_VIA_STATUS_SEND;
    bool is_right = !(status & CHASQUI_VIA_STATUS_ERRORS);
    conclude(vi, posted, false, is_right ? descriptor->length : 0, is_right ? descriptor->immediate : 0,
             operation | status);
}

static struct posted *send_of(const struct vi *vi, uint32_t number) { return &vi->sends[number & (depth - 1)]; }

static struct posted *receive_of(const struct vi *vi, uint32_t number) { return &vi->receives[number & (depth - 1)]; }

/* An error ends the connection: the descriptor of packet `sequence` has `status`, if that is not 0, all others are flushed
 * (VIA 1.0, 2.5). */
static void break_off(struct vi *vi, uint32_t sequence, uint32_t status)
{
    vi->state = CHASQUI_VIA_VI_ERROR;
    timer_cancel(&vi->timer);
    for (; vi->complete != vi->posted; vi->complete++) {
        const struct posted *posted = send_of(vi, vi->complete);
        bool is_read = distance(vi->planned, vi->complete) < 0;
        bool is_it = status && (!is_read || sequence - posted->first < posted->packets);
        conclude_send(vi, posted, is_it ? status : (uint32_t)CHASQUI_VIA_STATUS_FLUSHED);
        if (is_it)
            status = 0;
    }
    for (; vi->received != vi->received_posted; vi->received++)
        conclude(vi, receive_of(vi, vi->received), true, 0, 0, CHASQUI_VIA_STATUS_FLUSHED | CHASQUI_VIA_STATUS_RECEIVE);
    via_wake();
}

/* --- sending ------------------------------------------------------------------------------------------------ */

static void send(struct packet *packet, uint32_t node)
{
#if HARTS > 1
    if (node == node_here)
        return loopback(packet, true);
#endif
    ethernet_send(packet, node, CHASQUI_ETHERNET_TYPE_VIA);
}

/* Packets that a descriptor takes, or the status of what is wrong with it. */
static uint32_t plan(const struct chasqui_via_descriptor *descriptor, uint32_t *packets)
{
    uint32_t operation = descriptor->control & CHASQUI_VIA_CONTROL_OPERATION, segments = descriptor->segments;
    bool writes = operation == CHASQUI_VIA_CONTROL_RDMA_WRITE;
    if ((operation != CHASQUI_VIA_CONTROL_SEND_RECEIVE && !writes) || segments > 2 || (writes && segments == 0))
        return CHASQUI_VIA_STATUS_FORMAT_ERROR;
    uint64_t bytes = 0;
    for (uint32_t i = writes; i < segments; i++)
        bytes += descriptor->segment[i].bytes;
    if (bytes != descriptor->length)
        return CHASQUI_VIA_STATUS_FORMAT_ERROR;
    if (!writes && bytes > transfer)
        return CHASQUI_VIA_STATUS_LENGTH_ERROR;
    /* Most are short. */
    *packets = bytes <= data_max ? 1 : (uint32_t)((bytes + data_max - 1) / data_max);
    return 0;
}

/* Reads the next descriptor. False: there is none, or it is wrong. */
static bool read_next(struct vi *vi)
{
    if (vi->planned == vi->posted)
        return false;
    struct posted *posted = send_of(vi, vi->planned);
    const struct chasqui_via_descriptor *descriptor = descriptor_at(posted, vi->tag, 0);
    uint32_t status = descriptor ? plan(descriptor, &posted->packets) : (uint32_t)CHASQUI_VIA_STATUS_PROTECTION_ERROR;
    if (status) {
        break_off(vi, vi->end, status);
        return false;
    }
    posted->first = vi->end;
    vi->end += posted->packets;
    vi->planned++;
    return true;
}

/* The last packet of a descriptor asks for a reply, and two of each window, and the last that is allowed. */
static bool asks(const struct vi *vi, const struct posted *posted, uint32_t number)
{
    if (number + 1 == posted->packets)
        return true;
    uint32_t half = window / 2 ? window / 2 : 1;
    return (vi->next + 1) % half == 0 || vi->next + 1 - vi->base >= vi->allowed;
}

/* Packet `number` of a descriptor. False: its memory is not right. */
static bool send_packet(const struct vi *vi, const struct posted *posted, uint32_t number)
{
    const struct chasqui_via_descriptor *descriptor = descriptor_at(posted, vi->tag, 0);
    if (!descriptor)
        return false;
    bool writes = is_write(descriptor);
    uint32_t length = descriptor->length, from = number * data_max;
    uint32_t bytes = least(length - from, data_max), segments = least(descriptor->segments, 2);
    if (from > length || segments < writes)
        return false; /* it has changed */
    struct packet *packet = packet_new(bytes);
    if (!packet)
        return true; /* It counts as lost. */
    if (!copy_segments(descriptor->segment + writes, segments - writes, packet->data, from, bytes, vi->tag, 0)) {
        packet_free(packet);
        return false;
    }
    bool has_immediate = descriptor->control & CHASQUI_VIA_CONTROL_IMMEDIATE;
    struct chasqui_via_frame *frame = packet_push(packet, HEADER_BYTES);
    *frame = (struct chasqui_via_frame){
        .header = {.kind = writes ? CHASQUI_VIA_PACKET_WRITE : CHASQUI_VIA_PACKET_SEND,
                   .flags = (asks(vi, posted, number) ? CHASQUI_VIA_PACKET_ASKS : 0) |
                            (has_immediate ? CHASQUI_VIA_PACKET_HAS_IMMEDIATE : 0),
                   .to = vi->remote,
                   .from = vi->number,
                   .sequence = vi->next,
                   .value = descriptor->immediate,
                   .handle = writes ? descriptor->segment[0].handle : 0,
                   .address = writes ? descriptor->segment[0].address + from : from},
        .bytes = bytes,
        .left = length - from - bytes,
    };
    send(packet, vi->node);
    return true;
}

static void expire(struct timer *timer);

static uint64_t timeout_of(const struct vi *vi)
{
    uint64_t ticks = timeout;
    for (uint32_t i = 0; i < vi->timeouts; i++)
        ticks += ticks / 4;
    return ticks;
}

/* What may be sent now is, in the order of its descriptors. */
static void go_on(struct vi *vi)
{
    while (vi->state == CHASQUI_VIA_VI_CONNECTED && !vi->waits && vi->next - vi->base < vi->allowed) {
        if (vi->next == vi->end && !read_next(vi))
            break;
        const struct posted *posted = send_of(vi, vi->current);
        uint32_t number = vi->next - posted->first;
        if (!send_packet(vi, posted, number)) {
            break_off(vi, vi->next, CHASQUI_VIA_STATUS_PROTECTION_ERROR);
            return;
        }
        vi->next++;
        if (distance(vi->sent, vi->next) > 0)
            vi->sent = vi->next;
        if (number + 1 == posted->packets)
            vi->current++;
    }
    if (vi->state == CHASQUI_VIA_VI_CONNECTED && vi->base != vi->next && !vi->timer.is_set)
        timer_set(&vi->timer, csr_read(time) + timeout_of(vi), expire);
}

/* The oldest packet that is not acknowledged is the next. */
static void go_back(struct vi *vi)
{
    vi->waits = false;
    vi->next = vi->base;
    vi->current = vi->complete;
    go_on(vi);
}

/* From a refusal until what was refused is sent again: twice as long after each in a row. Who refuses executes that: frames
 * that come again at once would keep it from all else. */
static uint64_t pause_of(const struct vi *vi)
{
    uint64_t pause = retry;
    for (uint32_t i = 0; i < vi->refusals && pause < timeout; i++)
        pause *= 2;
    return pause < timeout || retry > timeout ? pause : timeout;
}

/* What was refused, or what nothing has been heard of, is sent again. */
static void expire(struct timer *timer)
{
    struct vi *vi = (struct vi *)timer;
    if (!vi->waits) {
        vi->allowed = 1;
        vi->timeouts++;
        if (timeout_of(vi) > timeout_max)
            break_off(vi, vi->base, CHASQUI_VIA_STATUS_TRANSPORT_ERROR);
    }
    if (vi->state == CHASQUI_VIA_VI_CONNECTED)
        go_back(vi);
}

/* --- receiving ---------------------------------------------------------------------------------------------- */

static void reply(const struct vi *vi, const struct chasqui_via_header *to, uint32_t node, uint32_t value)
{
    struct packet *packet = packet_new(0);
    if (!packet)
        return;
    struct chasqui_via_frame *frame = packet_push(packet, HEADER_BYTES);
    *frame = (struct chasqui_via_frame){
        .header = {.kind = CHASQUI_VIA_PACKET_REPLY,
                   .to = to->from,
                   .from = to->to,
                   .sequence = vi ? vi->expected : 0,
                   .value = value},
    };
    send(packet, node);
}

/* All packets before number `awaited` have come; that one was refused, or not. */
static void acknowledged(struct vi *vi, uint32_t awaited, bool refused)
{
    if (distance(vi->base, awaited) < 0 || distance(awaited, vi->sent) < 0)
        return;
    bool advanced = vi->base != awaited;
    vi->base = awaited;
    if (advanced) {
        vi->refusals = 0;
        vi->timeouts = 0;
        vi->allowed = least(vi->allowed + 1, window);
    }
    while (vi->complete != vi->planned) {
        const struct posted *posted = send_of(vi, vi->complete);
        if (distance(posted->first + posted->packets, awaited) < 0)
            break;
        conclude_send(vi, posted, 0);
        vi->complete++;
    }
    if (distance(vi->next, awaited) > 0) {
        vi->next = awaited;
        vi->current = vi->complete;
    }
    if (refused && !vi->waits && awaited != vi->sent) {
        vi->waits = true;
        vi->allowed = 1;
        timer_set(&vi->timer, csr_read(time) + pause_of(vi), expire);
        if (++vi->refusals > retries)
            break_off(vi, vi->base, CHASQUI_VIA_STATUS_TRANSPORT_ERROR);
    } else if (advanced && !vi->waits) {
        timer_cancel(&vi->timer);
        go_on(vi);
    }
}

static void take_reply(const struct chasqui_via_header *header, uint32_t node)
{
    struct vi *vi = find(header->to);
    if (!vi || vi->state != CHASQUI_VIA_VI_CONNECTED || vi->node != node || vi->remote != header->from)
        return;
    if (header->value > CHASQUI_VIA_PACKET_NOT_READY)
        break_off(vi, header->sequence, header->value);
    else
        acknowledged(vi, header->sequence, header->value == CHASQUI_VIA_PACKET_NOT_READY);
}

/* The packet that the VI awaits is taken. */
static void accept(struct vi *vi, const struct chasqui_via_header *header)
{
    vi->expected++;
    if (header->flags & CHASQUI_VIA_PACKET_ASKS)
        reply(vi, header, vi->node, CHASQUI_VIA_PACKET_ACCEPTED);
}

/* Copies a frame's data to where the receive descriptor says. 0, or the status of what is wrong. */
static uint32_t scatter(const struct vi *vi, const struct chasqui_via_descriptor *descriptor,
                        const struct chasqui_via_frame *frame)
{
    uint32_t from = (uint32_t)frame->header.address, segments = descriptor->segments;
    uint64_t room = 0;
    if (segments > 2 || is_write(descriptor))
        return CHASQUI_VIA_STATUS_FORMAT_ERROR;
    for (uint32_t i = 0; i < segments; i++)
        room += descriptor->segment[i].bytes;
    if ((uint64_t)from + frame->bytes + frame->left > room)
        return CHASQUI_VIA_STATUS_LENGTH_ERROR;
    bool is_right = copy_segments(descriptor->segment, segments, (uint8_t *)(frame + 1), from, frame->bytes, vi->tag,
                                  CHASQUI_VIA_TABLE_WRITE);
    return is_right ? 0 : CHASQUI_VIA_STATUS_PROTECTION_ERROR;
}

static void take_message(struct vi *vi, const struct chasqui_via_frame *frame)
{
    const struct chasqui_via_header *header = &frame->header;
    if (vi->received == vi->received_posted)
        return reply(vi, header, vi->node, CHASQUI_VIA_PACKET_NOT_READY);
    const struct posted *posted = receive_of(vi, vi->received);
    const struct chasqui_via_descriptor *descriptor = descriptor_at(posted, vi->tag, CHASQUI_VIA_TABLE_WRITE);
    uint32_t status = descriptor ? scatter(vi, descriptor, frame) : (uint32_t)CHASQUI_VIA_STATUS_PROTECTION_ERROR;
    if (!status && frame->left > 0)
        return accept(vi, header);
    vi->received++;
    bool has_immediate = header->flags & CHASQUI_VIA_PACKET_HAS_IMMEDIATE;
    uint32_t flags = has_immediate ? CHASQUI_VIA_STATUS_IMMEDIATE : 0;
    conclude(vi, posted, true, status ? 0 : (uint32_t)header->address + frame->bytes, has_immediate ? header->value : 0,
             CHASQUI_VIA_STATUS_RECEIVE | flags | status);
    if (!status)
        return accept(vi, header);
    reply(vi, header, vi->node, CHASQUI_VIA_STATUS_REMOTE_ERROR);
    break_off(vi, 0, 0);
}

/* A piece of an RDMA write. */
static void take_piece(struct vi *vi, const struct chasqui_via_frame *frame)
{
    const struct chasqui_via_header *header = &frame->header;
    bool is_right = copy((uint8_t *)(frame + 1), header->address, header->handle, frame->bytes, vi->tag,
                         CHASQUI_VIA_TABLE_WRITE | CHASQUI_VIA_TABLE_RDMA_WRITE);
    if (is_right)
        return accept(vi, header);
    reply(vi, header, vi->node, CHASQUI_VIA_STATUS_RDMA_PROTECTION_ERROR);
    break_off(vi, 0, 0);
}

static void take(const struct chasqui_via_frame *frame, uint32_t node)
{
    const struct chasqui_via_header *header = &frame->header;
    if (header->kind == CHASQUI_VIA_PACKET_REPLY)
        return take_reply(header, node);
    struct vi *vi = find(header->to);
    /* It may be made and connected yet. */
    if (!vi || vi->state == CHASQUI_VIA_VI_IDLE)
        return reply(vi, header, node, CHASQUI_VIA_PACKET_NOT_READY);
    if (vi->state == CHASQUI_VIA_VI_ERROR || vi->node != node || vi->remote != header->from)
        return reply(vi, header, node, CHASQUI_VIA_STATUS_REMOTE_ERROR);
    int32_t ahead = distance(vi->expected, header->sequence);
    if (ahead < 0)
        reply(vi, header, node, CHASQUI_VIA_PACKET_ACCEPTED);
    else if (ahead == 0 && header->kind == CHASQUI_VIA_PACKET_SEND)
        take_message(vi, frame);
    else if (ahead == 0)
        take_piece(vi, frame);
}

static void mvia_receive(struct packet *packet, uint32_t node)
{
    const struct chasqui_via_frame *frame = (const struct chasqui_via_frame *)packet->data;
    if (packet->bytes >= HEADER_BYTES && frame->bytes <= packet->bytes - HEADER_BYTES)
        take(frame, node);
    packet_free(packet);
}

static void mvia_looped(struct packet *packet) { mvia_receive(packet, node_here); }

/* --- doorbells ---------------------------------------------------------------------------------------------- */

static int64_t post_receive(struct vi *vi, struct posted posted)
{
    if (vi->received_posted - vi->received == depth)
        return -ENOMEM;
    if (vi->state == CHASQUI_VIA_VI_ERROR)
        conclude(vi, &posted, true, 0, 0, CHASQUI_VIA_STATUS_FLUSHED | CHASQUI_VIA_STATUS_RECEIVE);
    else
        *receive_of(vi, vi->received_posted++) = posted;
    return 0;
}

static int64_t post_send(struct vi *vi, struct posted posted)
{
    if (vi->posted - vi->complete == depth)
        return -ENOMEM;
    if (vi->state != CHASQUI_VIA_VI_CONNECTED) {
        conclude_send(vi, &posted, CHASQUI_VIA_STATUS_FLUSHED);
    } else {
        *send_of(vi, vi->posted++) = posted;
        go_on(vi);
    }
    return 0;
}

/* Twice the process's VI, and 1 more for its receive queue; what a doorbell of the NIC is given. */
static int64_t mvia_doorbell(uint64_t which, uint64_t value)
{
    struct vi *vi = which / 2 < vis_each && vis[process_here] ? vis[process_here][which / 2] : 0;
    if (!vi)
        return -EINVAL;
    struct posted posted = {
        .address = (value & UINT32_MAX) << CHASQUI_VIA_DESCRIPTOR_SHIFT,
        .handle = (uint32_t)(value >> CHASQUI_VIA_DOORBELL_HANDLE_SHIFT),
    };
    return which & 1 ? post_receive(vi, posted) : post_send(vi, posted);
}

/* --- what the agent asks for --------------------------------------------------------------------------------- */

/* Of the process's memory, and zero. 0: that is used up. */
SELDOM static void *new_table(size_t bytes)
{
    bytes = (bytes + 7) & ~7ull;
    void *table = memory_take_for(process_here, bytes);
    if (table)
        memory_clear(table, bytes);
    return table;
}

/* The process's tables. False: there is no memory for them. */
SELDOM static bool provide_tables(void)
{
    struct entry **table = &tables[process_here];
    struct vi ***all = &vis[process_here];
    if (!*table)
        *table = new_table(entries_each * sizeof **table);
    if (*table && !*all)
        *all = new_table(vis_each * sizeof **all);
    return *all;
}

static int64_t mvia_control(uint64_t request, uint64_t argument)
{
    bool has_tables = vis[process_here] || provide_tables();
    return has_tables ? via_control(request, argument) : -ENOMEM;
}

static void set_page(uint64_t entry, uint64_t page, uint64_t tag)
{
    tables[process_here][own_of_all((uint32_t)entry, entries_each)] = (struct entry){.page = page, .tag = tag};
}

static void set_queue(uint64_t number, const struct chasqui_via_queue *queue)
{
    queues[number] = (struct completions){.memory = *queue};
}

static size_t ring_bytes(void) { return depth * sizeof(struct posted); }

SELDOM static void give_vi(struct vi *vi)
{
    if (vi->sends)
        memory_give_for(process_here, vi->sends, ring_bytes());
    if (vi->receives)
        memory_give_for(process_here, vi->receives, ring_bytes());
    memory_give_for(process_here, vi, sizeof *vi);
}

/* A VI with its rings. 0: there is no memory for them. */
SELDOM static struct vi *new_vi(void)
{
    struct vi *vi = new_table(sizeof *vi);
    if (!vi)
        return 0;
    vi->sends = memory_take_for(process_here, ring_bytes());
    vi->receives = memory_take_for(process_here, ring_bytes());
    if (vi->sends && vi->receives)
        return vi;
    give_vi(vi);
    return 0;
}

SELDOM static bool create(uint64_t number)
{
    uint32_t own = own_of_all((uint32_t)number, vis_each);
    struct vi **place = &vis[process_here][own], *vi = *place ? *place : new_vi();
    if (!vi)
        return false;
    timer_cancel(&vi->timer);
    *vi = (struct vi){
        .number = (uint32_t)number, .own = own, .allowed = window, .sends = vi->sends, .receives = vi->receives};
    *place = vi;
    return true;
}

SELDOM static void destroy(uint64_t number)
{
    struct vi **place = &vis[process_here][own_of_all((uint32_t)number, vis_each)];
    if (!*place)
        return;
    timer_cancel(&(*place)->timer);
    give_vi(*place);
    *place = 0;
}

static void set_vi(uint64_t number, uint32_t tag, uint32_t send_queue, uint32_t receive_queue)
{
    struct vi *vi = find((uint32_t)number);
    vi->tag = tag;
    vi->send_queue = send_queue;
    vi->receive_queue = receive_queue;
}

static void connect(uint64_t number, uint32_t node, uint32_t remote)
{
    struct vi *vi = find((uint32_t)number);
    if (!vi)
        return;
    vi->node = node;
    vi->remote = remote;
    vi->state = CHASQUI_VIA_VI_CONNECTED;
}

static bool arm(uint64_t number, uint32_t consumed)
{
    struct completions *queue = &queues[number];
    queue->is_armed = queue->produced == consumed;
    return !queue->is_armed;
}

/* What it has sent arrives, and what comes is acknowledged, when its process has ended. */
static bool outlives(void)
{
    struct vi **all = vis[process_here];
    for (uint32_t i = 0; all && i < vis_each; i++)
        if (all[i] && all[i]->state == CHASQUI_VIA_VI_CONNECTED)
            return true;
    return false;
}

static const struct via_nic software = {.set_page = set_page,
                                        .set_queue = set_queue,
                                        .create = create,
                                        .destroy = destroy,
                                        .set_vi = set_vi,
                                        .connect = connect,
                                        .arm = arm};

static uint32_t power_of_two(uint64_t least_of_all)
{
    uint32_t power = 1;
    while (power < least_of_all)
        power *= 2;
    return power;
}

static bool mvia_start(void)
{
    if (boot.ni.device != CHASQUI_VIA_DEVICE || !via_setting(CHASQUI_VIA_SETTING_WINDOW))
        return false;
    window = (uint32_t)via_setting(CHASQUI_VIA_SETTING_WINDOW);
    retries = (uint32_t)(via_setting(CHASQUI_VIA_SETTING_WINDOW) >> 32);
    retry = ticks_of_ns((uint32_t)via_setting(CHASQUI_VIA_SETTING_TIMES));
    timeout = ticks_of_ns(via_setting(CHASQUI_VIA_SETTING_TIMES) >> 32);
    timeout_max = ticks_of_ns(TIMEOUT_MAX_NS);
    vis_each = (uint32_t)via_setting(CHASQUI_VIA_SETTING_VIS);
    entries_each = (uint32_t)via_setting(CHASQUI_VIA_SETTING_PAGES);
    transfer = (uint32_t)via_setting(CHASQUI_VIA_SETTING_TRANSFER);
    depth = power_of_two(via_setting(CHASQUI_VIA_SETTING_DEPTH));
    mvia.mtu = ethernet_begin(mvia_receive);
    data_max = (mvia.mtu - HEADER_BYTES) & ~7u;
    via_begin(&software);
    return true;
}

static struct driver mvia = {.start = mvia_start,
                             .interrupt = ethernet_interrupt,
                             .control = mvia_control,
                             .unmapped = via_unmapped,
                             .transmit = ethernet_transmit,
                             .receive = mvia_looped,
                             .fast_call = mvia_doorbell,
                             .outlives = outlives};
DRIVER driver_mvia = &mvia;
