/* See tuning.h. Compiled once, for any processor. */
#define _DEFAULT_SOURCE /* sysconf of caches */
#include "kernels/cpu/tuning.h"

#include "kernels/cpu/level.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT                                                                                                        \
    {                                                                                                                  \
        .onednn = {{false, true, true}, {false, true, true}}, .chunk = 512, .panels = 384 << 10, .alone = 256000       \
    }
const Tuning tuning_default = DEFAULT;
Tuning tuning_now = DEFAULT;

static const TuningStore *where;
static bool ready;

void tuning_store(const TuningStore *store) { where = store, ready = false; }
bool tuning_is_ready(void) { return ready; }

/* --- as text --- */

static const char *const products[2][PRODUCTS] = {{"f32-short", "f32-long", "f32-held"},
                                                  {"bf16-short", "bf16-long", "bf16-held"}};

void tuning_text(const Tuning *t, Buffer *out)
{
    for (size_t type = 0; type < 2; type++)
        for (size_t p = 0; p < PRODUCTS; p++)
            buffer_print(out, "%s=%s ", products[type][p], t->onednn[type][p] ? "onednn" : "own");
    buffer_print(out, "bf16-by=%s chunk=%zu panels=%zu alone=%zu", t->widening ? "widening" : "dots", t->chunk,
                 t->panels >> 10, t->alone / 1000);
}

/* One of two values */
static bool take_either(bool *which, const char *value, const char *no, const char *yes)
{
    *which = strcmp(value, yes) == 0;
    return *which || strcmp(value, no) == 0;
}

static bool take_number(size_t *n, const char *value, size_t unit, size_t least, size_t most)
{
    char *end;
    const unsigned long number = *value >= '0' && *value <= '9' ? strtoul(value, &end, 10) : 0;
    *n = (size_t)number * unit;
    return number >= least && number <= most && !*end;
}

static bool take(Tuning *t, const char *key, const char *value)
{
    for (size_t type = 0; type < 2; type++)
        for (size_t p = 0; p < PRODUCTS; p++)
            if (!strcmp(key, products[type][p]))
                return take_either(&t->onednn[type][p], value, "own", "onednn");
    if (!strcmp(key, "bf16-by"))
        return take_either(&t->widening, value, "dots", "widening");
    if (!strcmp(key, "chunk")) /* whole pairs */
        return take_number(&t->chunk, value, 1, 64, 1 << 16) && t->chunk % 2 == 0;
    return (!strcmp(key, "panels") && take_number(&t->panels, value, 1024, 1, 1 << 20)) ||
           (!strcmp(key, "alone") && take_number(&t->alone, value, 1000, 0, 1 << 30));
}

enum { WORD = 64 };

/* The next word of a text; false: there is none. One that is too long comes cut, and is no word that is known. */
static bool next_word(const char **text, char word[WORD])
{
    *text += strspn(*text, " ,");
    const size_t size = strcspn(*text, " ,");
    snprintf(word, WORD, "%.*s", size < WORD ? (int)size : WORD - 1, *text);
    *text += size;
    return size > 0;
}

bool tuning_parse(Tuning *t, const char *text, Error *e)
{
    Tuning changed = *t;
    char word[WORD], key[WORD];
    while (next_word(&text, word)) {
        const size_t size = strcspn(word, "=");
        snprintf(key, sizeof key, "%.*s", (int)size, word);
        if (!strcmp(word, "default"))
            changed = tuning_default;
        else if (!word[size] || !take(&changed, key, word + size + 1))
            return fail(e, "'%s' is no choice of how products are computed; choices are %s", word,
                        "f32-short=own, f32-long=onednn, bf16-by=dots, chunk=512, panels=384 and so on "
                        "(kernels/cpu/tuning.h)");
    }
    *t = changed;
    return true;
}

size_t tuning_named(const char *text)
{
    char word[WORD], keys[TUNING_KINDS][WORD];
    size_t count = 0;
    while (next_word(&text, word)) {
        size_t i = 0;
        if (!strcmp(word, "default"))
            return TUNING_KINDS;
        word[strcspn(word, "=")] = 0;
        while (i < count && strcmp(keys[i], word) != 0)
            i++;
        if (i == count && count < TUNING_KINDS)
            strcpy(keys[count++], word);
    }
    return count;
}

/* --- what this machine has --- */

static size_t cache_size(int name, size_t unknown)
{
    const long size = sysconf(name);
    return size > 0 ? (size_t)size : unknown;
}

static size_t between(size_t low, size_t x, size_t high) { return x < low ? low : x > high ? high : x; }

/* A row panel (of 12 rows, with 32 registers) fills three quarters of the first-level cache, packed panels half of the
 * second. */
static void fit_caches(Tuning *t)
{
#if defined _SC_LEVEL1_DCACHE_SIZE && defined _SC_LEVEL2_CACHE_SIZE
    t->chunk = between(256, cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10) / 64 / 2 * 2, 2048);
    t->panels = between(128 << 10, cache_size(_SC_LEVEL2_CACHE_SIZE, 1 << 20) / 2 >> 10 << 10, 4 << 20);
#else
    (void)t;
#endif
}

static void measure(Tuning *t)
{
    const CpuLevel *level = cpu_level(NULL), *wide = level ? cpu_widening(level) : NULL;
    *t = tuning_default;
    fit_caches(t);
    tuning_now = *t;
    if (wide)
        t->widening = tuning_now.widening = level->seconds_of_bf16() > wide->seconds_of_bf16();
    if (level)
        (t->widening ? wide : level)->probe(t);
}

/* What a store's text depends on, as far as it is known here */
static void add_key(Buffer *key)
{
    Tuning caches = tuning_default;
    const CpuLevel *level = cpu_level(NULL);
    const char *most = getenv("ONEDNN_MAX_CPU_ISA"); /* what oneDNN may use */
    fit_caches(&caches);
    buffer_print(key, "level %s, chunk %zu, panels %zu%s%s", level ? level->name : "none", caches.chunk, caches.panels,
                 most ? ", oneDNN " : "", most ? most : "");
}

/* From the store, or measured and put there. A text that is damaged counts as none. */
static void find(Tuning *t)
{
    Buffer key = {0}, text = {0};
    Tuning stored = tuning_default;
    add_key(&key);
    const bool usable = where && !key.failed;
    if (usable && where->get(key.text, &text) && !text.failed && text.text && tuning_named(text.text) == TUNING_KINDS &&
        tuning_parse(&stored, text.text, NULL)) {
        *t = stored;
    } else {
        buffer_free(&text);
        measure(t);
        tuning_text(t, &text);
        if (usable && !text.failed)
            where->put(key.text, text.text);
    }
    buffer_free(&key);
    buffer_free(&text);
}

bool tuning_ready(Error *e)
{
    const char *pinned = getenv("ATTEND_TUNING");
    Tuning t = tuning_default;
    Error why;
    if (ready)
        return true;
    if (pinned && !tuning_parse(&t, pinned, &why))
        return fail(e, "ATTEND_TUNING: %s", why.text);
    if (!pinned || tuning_named(pinned) < TUNING_KINDS) {
        find(&t);
        if (pinned)
            (void)tuning_parse(&t, pinned, NULL); /* it has been read before */
    }
    tuning_now = t;
    return ready = true;
}

bool tuning_adopt(const char *text, Error *e)
{
    Tuning t = tuning_default;
    if (!tuning_parse(&t, text, e))
        return false;
    tuning_now = t;
    return ready = true;
}
