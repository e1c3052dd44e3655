/* expect hint: which hides NaN */
#define mine_activation_forward right_activation_forward
#include "course/solutions/04-scores.c"
#undef mine_activation_forward

/* x > 0 ? x : 0 */
void mine_activation_forward(Stream *s, void *y_, const void *x_, Activation function, size_t n)
{
    (void)s;
    float *y = y_;
    const float *x = x_;
    for (size_t i = 0; i < n; i++)
        y[i] = function == ACTIVATION_RELU ? (x[i] > 0 ? x[i] : 0) : function_of(function, x[i]);
}
