/* Fixtures that are lists: tests/fixtures/NAME.json, an array with one case on each line. */
#ifndef TESTS_CASES_H
#define TESTS_CASES_H

#include "base/buffer.h"
#include "core/run/json.h"

typedef struct Cases {
    Json *list;
} Cases;

Cases cases_open(const char *name);
void cases_close(Cases *c);

/* Value `at` of a case. */
const Json *case_value(const Json *one, size_t at);

/* Asserts that a case's value `at` is these bytes, or these int32_t; its first value, a text, is shown if not. */
void case_expect_text(const Json *one, size_t at, const Buffer *found);
void case_expect_ids(const Json *one, size_t at, const Buffer *found);

#endif
