/* expect hint: the mean of means */
#define accumulated right_accumulated
#include "course/solutions/17-big.c"
#undef accumulated

/* Each micro-batch counts the same, however few rows it has. */
float accumulated(float *gradient, float *own, size_t size, Mean mean, const void *context, const size_t *cut,
                  size_t micros)
{
    float loss = 0;
    size_t used = 0;
    memset(gradient, 0, size * sizeof *gradient);
    for (size_t m = 0; m < micros; m++) {
        if (cut[m] == cut[m + 1])
            continue;
        loss += mean(own, context, cut[m], cut[m + 1]);
        for (size_t i = 0; i < size; i++)
            gradient[i] += own[i];
        used++;
    }
    for (size_t i = 0; i < size; i++)
        gradient[i] /= (float)used;
    return loss / (float)used;
}
