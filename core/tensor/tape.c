/* See tape.h. */
#include "core/tensor/tape.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

enum { HOST_SMALL = 1 << 20, HOST_PER_USE = 1 << 12, HOST_PER_ROW = 1 << 8 };

/* The host arena of a tape that is only measuring: room for any model's nodes. There are a few for each use of a
 * parameter, and where what it made is taken apart by heads, some for each of its rows at most. */
static size_t host_bound(const Weights *w)
{
    const Parameters *p = w ? w->parameters : NULL;
    return HOST_SMALL + (p ? p->asked * HOST_PER_USE + p->asked_rows * HOST_PER_ROW : 0);
}

bool tape_open(Tape *t, const Kernels *k, Stream *stream, const Weights *weights, const TapePlan *plan, Error *e)
{
    TapePlan use = plan ? *plan : (TapePlan){.host = host_bound(weights)};
    *t = (Tape){.k = k, .stream = stream, .weights = weights};
    t->owned[0] = plan ? k->allocate(use.memory) : NULL;
    t->owned[1] = plan && use.gradients ? k->allocate(use.gradients) : NULL;
    t->owned[2] = memory_get(use.host, 1);
    if ((plan && (!t->owned[0] || (use.gradients && !t->owned[1]))) || !t->owned[2]) {
        tape_close(t);
        return memory_error(e, "activations", use.memory + use.gradients + use.host, 1);
    }
    t->memory = arena_over(t->owned[0], use.memory);
    t->gradients = space_over(t->owned[1], use.gradients);
    t->host = arena_over(t->owned[2], use.host);
    return true;
}

void tape_close(Tape *t)
{
    if (t->k) {
        t->k->release(t->owned[0]);
        t->k->release(t->owned[1]);
    }
    memory_free(t->owned[2]);
    *t = (Tape){0};
}

TapePlan tape_plan(const Tape *t)
{
    return (TapePlan){.memory = t->memory.peak, .gradients = t->gradients.peak, .host = t->host.peak};
}

void tape_reset(Tape *t)
{
    t->last = NULL;
    t->fine = NULL;
    arena_rewind(&t->memory, 0);
    arena_rewind(&t->host, 0);
    space_restart(&t->gradients); /* every gradient of an activation went back */
    t->guesses = NULL;
    t->nodes = 0;
    for (size_t i = 0; t->first_read && i < t->weights->parameters->count; i++)
        t->first_read[i] = SIZE_MAX;
    t->unfinished = t->first_read ? t->weights->parameters->count : 0;
}

static void *host_take(Tape *t, size_t size) { return memset(arena_take(&t->host, size), 0, size); }

static size_t bytes_of(const Tape *t, size_t numbers, bool real)
{
    return numbers * (real ? t->k->real : t->k->number);
}

Tensor *tape_tensor(Tape *t, size_t rows, size_t columns, bool real, bool wanted)
{
    Tensor *x = host_take(t, sizeof *x);
    *x = (Tensor){.data = arena_take(&t->memory, bytes_of(t, rows * columns, real)),
                  .rows = rows,
                  .columns = columns,
                  .stride = columns,
                  .real = real,
                  .wanted = wanted && t->training};
    return x;
}

Tensor *tape_outside(Tape *t, void *data, size_t rows, size_t columns)
{
    Tensor *x = host_take(t, sizeof *x);
    *x = (Tensor){.data = data, .rows = rows, .columns = columns, .stride = columns};
    return x;
}

Tensor *tape_constant(Tape *t, const Parameter *p)
{
    assert(p->role == ROLE_CONSTANT);
    return tape_outside(t, parameter_in(p, t->weights->numbers, t->k->number), p->shape[0], p->shape[1]);
}

void *tape_reals(Tape *t, size_t count) { return arena_take(&t->memory, count * t->k->real); }
int32_t *tape_integers(Tape *t, size_t count) { return arena_take(&t->memory, count * sizeof(int32_t)); }

void tape_split(Tape *t, Tensor *x, Tensor **views, const size_t *columns, size_t count)
{
    size_t first = 0;
    x->split = true;
    for (size_t i = 0; i < count; i++) {
        views[i] = host_take(t, sizeof **views);
        *views[i] = (Tensor){.data = (char *)x->data + bytes_of(t, first, x->real),
                             .rows = x->rows,
                             .columns = columns[i],
                             .stride = x->stride,
                             .wanted = x->wanted,
                             .base = x,
                             .first = first};
        first += columns[i];
    }
    assert(first == x->columns);
}

void *tape_node(Tape *t, size_t size, void (*backward)(Tape *, Node *), Tensor *y)
{
    if (!t->recording || (y && !y->wanted))
        return NULL;
    Node *node = host_take(t, size);
    *node = (Node){.backward = backward, .y = y, .before = t->last};
    t->last = node;
    t->nodes++;
    return node;
}

void *tensor_gradient(Tape *t, Tensor *x, bool *add)
{
    Tensor *base = x->base ? x->base : x;
    assert(x->base || !x->split);
    *add = false;
    if (!x->wanted)
        return NULL;
    *add = x->base ? x->written : x->gradient != NULL;
    base->covered += x->base && !x->written ? x->columns : 0;
    x->written = true;
    if (!base->gradient)
        base->gradient = space_take(&t->gradients, bytes_of(t, base->rows * base->columns, false));
    return (char *)base->gradient + bytes_of(t, x->first, false);
}

static void give_gradient_back(Tape *t, Tensor *x)
{
    space_give(&t->gradients, x->gradient);
    x->gradient = NULL;
}

void tape_backward(Tape *t)
{
    while (t->last) {
        Node *node = t->last;
        t->last = node->before;
        if (!node->y || node->y->gradient) {
            assert(!node->y || !node->y->split || node->y->covered == node->y->columns);
            node->backward(t, node);
            if (node->y && node->y->gradient)
                give_gradient_back(t, node->y);
        }
        t->nodes--;
        if (t->went_back)
            t->went_back(t->follower);
    }
}

static void note_read(const Tape *t, const Parameter *p)
{
    if (p && t->first_read && t->nodes < t->first_read[p->number])
        t->first_read[p->number] = t->nodes;
}

/* What is joined is read as the first of its parameters. */
size_t tape_finished_from(Tape *t)
{
    const Parameters *all = t->weights->parameters;
    while (t->unfinished) {
        size_t i = t->unfinished - 1;
        const Parameter *last = all->list[i];
        const bool dense = last->role != ROLE_LOOKUP && last->role != ROLE_CONSTANT;
        bool finished = t->first_read[i] >= t->nodes;
        while (all->list[i]->joined)
            finished = t->first_read[--i] >= t->nodes && finished;
        if (dense && !finished)
            return last->offset + last->count;
        t->unfinished = i;
    }
    return 0;
}

const void *tape_reals_of(const Tape *t, const Parameter *p)
{
    note_read(t, p);
    return p ? parameter_in(p, t->weights->reals, t->k->real) : NULL;
}

const void *tape_numbers_of(const Tape *t, const Parameter *p)
{
    note_read(t, p);
    return p ? parameter_in(p, t->weights->numbers, t->k->number) : NULL;
}

size_t gradient_offset(const Parameters *all, const Parameter *p, size_t slots)
{
    return p->role == ROLE_LOOKUP ? all->dense + slots * p->before : p->offset;
}

void *tape_gradient_of(const Tape *t, const Parameter *p)
{
    assert(!p || !t->went_back || t->first_read[p->number] < t->nodes);
    if (!p || !t->used_rows)
        return p ? parameter_in(p, t->gradient, t->k->real) : NULL;
    return (char *)t->gradient + gradient_offset(t->weights->parameters, p, t->slots) * t->k->real;
}

typedef struct ParameterNode {
    Node node;
    const Parameter *parameter;
} ParameterNode;

/* Numbers are added to reals as the gradient of a bias is. */
static void parameter_back(Tape *t, Node *node)
{
    const Parameter *p = ((ParameterNode *)node)->parameter;
    t->k->linear_backward(t->stream, NULL, false, NULL, tape_gradient_of(t, p), node->y->gradient, NULL, NULL, NULL,
                          false, 1, 0, p->count);
}

Tensor *tape_parameter(Tape *t, const Parameter *p)
{
    assert(p->role != ROLE_CONSTANT && p->role != ROLE_LOOKUP);
    void *numbers = (void *)(uintptr_t)tape_numbers_of(t, p);
    Tensor *x = tape_outside(t, numbers, p->rank == 1 ? 1 : p->shape[0], p->shape[p->rank - 1]);
    x->wanted = t->training;
    ParameterNode *n = tape_node(t, sizeof *n, parameter_back, x);
    if (n)
        n->parameter = p;
    return x;
}

/* --- segments --- */

TapeMark tape_mark(const Tape *t) { return (TapeMark){t->memory.used, t->host.used}; }

static void rewind_to(Tape *t, TapeMark mark)
{
    arena_rewind(&t->memory, mark.memory);
    arena_rewind(&t->host, mark.host);
}

typedef struct SegmentNode {
    Node node;
    Segment fn;
    const void *args;
    Tensor **inputs;
    bool second_pass;
    Tensor *y; /* what is beside it may have a gradient without it, so the node itself has none */
} SegmentNode;

static bool has_gradient(const Tensor *y)
{
    while (y && !y->gradient)
        y = y->beside;
    return y != NULL;
}

/* What was made when the inside ran first gets its gradients from outside; they go to what it makes now. */
static void hand_over(Tensor *made, Tensor *now)
{
    for (; made; made = made->beside, now = now->beside) {
        now->gradient = made->gradient;
        made->gradient = NULL; /* the inside gives it back */
    }
}

/* Runs the inside again, this time recording it, and goes backward through it; then the memory is as before. */
static void segment_backward(Tape *t, Node *node)
{
    SegmentNode *n = (SegmentNode *)node;
    TapeMark before = tape_mark(t);
    Node *outside = t->last;
    if (!has_gradient(n->y))
        return;
    t->last = NULL;
    t->second_pass = n->second_pass;
    hand_over(n->y, n->fn(t, n->args, n->inputs));
    t->second_pass = false;
    tape_backward(t);
    t->last = outside;
    rewind_to(t, before);
}

/* x moves down to the beginning of what is free. */
static Tensor *move_down(Tape *t, const Tensor *x)
{
    size_t bytes = bytes_of(t, x->rows * x->columns, x->real);
    char *from = x->data, *to = arena_take(&t->memory, bytes);
    size_t way = (size_t)(from - to); /* in parts no longer than that, none of which overlaps with where it goes */
    assert(!x->base && from >= to);
    for (size_t at = 0; way && at < bytes; at += way)
        t->k->copy(t->stream, to + at, from + at, bytes - at < way ? bytes - at : way);
    Tensor *moved = host_take(t, sizeof *moved);
    *moved = *x;
    moved->data = to;
    return moved;
}

/* What stays moves down to the mark, the lowest first, so that none is written over. */
Tensor *tape_forget(Tape *t, TapeMark since, Tensor *y)
{
    enum { MOST = 3 };
    if (t->recording)
        return y;
    Tensor made[MOST], *kept[MOST + 1] = {NULL};
    size_t count = 0;
    for (; y; y = y->beside) {
        assert(count < MOST);
        made[count++] = *y;
    }
    rewind_to(t, since);
    for (size_t done = 0; done < count; done++) {
        size_t lowest = MOST;
        for (size_t i = 0; i < count; i++)
            if (!kept[i] && (lowest == MOST || (char *)made[i].data < (char *)made[lowest].data))
                lowest = i;
        kept[lowest] = move_down(t, &made[lowest]);
    }
    for (size_t i = 0; i < count; i++)
        kept[i]->beside = kept[i + 1];
    return kept[0];
}

Tensor *tape_segment(Tape *t, Segment fn, const void *args, size_t size, Tensor *const *inputs, size_t count)
{
    if (t->recording && t->keep == KEEP_ALL)
        return fn(t, args, inputs);

    bool recording = t->recording;
    SegmentNode *n = recording ? host_take(t, sizeof *n) : NULL;
    if (n) {
        n->fn = fn;
        n->second_pass = t->second_pass;
        n->args = memcpy(arena_take(&t->host, size), args, size);
        n->inputs = memcpy(arena_take(&t->host, count * sizeof *inputs), inputs, count * sizeof *inputs);
    }
    TapeMark before = tape_mark(t);
    t->recording = false;
    Tensor *y = tape_forget(t, before, fn(t, args, inputs));
    t->recording = recording;
    if (n && y->wanted) {
        n->node = (Node){.backward = segment_backward, .before = t->last};
        n->y = y;
        t->last = &n->node;
        t->nodes++;
    }
    return y;
}
