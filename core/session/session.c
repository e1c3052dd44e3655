/* See session.h. */
#include "core/session/session.h"

const Tensor *session_run(Worker *w, const Batch *b, SessionNetwork network, void *self)
{
    device_rows_upload(&w->rows, w->stream, b, 0, b->side[0].rows);
    return network(self, &w->tape, w->rows.rows);
}

/* Where number `first` is in the device's memory. */
static const void *number(const Worker *w, const Tensor *answer, size_t first)
{
    return (const char *)answer->data + first * w->tape.k->real;
}

void session_doubles(const Worker *w, const Tensor *answer, size_t first, size_t count, double *to)
{
    download_doubles(w->tape.k, w->stream, to, number(w, answer, first), count);
}

void session_floats(const Worker *w, const Tensor *answer, size_t first, size_t count, float *to)
{
    download_floats(w->tape.k, w->stream, to, number(w, answer, first), count);
}

void session_end(Worker *w) { tape_reset(&w->tape); }
