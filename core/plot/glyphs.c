/* See glyphs.h. */
#include "core/plot/glyphs.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

enum { CODES = 0x110000, LATIN = 0x250 }; /* each font that is used for text has what is below the latter */

bool glyphs_read(Glyphs *g, const char *ranges, Error *e)
{
    g->has = memory_get(CODES / 8, 1);
    if (!g->has)
        return memory_error(e, "the characters of fonts", CODES / 8, 1);
    for (const char *at = ranges; *at;) {
        char *end;
        unsigned long from = strtoul(at, &end, 16), to = from;
        if (end == at) { /* not a number */
            at++;
            continue;
        }
        if (*end == '-')
            to = strtoul(end + 1, &end, 16);
        for (unsigned long code = from; code <= to && code < CODES; code++)
            g->has[code / 8] |= (unsigned char)(1U << code % 8);
        at = end;
    }
    return true;
}

void glyphs_close(Glyphs *g)
{
    memory_free(g->has);
    *g = (Glyphs){0};
}

bool glyphs_replace(const Glyphs *g, Buffer *out, const char *text, size_t size)
{
    bool any = false;
    for (size_t at = 0; at < size;) {
        uint32_t code = 0;
        size_t length = utf8_decode(&code, text + at, size - at);
        bool there = !length || code < LATIN || (g->has[code / 8] >> code % 8 & 1);
        if (there)
            buffer_add(out, text + at, length ? length : 1);
        else
            buffer_print(out, "U+%04X", (unsigned)code);
        any = any || !there;
        at += length ? length : 1;
    }
    return any;
}

static bool all_latin(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        uint32_t code = 0;
        size_t length = utf8_decode(&code, text + at, size - at);
        if (code >= LATIN)
            return false;
        at += length ? length : 1;
    }
    return true;
}

/* What fontconfig says; empty where it is not there. */
static void ask(Buffer *ranges)
{
    char bytes[4096];
    FILE *list = popen("fc-list -f '%{charset}\\n' 2>/dev/null", "r");
    for (size_t got; list && (got = fread(bytes, 1, sizeof bytes, list)) > 0;)
        buffer_add(ranges, bytes, got);
    if (list)
        pclose(list);
}

bool glyphs_suit(Buffer *out, const char *text, size_t size, bool *replaced, Error *e)
{
    Buffer ranges = {0};
    Glyphs g = {0};
    bool fine = true;
    *replaced = false;
    if (all_latin(text, size))
        return true;
    ask(&ranges);
    if (ranges.size) {
        fine = glyphs_read(&g, ranges.failed ? "" : ranges.text, e);
        *replaced = fine && glyphs_replace(&g, out, text, size);
    }
    fine = fine && (!(ranges.failed || out->failed) || fail(e, "out of memory for the data of a picture"));
    if (!*replaced)
        buffer_free(out);
    glyphs_close(&g);
    buffer_free(&ranges);
    return fine;
}
