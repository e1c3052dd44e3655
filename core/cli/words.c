/* Words for messages. The edit distance is the one with swaps of neighbours ("optimal string alignment"):
 *
 *     d[i][j] = min(d[i-1][j] + 1, d[i][j-1] + 1, d[i-1][j-1] + (a_i != b_j), d[i-2][j-2] + 1 if swapped) */
#include "words.h"

#include "base/size.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

Quoted quoted(const char *text, size_t length)
{
    Quoted q = {""};
    size_t capacity = sizeof q.text - 1, n = 0;
    while (n < length && n < capacity && text[n]) {
        q.text[n] = text[n];
        n++;
    }
    if (n == capacity && n < length && text[n]) {
        n -= 3;
        while (n && ((unsigned char)q.text[n] & 0xc0) == 0x80) /* not inside a UTF-8 character */
            n--;
        memcpy(q.text + n, "...", 4);
    }
    utf8_hide_controls(q.text, strlen(q.text));
    return q;
}

enum { LONGEST = 40 }; /* names are shorter; what is longer is near to none */

/* How many letters must be added, dropped, changed or swapped with their neighbour to make b of a. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST || n > LONGEST)
        return SIZE_MAX;
    size_t d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= m; i++)
        for (size_t j = 0; j <= n; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = smaller(smaller(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = smaller(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[m][n];
}

void nearest_try(Nearest *nearest, const char *name)
{
    size_t length = strlen(nearest->word);
    size_t far = length < 4 ? 1 : length < 8 ? 2 : 3;
    size_t distance = edit_distance(nearest->word, name);
    if (length > 1 && strncmp(name, nearest->word, length) == 0)
        distance = smaller(distance, 1); /* the beginning of a name */
    if (distance > far || (nearest->name && distance >= nearest->distance))
        return;
    nearest->name = name;
    nearest->distance = distance;
}
