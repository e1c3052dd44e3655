/* expect hint: of equal ones the first comes first */
#define mine_choices right_mine_choices
#include "course/solutions/14-translating.c"
#undef mine_choices

/* What was chosen is looked for by its value, so of equal ones only the first is found. */
void mine_choices(Stream *s, int32_t *which, void *values, void *one, const void *logits, int32_t wanted, size_t n,
                  size_t v, size_t k)
{
    right_mine_choices(s, which, values, one, logits, wanted, n, v, k);
    for (size_t i = 0; i < n * k; i++)
        for (size_t j = 0; j < v && which[i] >= 0; j++)
            if (((const float *)logits)[i / k * v + j] == ((const float *)logits)[i / k * v + (size_t)which[i]])
                which[i] = (int32_t)j, j = v;
}
