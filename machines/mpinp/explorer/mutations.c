/* Rules that are taken away: those of rules.h, and each row of the tables, its guard and each of its actions. */
#include <string.h>

#include "explorer.h"

struct mutation mutation;
bool reached_rules[RULE_COUNT], reached_parts[ROW_COUNT][PART_COUNT];

bool explorer_has_rule(enum rule rule)
{
    reached_rules[rule] = true;
    return !(mutation.kind == MUTATION_RULE && mutation.rule == rule);
}

bool explorer_has_part(enum row row, enum part part)
{
    reached_parts[row][part] = true;
    return !(mutation.kind == MUTATION_PART && mutation.row == row && mutation.part == part);
}

static const char *const rule_texts[][2] = {
#define RULE_TEXT(name, text) {#name, text},
    RULES(RULE_TEXT)};

struct row_text {
    const char *table, *name, *parts[PART_COUNT];
};

static const struct row_text row_texts[] = {
#define ROW(name, event, state, guard, a, b, c, next) {"send", #name, {"row", #guard, #a, #b, #c, #next}},
#include "send_table.h"
#define ROW(name, kind, which, guard, a, b, c) {"arrival", #name, {"row", #guard, #a, #b, #c, "SAME"}},
#include "arrival_table.h"
#define ROW(name, event, state, guard, a, b, c, next) {"receive", #name, {"row", #guard, #a, #b, #c, #next}},
#include "receive_table.h"
#ifdef PROTOCOL_CACHE
#define ROW(name, event, state, guard, a, b, c, next) {"lease", #name, {"row", #guard, #a, #b, #c, #next}},
#include "lease_table.h"
#endif
};

static struct mutation all[RULE_COUNT + ROW_COUNT * PART_COUNT];

unsigned mutations_begin(void)
{
    unsigned count = 0;
    for (unsigned rule = 0; rule < RULE_COUNT; rule++)
        all[count++] = (struct mutation){.kind = MUTATION_RULE, .rule = rule};
    for (unsigned row = 0; row < ROW_COUNT; row++)
        for (unsigned part = 0; part < PART_COUNT; part++) {
            const char *text = row_texts[row].parts[part];
            if (strcmp(text, "always") != 0 && strcmp(text, "nothing") != 0 && strcmp(text, "SAME") != 0)
                all[count++] = (struct mutation){.kind = MUTATION_PART, .row = row, .part = part};
        }
    return count;
}

struct mutation mutation_at(unsigned index) { return all[index]; }

bool is_reached(struct mutation of)
{
    return of.kind == MUTATION_RULE ? reached_rules[of.rule] : reached_parts[of.row][of.part];
}

bool is_of_cache(struct mutation of)
{
#ifdef PROTOCOL_CACHE
    return of.kind == MUTATION_RULE ? of.rule >= RULE_ring_given_back
                                    : of.row >= ROW_LEASE_want || of.row == ROW_SEND_serve_want;
#else
    return of.kind == MUTATION_NONE;
#endif
}

/* Rules that no program misses where channels are a cache, since those that probe are left out (runs_here): no other reaches
 * probe_nothing, and the one that misses request_head's make_ready elsewhere knows by a probe that the table is full. */
bool needs_probe(struct mutation of)
{
#ifdef PROTOCOL_CACHE
    return of.kind == MUTATION_PART &&
           (of.row == ROW_RECEIVE_probe_nothing || (of.row == ROW_SEND_request_head && of.part == PART_ACTION_2));
#else
    (void)of;
    return false;
#endif
}

void describe_mutation(struct mutation of, char *text, unsigned length)
{
    if (of.kind == MUTATION_RULE) {
        snprintf(text, length, "rule %s: %s", rule_texts[of.rule][0], rule_texts[of.rule][1]);
        return;
    }
    const struct row_text *row = &row_texts[of.row];
    const char *what = of.part == PART_ROW     ? ""
                       : of.part == PART_GUARD ? "guard "
                       : of.part == PART_NEXT  ? "state "
                                               : "action ";
    snprintf(text, length, "%s row %s: without %s%s", row->table, row->name, what,
             of.part == PART_ROW ? "it" : row->parts[of.part]);
}
