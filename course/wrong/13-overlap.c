/* expect hint: a symbol that was merged is not merged again */
#define merge_pair right_merge_pair
#include "course/solutions/13-training.c"
#undef merge_pair

/* Each place where the pair begins becomes a whole, also where the symbol before it took part already. */
size_t merge_pair(int32_t *symbol, size_t n, const int32_t pair[2], int32_t whole)
{
    size_t to = 0;
    bool taken = false;
    for (size_t i = 0; i < n; i++) {
        bool here = i + 1 < n && symbol[i] == pair[0] && symbol[i + 1] == pair[1];
        if (here)
            symbol[to++] = whole;
        else if (!taken)
            symbol[to++] = symbol[i];
        taken = here;
    }
    return to;
}
