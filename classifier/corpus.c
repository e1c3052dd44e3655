/* See corpus.h: classes, labels, and the words of texts. */
#include "classifier/corpus.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "core/cli/words.h"

#include <stdlib.h>
#include <string.h>

enum { CLASSES = 1000, CLASS_LONGEST = 200 }; /* what is more is no classes, but texts */

void corpus_close(Corpus *c)
{
    for (size_t i = 0; c->classes && i < c->class_count; i++)
        memory_free(c->classes[i]);
    memory_free(c->classes);
    vocabulary_close(&c->words);
    memory_free(c->labels);
    memory_free(c->start);
    memory_free(c->ids);
    *c = (Corpus){0};
}

/* --- classes --- */

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool copy_classes(Corpus *c, size_t count, Error *e)
{
    c->classes = memory_get(count + 1, sizeof *c->classes); /* where nothing has a label, too */
    c->class_count = count;
    return c->classes || memory_error(e, "classes", count, sizeof *c->classes);
}

static bool copy_class(Corpus *c, size_t i, const char *name, Error *e)
{
    c->classes[i] = memory_string(name);
    return c->classes[i] || memory_error(e, "classes", strlen(name) + 1, 1);
}

/* Words for where a text stands: its file, and in a table its line. */
static void place(const Labelled *text, Buffer *b)
{
    buffer_print(b, "%.200s", text->name);
    if (text->line)
        buffer_print(b, ", line %zu", text->line);
}

static bool refuse(const Labelled *text, Error *e, const char *why, const char *more)
{
    Buffer b = {0};
    place(text, &b);
    fail(e, "%s: the label '%s' %s%.150s", b.text ? b.text : text->name, quoted(text->label, text->label_size).text,
         why, more);
    buffer_free(&b);
    return false;
}

const char *class_fault(const char *name, size_t size)
{
    if (size == 0)
        return "is empty";
    if (size > CLASS_LONGEST)
        return "is too long for a name: at most 200 bytes";
    return utf8_control(name, size) < size ? "holds a control character, such as a tab or a line end" : NULL;
}

static bool has_label(const Labelled *text, Error *e)
{
    const char *fault = class_fault(text->label, text->label_size);
    return !fault || refuse(text, e, fault, "");
}

/* All labels of training texts, each once. */
static bool find_classes(Vocabulary *found, const Labelled *texts, size_t count, Error *e)
{
    for (size_t i = 0; i < count; i++) {
        if (texts[i].test || !texts[i].label)
            continue;
        if (!has_label(&texts[i], e) || !vocabulary_add(found, texts[i].label, texts[i].label_size, 1, NULL, e))
            return false;
        if (found->count > CLASSES)
            return refuse(&texts[i], e, "is one of more than 1000 different labels; is this the right column?", "");
    }
    return true;
}

static bool classes_of_texts(Corpus *c, const char *source, const Labelled *texts, size_t count, bool unlabelled,
                             Error *e)
{
    Vocabulary found = {0};
    bool done = find_classes(&found, texts, count, e);
    size_t classes = found.count;
    if (done && classes == 0 && !unlabelled)
        done = fail(e, "%s has test texts, but no training texts", source);
    else if (done && classes == 1 && !unlabelled)
        done = fail(e, "%s: all training texts are of one class, '%s'; a classifier needs at least two", source,
                    vocabulary_word(&found, 0));
    done = done && copy_classes(c, classes, e);
    for (size_t i = 0; done && i < classes; i++)
        done = copy_class(c, i, vocabulary_word(&found, (int32_t)i), e);
    vocabulary_close(&found);
    if (done && classes)
        qsort(c->classes, classes, sizeof *c->classes, by_bytes);
    return done;
}

static bool given_classes(Corpus *c, const CorpusOptions *o, Error *e)
{
    bool done = copy_classes(c, o->class_count, e);
    for (size_t i = 0; done && i < o->class_count; i++)
        done = copy_class(c, i, o->classes[i], e);
    return done;
}

static bool unknown_class(const Corpus *c, const Labelled *text, Error *e)
{
    Buffer names = {0};
    for (size_t i = 0; i < c->class_count; i++)
        buffer_print(&names, "%s%s", i ? ", " : "", c->classes[i]);
    refuse(text, e, "is not a known class; the known ones are: ", names.text ? names.text : "");
    buffer_free(&names);
    return false;
}

static bool find_label(const Corpus *c, const Labelled *text, int32_t *label, Error *e)
{
    *label = -1;
    if (!text->label)
        return true;
    if (!has_label(text, e))
        return false;
    for (size_t i = 0; i < c->class_count; i++)
        if (strlen(c->classes[i]) == text->label_size && !memcmp(c->classes[i], text->label, text->label_size)) {
            *label = (int32_t)i;
            return true;
        }
    return unknown_class(c, text, e);
}

/* --- words --- */

static bool add_id(Corpus *c, size_t at, int32_t id, Error *e)
{
    if (!memory_grow(&c->ids, &c->capacity, at + 1, sizeof *c->ids, "texts", e))
        return false;
    c->ids[at] = id;
    return true;
}

static bool add_text(Corpus *c, const Labelled *text, WordRule rule, Error *e)
{
    size_t at = c->start[c->count];
    if (!find_label(c, text, &c->labels[c->count], e))
        return false;
    for (TextWords w = text_words_of(rule, text->text, text->size); text_words_next(&w); at++) {
        int32_t id;
        if (!vocabulary_add(&c->words, w.word, w.length, 1, &id, e) || !add_id(c, at, id, e))
            return false;
    }
    c->start[++c->count] = at;
    return true;
}

/* Which come first. */
typedef enum Group { TRAINING, TEST, UNLABELLED, GROUPS } Group;

static Group group_of(const Labelled *text) { return !text->label ? UNLABELLED : text->test ? TEST : TRAINING; }

/* A group after the other; each text adds a line to `sums`, of which the checksum is made. */
static bool add_texts(Corpus *c, const Labelled *texts, size_t count, WordRule rule, Buffer *sums, Error *e)
{
    for (Group group = TRAINING; group < GROUPS; group++)
        for (size_t i = 0; i < count; i++) {
            const Labelled *text = &texts[i];
            if (group_of(text) != group)
                continue;
            if (!add_text(c, text, rule, e))
                return false;
            buffer_print(sums, "%d %.*s %s\n", (int)group, (int)text->label_size, text->label ? text->label : "",
                         sha256(text->text, text->size).text);
            c->training += group == TRAINING;
            c->unlabelled += group == UNLABELLED;
        }
    return !sums->failed || memory_error(e, "checksums of texts", count, sizeof(Sha256));
}

static bool make(Corpus *c, const char *source, const Labelled *texts, size_t count, const CorpusOptions *o, Error *e)
{
    Buffer sums = {0};
    c->labels = memory_get(count, sizeof *c->labels);
    c->start = memory_get(count + 1, sizeof *c->start);
    if (!c->labels || !c->start)
        return memory_error(e, "texts", count, sizeof *c->start);
    if (!vocabulary_open(&c->words, e) ||
        !(o->classes ? given_classes(c, o, e) : classes_of_texts(c, source, texts, count, o->unlabelled, e)))
        return false;
    bool done = add_texts(c, texts, count, o->rule, &sums, e);
    if (done && !o->classes && !c->start[c->training] && c->start[c->count] == c->start[c->count - c->unlabelled])
        done = fail(e, "%s: no training text has a word in it", source);
    if (done)
        memcpy(c->sha256, sha256(sums.text, sums.size).text, sizeof c->sha256);
    buffer_free(&sums);
    return done;
}

bool corpus_make(Corpus *c, const char *source, const Labelled *texts, size_t count, const CorpusOptions *o, Error *e)
{
    *c = (Corpus){0};
    bool done = make(c, source, texts, count, o, e);
    if (!done)
        corpus_close(c);
    return done;
}
