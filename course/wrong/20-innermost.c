/* expect hint: before a constituent, those inside of it are shut */
#define repair right_repair
#include "course/solutions/20-parser.c"
#undef repair

/* What shuts is taken to shut what was opened last, whatever that is. */
size_t repair(int *to, const int *token, size_t tokens, size_t words)
{
    int *other = malloc((tokens + 1) * sizeof *other), *open = malloc((tokens + 1) * sizeof *open);
    size_t depth = 0;
    for (size_t i = 0; i < tokens; i++) {
        other[i] = token[i] >= SHUT && depth ? SHUT + open[--depth] : token[i];
        if (token[i] >= OPEN && token[i] < SHUT)
            open[depth++] = token[i] - OPEN;
    }
    const size_t count = right_repair(to, other, tokens, words);
    free(other);
    free(open);
    return count;
}
