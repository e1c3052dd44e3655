/* A vocabulary's file: what is read, written and read again is equal. */
#include "core/text/vocabulary.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Vocabulary v, again;
    Error e = {{0}};
    fuzz_begin();
    if (vocabulary_read(&v, fuzz_file(data, size), &e)) {
        DEMAND(v.count >= 1 && v.size <= size, "the words come from the file");
        DEMAND(vocabulary_write(&v, fuzz_place(), &e), "what was read can be written");
        DEMAND(vocabulary_read(&again, fuzz_place(), &e), "what is written is read");
        DEMAND(v.count == again.count && v.size == again.size && !memcmp(v.letters, again.letters, v.size) &&
                   !memcmp(v.counts, again.counts, v.count * sizeof *v.counts),
               "what is read again is equal");
        vocabulary_close(&v);
        vocabulary_close(&again);
    } else
        fuzz_refused(&e);
    fuzz_end(size);
    return 0;
}
