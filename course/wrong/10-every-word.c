/* expect hint: counts once in a text */
#define learn_words right_learn_words
#include "course/solutions/10-classifier.c"
#undef learn_words

/* Each word is a text of its own. */
void learn_words(float *ratio, const int32_t *ids, const int32_t *start, const int32_t *labels, size_t texts,
                 size_t words)
{
    int32_t begins[1000], label[1000], n = 0;
    for (size_t t = 0; t < texts; t++)
        for (int32_t i = start[t]; i < start[t + 1] && n < 999; i++, n++)
            begins[n] = i, label[n] = labels[t];
    begins[n] = start[texts];
    right_learn_words(ratio, ids, begins, label, (size_t)n, words);
}
