/* Adaptive span (Sukhbaatar et al. 2019): each head learns how far it looks. Of key weights, those near the end of the span
 * z S are made smaller, and those farther away 0:
 *
 *     m[d] = clamp((R + clamp(z, 0, 1) S - d) / R, 0, 1)        d: the distance; S: the farthest span; R: the ramp
 *
 * As a weight is exp of a score by their sum, log m[d] is added to the score: to the table of biases of distances. Backward,
 * where 0 < m < 1:
 *
 *     dz = sum over d of dbias[d] S / (R m[d]), and once a step the penalty's factor, where z > 0
 *
 * A z that a step has moved out of 0 .. 1 has the gradient of the end where it left, and is put back there before the next
 * step moves it (core/train/update.c), so it can always return. */

/* R m[d] before it is clamped above; not positive: outside the span */
static Real left_of_ramp(Real z, size_t e, double reach, double ramp, size_t ahead)
{
    const size_t distance = e < ahead ? ahead - e : e - ahead;
    const Real inside = z < 0 ? 0 : z > 1 ? 1 : z;
    return (Real)ramp + inside * (Real)reach - (Real)distance;
}

static void span_forward(Stream *s, void *bias_, const void *given_, const void *z_, double reach, double ramp,
                         size_t ahead, size_t distances, size_t heads)
{
    (void)s;
    Real *bias = bias_;
    const Real *given = given_, *z = z_;
    for (size_t e = 0; e < distances; e++)
        for (size_t h = 0; h < heads; h++) {
            const Real left = left_of_ramp(z[h], e, reach, ramp, ahead), before = given ? given[e * heads + h] : 0;
            bias[e * heads + h] = left >= (Real)ramp ? before
                                  : left > 0         ? before + real_log(left / (Real)ramp)
                                                     : -(Real)INFINITY;
        }
}

static void span_backward(Stream *s, void *dz_, const void *dbias_, const void *z_, const StepState *state,
                          double penalty, double reach, double ramp, size_t ahead, size_t distances, size_t heads)
{
    (void)s;
    Real *dz = dz_;
    const Real *dbias = dbias_, *z = z_;
    for (size_t h = 0; h < heads; h++) {
        Real sum = 0;
        for (size_t e = 0; e < distances; e++) {
            const Real left = left_of_ramp(z[h], e, reach, ramp, ahead);
            if (left > 0 && left < (Real)ramp)
                sum += dbias[e * heads + h] / left;
        }
        dz[h] += sum * (Real)reach + (z[h] > 0 && !state->first_position[0] ? (Real)penalty : 0);
    }
}
