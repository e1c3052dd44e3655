/* The shape of a word that was never met, and its ending (as far as it is English): what a parser knows of it.
 *
 *     <low.ing>  <Cap>  <First.s>  <CAPS>  <num->  <mixed>
 *
 * low: it begins with a small letter or none; Cap: with a capital, First: and with it a sentence; CAPS: it has no small
 * letter; num: a digit is in it, mixed: letters, too. A hyphen in it shows as -, one of some endings after a point. */
#ifndef CORE_TEXT_SHAPE_H
#define CORE_TEXT_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Shape {
    char name[16];
} Shape;

/* first: it begins a sentence. */
Shape shape_of(const char *word, size_t size, bool first);

#endif
