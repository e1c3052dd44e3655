/* See shape.h. */
#include "core/text/shape.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool ends_in(const char *word, size_t size, const char *ending)
{
    const size_t length = strlen(ending);
    return size > length + 1 && memcmp(word + size - length, ending, length) == 0;
}

static const char *ending_of(const char *word, size_t size)
{
    static const char *const endings[] = {"ing", "ion",  "ity", "ed",  "er",  "est", "ly",
                                          "al",  "able", "ous", "ive", "ist", "y",   "s"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_in(word, size, endings[i]))
            return endings[i];
    return "";
}

Shape shape_of(const char *word, size_t size, bool first)
{
    bool digit = false, hyphen = false, lower = false;
    for (size_t i = 0; i < size; i++) {
        digit = digit || isdigit((unsigned char)word[i]);
        hyphen = hyphen || word[i] == '-';
        lower = lower || islower((unsigned char)word[i]);
    }
    const char *ending = digit ? "" : ending_of(word, size);
    const char *shape = digit                                     ? (lower ? "mixed" : "num")
                        : !size || !isupper((unsigned char)*word) ? "low"
                        : !lower                                  ? "CAPS"
                        : first                                   ? "First"
                                                                  : "Cap";
    Shape s;
    snprintf(s.name, sizeof s.name, "<%s%s%s%s>", shape, hyphen ? "-" : "", *ending ? "." : "", ending);
    return s;
}
