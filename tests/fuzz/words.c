/* Words of a text, and what a list of words becomes: each word is valid UTF-8 that is read as itself; counting the
 * words, cutting the list and reading what was written gives the same numbers. */
#include "core/text/words.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "core/text/vocabulary.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void expect_word(const Words *w)
{
    DEMAND(w->length && w->length <= WORD_MOST && !w->word[w->length], "a word has a length");
    for (size_t at = 0, length; at < w->length; at += length) {
        length = utf8_length(w->word + at, w->length - at);
        DEMAND(length, "a word is valid UTF-8");
    }
    DEMAND(!strpbrk(w->word, " \t\r\n") && strlen(w->word) == w->length, "a word has no blank");
    Words again = words_of(w->word, w->length);
    DEMAND(words_next(&again) && !strcmp(again.word, w->word), "a word is read as itself");
}

static void expect_same(const Vocabulary *v)
{
    Vocabulary cut, again;
    Error e;
    DEMAND(vocabulary_cut(&cut, v, v->count / 2 + 1, NULL, &e), "a vocabulary is cut");
    DEMAND(vocabulary_write(&cut, fuzz_place(), &e) && vocabulary_read(&again, fuzz_place(), &e),
           "what is written is read");
    DEMAND(cut.count == again.count && cut.size == again.size && !memcmp(cut.letters, again.letters, cut.size) &&
               !memcmp(cut.counts, again.counts, cut.count * sizeof *cut.counts),
           "what is read again is equal");
    for (size_t i = 1; i < again.count; i++) {
        const char *word = vocabulary_word(&again, (int32_t)i);
        DEMAND(vocabulary_find(&again, word, strlen(word)) == (int32_t)i, "a word is found");
        DEMAND(again.counts[i] <= again.counts[i > 1 ? i - 1 : 1], "the most frequent come first");
    }
    vocabulary_close(&cut);
    vocabulary_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Vocabulary v;
    Error e;
    fuzz_begin();
    DEMAND(vocabulary_open(&v, &e), "there is memory");
    for (Words w = words_of((const char *)data, size); words_next(&w);) {
        expect_word(&w);
        DEMAND(vocabulary_add(&v, w.word, w.length, 1, NULL, &e), "there is memory");
    }
    expect_same(&v);
    vocabulary_close(&v);
    fuzz_end(size);
    return 0;
}
