/* Learning byte pairs: see bpe.h.
 *
 * Words are rows of symbols. Of each pair of neighbours we know how often it occurs, counted over all words, and where:
 * so a merge visits only words that have it, and changes only the counts of pairs beside it.
 *
 * The result is that of subword-nmt 0.3.8, merge by merge, and its counts are not always true ones. A symbol can come
 * about in two ways ("ab" + "c", "a" + "bc"), and then
 *
 *   - a word that had the symbol already counts the pairs beside it once more, and
 *   - a pair that had left the working set (pair_counts.h) and becomes more frequent is known with its gain alone.
 *
 * And where a symbol has a blank inside (a no-break space is a character like any other), what stands after the blank
 * is merged with its neighbour as if it stood alone. All of this decides which pair is the most frequent one in real
 * texts, so it is done here in the same way and marked "as there". */
#include "core/text/bpe.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "core/text/pair_counts.h"
#include "core/text/spaces.h"

#include <string.h>

static const char word_end[] = "</w>";
static const char learning[] = "learning byte pairs";

typedef struct Learner {
    Vocabulary symbols;
    size_t words;
    size_t *start;    /* [words + 1] of each in `symbol` */
    uint32_t *length; /* [words] symbols that it has now */
    int64_t *times;   /* [words] */
    int32_t *symbol;
    int32_t *before; /* room for the longest word: as it was before a merge */
    const char *end; /* what a word's last character has after it */
    bool blanks;     /* whether any character is one */
    PairCounts counts;
} Learner;

/* --- merging --- */

/* Whether a symbol ends in `first` from byte `from` on, as a word of its own; as there, a blank is such a gap. */
static bool ends_in(const char *symbol, size_t from, const char *first)
{
    size_t length = strlen(symbol), size = strlen(first);
    if (length < from + size || strcmp(symbol + length - size, first))
        return false;
    return length == size || space_behind(symbol, length - size);
}

static bool begins_with(const char *symbol, const char *second)
{
    size_t size = strlen(second);
    return !strncmp(symbol, second, size) && (!symbol[size] || space_length(symbol + size, strlen(symbol + size)));
}

/* Whether `a` and `b` after it are to be merged where the pair is; `from`: the bytes of a that the last merge took. */
static bool is_pair(const Learner *l, const Pair *p, int32_t a, int32_t b, size_t from)
{
    if (!l->blanks)
        return a == p->left && b == p->right && !from;
    const Vocabulary *v = &l->symbols;
    return ends_in(vocabulary_word(v, a), from, vocabulary_word(v, p->left)) &&
           begins_with(vocabulary_word(v, b), vocabulary_word(v, p->right));
}

static bool add_symbol(Learner *l, const char *left, const char *right, int32_t *symbol, Error *e)
{
    Buffer joined = {0};
    buffer_print(&joined, "%s%s", left, right);
    bool done = joined.failed ? memory_error(e, learning, joined.size, 1)
                              : vocabulary_add(&l->symbols, joined.text, joined.size, 0, symbol, e);
    buffer_free(&joined);
    return done;
}

static bool join(Learner *l, int32_t left, int32_t right, int32_t *symbol, Error *e)
{
    return add_symbol(l, vocabulary_word(&l->symbols, left), vocabulary_word(&l->symbols, right), symbol, e);
}

/* Merges a pair in a word, from left to right; `before` keeps what it was. */
static bool merge_in(Learner *l, Pair p, int32_t whole, uint32_t word, Error *e)
{
    int32_t *s = l->symbol + l->start[word];
    size_t n = l->length[word], to = 0, from = 0;
    memcpy(l->before, s, n * sizeof *s);
    for (size_t i = 1; i < n; i++) {
        int32_t left = l->before[i - 1], right = l->before[i];
        if (!is_pair(l, &p, left, right, from)) {
            s[++to] = right;
            from = 0;
            continue;
        }
        bool plain = s[to] == p.left && right == p.right;
        if (!plain && !join(l, s[to], right, &s[to], e))
            return false;
        if (plain)
            s[to] = whole;
        from = strlen(vocabulary_word(&l->symbols, p.right));
    }
    l->length[word] = (uint32_t)to + 1;
    return true;
}

/* The pairs beside a merged one are gone. */
static bool count_gone(Learner *l, Pair p, uint32_t word, size_t n, Error *e)
{
    const int32_t *s = l->before;
    bool done = true;
    for (size_t i = 0; done && i + 1 < n; i++) {
        if (s[i] != p.left || s[i + 1] != p.right)
            continue;
        if (i)
            done = pair_counts_change(&l->counts, s[i - 1], s[i], word, -1, e);
        bool again = i + 3 < n && s[i + 2] == p.left && s[i + 3] == p.right; /* which counts what is between */
        if (done && i + 2 < n && !again)
            done = pair_counts_change(&l->counts, s[i + 1], s[i + 2], word, -1, e);
        i++;
    }
    return done;
}

/* The pairs that the new symbol makes, as there: wherever that symbol is in the word. */
static bool count_new(Learner *l, int32_t whole, uint32_t word, Error *e)
{
    const int32_t *s = l->symbol + l->start[word];
    size_t n = l->length[word];
    bool done = true;
    for (size_t i = 0; done && i < n; i++) {
        if (s[i] != whole)
            continue;
        if (i)
            done = pair_counts_change(&l->counts, s[i - 1], s[i], word, 1, e);
        if (done && i + 1 < n && s[i + 1] != whole)
            done = pair_counts_change(&l->counts, s[i], s[i + 1], word, 1, e);
    }
    return done;
}

/* Merges a pair in all words that have it. */
static bool merge(Learner *l, size_t number, Error *e)
{
    Pair p = l->counts.pairs.pair[number];
    int32_t whole;
    Numbers words;
    if (!join(l, p.left, p.right, &whole, e) || !pair_counts_take(&l->counts, number, &words, e))
        return false;
    bool done = true;
    for (size_t i = 0; done && i < words.count; i++) {
        uint32_t word = words.number[i];
        size_t n = l->length[word];
        done = merge_in(l, p, whole, word, e) && count_gone(l, p, word, n, e) && count_new(l, whole, word, e);
    }
    memory_free(words.number);
    return done && pair_counts_merged(&l->counts, number, e);
}

/* --- the words --- */

/* None if it is not UTF-8. */
static size_t characters_of(const char *word)
{
    size_t count = 0, size = strlen(word);
    if (!utf8_valid(word, size))
        return 0;
    for (size_t length; size; word += length, size -= length, count++)
        length = utf8_step(word, size);
    return count;
}

static bool spell(Learner *l, const char *word, int32_t *symbol, Error *e)
{
    for (size_t size = strlen(word), length; size; word += length, size -= length) {
        char character[5] = {0};
        length = utf8_step(word, size);
        memcpy(character, word, length);
        l->blanks |= space_length(word, size) > 0;
        if (!add_symbol(l, character, size == length ? l->end : "", symbol++, e))
            return false;
    }
    return true;
}

/* Words of one character have no pairs, and are left out; so are those that are no UTF-8. */
static bool measure(Learner *l, const Vocabulary *words, size_t *symbols, size_t *longest)
{
    *symbols = *longest = l->words = 0;
    for (size_t i = 0; i < words->count; i++) {
        size_t n = words->counts[i] ? characters_of(vocabulary_word(words, (int32_t)i)) : 0;
        if (n < 2)
            continue;
        l->words++;
        *symbols += n;
        *longest = n > *longest ? n : *longest;
    }
    return *longest < UINT32_MAX;
}

static bool open_words(Learner *l, const Vocabulary *words, Error *e)
{
    size_t symbols, longest;
    if (!measure(l, words, &symbols, &longest))
        return fail(e, "a word has more than %u characters: is this a text?", UINT32_MAX);
    l->start = memory_get(l->words + 1, sizeof *l->start);
    l->length = memory_get(l->words, sizeof *l->length);
    l->times = memory_get(l->words, sizeof *l->times);
    l->symbol = memory_get(symbols, sizeof *l->symbol);
    l->before = memory_get(longest, sizeof *l->before);
    if (!l->start || !l->length || !l->times || !l->symbol || !l->before)
        return memory_error(e, learning, symbols + 4 * l->words, sizeof *l->symbol);
    size_t w = 0;
    for (size_t i = 0; i < words->count; i++) {
        const char *word = vocabulary_word(words, (int32_t)i);
        size_t n = words->counts[i] ? characters_of(word) : 0;
        if (n < 2)
            continue;
        l->length[w] = (uint32_t)n;
        l->times[w] = (int64_t)words->counts[i];
        if (!spell(l, word, l->symbol + l->start[w], e))
            return false;
        l->start[w + 1] = l->start[w] + n;
        w++;
    }
    return true;
}

static bool count_pairs(Learner *l, Error *e)
{
    if (!pair_counts_open(&l->counts, &l->symbols, l->times, l->words, e))
        return false;
    for (size_t w = 0; w < l->words; w++)
        for (size_t i = l->start[w]; i + 1 < l->start[w + 1]; i++)
            if (!pair_counts_change(&l->counts, l->symbol[i], l->symbol[i + 1], (uint32_t)w, 1, e))
                return false;
    return pair_counts_begin(&l->counts, e);
}

static void learner_close(Learner *l)
{
    vocabulary_close(&l->symbols);
    pair_counts_close(&l->counts);
    memory_free(l->start);
    memory_free(l->length);
    memory_free(l->times);
    memory_free(l->symbol);
    memory_free(l->before);
}

/* --- learning --- */

static bool add_merge(Bpe *b, const Learner *l, size_t pair, Error *e)
{
    const char *left = vocabulary_word(&l->symbols, l->counts.pairs.pair[pair].left);
    const char *right = vocabulary_word(&l->symbols, l->counts.pairs.pair[pair].right);
    return bpe_add(b, left, strlen(left), right, strlen(right), e);
}

/* As there: the working set holds what may be the most frequent pair for a while. Every hundred merges the rest is
 * left out of it; when nothing in it reaches the threshold, all pairs are looked at again. */
static bool learn_merges(Bpe *b, Learner *l, size_t merges, uint64_t least, Error *e)
{
    size_t best = pair_counts_most(&l->counts);
    double threshold = best == PAIR_NONE ? 0 : (double)l->counts.of[best].count / 10;
    for (size_t i = 0; i < merges && l->counts.pairs.count; i++) {
        best = pair_counts_most(&l->counts);
        if (best == PAIR_NONE || (i && (double)l->counts.of[best].count < threshold)) {
            if (!pair_counts_refill(&l->counts, i, &threshold, e))
                return false;
            best = pair_counts_most(&l->counts);
        }
        if (best == PAIR_NONE || l->counts.of[best].count < (int64_t)least)
            break;
        if (!add_merge(b, l, best, e) || !merge(l, best, e) ||
            (i % 100 == 0 && !pair_counts_prune(&l->counts, threshold, e)))
            return false;
    }
    return true;
}

bool bpe_learn_ending(Bpe *b, const Vocabulary *words, const char *end, size_t merges, uint64_t least, Error *e)
{
    Learner l = {.end = end};
    *b = (Bpe){0};
    bool done = open_words(&l, words, e) && count_pairs(&l, e) && learn_merges(b, &l, merges, least ? least : 1, e);
    learner_close(&l);
    if (done && bpe_finish(b, e))
        return true;
    bpe_close(b);
    return false;
}

bool bpe_learn(Bpe *b, const Vocabulary *words, size_t merges, uint64_t least, Error *e)
{
    return bpe_learn_ending(b, words, word_end, merges, least, e);
}

bool bpe_count_words(Vocabulary *words, const char *text, size_t size, size_t *left_out, Error *e)
{
    BpeWord word;
    for (size_t at = 0; bpe_next_word(text, size, &at, &word);)
        if (utf8_valid(word.text, word.size)) {
            if (!vocabulary_add(words, word.text, word.size, 1, NULL, e))
                return false;
        } else if (left_out)
            ++*left_out;
    return true;
}
