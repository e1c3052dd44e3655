/* expect hint: head h compares columns */
#define mine_attention_forward right_attention_forward
#include "course/solutions/12-translator.c"
#undef mine_attention_forward

#include <string.h>

/* Every head has the queries and keys of the first. */
static Strided first_head(const Attend *how, Strided x, size_t n)
{
    size_t width = how->heads * how->key_size;
    float *copy = malloc((n * width + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < n * how->heads; i++)
        memcpy(copy + i * how->key_size, (const float *)x.data + i / how->heads * x.stride,
               how->key_size * sizeof *copy);
    return (Strided){copy, width};
}

void mine_attention_forward(Stream *s, void *y, void *lse, Strided q, Strided k, Strided v, const Attend *how,
                            const StepState *state)
{
    Strided first_q = first_head(how, q, how->queries), first_k = first_head(how, k, how->keys);
    right_attention_forward(s, y, lse, first_q, first_k, v, how, state);
    free(first_q.data);
    free(first_k.data);
}
