/* Learning subwords: see wordpiece_learn in wordpiece.h.
 *
 * All different words are stored as ids of subwords, one after the other. Of each pair of neighbours it is known how
 * often it stands in the texts and in which words it once stood. Joining a pair visits those words alone: what the
 * word's pairs counted is taken off, the word is joined, and its pairs are counted again. The pair met most often comes
 * from a heap whose entries may be out of date: one whose count is no longer that of its pair goes back with the true
 * count, or for good when that is 0. */
#include "base/memory.h"
#include "base/utf8.h"
#include "core/text/bert_words.h"
#include "core/text/heap.h"
#include "core/text/pairs.h"
#include "core/text/wordpiece.h"
#include "core/text/wordpiece_inner.h"

#include <string.h>

typedef struct Occurrence {
    uint32_t word, next; /* next: another occurrence of the same pair, + 1; 0: none */
} Occurrence;

typedef struct Count {
    uint64_t times;
    uint32_t occurrences; /* the last of its occurrences, + 1 */
    bool is_raised;       /* since the last joining */
} Count;

enum { ALL = -1 }; /* in place of the new subword: all pairs are new */

typedef struct Learner {
    WordPiece *subwords;
    const Vocabulary *words;
    size_t *start;         /* [words] */
    unsigned char *length; /* [words] how many subwords a word has now; 0: it is left out */
    int32_t *ids;          /* at start[word]: its subwords */
    Pairs pairs;
    Count *counts;           /* [pairs.count] */
    Occurrence *occurrences; /* [occurrence_count] */
    Heap heap;               /* UINT64_MAX - times, and the pair's ids in one number */
    size_t *raised;          /* [raised_count] pairs whose count was raised: those with the new subword */
    size_t count_capacity, occurrence_count, occurrence_capacity, raised_count, raised_capacity;
    int32_t subword; /* the new one, that a pair is joined to */
    Error *e;
} Learner;

/* --- the pair met most often --- */

static bool push(Learner *l, size_t number)
{
    Pair pair = l->pairs.pair[number];
    uint64_t both = (uint64_t)pair.left << 32 | (uint32_t)pair.right;
    return heap_push(&l->heap, (Rank){UINT64_MAX - l->counts[number].times, both}, l->e);
}

/* The number of the pair to be joined next; PAIR_NONE: there is none. */
static bool best(Learner *l, size_t *number)
{
    while (l->heap.count) {
        Rank top = heap_pop(&l->heap);
        *number = pairs_find(&l->pairs, (Pair){(int32_t)(top.second >> 32), (int32_t)(uint32_t)top.second});
        uint64_t times = l->counts[*number].times, were = UINT64_MAX - top.first;
        if (times && times == were)
            return true;
        if (times && times < were && !push(l, *number))
            return false;
    }
    *number = PAIR_NONE;
    return true;
}

/* --- counting --- */

/* A pair of a word's neighbours. Where the word was counted before, its pairs without the new subword have it among their
 * occurrences already, and are met as often as they were. */
static bool count_pair(Learner *l, Pair pair, uint32_t word)
{
    static const char what[] = "pairs of subwords";
    size_t number, before = l->pairs.count;
    if (!pairs_add(&l->pairs, pair, &number, l->e) ||
        !memory_grow(&l->counts, &l->count_capacity, number + 1, sizeof *l->counts, what, l->e) ||
        !memory_grow(&l->occurrences, &l->occurrence_capacity, l->occurrence_count + 1, sizeof *l->occurrences, what,
                     l->e) ||
        !memory_grow(&l->raised, &l->raised_capacity, l->raised_count + 1, sizeof *l->raised, what, l->e))
        return false;
    Count *count = &l->counts[number];
    if (number == before)
        *count = (Count){0};
    count->times += l->words->counts[word];
    if (l->subword != ALL && l->subword != pair.left && l->subword != pair.right)
        return true;
    if (l->occurrence_count == UINT32_MAX)
        return fail(l->e, "too many words to learn subwords from: use fewer texts");
    l->occurrences[l->occurrence_count++] = (Occurrence){.word = word, .next = count->occurrences};
    count->occurrences = (uint32_t)l->occurrence_count;
    if (!count->is_raised)
        l->raised[l->raised_count++] = number;
    count->is_raised = true;
    return true;
}

static bool count_word(Learner *l, uint32_t word)
{
    const int32_t *ids = l->ids + l->start[word];
    for (size_t i = 0; i + 1 < l->length[word]; i++)
        if (!count_pair(l, (Pair){ids[i], ids[i + 1]}, word))
            return false;
    return true;
}

static void uncount_word(Learner *l, uint32_t word)
{
    const int32_t *ids = l->ids + l->start[word];
    for (size_t i = 0; i + 1 < l->length[word]; i++)
        l->counts[pairs_find(&l->pairs, (Pair){ids[i], ids[i + 1]})].times -= l->words->counts[word];
}

/* What was raised is a candidate, with the count it has now. */
static bool push_raised(Learner *l)
{
    while (l->raised_count) {
        size_t number = l->raised[--l->raised_count];
        l->counts[number].is_raised = false;
        if (!push(l, number))
            return false;
    }
    return true;
}

/* --- joining --- */

/* The subword that two subwords make; -1: no memory. */
static int32_t joined(Learner *l, Pair pair)
{
    char subword[2 * (4 * BERT_WORD_MOST + 2)];
    int32_t id = -1;
    const char *left = vocabulary_word(&l->subwords->subwords, pair.left);
    const char *right = vocabulary_word(&l->subwords->subwords, pair.right) + 2; /* it continues a word */
    size_t size = strlen(left), more = strlen(right);
    memcpy(subword, left, size);
    memcpy(subword + size, right, more);
    return wordpiece_add(l->subwords, subword, size + more, &id, l->e) ? id : -1;
}

/* Whether a word has a pair still. It is among the pair's words as often as it had it, and is joined the first time. */
static bool has_pair(const Learner *l, uint32_t word, Pair pair)
{
    const int32_t *ids = l->ids + l->start[word];
    for (size_t i = 0; i + 1 < l->length[word]; i++)
        if (ids[i] == pair.left && ids[i + 1] == pair.right)
            return true;
    return false;
}

static bool join_word(Learner *l, uint32_t word, Pair pair)
{
    int32_t *ids = l->ids + l->start[word];
    size_t to = 0;
    if (!has_pair(l, word, pair))
        return true;
    uncount_word(l, word);
    for (size_t i = 0; i < l->length[word]; i++, to++) {
        bool here = i + 1 < l->length[word] && ids[i] == pair.left && ids[i + 1] == pair.right;
        ids[to] = here ? l->subword : ids[i];
        i += here;
    }
    l->length[word] = (unsigned char)to;
    return count_word(l, word);
}

static bool join(Learner *l, size_t number)
{
    Pair pair = l->pairs.pair[number];
    l->subword = joined(l, pair);
    if (l->subword < 0)
        return false;
    for (uint32_t at = l->counts[number].occurrences; at; at = l->occurrences[at - 1].next)
        if (!join_word(l, l->occurrences[at - 1].word, pair))
            return false;
    return push_raised(l);
}

/* --- characters --- */

/* Words as their characters; a word that a text cannot have, as of bytes that are no UTF-8, has none. */
static size_t characters(uint32_t *codes, const char *word)
{
    size_t count = 0;
    for (size_t at = 0, size = strlen(word), length; at < size; at += length) {
        length = count < BERT_WORD_MOST ? utf8_decode(&codes[count++], word + at, size - at) : 0;
        if (!length)
            return 0;
    }
    return count;
}

static bool add_character(WordPiece *w, const char *before, uint32_t code, int32_t *id, Error *e)
{
    char subword[8];
    size_t size = strlen(before);
    memcpy(subword, before, size);
    return wordpiece_add(w, subword, size + utf8_encode(subword + size, code), id, e);
}

enum { STANDS = 1, GOES_ON = 2, END = 0x110000 };

static bool add_characters(WordPiece *w, const Vocabulary *words, Error *e)
{
    uint32_t codes[BERT_WORD_MOST];
    int32_t id;
    unsigned char *where = memory_get(END, 1);
    if (!where)
        return memory_error(e, "characters of words", END, 1);
    for (size_t i = 0; i < words->count; i++) {
        size_t count = words->counts[i] ? characters(codes, vocabulary_word(words, (int32_t)i)) : 0;
        for (size_t k = 0; k < count; k++)
            where[codes[k]] |= k ? STANDS | GOES_ON : STANDS;
    }
    bool done = true;
    for (uint32_t code = 0; done && code < END; code++)
        done = !(where[code] & STANDS) || add_character(w, "", code, &id, e);
    for (uint32_t code = 0; done && code < END; code++)
        done = !(where[code] & GOES_ON) || add_character(w, "##", code, &id, e);
    memory_free(where);
    return done;
}

/* --- all of it --- */

static bool part_words(Learner *l)
{
    uint32_t codes[BERT_WORD_MOST];
    size_t words = l->words->count, total = 0;
    for (size_t i = 0; i < words; i++)
        total += l->words->counts[i] ? characters(codes, vocabulary_word(l->words, (int32_t)i)) : 0;
    l->start = memory_get(words, sizeof *l->start);
    l->length = memory_get(words, sizeof *l->length);
    l->ids = memory_get(total, sizeof *l->ids);
    if (!l->start || !l->length || !l->ids)
        return memory_error(l->e, "words to learn subwords from", words + total, sizeof *l->start);
    total = 0;
    for (size_t i = 0; i < words; i++) {
        size_t count = l->words->counts[i] ? characters(codes, vocabulary_word(l->words, (int32_t)i)) : 0;
        l->start[i] = total;
        l->length[i] = (unsigned char)count;
        for (size_t k = 0; k < count; k++)
            if (!add_character(l->subwords, k ? "##" : "", codes[k], &l->ids[total++], l->e))
                return false;
    }
    return true;
}

static bool learn(Learner *l, size_t size)
{
    size_t number = 0;
    if (!part_words(l))
        return false;
    l->subword = ALL;
    for (size_t word = 0; word < l->words->count; word++)
        if (!count_word(l, (uint32_t)word))
            return false;
    if (!push_raised(l))
        return false;
    while (l->subwords->subwords.count < size && number != PAIR_NONE)
        if (!best(l, &number) || (number != PAIR_NONE && !join(l, number)))
            return false;
    return true;
}

static bool add_first(WordPiece *w, const Vocabulary *words, size_t size, Error *e)
{
    static const char *const special[] = {"[PAD]", WORDPIECE_UNKNOWN, "[CLS]", "[SEP]", "[MASK]"};
    int32_t id;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (!wordpiece_add(w, special[i], strlen(special[i]), &id, e))
            return false;
    w->unknown = 1;
    if (!add_characters(w, words, e))
        return false;
    size_t count = w->subwords.count;
    return count <= size ||
           fail(e, "a vocabulary of %zu subwords is too small: special tokens and characters alone are %zu", size,
                count);
}

bool wordpiece_learn(WordPiece *w, const Vocabulary *words, size_t size, bool lower, Error *e)
{
    *w = (WordPiece){.lower = lower};
    Learner l = {.subwords = w, .words = words, .e = e};
    bool done = add_first(w, words, size, e) && learn(&l, size);
    memory_free(l.start);
    memory_free(l.length);
    memory_free(l.ids);
    memory_free(l.counts);
    memory_free(l.occurrences);
    memory_free(l.raised);
    heap_close(&l.heap);
    pairs_close(&l.pairs);
    if (!done)
        wordpiece_close(w);
    return done;
}
