/* What the tests of byte pairs share: files, those of subword-nmt (tests/fixtures/bpe.py) and others. */
#ifndef TESTS_TEXT_BPE_FILES_H
#define TESTS_TEXT_BPE_FILES_H

#include "core/text/bpe.h"
#include "tests/suite.h"

#define FIXTURE(name) "tests/fixtures/bpe/" name

/* A whole file, to be freed with memory_free. */
char *contents(const char *path, size_t *size);

void expect_file(const char *path, const char *text, size_t size);
void expect_same_file(const char *path, const char *as);

/* A path in one folder for the whole test; good until the next but one. */
const char *place(const char *name);

/* Such a file, with a text. */
const char *file_of(const char *text);

/* A list of merges from a file; and from "LEFT RIGHT\n..." */
Bpe codes(const char *path);
Bpe merges(const char *lines);

BpeCoder coder(const Bpe *b);

/* The subwords of a line, spaces between them; good until the next call. */
const char *subwords(BpeCoder *c, const char *line, size_t size);

#endif
