/* expect hint: the smaller of the two */
#define noam_rate right_noam_rate
#include "course/solutions/13-training.c"
#undef noam_rate

/* The larger of the two: infinite at first, and later growing without end */
double noam_rate(size_t step, size_t d, size_t warmup)
{
    double now = (double)step;
    return pow((double)d, -0.5) * fmax(pow(now, -0.5), now * pow((double)warmup, -1.5));
}
