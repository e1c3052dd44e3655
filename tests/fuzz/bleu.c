/* A line that BLEU counts: whatever its bytes, it is its own best translation, also as 13a's tokens once more. */
#include "core/text/bleu.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int turn = 0; turn < 4; turn++) {
        BleuText line = {(const char *)data, size};
        BleuCounts c;
        Error e;
        fuzz_begin();
        Bleu b = bleu_open(turn & 1 ? BLEU_13A : BLEU_AS_THEY_ARE, turn & 2);
        DEMAND(bleu_count(&b, line, &line, 1, &c, &e), "any line is counted");
        DEMAND(c.hypothesis == c.reference, "a line is as long as itself");
        for (size_t n = 0; n < BLEU_ORDERS; n++)
            DEMAND(c.correct[n] == c.total[n] && c.total[n] <= c.hypothesis, "all of a line is in itself");
        bleu_close(&b);
        fuzz_end(size);
    }
    return 0;
}
