/* See written.h. gnuplot writes <g transform="translate(X,Y) rotate(A)" ... font-size="S"
 * text-anchor="W"><text>...</text>. */
#include "tests/plot/written.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

/* Where a text is: from left to right, from its highest letters to its foot. */
typedef struct Box {
    double left, right, top, bottom;
    const char *text;
    int size; /* bytes */
} Box;

/* Characters of a text in which &lt; is one. */
static size_t letters_of(const char *text, const char *end)
{
    size_t count = 0;
    for (; text < end; count++)
        if (*text == '&' && memchr(text, ';', (size_t)(end - text)))
            text = (const char *)memchr(text, ';', (size_t)(end - text)) + 1;
        else
            for (text++; text < end && (*text & 0xc0) == 0x80;)
                text++;
    return count;
}

/* The number after a key between `from` and `end`; `otherwise` where there is none. */
static double number_behind(const char *from, const char *end, const char *key, double otherwise)
{
    const char *at = strstr(from, key);
    return at && at < end ? strtod(at + strlen(key), NULL) : otherwise;
}

/* The box of the group that begins at g. Texts are flat or go upwards. */
static Box box_of(const char *g)
{
    const char *text = strstr(g, "<text>"), *end = text ? strstr(text, "</text>") : NULL;
    ck_assert(text && end);
    text += 6;
    while (text < end && *text == ' ') /* numbers of axes are padded */
        text++;
    double x = number_behind(g, text, "translate(", 0), y = strtod(strchr(g, ',') + 1, NULL);
    double size = number_behind(g, text, "font-size=\"", 12), turned = number_behind(g, text, "rotate(", 0);
    double width = 0.45 * size * (double)letters_of(text, end), before = 0;
    const char *anchor = strstr(g, "text-anchor=\"");
    if (anchor && anchor < text)
        before = anchor[13] == 'e' ? width : anchor[13] == 'm' ? width / 2 : 0;
    if (turned != 0)
        return (Box){x - 0.6 * size, x, y + before - width, y + before, text, (int)(end - text)};
    return (Box){x - before, x - before + width, y - 0.6 * size, y, text, (int)(end - text)};
}

static bool over(const Box *a, const Box *b)
{
    const double little = 0.5;
    return a->left + little < b->right && b->left + little < a->right && a->top + little < b->bottom &&
           b->top + little < a->bottom;
}

size_t ck_written(const char *svg, const char *what)
{
    static Box box[MOST];
    size_t count = 0;
    const char *view = strstr(svg, "viewBox=\"0 0 ");
    ck_assert_ptr_nonnull(view);
    char *rest;
    const double width = strtod(view + 13, &rest), height = strtod(rest, NULL);
    for (const char *g = svg; count < MOST && (g = strstr(g, "<g transform=\"translate(")); g++) {
        const Box b = box_of(g);
        if (b.size == 0)
            continue;
        ck_assert_msg(b.left >= 0 && b.right <= width && b.top >= 0 && b.bottom <= height,
                      "%s: '%.*s' is outside: %.0f..%.0f of %.0f, %.0f..%.0f of %.0f", what, b.size, b.text, b.left,
                      b.right, width, b.top, b.bottom, height);
        for (size_t i = 0; i < count; i++)
            ck_assert_msg(!over(&box[i], &b), "%s: '%.*s' covers '%.*s'", what, b.size, b.text, box[i].size,
                          box[i].text);
        box[count++] = b;
    }
    return count;
}
