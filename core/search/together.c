/* See together.h. A translation is one block: its hypotheses, then numbers of 8 bytes, then of 4; so it is sent as it is,
 * and only its pointers are set anew. */
#include "core/search/together.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/ranks.h"

#include <string.h>

/* What stands before a translation that is sent. */
typedef struct Head {
    size_t number, count, bytes;
} Head;

static size_t tokens_of(const Hypothesis *h, size_t count)
{
    size_t tokens = 0;
    for (size_t i = 0; i < count; i++)
        tokens += h[i].length;
    return tokens;
}

static size_t bytes_of(const Translation *t)
{
    const size_t tokens = tokens_of(t->hypothesis, t->count);
    return t->count * sizeof *t->hypothesis + (tokens + t->count) * sizeof(double) + tokens * sizeof(int32_t);
}

/* Hypotheses point into their own block. */
static void point(Translation *t)
{
    const double *log_each = (const double *)(const void *)(t->hypothesis + t->count);
    const int32_t *token = (const int32_t *)(const void *)(log_each + tokens_of(t->hypothesis, t->count) + t->count);
    for (size_t i = 0; i < t->count; i++) {
        t->hypothesis[i].log_each = log_each;
        t->hypothesis[i].tokens = token;
        log_each += t->hypothesis[i].length + 1;
        token += t->hypothesis[i].length;
    }
}

static bool unpack(Translation *translations, const char *from, size_t size, Error *e)
{
    Head head;
    for (size_t at = 0; at < size; at += sizeof head + head.bytes) {
        memcpy(&head, from + at, sizeof head);
        Translation *t = &translations[head.number];
        t->hypothesis = memory_get(head.bytes, 1);
        if (!t->hypothesis)
            return memory_error(e, "a translation", head.bytes, 1);
        memcpy(t->hypothesis, from + at + sizeof head, head.bytes);
        t->count = head.count;
        point(t);
    }
    return true;
}

bool answers_share(Translation *translations, size_t count, Error *e)
{
    const size_t ranks = ranks_count();
    Buffer own = {0};
    for (size_t i = 0; i < count; i++) {
        const Translation *t = &translations[i];
        const Head head = {i, t->count, t->hypothesis ? bytes_of(t) : 0};
        if (!t->hypothesis)
            continue;
        buffer_add(&own, (const char *)&head, sizeof head);
        buffer_add(&own, (const char *)t->hypothesis, head.bytes);
    }
    size_t *at = memory_get(ranks + 1, sizeof *at);
    bool fine = (!own.failed && at) || memory_error(e, "translations", own.size, 1);
    char *all = fine ? ranks_collect(own.text, own.size, at) : NULL;
    for (size_t i = 0; fine && i < ranks; i++)
        fine = i == ranks_own() || unpack(translations, all + at[i], at[i + 1] - at[i], e);
    memory_free(all);
    memory_free(at);
    buffer_free(&own);
    return fine;
}
