/* What tokenisers ask about a character: what kind it is, its lower case, and what it is without accents. Answers are
 * those of the Unicode version that unicode_tables.h names; base/utf8.h reads and writes the characters. */
#ifndef CORE_TEXT_UNICODE_H
#define CORE_TEXT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unicode's general categories, as far as they are told apart here. */
typedef enum UnicodeKind {
    UNICODE_UNASSIGNED, /* Cn */
    UNICODE_CAPITAL,    /* Lu */
    UNICODE_SMALL,      /* Ll */
    UNICODE_LETTER,     /* other letters: Lt, Lm, Lo */
    UNICODE_ACCENT,     /* marks without a width: Mn */
    UNICODE_MARK,       /* other marks: Mc, Me */
    UNICODE_DIGIT,      /* Nd */
    UNICODE_NUMERAL,    /* numbers that are letters, as Roman ones: Nl */
    UNICODE_NUMBER,     /* other numbers, as fractions: No */
    UNICODE_PUNCTUATION,
    UNICODE_CURRENCY, /* Sc */
    UNICODE_SYMBOL,   /* Sm, Sk, So */
    UNICODE_SPACE,    /* Zs, Zl, Zp; tabs and ends of lines are control characters */
    UNICODE_CONTROL,  /* Cc */
    UNICODE_FORMAT,   /* Cf */
    UNICODE_PRIVATE   /* Co, and half of a surrogate pair, Cs */
} UnicodeKind;

UnicodeKind unicode_kind(uint32_t code);

static inline bool unicode_is_letter(UnicodeKind kind) { return kind >= UNICODE_CAPITAL && kind <= UNICODE_LETTER; }
static inline bool unicode_is_number(UnicodeKind kind) { return kind >= UNICODE_DIGIT && kind <= UNICODE_NUMBER; }

/* White space as Unicode has it (White_Space; \s of most engines): tab to carriage return, U+0085 and all of
 * UNICODE_SPACE. Python's str.isspace and \s count the separators U+001C to U+001F, too. */
bool unicode_is_space(uint32_t code);
bool unicode_is_python_space(uint32_t code);

/* An ideograph as BERT defines it, which puts a space around each: the unified ones and those for compatibility, up to
 * extension E. Kana and Hangul are none. */
bool unicode_is_ideograph(uint32_t code);

/* One character in lower case. U+0130, a capital i with a dot, is the only one whose lower case is two: i and the
 * accent U+0307; its answer is i. A sigma at the end of a word is as any other. */
uint32_t unicode_lower(uint32_t code);

/* A character without its accents, as bare[0 .. n-1]: what is left of its canonical decomposition (NFD) without marks
 * of UNICODE_ACCENT. Returns n: 0 for an accent itself, 1 for most, 3 at most (Hangul falls into its letters). Marks
 * that stay are left in their order. */
enum { UNICODE_BARE = 3 };
size_t unicode_bare(uint32_t *bare, uint32_t code);

#endif
