/* Programs. Operations of a process, in the order it posts them, without waiting:
 *
 *   S1at  standard send to process 1, tag a, size t (without: z); Y synchronous, R ready
 *   r0a   receive from process 0, tag a; r*a any source, r0* any tag; a size behind: capacity
 *   m0a   wait likewise, and claim the message (MPI_Mprobe); i0a: claim it if there is one (MPI_Improbe)
 *   f3    receive what operation 3 claimed
 *   c2    cancel the process's operation number 2
 *   w2    wait until it is complete
 *   p0a   wait until a probe finds a message
 *
 * Sizes: z nothing, t tiny (may be sent eagerly), m (the whole receive buffer), l (larger than it). A last x: another
 * context.
 */
#include <stdlib.h>
#include <string.h>

#include "explorer.h"

#define TEXT_BYTES 128
#define WORD_BYTES 16

static uint32_t size_of(char letter)
{
    switch (letter) {
    case 'z': return 0;
    case 't': return 1;
    case 'm': return 2;
    case 'l': return 3;
    default: abort();
    }
}

static struct operation operation_of(const char *word)
{
    struct operation operation = {.bytes = 3};
    strncpy(operation.text, word, sizeof operation.text - 1);
    switch (word[0]) {
    case 'S':
    case 'Y':
    case 'R':
        operation.kind = OP_SEND;
        operation.flags = word[0] == 'Y' ? SEND_IS_SYNCHRONOUS : word[0] == 'R' ? SEND_IS_READY : 0;
        break;
    case 'r': operation.kind = OP_RECEIVE; break;
    case 'p': operation.kind = OP_PROBE; break;
    case 'm': operation.kind = OP_CLAIM; break;
    case 'i': operation.kind = OP_CLAIM_IF; break;
    case 'c':
    case 'f':
    case 'w':
        operation.kind = word[0] == 'c' ? OP_CANCEL : word[0] == 'f' ? OP_FETCH : OP_WAIT;
        operation.target = (uint8_t)(word[1] - '0');
        return operation;
    default: abort();
    }
    operation.peer = word[1] == '*' ? NOBODY : (uint8_t)(word[1] - '0');
    if (operation.kind == OP_SEND && !word[3])
        operation.bytes = 0;
    operation.tag = word[2] == '*' ? PROTOCOL_ANY_TAG : word[2] - 'a';
    for (const char *letter = word + 3; *letter; letter++)
        if (*letter == 'x')
            operation.context = 1;
        else
            operation.bytes = size_of(*letter);
    return operation;
}

void parse(struct program *program)
{
    if (program->slots == 0)
        program->slots = 2;
    program->process_count = 0;
    for (unsigned process = 0; process < PROCESSES_MAX && program->texts[process]; process++) {
        char text[TEXT_BYTES], *rest = text;
        strncpy(text, program->texts[process], sizeof text - 1);
        text[sizeof text - 1] = 0;
        unsigned count = 0;
        for (char *word; (word = strtok_r(rest, " ", &rest));) {
            if (count == OPERATIONS_MAX)
                abort();
            program->operations[process * OPERATIONS_MAX + count++] = operation_of(word);
        }
        program->counts[process] = count;
        program->process_count++;
    }
}

#define SLOTS_3 .slots = 3

const struct program programs[] = {
    {.name = "one", .texts = {"S1am", "r0a"}},
    {.name = "tiny", .texts = {"S1at", "r0a"}},
    {.name = "empty", .texts = {"S1az", "r0a"}},
    {.name = "large", .texts = {"S1al", "r0a"}},
    {.name = "synchronous", .texts = {"Y1am", "r0a"}},
    {.name = "synchronous, tiny", .texts = {"Y1at", "r0a"}},
    {.name = "synchronous, large", .texts = {"Y1al", "r0a"}},
    {.name = "ready", .texts = {"r1a w0 R1bl", "r0b S0am"}},
    {.name = "ready, after much", .texts = {"S1am r1b w1 R1cl", "r0c S0bz r0a"}},
    {.name = "ready without a receive", .texts = {"S1am R1al", "r0a r0a"}},
    {.name = "any tag", .texts = {"S1am S1bl", "r0* r0*"}},
    {.name = "contexts", .texts = {"S1amx S1am", "r0a r0ax"}},
    {.name = "equal tags", .texts = {"S1am S1am", "r0a r0a"}},
    {.name = "equal tags, one receive", .texts = {"S1am S1am", "r0a"}},
    {.name = "equal tags, large", .texts = {"S1al S1al", "r0a r0a"}},
    {.name = "equal tags, large later", .texts = {"S1am S1al", "r0a r0a"}},
    {.name = "equal tags, tiny", .texts = {"S1at S1at S1at", "r0a r0a r0a"}},
    {.name = "reversed", .texts = {"S1am S1bm", "r0b r0a"}},
    {.name = "reversed, large", .texts = {"S1al S1bl", "r0b r0a"}},
    {.name = "reversed, synchronous", .texts = {"Y1am Y1bm", "r0b r0a"}},
    {.name = "reversed, tiny", .texts = {"Y1at Y1bt", "r0b r0a"}},
    {.name = "reversed, waiting", .texts = {"Y1at S1bt", "r0b w0 r0a"}},
    {.name = "only the second", .texts = {"S1at S1bt", "r0b"}},
    {.name = "only the second, any source", .texts = {"S1am S1bt", "r*b"}, SLOTS_3},
    {.name = "synchronous without a receive", .texts = {"Y1at Y1bt", "r0b"}},
    {.name = "reversed, large, waiting", .texts = {"S1al S1bl", "r0b w0 r0a"}},
    {.name = "reversed, synchronous, waiting", .texts = {"Y1am Y1bm", "r0b w0 r0a"}},
    {.name = "three empty", .texts = {"S1az S1bz S1cz", "r0a r0b r0c"}},
    {.name = "three, synchronous, tiny", .texts = {"Y1at Y1at Y1at", "r0a r0a r0a"}},
    {.name = "synchronous, tiny, without credit", .texts = {"S1at S1at Y1at", "r0a r0a r0a"}},
    {.name = "one slot", .texts = {"S1at S1am S1al", "r0a r0a r0a"}, .slots = 1},
    {.name = "one slot, empty", .texts = {"S1az S1az S1az", "r0a r*a r0*"}, .slots = 1},
    {.name = "one slot, asked while blocked",
     .texts = {"S1am S1bl S2c", "r2d w0 p0a r0b w3 r0a", "r0c w0 S1d"},
     .slots = 1},
    {.name = "three, the last first", .texts = {"S1at S1at S1bt", "r0b r0a r0a"}, SLOTS_3},
    {.name = "three, any source", .texts = {"S1at S1at S1bm", "r*b r*a r0a"}, SLOTS_3},
    {.name = "three, table full", .texts = {"S1az S1bl S1cz", "r0c r0b r0a"}, SLOTS_3},
    {.name = "tiny and medium", .texts = {"S1at S1am S1at", "r0a r0a r0a"}, SLOTS_3},
    {.name = "both ways", .texts = {"S1am r1b", "S0bm r0a"}},
    {.name = "both ways, large", .texts = {"S1al r1b", "S0bl r0a"}},
    {.name = "both ways, tiny", .texts = {"S1at S1at r1b", "S0bt r0a r0a"}},
    {.name = "truncated", .texts = {"S1am S1al", "r0at r0am"}},
    {.name = "truncated, any tag", .texts = {"S1am S1bl", "r0*t r0*m"}},
    {.name = "cancelled", .texts = {"S1al", "r0a c0"}},
    {.name = "cancelled, another", .texts = {"S1al", "r0a c0 r0a"}},
    {.name = "cancelled, medium", .texts = {"S1am S1am", "r0a c0 r0a"}},
    {.name = "cancelled, any source", .texts = {"S1al", "r*a c0 r0a"}},
    {.name = "cancelled behind any source", .texts = {"S1al", "r*a r0a c1"}},
    {.name = "cancelled without a message", .texts = {"", "r0a c0 w0 r*a c3 w3"}},
    {.name = "any source, exact", .texts = {"S1am S1am", "r*a r0a"}},
    {.name = "any source, exact, large", .texts = {"S1al S1al", "r*a r0a"}},
    {.name = "exact, any source, large", .texts = {"S1al S1al", "r0a r*a"}},
    {.name = "any source, any tag", .texts = {"S1at S1bl", "r** r0b"}},
    {.name = "records again", .texts = {"S1al S1al S1al", "r0a w0 r0a r0a"}},
    {.name = "probes", .texts = {"S1al S1bt", "p0b p0a r0a r0b"}},
    {.name = "probes any", .texts = {"S1at S1bl", "p** r0b r0a"}},
    {.name = "claimed", .texts = {"S1am S1am", "m0a r0a f0"}},
    {.name = "claimed, large", .texts = {"S1al S1al", "m0a r0a f0"}},
    {.name = "claimed, any source", .texts = {"Y1at S1bl", "m*b r0a f0"}},
    {.name = "claimed, if there", .texts = {"S1am S1al", "i0a r0a r0a f0"}},
    {.name = "claimed, if it were there", .texts = {"S1am", "i0b"}},
    {.name = "claimed, not received", .texts = {"S1at S1bl", "m0b r0a"}},
    {.name = "more receives than records", .texts = {"S1ft S1et S1dm", "r0a r0b r0c r0d r0e r0f"}},
    {.name = "more receives than records, in order", .texts = {"S1a S1a S1a S1a", "r0a r0* r*a r*a c3"}},
    {.name = "send cancelled", .texts = {"S1al c0", "r0a"}},
    {.name = "send cancelled without a receive", .texts = {"S1al Y1al c0 c1", ""}},
    {.name = "send cancelled, tiny", .texts = {"S1am Y1at c1 S1bl", "r0* r0b"}, SLOTS_3},
    {.name = "send cancelled, ready", .texts = {"S1am R1am c1", "r0a"}, SLOTS_3},
    {.name = "send cancelled, synchronous", .texts = {"Y1am c0 Y1bm", "r0* r0b"}},
    {.name = "send cancelled, without credit", .texts = {"S1at S1at Y1at c2", "r0a r0a w0 w1 r0a"}},
    {.name = "both cancelled", .texts = {"S1al c0 S1al", "r0a c0 r0a"}},
    {.name = "send cancelled, behind", .texts = {"S1al S1bl c1", "r0* r0a"}},
    {.name = "claimed and cancelled", .texts = {"S1al c0", "m0a f0"}},
    {.name = "two sources", .texts = {"r*a r*a", "S0am", "S0al"}},
    {.name = "two sources, tiny", .texts = {"r*a r*a", "S0at", "S0at"}},
    {.name = "two sources, one receive", .texts = {"r*a", "S0al", "S0am"}},
    {.name = "two sources, exact and any", .texts = {"r1a r*a", "S0al", "S0al"}},
    {.name = "two sources, any and exact", .texts = {"r*a r1a", "S0al", "S0am"}},
    {.name = "two sources, cancelled", .texts = {"r*a r1a c0", "S0al", "S0am"}},
    {.name = "two sources take turns",
     .texts = {"p1a p2a r*a r*a r*a", "S0az S0az", "S0az"},
     SLOTS_3,
     .takes_turns = true},
    {.name = "two sources take turns, at last",
     .texts = {"r1b w0 r2b w2 r*a r*a", "S0az S0az S0bz", "S0az S0bz"},
     SLOTS_3,
     .places = 2,
     .takes_turns = true},
    {.name = "one is stuck", .texts = {"r2a", "S0bl S0bt", "S0al"}},
    {.name = "one waits for another's receive", .texts = {"r2a w0 r*b r*b", "S0bm S0bm", "S0am"}, .slots = 1},
    {.name = "one is stuck at the source", .texts = {"S1bl S1bt S2al", "", "r0a"}},
    {.name = "turns", .texts = {"S1az S1az S2az", "r0a r0a", "r0a"}, SLOTS_3},
    {.name = "turns, two places", .texts = {"S1az S1az S2az", "r0a r0a", "r0a"}, SLOTS_3, .places = 2},
    {.name = "to itself", .texts = {"S0al r0a"}},
    {.name = "to itself, both orders", .texts = {"r*a S0at Y0al r0a c2"}},
    {.name = "to itself, tiny", .texts = {"S0at S0at S0at r0a r0* r*a"}},
    {.name = "shared NIC", .texts = {"r*a", "r*a", "S0am S1am"}, .shares_nic = true},
    {.name = "shared NIC, to each other", .texts = {"r*a S1at", "r0a S0al", "S0al"}, .shares_nic = true},
    {.name = "put off", .texts = {"S1am S1am", "r0a r0a"}, .put_off = 2},
    {.name = "put off, tiny", .texts = {"S1am S1at", "r0a r0a"}, .put_off = 2},
    {.name = "put off, one slot", .texts = {"S1at S1at", "r0a r0a"}, .slots = 1, .put_off = 2},
    {.name = "put off, one slot, synchronous", .texts = {"Y1at Y1at c1", "r0a r0a"}, .slots = 1, .put_off = 1},
    {.name = "put off, large", .texts = {"S1al S1al", "r0a r0a"}, .put_off = 2},
    {.name = "put off, both ways", .texts = {"S1at r1b", "S0bl r0a"}, .put_off = 1},
    {.name = "put off, cancelled", .texts = {"Y1al c0 r1b", "S0bt r0a"}, .put_off = 1},
    {.name = "put off, two sources", .texts = {"r1a r2a", "S0at", "S0am"}, .put_off = 1},
    {.name = "put off, recalled", .texts = {"r1a", "S0am S0at", "S0am"}, .put_off = 1},
    {.name = "put off, kept", .texts = {"Y1al c0 r1b", "S0bm", "S0am"}, .slots = 1, .put_off = 1, .put_off_at = 1},
    /* The larger set. */
    {.name = "four tiny", .texts = {"S1at S1at S1at S1at", "r0a r0a r0a r0a"}},
    {.name = "both ways, four", .texts = {"S1at S1bl r1a r1a", "S0at S0al r0b r0a"}},
    {.name = "three of each", .texts = {"S1at Y1am S1al", "r0a r*a c0 r0a"}},
    {.name = "three large, cancelled", .texts = {"S1al S1bl S1al", "r0* c0 r0b r*a"}},
    {.name = "two sources, two each", .texts = {"r*a r1a r*a r2a", "S0al S0at", "S0am S0al"}},
    {.name = "two sources, two each, tiny", .texts = {"r*a r*a r1a r2a", "S0at S0at", "S0at S0at"}},
    {.name = "ring of three", .texts = {"S1al r2a", "S2al r0a", "S0al r1a"}},
    {.name = "ring of any", .texts = {"S1at r*a", "S2al r*a", "S0am r*a"}},
    {.name = "all to all", .texts = {"S1at S2al r*a r*a", "S0at r*a", "S0al r*a"}},
    {.name = "shared NIC, all", .texts = {"S1al S2at r*a", "S0al r*a", "S1at r0a"}, .shares_nic = true},
    {.name = "five", .texts = {"S1at S1bm S1al S1bt S1az", "r0b r0a r0a r0b r0*"}, SLOTS_3},
};

const unsigned program_count = sizeof programs / sizeof programs[0];
const unsigned program_large_first = sizeof programs / sizeof programs[0] - 11;

/* All programs of `length` sends of process 0 and as many receives of process 1, of these. */
static const char *const sends[] = {"S1at", "S1al", "S1am", "Y1at", "S1bt", "S1bl", "Y1al", "Y1bm"};
static const char *const receives[] = {"r0a", "r0b", "r0*", "r*a", "r**", "r0at"};

static void append(char *text, const char *word)
{
    size_t length = strlen(text);
    snprintf(text + length, TEXT_BYTES - length, "%s%s", length ? " " : "", word);
}

bool generate(unsigned index, unsigned length, struct program *program)
{
    static char name[32], texts[2][TEXT_BYTES];
    *program = (struct program){.name = name, .texts = {texts[0], texts[1]}, .slots = 2};
    snprintf(name, sizeof name, "generated %u/%u", length, index);
    const unsigned send_count = sizeof sends / sizeof sends[0], receive_count = sizeof receives / sizeof receives[0];
    texts[0][0] = texts[1][0] = 0;
    for (unsigned i = 0; i < length; i++, index /= send_count)
        append(texts[0], sends[index % send_count]);
    for (unsigned i = 0; i < length; i++, index /= receive_count)
        append(texts[1], receives[index % receive_count]);
    if (index % 2) /* The first one is cancelled behind the last. */
        append(texts[1], "c0");
    if (index / 2)
        return false;
    parse(program);
    return true;
}

static uint64_t random_state;

static unsigned draw(unsigned below)
{
    random_state = random_state * 6364136223846793005 + 1442695040888963407;
    return (unsigned)(random_state >> 33) % below;
}

static char draw_letter(const char *letters) { return letters[draw((unsigned)strlen(letters))]; }

/* An operation of `process` behind `index` others, which must not cancel or receive what is neither. */
static void draw_operation(unsigned process, unsigned process_count, unsigned index, const char *kinds, char *word)
{
    unsigned peer = draw(process_count - 1);
    peer += peer >= process;
    char kind = draw_letter("SSYRrrrrrcic");
    unsigned target = index > 0 ? draw(index) : 0;
    bool has_target = index > 0 && strchr("SYRr", kinds[target]);
    if (kind == 'c' && !has_target)
        kind = 'r';
    if (index > 0 && kinds[index - 1] == 'i' && draw(2)) /* else it is never received */
        snprintf(word, WORD_BYTES, "f%u", index - 1);
    else if (kind == 'c')
        snprintf(word, WORD_BYTES, "c%u", target);
    else if (strchr("SYR", kind))
        snprintf(word, WORD_BYTES, "%c%u%c%c%s", kind, peer, draw_letter("aab"), draw_letter("ztml"),
                 draw(10) ? "" : "x");
    else
        snprintf(word, WORD_BYTES, "%c%c%c%s%s", kind, draw(3) ? (char)('0' + peer) : '*', draw_letter("aab*"),
                 kind == 'r' && !draw(6) ? "t" : "", draw(10) ? "" : "x");
}

void draw_program(uint64_t seed, struct program *program)
{
    static char name[32], texts[PROCESSES_MAX][TEXT_BYTES];
    random_state = seed * 0x9e3779b97f4a7c15 + 1;
    snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
    unsigned process_count = 2 + draw(2);
    *program = (struct program){.name = name, .slots = 3, .shares_nic = draw(4) == 0};
    for (unsigned process = 0; process < process_count; process++) {
        unsigned count = process_count == 2 ? 1 + draw(5) : 1 + draw(3), sends_left = 3;
        char kinds[OPERATIONS_MAX + 1] = "";
        texts[process][0] = 0;
        for (unsigned i = 0; i < count; i++) {
            char word[WORD_BYTES];
            do
                draw_operation(process, process_count, i, kinds, word);
            while (strchr("SYR", word[0]) && sends_left == 0);
            sends_left -= strchr("SYR", word[0]) != NULL;
            kinds[i] = word[0];
            append(texts[process], word);
        }
        program->texts[process] = texts[process];
    }
    parse(program);
}
