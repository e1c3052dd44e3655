/* Moses' tokens of any line; the first byte says how. Tokens are valid UTF-8 with one space between two, and a text
 * that is put together of them has their characters. */
#include "core/text/moses.h"
#include "base/utf8.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void expect_tokens(const Buffer *b)
{
    for (size_t at = 0, length; at < b->size; at += length) {
        length = utf8_length(b->text + at, b->size - at);
        DEMAND(length, "tokens are valid UTF-8");
        DEMAND(b->text[at] != ' ' || (at && at + 1 < b->size && b->text[at + 1] != ' '), "one space parts two tokens");
    }
}

static size_t characters(const Buffer *b)
{
    size_t count = 0;
    for (size_t i = 0; i < b->size; i++)
        count += b->text[i] != ' ';
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *line = (const char *)data + !!size;
    unsigned first = size ? data[0] : 0;
    Moses how = {.language = (MosesLanguage)(first % 3), .escape = first & 4};
    Buffer tokens = {0}, text = {0};
    Error e = {{0}};
    fuzz_begin();
    DEMAND(moses_tokenise(how, line, size - !!size, &tokens, &e), "a line has tokens");
    expect_tokens(&tokens);
    bool mark = tokens.size && strstr(tokens.text, "@-@"); /* which becomes a hyphen */
    how.escape = false;
    DEMAND(moses_detokenise(how, tokens.text ? tokens.text : "", tokens.size, &text, &e), "tokens have a text");
    DEMAND(mark || characters(&text) == characters(&tokens), "a text has the characters of its tokens");
    text.size = 0;
    how.escape = true;
    DEMAND(moses_detokenise(how, line, size - !!size, &text, &e), "any line can be taken for tokens");
    buffer_free(&tokens);
    buffer_free(&text);
    fuzz_end(size);
    return 0;
}
