/* expect hint: take the largest off before exp */
#define mine_cross_entropy_forward right_cross_entropy_forward
#include "course/solutions/10-classifier.c"
#undef mine_cross_entropy_forward

/* log of the sum of exp, as the formula has it. */
void mine_cross_entropy_forward(Stream *s, void *losses_, void *lse_, StepState *state, size_t which,
                                const void *logits, const int32_t *targets, double smoothing, size_t n, size_t v)
{
    float *losses = losses_, *lse = lse_;
    right_cross_entropy_forward(s, losses, lse, state, which, logits, targets, smoothing, n, v);
    for (size_t i = 0; i < n; i++) {
        const float *z = (const float *)logits + i * v;
        float sum = 0, right = lse[i];
        for (size_t j = 0; j < v; j++)
            sum += expf(z[j]);
        lse[i] = targets[i] < 0 ? 0 : logf(sum);
        losses[i] += lse[i] - right;
    }
}
