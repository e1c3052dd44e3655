/* See same.h. */
#include "tests/ranks/same.h"

#define SHORT "--minutes 0 --steps 9 --eval-every 4 --save-every 5 -q "
#define SMALL SHORT "--dim 16 --heads 2 --depth 1 --dropout 0.1 "

const SameCase same_cases[SAME_CASES] = {
    /* rows that are no multiple of the micro-batch, dropout everywhere, an average, clipping */
    {"charlm",
     SMALL "--context 16 --batch 11 --micro-batch 2 --eval-bytes 300 --attention-dropout 0.1 --ema 0.9 --lr 1e-2 "
           "--clip 0.5"},
    /* a tied table; matrices that are updated as a whole; memory of the window; more shares than the rest */
    {"charlm",
     SMALL "--context 16 --batch 16 --micro-batch 1 --shares 16 --eval-bytes 300 --tie --optimizer muon --memory 8 "
           "--lr 1e-2"},
    /* fewer micro-batches than workers, and bf16 */
    {"charlm",
     SMALL "--context 16 --batch 3 --micro-batch 1 --eval-bytes 300 --precision bf16 --optimizer lion --recompute"},
    /* used rows of a table; last batches of an epoch that have fewer rows */
    {"classifier", "--preset minute " SMALL "--ff 32 --context 64 --batch 18 --micro-batch 2 --no-cache --epochs 0"},
    {"classifier",
     "--preset minute " SMALL "--ff 32 --context 64 --batch-tokens 900 --micro-batch 3 --no-cache --epochs 0 "
     "--word-dropout 0.1 --by-length"},
    /* two sides, cut by positions; one table for three */
    {"encdec", "--preset minute " SMALL "--ff 32 --batch-tokens 512 --micro-tokens 128 --bleu-sentences 5"},
    {"encdec",
     "--preset minute " SMALL "--ff 32 --batch-tokens 700 --micro-tokens 300 --shares 3 --no-tie --optimizer sgd "
     "--lr 0.1"}};
