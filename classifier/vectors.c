/* predict --vectors: a vector for each text, in a file for other programs. Texts that mean alike are near each other where
 * a model has learned that, as sentence transformers have. */
#include "classifier/vectors.h"

#include <math.h>

static Tensor *network(void *self, Tape *t, const Rows *rows)
{
    const Classifier *c = self;
    return model_text_vectors(t, &c->model, (Vector)c->options->vector, rows);
}

bool vectors_suit(const Classifier *c, Error *e)
{
    const bool chosen = options_given(c->app.command_line, "vector");
    if ((c->options->normalize || chosen) && !c->options->vectors)
        return fail(e, "--%s belongs to --vectors FILE.npy, which is missing", chosen ? "vector" : "normalize");
    return !c->options->vectors || c->options->vector != VECTOR_POOLER || c->model.pooler.weight ||
           fail(e, "--vector pooler: the run %s has no pooler", c->app.run->path);
}

/* Whatever the model's logits are of, its vectors are of all positions of texts. */
void vectors_task(Classifier *c)
{
    Task *task = &c->app.task;
    classifier_task(c);
    task->sides = c->model.segments.table ? SEGMENT + 1 : model_sides(&c->model);
    task->longest[LABEL] = 1;
    task->loss = network;
}

bool vectors_open(NpyWriter *w, const Classifier *c, Error *e)
{
    return npy_open(w, c->options->vectors, NPY_F32, 2, (size_t[]){0, c->options->shared.dim}, e);
}

bool vectors_compute(Classifier *c, Trainer *trainer, const Texts *texts, float *vectors, Error *e)
{
    return classifier_outputs(c, trainer, network, texts, c->options->shared.dim, vectors, e);
}

bool vectors_write(NpyWriter *w, Classifier *c, Trainer *trainer, const Texts *texts, float *vectors, Error *e)
{
    const size_t dim = c->options->shared.dim;
    if (!vectors_compute(c, trainer, texts, vectors, e))
        return false;
    for (size_t i = 0; c->options->normalize && i < texts->count; i++) {
        double squared = 0;
        for (size_t k = 0; k < dim; k++)
            squared += (double)vectors[i * dim + k] * (double)vectors[i * dim + k];
        const float length = (float)fmax(sqrt(squared), 1e-12);
        for (size_t k = 0; k < dim; k++)
            vectors[i * dim + k] /= length;
    }
    return npy_rows(w, vectors, texts->count, e);
}
