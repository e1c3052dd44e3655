/* expect hint: what was heard before that layer alone */
#define layers_needed right_layers_needed
#include "course/solutions/16-why.c"
#undef layers_needed

/* Within one layer news travels on, downwards and upwards. */
size_t layers_needed(const bool *sees, size_t n)
{
    bool *heard = calloc(n * n, sizeof *heard), *before = calloc(n * n, sizeof *before);
    size_t layers = 0;
    for (size_t i = 0; heard && i < n; i++)
        heard[i * n + i] = true;
    for (bool more = heard && before; more; layers += more) {
        memcpy(before, heard, n * n * sizeof *before);
        for (size_t i = n; i-- > 0;)
            for (size_t by = 0; by < n; by++)
                for (size_t j = 0; sees[i * n + by] && j < n; j++)
                    heard[i * n + j] |= heard[by * n + j];
        more = memcmp(before, heard, n * n * sizeof *before) != 0;
    }
    free(heard);
    free(before);
    return layers;
}
