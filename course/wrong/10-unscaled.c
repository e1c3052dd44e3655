/* expect hint: is multiplied by the scale */
#define mine_cross_entropy_backward right_cross_entropy_backward
#include "course/solutions/10-classifier.c"
#undef mine_cross_entropy_backward

/* The gradient of the sum, not of the mean. */
void mine_cross_entropy_backward(Stream *s, void *dlogits, bool add, const StepState *state, size_t which,
                                 const void *lse, const void *logits, const int32_t *targets, double smoothing,
                                 size_t n, size_t v)
{
    StepState one = *state;
    one.loss[which].scale = 1;
    right_cross_entropy_backward(s, dlogits, add, &one, which, lse, logits, targets, smoothing, n, v);
}
