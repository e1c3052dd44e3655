/* A vocabulary of WordPiece: what is read, written and read again is equal, and parts any text, its own file too, into
 * subwords that can be put together. */
#include "core/text/wordpiece.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void expect_subwords(const WordPiece *w, const char *text, size_t size)
{
    Buffer ids = {0}, words = {0};
    Error e;
    DEMAND(wordpiece_encode(w, text, size, &ids, &e), "a text is parted");
    DEMAND(ids.size <= 3 * size * sizeof(int32_t), "there are no more subwords than characters, of Hangul letters");
    DEMAND(wordpiece_decode(w, (const int32_t *)(const void *)ids.text, ids.size / sizeof(int32_t), &words, &e),
           "all ids are subwords");
    buffer_free(&ids);
    buffer_free(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WordPiece w, again;
    Error e = {{0}};
    fuzz_begin();
    if (wordpiece_read(&w, fuzz_file(data, size), size % 2, &e)) {
        DEMAND(wordpiece_write(&w, fuzz_place(), &e), "what was read can be written");
        DEMAND(wordpiece_read(&again, fuzz_place(), w.lower, &e), "what is written is read");
        DEMAND(w.subwords.size == again.subwords.size &&
                   !memcmp(w.subwords.letters, again.subwords.letters, w.subwords.size) && w.longest == again.longest &&
                   w.unknown == again.unknown,
               "what is read again is equal");
        expect_subwords(&w, (const char *)data, size);
        wordpiece_close(&w);
        wordpiece_close(&again);
    } else
        fuzz_refused(&e);
    fuzz_end(size);
    return 0;
}
