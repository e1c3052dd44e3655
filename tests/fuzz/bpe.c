/* A list of byte pairs: what is read, written and read again is equal, and it is applied to its own bytes, where words
 * that were seen give the same subwords as at first. */
#include "core/text/bpe.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static bool is_same(const void *a, const void *b, size_t size) { return !size || !memcmp(a, b, size); }

static bool is_equal(const Bpe *a, const Bpe *b)
{
    return a->count == b->count && a->pairs.count == b->pairs.count && a->separate_end == b->separate_end &&
           is_same(a->order, b->order, a->count * sizeof *a->order) && a->symbols.size == b->symbols.size &&
           is_same(a->symbols.letters, b->symbols.letters, a->symbols.size) &&
           is_same(a->made_of, b->made_of, a->symbols.count * sizeof *a->made_of);
}

static void apply(const Bpe *b, const char *text, size_t size)
{
    Buffer first = {0}, second = {0};
    BpeCoder c;
    Error e;
    DEMAND(bpe_coder_open(&c, b, NULL, 0, &e), "there is memory for a coder");
    DEMAND(bpe_apply(&c, text, size, &first, &e) && bpe_apply(&c, text, size, &second, &e), "any text has subwords");
    DEMAND(first.size == second.size && is_same(first.text, second.text, first.size),
           "words that were seen have the same subwords");
    bpe_coder_close(&c);
    buffer_free(&first);
    buffer_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bpe b, again;
    Error e = {{0}};
    fuzz_begin();
    if (bpe_read(&b, fuzz_file(data, size), &e)) {
        DEMAND(bpe_write(&b, fuzz_place(), &e), "what was read can be written");
        DEMAND(bpe_read(&again, fuzz_place(), &e), "what is written is read");
        DEMAND(is_equal(&b, &again), "what is read again is equal");
        bpe_close(&again);
        apply(&b, (const char *)data, size);
        bpe_close(&b);
    } else
        fuzz_refused(&e);
    fuzz_end(size);
    return 0;
}
