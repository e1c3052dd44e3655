/* GPT-2's two files, with a zero byte between: what was read parts any text, its own files too, and gives it back. */
#include "core/text/gpt2.h"
#include "base/file.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void expect_back(const Gpt2 *g, const char *text, size_t size)
{
    Buffer ids = {0}, back = {0};
    Error e;
    DEMAND(gpt2_encode(g, text, size, &ids, &e), "a text is parted");
    DEMAND(gpt2_decode(g, (const int32_t *)(const void *)ids.text, ids.size / sizeof(int32_t), &back, &e),
           "all ids are subwords");
    DEMAND(back.size == size && (!size || !memcmp(back.text, text, size)), "the text comes back");
    buffer_free(&ids);
    buffer_free(&back);
}

/* Written over the two files that it was read from. */
static void expect_again(const Gpt2 *g, const char *encoder, const char *merges)
{
    Gpt2 again;
    Error e;
    DEMAND(gpt2_write(g, encoder, merges, &e), "what was read can be written");
    DEMAND(gpt2_read(&again, encoder, merges, &e), "what is written is read");
    DEMAND(g->subwords.size == again.subwords.size &&
               !memcmp(g->subwords.letters, again.subwords.letters, g->subwords.size) &&
               g->merges.count == again.merges.count && !memcmp(g->byte, again.byte, sizeof g->byte),
           "what is read again is equal");
    for (size_t i = 0; i < g->merges.count; i++)
        DEMAND(g->merged[i] == again.merged[i], "merges that are read again are equal");
    gpt2_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t encoder = zero ? (size_t)(zero - data) : size, merges = zero ? size - encoder - 1 : 0;
    Gpt2 g;
    Error e = {{0}};
    fuzz_begin();
    DEMAND(file_write(fuzz_place(), zero ? zero + 1 : data, merges, &e), "the merges can be written to a file");
    const char *subwords = fuzz_file(data, encoder);
    if (gpt2_read(&g, subwords, fuzz_place(), &e)) {
        expect_back(&g, (const char *)data, size);
        expect_again(&g, subwords, fuzz_place());
        gpt2_close(&g);
    } else
        fuzz_refused(&e);
    fuzz_end(size);
    return 0;
}
