/* A model of SentencePiece: what was read cuts its own bytes, as far as these are worth it, into pieces that make up a text, and
 * is written as it was. */
#include "core/text/sentencepiece.h"
#include "base/file.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void expect_pieces(const SentencePiece *s, const char *text, size_t size)
{
    Cuts c = {0};
    Buffer back = {0};
    Error e;
    DEMAND(sentencepiece_cut(s, text, size, &c, &e), "a text is cut");
    Bytes *pieces = memory_get(c.count, sizeof *pieces);
    DEMAND(pieces, "there is memory for a small text");
    for (size_t i = 0, at = 0; i < c.count; i++) {
        const Cut *one = &c.list[i];
        DEMAND(one->id >= 0 && (size_t)one->id < s->count, "a piece is one of the model");
        pieces[i] = one->text;
        if (s->byte_fallback)
            continue;
        DEMAND(one->text.at == c.text.text + at, "pieces follow one another");
        at += one->text.size;
        DEMAND(i + 1 < c.count || at == c.text.size, "pieces are the whole text");
    }
    DEMAND(sentencepiece_join(s, pieces, c.count, &back, &e), "pieces are a text");
    memory_free(pieces);
    buffer_free(&back);
    cuts_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { WORTH = 64 };
    SentencePiece s;
    Error e = {{0}};
    fuzz_begin();
    if (sentencepiece_read(&s, fuzz_file(data, size), &e)) {
        char *again;
        size_t bytes;
        expect_pieces(&s, (const char *)data, size < WORTH ? size : WORTH);
        expect_pieces(&s, (const char *)data + size - (size < WORTH ? size : WORTH), size < WORTH ? size : WORTH);
        DEMAND(sentencepiece_write(&s, fuzz_place(), &e) && file_read(fuzz_place(), &again, &bytes, &e) &&
                   bytes == size && !memcmp(again, data, size),
               "what was written is what was read");
        memory_free(again);
        sentencepiece_close(&s);
    } else
        fuzz_refused(&e);
    fuzz_end(size);
    return 0;
}
