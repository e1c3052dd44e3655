/* The encoders of transformers that tests/fixtures/encoders.py has written. */
#ifndef TESTS_CLASSIFIER_ENCODERS_H
#define TESTS_CLASSIFIER_ENCODERS_H

#define ENCODERS "tests/fixtures/encoders/"

/* The folder of one; valid until the next call. */
const char *folder_of(const char *name);

/* A run that was imported from it. */
const char *imported(const char *name);

#endif
