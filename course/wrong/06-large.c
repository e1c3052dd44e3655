/* expect hint: -INFINITY, and not a large number */
#define mine_mask right_mask
#include "course/solutions/06-masks.c"
#undef mine_mask

/* A number that is large enough, or so one hopes */
void mine_mask(Stream *s, void *scores_, const Attend *how)
{
    (void)s;
    float *score = scores_;
    for (size_t b = 0; b < how->rows; b++)
        for (size_t h = 0; h < how->heads; h++)
            for (size_t i = 0; i < how->longest_query; i++)
                for (size_t j = 0; j < how->longest_key; j++, score++)
                    if (!sees(how, b, i, j))
                        *score = -1e9f;
}
