/* How far a head looks. See kernels/plain/span.c.
 *
 * Forward a thread has one entry of the table. Backward what each entry adds is written down first, and added up by columns;
 * that of entry 0 also has the penalty's. */

static __device__ float left_of_ramp(float z, size_t e, float reach, float ramp, size_t ahead)
{
    const size_t distance = e < ahead ? ahead - e : e - ahead;
    const float inside = z < 0 ? 0 : z > 1 ? 1 : z;
    return ramp + inside * reach - (float)distance;
}

static __global__ void span_kernel(float *bias, const float *given, const float *z, float reach, float ramp,
                                   size_t ahead, size_t n, size_t heads)
{
    for (size_t t = thread_number(); t < n; t += thread_count()) {
        const float left = left_of_ramp(z[t % heads], t / heads, reach, ramp, ahead), before = given ? given[t] : 0;
        bias[t] = left >= ramp ? before : left > 0 ? before + logf(left / ramp) : -INFINITY;
    }
}

static __global__ void span_parts_kernel(float *parts, const float *dbias, const float *z, const StepState *state,
                                         float penalty, float reach, float ramp, size_t ahead, size_t n, size_t heads)
{
    for (size_t t = thread_number(); t < n; t += thread_count()) {
        const float here = z[t % heads], left = left_of_ramp(here, t / heads, reach, ramp, ahead);
        parts[t] = left > 0 && left < ramp ? dbias[t] / left * reach : 0;
        if (t < heads && here > 0 && state->first_position[0] == 0)
            parts[t] += penalty;
    }
}

static void span_forward(Stream *s, void *bias, const void *given, const void *z, double reach, double ramp,
                         size_t ahead, size_t distances, size_t heads)
{
    LAUNCH_EACH(s, span_kernel, distances * heads, (float *)bias, (const float *)given, (const float *)z, (float)reach,
                (float)ramp, ahead, distances * heads, heads);
}

static void span_backward(Stream *s, void *dz, const void *dbias, const void *z, const StepState *state, double penalty,
                          double reach, double ramp, size_t ahead, size_t distances, size_t heads)
{
    float *parts = (float *)scratch(s, distances * heads * sizeof *parts);
    LAUNCH_EACH(s, span_parts_kernel, distances * heads, parts, (const float *)dbias, (const float *)z, state,
                (float)penalty, (float)reach, (float)ramp, ahead, distances * heads, heads);
    sum_columns(s, AddTo{(float *)dz, NULL, heads}, RowTerm{parts, heads}, distances, heads);
}
