/* See plan.h. Blocks that touch become one; loops whose strides continue each other become one; an
 * index whose steps are equal becomes a loop. What is no loop is written out as a list of runs. */
#include "mpi/datatype/plan.h"

#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"

/* Puts a loop around the plan; false: too many. */
static bool add_loop(struct plan *plan, size_t count, MPI_Aint stride)
{
    unsigned loops = plan->loops;
    if (count == 1)
        return true;
    if (loops == 0 && stride == (MPI_Aint)plan->bytes) {
        plan->bytes *= count;
        return true;
    }
    if (loops > 0 && stride == (MPI_Aint)plan->loop[loops - 1].count * plan->loop[loops - 1].stride) {
        plan->loop[loops - 1].count *= count;
        return true;
    }
    if (loops == PLAN_LOOPS - 1)
        return false;
    plan->loop[loops].count = count;
    plan->loop[loops].stride = stride;
    plan->loops++;
    return true;
}

static MPI_Aint block_displacement(const struct type_shape *shape, size_t block)
{
    return shape->displacements ? shape->displacements[block] : (MPI_Aint)block * shape->stride;
}

static bool block_is_empty(const struct type_shape *shape, size_t block)
{
    return shape_length(shape, block) == 0 || shape_type(shape, block)->size == 0;
}

/* Equal blocks at equal steps: how many, the first, the step. False: they are not. */
static bool find_steps(const struct type_shape *shape, size_t *first, size_t *count, MPI_Aint *step)
{
    MPI_Aint last = 0;
    *count = 0;
    *step = 0;
    for (size_t i = 0; i < shape->blocks; i++) {
        if (block_is_empty(shape, i))
            continue;
        MPI_Aint at = block_displacement(shape, i);
        if (*count == 0) {
            *first = i;
        } else {
            if (shape_type(shape, i) != shape_type(shape, *first) ||
                shape_length(shape, i) != shape_length(shape, *first) || (*count > 1 && at - last != *step))
                return false;
            *step = at - last;
        }
        last = at;
        ++*count;
    }
    return true;
}

/* The type as loops; false: it can't be. */
static bool make_loops(struct plan *plan, const struct datatype *type)
{
    const struct type_shape *shape = type->shape;
    if (type->state & TYPE_RUN) {
        *plan = (struct plan){.at = type->true_lb, .bytes = type->size};
        return true;
    }
    if (!shape)
        return false;
    if (shape->plan) {
        *plan = *shape->plan;
        return plan->bytes != 0;
    }
    size_t first = 0, count = shape->blocks;
    MPI_Aint step = shape->stride;
    if (shape->displacements && !find_steps(shape, &first, &count, &step))
        return false;
    const struct datatype *of = shape_type(shape, first);
    if (!make_loops(plan, of))
        return false;
    plan->at += block_displacement(shape, first);
    return add_loop(plan, shape_length(shape, first), of->extent) && add_loop(plan, count, step);
}

/* A list that grows. */
struct runs {
    size_t count, room, most;
    MPI_Aint *at;
    size_t *bytes;
    bool too_many;
};

static void grow(struct runs *runs)
{
    size_t room = runs->room ? 2 * runs->room : 16;
    MPI_Aint *at = chq_malloc(room * sizeof *at);
    size_t *bytes = chq_malloc(room * sizeof *bytes);
    if (runs->count) {
        memcpy(at, runs->at, runs->count * sizeof *at);
        memcpy(bytes, runs->bytes, runs->count * sizeof *bytes);
    }
    free(runs->at);
    free(runs->bytes);
    runs->at = at;
    runs->bytes = bytes;
    runs->room = room;
}

static void add_run(struct runs *runs, MPI_Aint at, size_t bytes)
{
    if (runs->count && runs->at[runs->count - 1] + (MPI_Aint)runs->bytes[runs->count - 1] == at) {
        runs->bytes[runs->count - 1] += bytes;
        return;
    }
    if (runs->count == runs->most) {
        runs->too_many = true;
        return;
    }
    if (runs->count == runs->room)
        grow(runs);
    runs->at[runs->count] = at;
    runs->bytes[runs->count++] = bytes;
}

static void add_elements(struct runs *runs, const struct datatype *type, size_t count, MPI_Aint at)
{
    const struct type_shape *shape = type->shape;
    if (type->size == 0 || count == 0)
        return;
    if (type_is_dense(type)) {
        add_run(runs, at, count * type->size);
        return;
    }
    for (; count > 0 && !runs->too_many; count--, at += type->extent) {
        if (type->state & TYPE_RUN) {
            add_run(runs, at + type->true_lb, type->size);
        } else if (!shape) { /* A pair with a gap. */
            add_run(runs, at, type->size - sizeof(int));
            add_run(runs, at + type->true_extent - (MPI_Aint)sizeof(int), sizeof(int));
        } else {
            for (size_t i = 0; i < shape->blocks && !runs->too_many; i++)
                add_elements(runs, shape_type(shape, i), shape_length(shape, i), at + block_displacement(shape, i));
        }
    }
}

enum { RUNS_ALWAYS = 4096 };

/* The type as a list; false: it would be too long. */
static bool make_list(struct plan *plan, const struct datatype *type)
{
    struct runs runs = {.most = RUNS_ALWAYS + 2 * type->shape->blocks};
    add_elements(&runs, type, 1, 0);
    if (runs.too_many) {
        free(runs.at);
        free(runs.bytes);
        return false;
    }
    struct list *list = &plan->list;
    size_t first = runs.bytes[0]; // NOLINT(clang-analyzer-core.NullDereference): no type without bytes is listed
    *plan = (struct plan){.list = {.blocks = runs.count, .bytes = first, .at = runs.at}};
    for (size_t i = 0; i < runs.count; i++) {
        list->low_bits |= runs.at[i] | (MPI_Aint)runs.bytes[i];
        if (runs.bytes[i] != list->bytes)
            list->bytes = 0;
    }
    if (list->bytes)
        free(runs.bytes);
    else
        list->lengths = runs.bytes;
    return true;
}

void chq_plan_make(const struct datatype *type)
{
    struct type_shape *shape = type->shape;
    if (!shape || shape->plan || (type->state & TYPE_RUN))
        return;
    struct plan plan;
    if (make_loops(&plan, type) || make_list(&plan, type)) {
        shape->plan = chq_malloc(sizeof plan);
        *shape->plan = plan;
        return;
    }
    for (size_t i = 0; i < shape->blocks; i++)
        if (i == 0 || shape_type(shape, i) != shape_type(shape, i - 1))
            chq_plan_make(shape_type(shape, i));
}

void chq_plan_free(struct plan *plan)
{
    if (!plan)
        return;
    free((void *)(uintptr_t)plan->list.at);
    free((void *)(uintptr_t)plan->list.lengths);
    free(plan);
}

/* The two innermost loops are one grid. Returns where the packed bytes go on. */
static char *move_loops(const struct plan *plan, unsigned loops, enum direction direction, char *packed, char *user)
{
    if (loops > 2) {
        for (size_t i = 0; i < plan->loop[loops - 1].count; i++, user += plan->loop[loops - 1].stride)
            packed = move_loops(plan, loops - 1, direction, packed, user);
        return packed;
    }
    struct grid grid = {plan->bytes, 1, 1, 0, 0};
    if (loops > 0) {
        grid.inner = plan->loop[0].count;
        grid.inner_stride = plan->loop[0].stride;
    }
    if (loops > 1) {
        grid.outer = plan->loop[1].count;
        grid.outer_stride = plan->loop[1].stride;
    }
    chq_move_grid(direction, packed, user, &grid);
    return packed + grid.bytes * grid.inner * grid.outer;
}

void chq_plan_move(const struct plan *plan, enum direction direction, char *packed, char *user, size_t count,
                   const struct datatype *type)
{
    if (plan->bytes) {
        struct plan all;
        all.bytes = plan->bytes;
        all.loops = plan->loops;
        for (unsigned i = 0; i < plan->loops; i++)
            all.loop[i] = plan->loop[i];
        if (count > 1) {
            all.loop[all.loops].count = count;
            all.loop[all.loops++].stride = type->extent;
        }
        move_loops(&all, all.loops, direction, packed, user + plan->at);
        return;
    }
    for (; count > 0; count--, user += type->extent, packed += type->size)
        chq_move_list(direction, packed, user, &plan->list);
}
