/* expect hint: the inner first */
#define linearise right_linearise
#include "course/solutions/20-parser.c"
#undef linearise

/* Constituents that end at the same node are shut in the order in which they were opened. */
size_t linearise(int *token, const Node *node, size_t nodes)
{
    const size_t count = right_linearise(token, node, nodes);
    for (size_t i = 0; i < count; i++) {
        size_t end = i;
        while (end < count && token[end] >= SHUT)
            end++;
        for (size_t a = i, b = end; a + 1 < b; a++) {
            const int shut = token[a];
            token[a] = token[--b];
            token[b] = shut;
        }
        i = end > i ? end - 1 : i;
    }
    return count;
}
