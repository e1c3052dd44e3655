/* See member.h. */
#include "core/search/member.h"

#include "base/memory.h"
#include "base/size.h"

#include <assert.h>

/* Shapes of products are multiples of these, so that few are prepared; positions after the last belong to no row. A
 * few targets stay as few as they are: all shapes up to a grain are not many. */
enum { SOURCE_GRAIN = 32, TARGET_GRAIN = 8 };

static size_t round_up(size_t n, size_t grain) { return (n + grain - 1) / grain * grain; }

static bool staged_open(Staged *s, const Kernels *k, size_t capacity)
{
    *s = (Staged){.host = memory_get(capacity, sizeof *s->host),
                  .device = k->allocate(capacity * sizeof *s->device),
                  .capacity = capacity};
    return s->host && s->device;
}

/* So many numbers more; *device is where they will be. */
static int32_t *stage(Staged *s, size_t count, const int32_t **device)
{
    assert(s->used + count <= s->capacity);
    int32_t *host = s->host + s->used;
    *device = s->device + s->used;
    s->used += count;
    return host;
}

static void staged_send(Staged *s, const Kernels *k, Stream *stream)
{
    k->upload(stream, s->device, s->host, s->used * sizeof *s->host);
    s->used = 0;
}

bool member_open(Member *m, const TranslateMember *from, const MemberSize *size, const Kernels *k, const TapePlan *plan,
                 Error *e)
{
    const size_t slots = size->slots, sources = round_up(size->positions, SOURCE_GRAIN);
    const Stack *decoder = from->network.decoder;
    *m = (Member){.n = &from->network, .k = k};
    if (!k->open(&m->stream, size->team, e) || !tape_open(&m->tape, k, m->stream, from->weights, plan, e) ||
        !stack_cache(&m->memory, decoder, k, m->stream, size->sentences, size->capacity, e) ||
        !stack_cache(&m->past, decoder, k, m->stream, slots, size->capacity, e))
        return false;
    m->tape.state = m->state = k->allocate(sizeof *m->state);
    m->tokens = memory_get(size->most, sizeof *m->tokens);
    return (m->state && m->tokens && staged_open(&m->source, k, 2 * sources + size->sentences + 1) &&
            staged_open(&m->target, k, 2 * round_up(slots, TARGET_GRAIN) + 3 * slots + 1)) ||
           memory_error(e, "sentences on their way to a device", slots, sizeof *m->target.host);
}

void member_close(Member *m)
{
    if (!m->k)
        return;
    tape_close(&m->tape);
    cache_close(&m->past);
    cache_close(&m->memory);
    m->k->release(m->state);
    m->k->release(m->source.device);
    m->k->release(m->target.device);
    memory_free(m->tokens);
    memory_free(m->source.host);
    memory_free(m->target.host);
    if (m->stream)
        m->k->close(m->stream);
}

/* Sources one after the other. */
static Rows stage_sources(Member *m, const Sentence *const *sentence, size_t count)
{
    Rows rows = {.rows = count};
    size_t n = 0;
    for (size_t s = 0; s < count; s++) {
        n += sentence[s]->length;
        rows.longest = larger(rows.longest, sentence[s]->length);
    }
    rows.positions = round_up(n, SOURCE_GRAIN);
    int32_t *ids = stage(&m->source, rows.positions, &rows.ids),
            *position = stage(&m->source, rows.positions, &rows.position);
    int32_t *start = stage(&m->source, count + 1, &rows.start);
    n = 0;
    for (size_t s = 0; s < count; s++) {
        start[s] = (int32_t)n;
        for (size_t i = 0; i < sentence[s]->length; i++, n++) {
            ids[n] = sentence[s]->ids[i];
            position[n] = (int32_t)i;
        }
    }
    start[count] = (int32_t)n;
    for (; n < rows.positions; n++) {
        ids[n] = 0;
        position[n] = -1;
    }
    staged_send(&m->source, m->k, m->stream);
    return rows;
}

void member_read_sources(Member *m, const Sentence *const *sentence, size_t count)
{
    const TranslateNetwork *n = m->n;
    Rows rows = stage_sources(m, sentence, count);
    cache_lay(&m->memory, m->stream, count, rows.longest);
    stack_remember(&m->tape, n->decoder, n->memory(n->model, &m->tape, &rows), &rows, &m->memory);
    tape_reset(&m->tape);
}

/* What a step reads beside tokens. */
typedef struct Step {
    Rows rows;
    const int32_t *key_row; /* [slots] the sentence of each slot */
    const int32_t *length;  /* [slots] positions that were read before: as many for all that live */
} Step;

/* The position of a row's last token: how many there are before it or, where some do not count, how many moved it on. */
static size_t position_of(const Member *m, const Beams *b, size_t row)
{
    const bool *moves = m->n->moves;
    size_t position = 0;
    if (!moves)
        return b->steps;
    beams_tokens(b, row, m->tokens);
    for (size_t i = 0; i < b->steps; i++)
        position += moves[m->tokens[i]];
    return position;
}

/* The last token of each live hypothesis: in its slot a row of one position; in other slots are none. */
static Step stage_targets(Member *m, const Beams *b)
{
    const size_t slots = b->count * b->options.beam;
    const size_t count = b->row_count < TARGET_GRAIN ? b->row_count : round_up(b->row_count, TARGET_GRAIN);
    Step step = {.rows = {.positions = count, .rows = slots, .longest = 1}};
    int32_t *ids = stage(&m->target, count, &step.rows.ids), *position = stage(&m->target, count, &step.rows.position);
    int32_t *start = stage(&m->target, slots + 1, &step.rows.start);
    int32_t *key_row = stage(&m->target, slots, &step.key_row), *length = stage(&m->target, slots, &step.length);
    for (size_t slot = 0, r = 0; slot < slots; slot++) {
        start[slot] = (int32_t)r;
        key_row[slot] = (int32_t)(slot / b->options.beam);
        length[slot] = (int32_t)b->steps;
        r += r < b->row_count && b->row[r].slot == slot;
    }
    start[slots] = (int32_t)b->row_count;
    for (size_t r = 0; r < count; r++) {
        bool live = r < b->row_count;
        ids[r] = !live ? 0 : b->row[r].token >= 0 ? b->row[r].token : m->n->begin;
        position[r] = live ? (int32_t)position_of(m, b, r) : -1;
    }
    staged_send(&m->target, m->k, m->stream);
    return step;
}

Tensor member_read_targets(Member *m, const Beams *b)
{
    Step step = stage_targets(m, b);
    for (size_t i = 0; i < b->move_count; i++)
        cache_copy_row(&m->past, m->stream, b->move[i].to, b->move[i].from, b->steps);
    cache_rewind(&m->past, m->stream, step.length);
    cache_begin(&m->past, m->stream, step.rows.start, step.rows.rows);
    AttentionContext context = context_remembered(&step.rows, &m->past, &m->memory, step.key_row);
    Tensor live = *m->n->logits(m->n->model, &m->tape, &step.rows, &context);
    live.rows = b->row_count;
    return live;
}
