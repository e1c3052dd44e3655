/* The model that most tests of charlm train. */
#ifndef TESTS_CHARLM_TINY_H
#define TESTS_CHARLM_TINY_H

#include "tests/command.h"

/* A model of 16 and steps of 64 bytes on the built-in text: some hundred steps a second. */
#define TINY                                                                                                           \
    "--dim 16 --heads 2 --depth 1 --context 16 --batch 4 --micro-batch 1 --workers 2 --init gpt2 --lr 1e-2 "           \
    "--schedule constant --warmup 2 --minutes 0 --eval-bytes 300 --dropout 0 --patience 0 --preset study"

#endif
