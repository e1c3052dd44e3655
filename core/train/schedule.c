/* See schedule.h. */
#include "core/train/schedule.h"

#include <math.h>

/* From 1 to 0. */
static double falling(ScheduleKind kind, double done)
{
    done = fmin(fmax(done, 0), 1);
    switch (kind) {
    case SCHEDULE_LINEAR: return 1 - done;
    case SCHEDULE_COSINE: return (1 + cos(3.14159265358979323846 * done)) / 2;
    case SCHEDULE_WSD: return fmin(1, 5 * (1 - done));
    case SCHEDULE_CONSTANT:
    case SCHEDULE_NOAM:
    case SCHEDULE_RSQRT:
    case SCHEDULE_PLATEAU: break;
    }
    return 1;
}

/* The share of its time that a run which is limited by time warms up at most, else it might never do anything else. */
static const double rising_share = 0.25;

double schedule_rate(const Schedule *s, uint64_t step, double done)
{
    double warmup = (double)s->warmup, now = fmax((double)step, warmup * done / rising_share);
    if (s->kind == SCHEDULE_NOAM) {
        double rising = s->warmup ? now * pow(warmup, -1.5) : INFINITY;
        return s->rate * pow((double)s->dim, -0.5) * fmin(pow(now, -0.5), rising);
    }
    if (now < warmup)
        return s->rate * (now / warmup);
    if (s->kind == SCHEDULE_RSQRT)
        return s->rate * sqrt(fmax(warmup, 1) / now);
    double span = (double)s->decay_steps - warmup;
    if (s->decay_steps && step >= s->warmup)
        done = fmax(done, span > 0 ? ((double)step - warmup) / span : 1);
    const double end = s->ends ? s->end : s->kind == SCHEDULE_COSINE ? 0.1 : 0;
    return s->rate * (end + (1 - end) * falling(s->kind, done));
}

double schedule_peak(const Schedule *s)
{
    return s->kind == SCHEDULE_NOAM ? schedule_rate(s, s->warmup ? s->warmup : 1, -1) : s->rate;
}
