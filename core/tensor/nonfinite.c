/* See nonfinite.h. Speed does not matter here: numbers come to the host in chunks of one size and are checked there. */
#include "core/tensor/nonfinite.h"

#include "base/bf16.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 1024 };

typedef enum Store { STORE_F32, STORE_F64, STORE_BF16 } Store;

static bool all_finite(const Kernels *k, Stream *s, const void *data, size_t count, Store store)
{
    static const size_t sizes[] = {sizeof(float), sizeof(double), sizeof(Bf16)};
    union {
        float f32[PIECE];
        double f64[PIECE];
        Bf16 bf16[PIECE];
    } chunk;
    for (size_t from = 0; from < count; from += PIECE) {
        size_t n = count - from < PIECE ? count - from : PIECE;
        k->download(s, &chunk, (const char *)data + from * sizes[store], n * sizes[store]);
        for (size_t i = 0; i < n; i++) {
            double x = store == STORE_F32   ? (double)chunk.f32[i]
                       : store == STORE_F64 ? chunk.f64[i]
                                            : (double)bf16_to_float(chunk.bf16[i]);
            if (!isfinite(x))
                return false;
        }
    }
    return true;
}

static Store store_of(const Kernels *k, bool real)
{
    if (k->type == NUMBER_F64)
        return STORE_F64;
    return real || k->type != NUMBER_BF16 ? STORE_F32 : STORE_BF16;
}

void tape_check(Tape *t, const Tensor *y, const char *what, const Parameter *p)
{
    if (t->hook && t->hook->made)
        t->hook->made(t->hook, t, y, what, p);
    if (!t->nonfinite || t->nonfinite[0])
        return;
    if (all_finite(t->k, t->stream, y->data, y->rows * y->columns, store_of(t->k, y->real)))
        t->fine = p ? p : t->fine;
    else if (p || t->fine)
        snprintf(t->nonfinite, NONFINITE_NAME, "%s %s %s", what, p ? "with" : "after", p ? p->name : t->fine->name);
    else
        snprintf(t->nonfinite, NONFINITE_NAME, "%s", what);
}

void nonfinite_weights(char *name, const Weights *w, Stream *s)
{
    for (size_t i = 0; i < w->parameters->count && !name[0]; i++) {
        const Parameter *p = w->parameters->list[i];
        if (!all_finite(w->k, s, parameter_in(p, w->reals, w->k->real), p->count, store_of(w->k, true)))
            snprintf(name, NONFINITE_NAME, "the weights %s", p->name);
    }
}

void nonfinite_gradients(char *name, const Tape *t)
{
    for (size_t i = t->weights->parameters->count; i-- > 0 && !name[0];) {
        const Parameter *p = t->weights->parameters->list[i];
        size_t count = t->used_rows && p->role == ROLE_LOOKUP ? t->slots * p->shape[1] : p->count;
        if (p->role != ROLE_CONSTANT &&
            !all_finite(t->k, t->stream, tape_gradient_of(t, p), count, store_of(t->k, true)))
            snprintf(name, NONFINITE_NAME, "the gradient of %s", p->name);
    }
}
