/* expect hint: divide by the distance of the two that x[i] really was */
#define central_difference right_central_difference
#include "course/solutions/05-backward.c"
#undef central_difference

/* Divided by the step that was meant, not by the one that was taken. */
double central_difference(double (*f)(const float *x, const void *context), const void *context, float *x, size_t i,
                          float h)
{
    float before = x[i];
    x[i] = before + h;
    double above = f(x, context);
    x[i] = before - h;
    double below = f(x, context);
    x[i] = before;
    return (above - below) / (2 * (double)h);
}
