/* expect hint: gradients of one value add up */
#define head_backward right_head_backward
#include "course/solutions/05-backward.c"
#undef head_backward

/* dx of the value's projection is written over those of query and key. */
void head_backward(float *dx, float *dwq, float *dwk, float *dwv, const float *dy, const Head *h)
{
    float *by_q = calloc(h->n * h->dk, sizeof *by_q), *by_k = calloc(h->n * h->dk, sizeof *by_k);
    float *by_v = calloc(h->n * h->dv, sizeof *by_v);
    right_head_backward(dx, dwq, dwk, dwv, dy, h);
    if (by_q && by_k && by_v) {
        attention_backward(by_q, by_k, by_v, dy, h);
        mine_linear_backward(NULL, dx, false, NULL, NULL, by_v, NULL, h->x, h->wv, false, h->n, h->d, h->dv);
    }
    free(by_q);
    free(by_k);
    free(by_v);
}
