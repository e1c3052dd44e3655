/* Harnesses that a fuzzer, or a test with stored inputs, drives: one for each reader of what others wrote. `make fuzz`
 * looks for new inputs with libFuzzer, as which each KIND.c is a program of its own; `make test` replays what is in
 * seeds/KIND and crashes/KIND with any compiler (test_replay.c, where the harnesses have the names at the end).
 *
 * What every harness demands of its reader, whatever the bytes:
 *
 *     it returns, reads nothing but its input, and says in one line why it refuses
 *     it keeps no memory, and asks for no more than a small file can be worth
 *     what was read, written and read again is equal */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Around the work on one input. */
void fuzz_begin(void);
void fuzz_end(size_t size);

/* The path of a file that holds the input, and one to write to; good until the next input. */
const char *fuzz_file(const void *data, size_t size);
const char *fuzz_place(void);

/* Ends the process, as a crash does, where a demand is not met. */
#define DEMAND(condition, words) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, words))
_Noreturn void fuzz_fail(const char *file, int line, const char *words);

/* DEMANDs that a refusal comes with one line. */
void fuzz_refused(const Error *e);

int fuzz_bleu(const uint8_t *data, size_t size);
int fuzz_bpe(const uint8_t *data, size_t size);
int fuzz_csv(const uint8_t *data, size_t size);
int fuzz_gpt2(const uint8_t *data, size_t size);
int fuzz_hf(const uint8_t *data, size_t size);
int fuzz_json(const uint8_t *data, size_t size);
int fuzz_llmc(const uint8_t *data, size_t size);
int fuzz_marian(const uint8_t *data, size_t size);
int fuzz_moses(const uint8_t *data, size_t size);
int fuzz_npz(const uint8_t *data, size_t size);
int fuzz_options(const uint8_t *data, size_t size);
int fuzz_plan(const uint8_t *data, size_t size);
int fuzz_safetensors(const uint8_t *data, size_t size);
int fuzz_sentencepiece(const uint8_t *data, size_t size);
int fuzz_source(const uint8_t *data, size_t size);
int fuzz_tree(const uint8_t *data, size_t size);
int fuzz_tree_tokens(const uint8_t *data, size_t size);
int fuzz_vocabulary(const uint8_t *data, size_t size);
int fuzz_wordpiece(const uint8_t *data, size_t size);
int fuzz_words(const uint8_t *data, size_t size);

#endif
