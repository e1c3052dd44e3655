/* See session.h. */
#include "core/session/session.h"

#include <math.h>

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

static bool numbers_are(bool finite, Error *e)
{
    return finite || fail(e, "the network computed values that are not finite; check its weights");
}

bool session_doubles(const Worker *w, const Tensor *answer, size_t first, size_t count, double *to, Error *e)
{
    bool finite = true;
    download_doubles(w->tape.k, w->stream, to, number(w, answer, first), count);
    for (size_t i = 0; i < count; i++)
        finite = finite && isfinite(to[i]);
    return numbers_are(finite, e);
}

bool session_floats(const Worker *w, const Tensor *answer, size_t first, size_t count, float *to, Error *e)
{
    bool finite = true;
    download_floats(w->tape.k, w->stream, to, number(w, answer, first), count);
    for (size_t i = 0; i < count; i++)
        finite = finite && isfinite(to[i]);
    return numbers_are(finite, e);
}

void session_end(Worker *w) { tape_reset(&w->tape); }
