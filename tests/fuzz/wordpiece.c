/* A vocabulary of WordPiece: what is read, written and read again is equal, and parts any text, its own file too, into
 * pieces that can be put together. */
#include "core/text/wordpiece.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void expect_pieces(const WordPiece *w, const char *text, size_t size)
{
    Buffer ids = {0}, words = {0};
    Error e;
    DEMAND(wordpiece_encode(w, text, size, &ids, &e), "a text is parted");
    DEMAND(ids.size <= 3 * size * sizeof(int32_t), "there are no more pieces than characters, of Hangul letters");
    DEMAND(wordpiece_decode(w, (const int32_t *)(const void *)ids.text, ids.size / sizeof(int32_t), &words, &e),
           "all ids are pieces");
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
        DEMAND(w.pieces.size == again.pieces.size && !memcmp(w.pieces.letters, again.pieces.letters, w.pieces.size) &&
                   w.longest == again.longest && w.unknown == again.unknown,
               "what is read again is equal");
        expect_pieces(&w, (const char *)data, size);
        wordpiece_close(&w);
        wordpiece_close(&again);
    } else
        fuzz_refused(&e);
    fuzz_end(size);
    return 0;
}
