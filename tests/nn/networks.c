/* See networks.h. */
#include "tests/nn/networks.h"

#include "base/memory.h"
#include "base/philox.h"

static Tensor *charlm_logits(const void *model, Tape *t, const Rows *rows)
{
    return model_logits(t, model, rows, NULL, NULL);
}

Model *opened_model(const SharedOptions *o)
{
    Error e;
    Model *m = memory_get(1, sizeof *m);
    ck_assert_ptr_nonnull(m);
    ck_done(model_open(m, o, BYTES, &e), e);
    return m;
}

Network charlm_network(const Model *m, double smoothing)
{
    return (Network){.model = m,
                     .parameters = &m->parameters,
                     .logits = charlm_logits,
                     .sides = m->memory ? 1 : model_sides(m),
                     .smoothing = smoothing};
}

SharedOptions small_options(void)
{
    return (SharedOptions){.dim = 24,
                           .heads = 3,
                           .depth = 2,
                           .ff = 31,
                           .context = 13,
                           .activation = ACTIVATION_RELU,
                           .norm = NORM_POST,
                           .positions = POSITIONS_LEARNED,
                           .bias = true};
}

Batch ngram_batch(const Ngrams *g, const size_t *lengths, size_t rows, uint32_t seed)
{
    Batch b;
    Error e;
    size_t positions = 0;
    for (size_t r = 0; r < rows; r++)
        positions += lengths[r];
    BatchSize size = {.sides = 1 + ngrams_sides(g), .rows = rows};
    for (size_t side = 0; side < size.sides; side++)
        size.positions[side] = positions ? positions : 1;
    ck_done(batch_open(&b, &size, &e), e);
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = batch_row(&b, 0, lengths[r]); i < b.side[0].positions; i++) {
            b.side[0].ids[i] = (int32_t)philox_below(BYTES, seed, 0, i, 1);
            bool scored = philox_below(5, seed, 0, i, 2) > 0;
            b.side[0].targets[i] = scored ? (int32_t)philox_below(BYTES, seed, 0, i, 3) : -1;
        }
        ngrams_add(g, &b);
    }
    return b;
}

Batch random_batch(const size_t *lengths, size_t rows, uint32_t seed)
{
    return ngram_batch(&(Ngrams){0}, lengths, rows, seed);
}
