/* What `chasqui play` runs: carries a trace out as an MPI program. It computes nothing, and is busy for as long as the
 * trace says; it calls what the trace says, and that is executed on the machine.
 *
 * Usage: play TRACE
 * (a file of the form in trace.h) */
#include "player.h"
#include "clock.h"

#include <chasqui/abi.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINE = 64, PAGE = 4096, READ_MAX = 1 << 20 };

_Noreturn void fail(const struct player *player, const char *what)
{
    fprintf(stderr, "play: rank %d: %s\n", player->rank, what);
    exit(2);
}

void *room(const struct player *player, uint64_t count, size_t bytes)
{
    /* Whole lines: no two buffers share one. */
    size_t whole = (count * bytes + LINE) / LINE * LINE;
    void *found = count <= (SIZE_MAX - LINE) / bytes ? aligned_alloc(LINE, whole) : NULL;
    if (found == NULL) {
        fprintf(stderr, "play: rank %d: the trace needs %" PRIu64 " times %zu bytes at once, which its node has not\n",
                player->rank, count, bytes);
        exit(2);
    }
    return found;
}

void read_at(const struct player *player, void *to, size_t bytes, uint64_t offset)
{
    for (size_t done = 0; done < bytes;) {
        size_t more = bytes - done < READ_MAX ? bytes - done : READ_MAX;
        ssize_t got = pread(player->file, (char *)to + done, more, (off_t)(offset + done));
        if (got <= 0)
            fail(player, got < 0 ? strerror(errno) : "the trace ends too soon");
        done += (size_t)got;
    }
}

/* The rank, before MPI_Init says it: what is prepared here is not part of what the trace does. Ends the program if it is
 * not one of so many. */
static int rank_among(const struct player *player, uint32_t ranks)
{
    int file = open("/dev/ni0", O_RDWR);
    struct chasqui_ni_identification *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
    if (file < 0 || page == MAP_FAILED)
        fail(player, "/dev/ni0 can't be read");
    if (page->ranks != ranks)
        fail(player, "the trace is of another number of ranks");
    int rank = (int)page->rank;
    munmap(page, PAGE);
    close(file);
    return rank;
}

/* Memory for data, whose pages are there before the first call needs them. */
static unsigned char *buffer(const struct player *player, uint64_t bytes)
{
    volatile unsigned char *found = room(player, bytes, 1);
    for (uint64_t at = 0; at < bytes; at += PAGE)
        found[at] = 0;
    return (unsigned char *)found;
}

static void prepare(struct player *player, char **words)
{
    player->file = open(words[1], O_RDONLY);
    if (player->file < 0)
        fail(player, strerror(errno));
    struct trace_header header;
    read_at(player, &header, sizeof header, 0);
    if (memcmp(header.magic, TRACE_MAGIC, sizeof header.magic) != 0)
        fail(player, "not a trace");
    player->order = header.order;
    player->rank = rank_among(player, header.ranks);
    read_at(player, &player->part, sizeof player->part, sizeof header + (uint64_t)player->rank * sizeof player->part);
    player->send_buffer = buffer(player, player->part.send_bytes);
    player->receive_buffer = buffer(player, player->part.receive_bytes);
    clock_begin(header.hz);
}

int main(int count, char **words)
{
    struct player player = {.rank = -1};
    if (count != 2)
        fail(&player, "usage: play TRACE");
    prepare(&player, words);
    if (player.order == TRACE_GRAPH)
        play_graph(&player);
    else
        play_sequence(&player);
    return 0;
}
