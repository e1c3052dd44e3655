/* See schedule.h. */
#include "core/train/schedule.h"

#include <math.h>

static double decayed(ScheduleKind kind, double done)
{
    done = fmin(fmax(done, 0), 1);
    return kind == SCHEDULE_LINEAR ? 1 - done : 0.1 + 0.9 * (1 + cos(3.14159265358979323846 * done)) / 2;
}

double schedule_rate(const Schedule *s, uint64_t step, double done)
{
    double now = (double)step, warmup = (double)s->warmup;
    if (s->kind == SCHEDULE_NOAM) {
        double rising = s->warmup ? now * pow(warmup, -1.5) : INFINITY;
        return s->rate * pow((double)s->dim, -0.5) * fmin(pow(now, -0.5), rising);
    }
    double rate = s->rate * (step < s->warmup ? now / warmup : 1), span = (double)s->decay_steps - warmup;
    if (s->decay_steps)
        done = fmax(done, span > 0 ? (now - warmup) / span : 1);
    if (s->kind == SCHEDULE_CONSTANT || step < s->warmup || done < 0)
        return rate;
    return rate * decayed(s->kind, done);
}
