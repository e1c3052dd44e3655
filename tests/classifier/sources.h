/* For the tests of what the classifier reads: small folders, tables and archives of labelled texts. */
#ifndef TESTS_CLASSIFIER_SOURCES_H
#define TESTS_CLASSIFIER_SOURCES_H

#include "classifier/data.h"
#include "tests/suite.h"

/* Goes to a fresh folder, in which caches are, too. */
void sources_open(void);

/* Writes a file and makes the folders that it is in; the second with bytes as printf gives them. */
void source_write(const char *path, const char *bytes, size_t size);
void source_print(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line of shell; false: it failed. */
bool source_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Opens, asserting that it works; and asserts that it is refused, with these words in one line. */
Reviews source_open(const ReviewsOptions *o);
void source_refused(const ReviewsOptions *o, const char *words);

/* A text of a part as its words, with a blank after each. */
const char *text_of(const Reviews *r, Split part, size_t i);

#endif
