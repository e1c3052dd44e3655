/* encdec subwords: a text in subwords, a space between two. Byte pairs are written as subword-nmt's apply-bpe writes them,
 * to the byte, ends of lines and spaces around a line as they stand; --join makes words of them again. Other kinds of
 * subwords are written by their names.
 *
 * The text is read in blocks, and the lines of each are cut by all threads, a run of them each; so it takes as much
 * memory for a text of any length, as long as its lines are not. What is written does not depend on how many threads
 * there are. */
#include "encdec/encdec.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 1 << 20 }; /* bytes for each thread, about */

typedef struct Applier {
    Cutter cutter;
    Ids ids;
    Buffer words, out;
    const char *text; /* [size] whole lines */
    size_t size;
    bool failed;
    Error e;
} Applier;

typedef struct Apply {
    EncDec *c;
    SubwordsOptions options;
    Subwords subwords;
    Pool *pool;
    size_t workers;
    Applier *worker; /* [workers] */
    char *block;     /* [size] of `room`: what was read and is not cut yet */
    size_t size, capacity;
} Apply;

/* --- a line --- */

static bool add_names(const Apply *a, Applier *w, Line line)
{
    w->ids.count = 0;
    if (!cutter_ids(&w->cutter, SOURCE, line, &w->ids, &w->e))
        return false;
    for (size_t i = 0; i < w->ids.count; i++) {
        buffer_add(&w->out, " ", i > 0);
        subwords_name(&a->subwords, SOURCE, w->ids.id[i], &w->out);
    }
    return true;
}

static bool add_line(const Apply *a, Applier *w, Line line)
{
    Line words;
    if (a->c->options->join) {
        bpe_join(line.text, line.size, &w->out);
        return true;
    }
    if (a->options.type != SUBWORDS_BPE)
        return add_names(a, w, line);
    return tokens_of_line(&a->options.tokens, SOURCE, line, &w->words, &words, &w->e) &&
           bpe_apply(&w->cutter.coder, words.text, words.size, &w->out, &w->e);
}

static bool add_lines(const Apply *a, Applier *w)
{
    for (const char *at = w->text, *end = at + w->size; at < end;) {
        const char *close = memchr(at, '\n', (size_t)(end - at));
        if (!add_line(a, w, (Line){at, (size_t)((close ? close : end) - at)}))
            return false;
        if (close)
            buffer_add(&w->out, "\n", 1);
        at = close ? close + 1 : end;
    }
    return !w->out.failed || memory_error(&w->e, "a text of subwords", w->out.size, 1);
}

static void work(void *argument, size_t worker)
{
    const Apply *a = argument;
    Applier *w = &a->worker[worker];
    w->out.size = 0;
    w->failed = !add_lines(a, w);
}

/* --- a block --- */

/* Whole lines for each worker, about as many bytes. */
static void share_out(Apply *a, size_t size)
{
    size_t from = 0;
    for (size_t i = 0; i < a->workers; i++) {
        size_t to = size / a->workers * (i + 1);
        to = i + 1 == a->workers ? size : to < from ? from : to;
        while (to > from && to < size && a->block[to - 1] != '\n')
            to++;
        a->worker[i].text = a->block + from;
        a->worker[i].size = to - from;
        from = to;
    }
}

static bool cut_block(Apply *a, size_t size, Error *e)
{
    share_out(a, size);
    if (a->pool)
        pool_run(a->pool, work, a);
    else
        work(a, 0);
    for (size_t i = 0; i < a->workers; i++) {
        if (a->worker[i].failed) {
            *e = a->worker[i].e;
            return false;
        }
        if (a->worker[i].out.size && fwrite(a->worker[i].out.text, 1, a->worker[i].out.size, stdout) == 0)
            return fail(e, "standard output could not be written");
    }
    memmove(a->block, a->block + size, a->size - size);
    a->size -= size;
    return true;
}

/* Bytes of the block that are whole lines; at the end of the text all are. */
static size_t whole_lines(const Apply *a, size_t fresh, bool is_end)
{
    size_t size = a->size;
    while (!is_end && size > fresh && a->block[size - 1] != '\n')
        size--;
    return size > fresh || is_end ? size : 0;
}

static bool apply_file(void *self, FILE *file, Error *e)
{
    Apply *a = self;
    const size_t at_once = a->workers * BLOCK;
    for (bool is_end = false; !is_end;) {
        const size_t before = a->size;
        if (!memory_grow(&a->block, &a->capacity, a->size + at_once, 1, "lines of a text", e))
            return false;
        a->size += fread(a->block + a->size, 1, at_once, file);
        if (ferror(file))
            return true;
        is_end = feof(file);
        const size_t whole = whole_lines(a, before, is_end);
        if (whole && !cut_block(a, whole, e))
            return false;
    }
    return (fflush(stdout) == 0 && !ferror(stdout)) || fail(e, "standard output could not be written");
}

/* --- all of it --- */

static bool choose_options(Apply *a, Error *e)
{
    EncdecOptions *v = a->c->options;
    if (!options_given(a->c->app.command_line, "tokens"))
        v->tokens = TOKENS_SPACES;
    if (v->shared.json)
        return fail(e, "subwords writes lines of subwords, one for each line: leave out --json");
    if (v->join && v->type != SUBWORDS_BPE)
        return fail(e, "--join joins the subwords of --type bpe only");
    if (v->join)
        return true;
    if (v->type == SUBWORDS_SHAPES)
        return fail(e,
                    "--type shapes learns from training data which words are frequent, and has no files to split by");
    if (!encdec_subwords_options(&a->options, a->c, e))
        return false;
    if (a->options.type == SUBWORDS_BPE && !a->options.codes)
        return fail(e, "--codes FILE is missing: the merges to split with");
    return a->options.type == SUBWORDS_BPE || a->options.type == SUBWORDS_BYTES || a->options.vocabulary ||
           fail(e, "--vocabulary FILE is missing: the subwords to split into");
}

static bool open_workers(Apply *a, Error *e)
{
    a->workers = a->c->options->threads ? a->c->options->threads : processors_allowed();
    a->worker = memory_get(a->workers, sizeof *a->worker);
    if (!a->worker)
        return memory_error(e, "threads", a->workers, sizeof *a->worker);
    if (a->workers > 1 && !pool_open(&a->pool, a->workers, false, e))
        return false;
    for (size_t i = 0; !a->c->options->join && i < a->workers; i++)
        if (!cutter_open(&a->worker[i].cutter, &a->subwords, e))
            return false;
    return true;
}

static bool apply(Apply *a, Error *e)
{
    if (!choose_options(a, e))
        return app_misused(&a->c->app);
    return (a->c->options->join || subwords_given(&a->subwords, &a->options, e)) && open_workers(a, e) &&
           app_input(a->c->options->input, apply_file, a, e);
}

bool encdec_apply(App *app, Error *e)
{
    EncDec *c = (EncDec *)app;
    Apply a = {.c = c};
    bool done = apply(&a, e);
    pool_close(a.pool);
    for (size_t i = 0; a.worker && i < a.workers; i++) {
        Applier *w = &a.worker[i];
        cutter_close(&w->cutter);
        ids_close(&w->ids);
        buffer_free(&w->words);
        buffer_free(&w->out);
    }
    memory_free(a.worker);
    memory_free(a.block);
    subwords_close(&a.subwords);
    return done;
}
