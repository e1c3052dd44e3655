/* See builtin.h. A review says one thing that decides, among things that do not matter:
 *
 *     "I saw it on a rainy Sunday. I expected a dull film, but it was a moving film. The seats were red."
 *
 * Sentences that decide come in pairs with the same words and the same pairs of neighbouring words, one for each class:
 * counting words or pairs does not tell the classes apart, but reading does. Four reviews of ten also contain a plain
 * statement ("The music was moving."), so counting is right in about seven of ten. */
#include "classifier/builtin.h"

#include "base/philox.h"
#include "core/tensor/sites.h"

#include <stddef.h>

enum { SEED = 1, SITE_BUILTIN = SITE_DATA + 0x200, PLAIN_OF_10 = 4 };

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *const praise[] = {"good",   "great", "moving",    "clever", "lovely", "funny",
                                     "superb", "warm",  "brilliant", "tender", "fresh",  "gripping"};
static const char *const blame[] = {"bad",  "dull",    "clumsy",    "stupid", "weak",  "tedious",
                                    "poor", "shallow", "pointless", "silly",  "stale", "boring"};
static const char *const aspects[] = {"acting", "story", "music", "ending", "dialogue", "camera", "beginning", "cast"};
static const char *const people[] = {"I", "we", "my friends", "the critics", "my parents", "most people"};
static const char *const works[] = {"film", "picture", "comedy", "thriller", "drama", "sequel"};
static const char *const asides[] = {"I saw it on a rainy Sunday.",
                                     "The seats were red.",
                                     "It runs for about two hours.",
                                     "The director is from Canada.",
                                     "We had popcorn.",
                                     "It was shot in the desert, they say.",
                                     "My brother had chosen it.",
                                     "I had read the book before.",
                                     "There is a dog in it.",
                                     "The cinema was half full.",
                                     "It takes place in a small town.",
                                     "A train leaves, and a letter arrives.",
                                     "Somebody behind us was on the phone.",
                                     "It is the third one of the series.",
                                     "I have seen all of his work.",
                                     "It came out last year."};

/* The numbers that a review is made of, one after the other. */
typedef struct Dice {
    uint32_t review;
    uint64_t thrown;
} Dice;

static size_t throw(Dice * d, size_t sides)
{
    return (size_t)philox_below(sides, SEED, d->review, d->thrown++, SITE_BUILTIN);
}

static const char *word(Dice *d, bool good)
{
    return good ? praise[throw(d, COUNT(praise))] : blame[throw(d, COUNT(blame))];
}

static void aside(Buffer *b, Dice *d) { buffer_print(b, "%s ", asides[throw(d, COUNT(asides))]); }

/* The sentence that decides. */
static void verdict(Buffer *b, Dice *d, bool good)
{
    const char *who = people[throw(d, COUNT(people))], *work = works[throw(d, COUNT(works))];
    const char *aspect = aspects[throw(d, COUNT(aspects))];
    const char *true_word = word(d, good), *false_word = word(d, !good);
    bool denied = throw(d, 2);
    switch (throw(d, 4)) {
    case 0:
        buffer_print(b, "Before, %s expected a %s %s, but it was a %s %s. ", who, false_word, work, true_word, work);
        break;
    case 1:
        buffer_print(b, "Now it was a %s %s, but %s expected a %s %s. ", true_word, work, who, false_word, work);
        break;
    case 2:
        buffer_print(b, "%s could ever say that the %s was %s. ", denied ? "Nobody" : "Anybody", aspect,
                     denied ? false_word : true_word);
        break;
    default:
        buffer_print(b, "The %s was %s in any way %s. ", aspect, denied ? "not" : "indeed",
                     denied ? false_word : true_word);
    }
}

static void plainly(Buffer *b, Dice *d, bool good)
{
    const char *aspect = aspects[throw(d, COUNT(aspects))];
    buffer_print(b, "The %s was %s. ", aspect, word(d, good));
}

void builtin_review(Buffer *b, size_t i)
{
    Dice d = {.review = (uint32_t)i};
    bool good = i % 2, speaks_plainly = throw(&d, 10) < PLAIN_OF_10;
    for (size_t n = throw(&d, 3); n > 0; n--)
        aside(b, &d);
    verdict(b, &d, good);
    if (speaks_plainly)
        plainly(b, &d, good);
    for (size_t n = throw(&d, 3); n > 0; n--)
        aside(b, &d);
}
