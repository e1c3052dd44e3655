/* See treebank.h. */
#include "encdec/treebank.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/text/archive.h"
#include "core/text/treebank_words.h"

#include <stdlib.h>
#include <string.h>

typedef struct TreeFile {
    char *name;
    Tree **tree;
    size_t count, capacity;
} TreeFile;

typedef struct Reading {
    const TreeCleaning *how;
    const char *path;
    TreeFile *file;
    size_t count, capacity;
} Reading;

static void free_tree(Tree *t)
{
    if (t)
        tree_free(t);
    memory_free(t);
}

static void reading_free(Reading *r)
{
    for (TreeFile *f = r->file; f < r->file + r->count; f++) {
        for (size_t i = 0; i < f->count; i++)
            free_tree(f->tree[i]);
        memory_free(f->tree);
        memory_free(f->name);
    }
    memory_free(r->file);
}

/* ---- files */

/* A source that is one file is read whatever its name. */
static bool wanted(void *context, const char *name)
{
    const Reading *r = context;
    const size_t length = strlen(name) - text_packed_ending(name);
    return (length > 4 && strncmp(name + length - 4, ".mrg", 4) == 0) || strcmp(path_name(r->path), name) == 0;
}

static bool keep_tree(TreeFile *f, Reading *r, const Tree *t, Error *e)
{
    Tree *clean = memory_get(1, sizeof *clean);
    if (!clean)
        return memory_error(e, "a tree", 1, sizeof *clean);
    bool fine = tree_clean(clean, t, r->how, e);
    if (fine && clean->count && (fine = memory_grow(&f->tree, &f->capacity, f->count + 1, sizeof *f->tree, "trees", e)))
        f->tree[f->count++] = clean;
    else
        free_tree(clean);
    return fine;
}

static bool take(void *context, const char *name, const char *bytes, size_t size, Error *e)
{
    Reading *r = context;
    Tree t = {0};
    Error why;
    if (!memory_grow(&r->file, &r->capacity, r->count + 1, sizeof *r->file, "files of trees", e))
        return false;
    TreeFile *f = &r->file[r->count++];
    *f = (TreeFile){.name = memory_string(name)};
    bool fine = (f->name || memory_error(e, "a name", strlen(name), 1)) && text_in_utf8(name, bytes, size, e);
    for (size_t at = 0; fine;) {
        if (!tree_read(&t, bytes, size, &at, &why))
            fine = fail(e, "%s: %s", name, why.text);
        else if (!t.count)
            break;
        else
            fine = keep_tree(f, r, &t, e);
    }
    tree_free(&t);
    return fine;
}

/* ---- parts */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const TreeFile *)a)->name, ((const TreeFile *)b)->name);
}

/* wsj_2301.mrg: 23; -1: a name of another kind */
static int section_of(const char *name)
{
    const char *base = path_name(name);
    if (strncmp(base, "wsj_", 4) != 0 || strspn(base + 4, "0123456789") != 4)
        return -1;
    return 10 * (base[4] - '0') + base[5] - '0';
}

static bool has_section(const Reading *r, int section)
{
    for (size_t i = 0; i < r->count; i++)
        if (section_of(r->file[i].name) == section)
            return true;
    return false;
}

static Split split_of_section(int section)
{
    return section == 23                   ? SPLIT_TEST
           : section == 22                 ? SPLIT_VALID
           : section >= 2 && section <= 21 ? SPLIT_TRAIN
                                           : SPLITS;
}

static Split split_of_tenth(size_t i, size_t count)
{
    const size_t tenth = i * 10 / count;
    return tenth < 8 ? SPLIT_TRAIN : tenth == 8 ? SPLIT_VALID : SPLIT_TEST;
}

/* SPLITS: of none */
static Split split_of(const Reading *r, bool sections, size_t file, size_t tree)
{
    if (sections)
        return split_of_section(section_of(r->file[file].name));
    return r->count > 1 ? split_of_tenth(file, r->count) : split_of_tenth(tree, r->file->count);
}

/* Trees move from the files into the treebank. */
static bool divide(Treebank *b, Reading *r, Error *e)
{
    const bool sections = has_section(r, 23);
    size_t start[SPLITS];
    for (Split split = 0; split <= SPLITS; split++) {
        if (split < SPLITS)
            start[split] = b->count;
        for (size_t i = 0; i < r->count; i++)
            for (size_t k = 0; k < r->file[i].count; k++) {
                if (!r->file[i].tree[k] || split_of(r, sections, i, k) != split)
                    continue;
                if (!memory_grow(&b->tree, &b->capacity, b->count + 1, sizeof *b->tree, "trees", e))
                    return false;
                b->tree[b->count++] = r->file[i].tree[k];
                r->file[i].tree[k] = NULL;
            }
        if (split < SPLITS)
            b->part[split].count = b->count - start[split];
    }
    for (Split split = 0; split < SPLITS; split++)
        b->part[split].tree = b->tree + start[split];
    return true;
}

bool treebank_open(Treebank *b, const char *path, const TreeCleaning *how, Error *e)
{
    Reading r = {.how = how, .path = path};
    *b = (Treebank){0};
    bool fine = entries_read(path, &(Entries){.wanted = wanted, .take = take, .context = &r}, e) &&
                (r.count || fail(e, "%s has no file of trees: none is called .mrg", path));
    if (fine)
        qsort(r.file, r.count, sizeof *r.file, by_name);
    fine = fine && divide(b, &r, e);
    reading_free(&r);
    return fine && (b->part[SPLIT_TRAIN].count || fail(e, "%s has no tree to learn from", path));
}

void treebank_close(Treebank *b)
{
    for (size_t i = 0; i < b->count; i++)
        free_tree(b->tree[i]);
    memory_free(b->tree);
    *b = (Treebank){0};
}

void treebank_sentence(Line line, bool split, Buffer *out)
{
    buffer_add(out, "", 0);
    if (split) {
        treebank_words(line.text, line.size, out);
        return;
    }
    for (size_t k = 0; k < line.size; k++) {
        const char c = line.text[k];
        const char *name = c == '(' ? " -LRB- " : c == ')' ? " -RRB- " : NULL;
        buffer_add(out, name ? name : &c, name ? strlen(name) : 1);
    }
}

bool treebank_sentences(Lines *lines, bool split, Error *e)
{
    Lines named = {0};
    Buffer b = {0};
    bool fine = true;
    for (size_t i = 0; fine && i < lines->count; i++) {
        const Line line = lines_at(lines, i);
        b.size = 0;
        treebank_sentence(line, split, &b);
        fine = (!b.failed || memory_error(e, "a line", line.size, 1)) && lines_add(&named, b.text, b.size, e);
    }
    buffer_free(&b);
    lines_close(lines);
    *lines = named;
    return fine;
}
