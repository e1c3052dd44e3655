/* expect hint: as a tree: neighbours first */
#define tree_sum right_tree_sum
#include "course/solutions/17-big.c"
#undef tree_sum

/* One after another */
void tree_sum(float *const *g, size_t workers, size_t n)
{
    for (size_t w = 1; w < workers; w++)
        mine_accumulate(NULL, g[0], g[w], n);
}
