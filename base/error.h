/* One line about what went wrong: what thing, what was found, what to do about it.
 *
 * Whatever can fail returns bool and takes an Error; only a program's main.c prints and exits. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

typedef struct Error {
    char text[512];
} Error;

/* Fills e (which may be NULL) as printf would and returns false: `return fail(e, "...", ...);` */
bool fail(Error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
