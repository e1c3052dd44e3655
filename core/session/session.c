/* See session.h. */
#include "core/session/session.h"

enum { AT_ONCE = 64 }; /* numbers that are converted */

const Tensor *session_run(Worker *w, const Batch *b, SessionNetwork network, void *self)
{
    device_rows_upload(&w->rows, w->stream, b, 0, b->side[0].rows);
    return network(self, &w->tape, w->rows.rows);
}

static void fetch(const Worker *w, const Tensor *answer, size_t first, size_t count, void *to)
{
    const Kernels *k = w->tape.k;
    k->download(w->stream, to, (const char *)answer->data + first * k->real, count * k->real);
}

void session_doubles(const Worker *w, const Tensor *answer, size_t first, size_t count, double *to)
{
    float narrow[AT_ONCE];
    if (w->tape.k->real == sizeof *to) {
        fetch(w, answer, first, count, to);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (i % AT_ONCE == 0)
            fetch(w, answer, first + i, count - i < AT_ONCE ? count - i : AT_ONCE, narrow);
        to[i] = (double)narrow[i % AT_ONCE];
    }
}

void session_floats(const Worker *w, const Tensor *answer, size_t first, size_t count, float *to)
{
    double wide[AT_ONCE];
    if (w->tape.k->real == sizeof *to) {
        fetch(w, answer, first, count, to);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (i % AT_ONCE == 0)
            fetch(w, answer, first + i, count - i < AT_ONCE ? count - i : AT_ONCE, wide);
        to[i] = (float)wide[i % AT_ONCE];
    }
}

void session_end(Worker *w) { tape_reset(&w->tape); }
