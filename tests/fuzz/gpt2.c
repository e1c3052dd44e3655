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
           "all ids are pieces");
    DEMAND(back.size == size && (!size || !memcmp(back.text, text, size)), "the text comes back");
    buffer_free(&ids);
    buffer_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t encoder = zero ? (size_t)(zero - data) : size, merges = zero ? size - encoder - 1 : 0;
    Gpt2 g;
    Error e = {{0}};
    fuzz_begin();
    DEMAND(file_write(fuzz_place(), zero ? zero + 1 : data, merges, &e), "the merges can be written to a file");
    if (gpt2_read(&g, fuzz_file(data, encoder), fuzz_place(), &e)) {
        expect_back(&g, (const char *)data, size);
        gpt2_close(&g);
    } else
        fuzz_refused(&e);
    fuzz_end(size);
    return 0;
}
