/* Lesson 20: one way to do the exercises. */
#include "course/20-parser/exercise.h"

#include <stdlib.h>

/* `open` holds the nodes of constituents that are open. */
size_t linearise(int *token, const Node *node, size_t nodes)
{
    size_t *open = malloc((nodes + 1) * sizeof *open), depth = 0, count = 0;
    for (size_t i = 0; i <= nodes; i++) {
        while (depth && node[open[depth - 1]].end == i)
            token[count++] = SHUT + node[open[--depth]].label;
        if (i == nodes)
            break;
        token[count++] = node[i].is_word ? node[i].label : OPEN + node[i].label;
        if (!node[i].is_word)
            open[depth++] = i;
    }
    free(open);
    return count;
}

size_t read_tree(Node *node, const int *token, size_t tokens)
{
    size_t *open = malloc((tokens + 1) * sizeof *open), depth = 0, count = 0;
    for (size_t i = 0; i < tokens; i++) {
        if (token[i] >= SHUT) {
            node[open[--depth]].end = count;
            continue;
        }
        node[count] = (Node){token[i] % OPEN, count + 1, token[i] < OPEN};
        if (token[i] >= OPEN)
            open[depth++] = count;
        count++;
    }
    free(open);
    return count;
}

/* Takes away brackets with nothing between them, again and again from the inside: what is written last tells. */
static size_t without_empty(int *token, size_t tokens)
{
    size_t count = 0;
    for (size_t i = 0; i < tokens; i++)
        if (token[i] >= SHUT && count && token[count - 1] >= OPEN && token[count - 1] < SHUT)
            count--;
        else
            token[count++] = token[i];
    return count;
}

size_t repair(int *to, const int *token, size_t tokens, size_t words)
{
    int *open = malloc((tokens + 1) * sizeof *open);
    size_t depth = 0, count = 0, written = 0;
    for (size_t i = 0; i < tokens; i++) {
        if (token[i] >= SHUT) {
            size_t at = depth;
            while (at && open[at - 1] != token[i] - SHUT)
                at--;
            while (at > 1 && depth >= at)
                to[count++] = SHUT + open[--depth];
            while (at == 1 && depth > 1)
                to[count++] = SHUT + open[--depth];
            continue;
        }
        if (token[i] < OPEN && written == words)
            continue;
        if (!depth && token[i] < OPEN)
            to[count++] = OPEN, open[depth++] = 0;
        to[count++] = token[i];
        if (token[i] >= OPEN)
            open[depth++] = token[i] - OPEN;
        else
            written++;
    }
    if (!depth)
        to[count++] = OPEN, open[depth++] = 0;
    while (depth > 1)
        to[count++] = SHUT + open[--depth];
    for (; written < words; written++)
        to[count++] = 0;
    to[count++] = SHUT + open[0];
    free(open);
    return without_empty(to, count);
}

size_t matched(const Bracket *found, size_t n, const Bracket *gold, size_t m)
{
    bool *used = calloc(m + 1, sizeof *used);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++)
            if (!used[k] && found[i].label == gold[k].label && found[i].first == gold[k].first &&
                found[i].last == gold[k].last) {
                used[k] = true;
                count++;
                break;
            }
    free(used);
    return count;
}

double f1(size_t right, size_t found, size_t gold)
{
    return right ? 200.0 * (double)right / (double)(found + gold) : 0;
}
