/* encdec heads: what encoder, decoder and the attention between them look at: for a source and a translation that is
 * given, or the model's own.
 *
 * The decoder reads a target that begins with </s>, and at each position writes the subword that comes next. Its own maps
 * are named by what it reads; those across the source by what it writes there, which is what an alignment is about. */
#include "core/program/heads.h"
#include "base/memory.h"
#include "core/plot/align.h"
#include "core/plot/picture.h"
#include "encdec/encdec.h"
#include "encdec/translating.h"
#include "encdec/treebank.h"

#include <stdio.h>
#include <string.h>

enum { SOURCE_TOKENS, READ_TOKENS, WRITTEN_TOKENS };

static Tensor *network(void *app, Tape *t, const Rows *rows)
{
    const EncDec *c = app;
    return model_pairs(t, &c->model, &rows[0], &rows[1]);
}

/* Ids of a line, no more than `most`, and after them </s>. */
static bool cut_line(const EncDec *c, Cutter *cutter, size_t side, Line line, Ids *ids, Error *e)
{
    const size_t most = c->model.context - 1;
    if (!cutter_ids(cutter, side, line, ids, e))
        return false;
    inspect_cut(&c->app, side == SOURCE ? "the text" : "--target-text", ids->count, most);
    ids->count = ids->count < most ? ids->count : most;
    return ids_add(ids, END, e);
}

/* The model's own translation of a line, and </s>. */
static bool translate(EncDec *c, Line source, Ids *target, Error *e)
{
    const EncdecOptions *v = c->options;
    TrainerOptions trainer;
    Weights w = {0};
    Lines lines = {0};
    Translating t = {0};
    bool fine = encdec_task(c, e) && app_trainer_options(&c->app, &trainer, false, e) &&
                app_open_weights(&c->app, trainer.k, &w, e) && lines_add(&lines, source.text, source.size, e);
    const TranslatingOptions o = {.beam = v->beam,
                                  .best = 1,
                                  .alpha = v->alpha,
                                  .full = v->beam_rule == BEAM_FULL,
                                  .well_formed = v->trees && v->well_formed,
                                  .leaves = (TreeLeaves)v->leaves,
                                  .max_extra = v->max_extra,
                                  .max_tokens = 1, /* one sentence */
                                  .longest = c->model.context - 1,
                                  .workers = 1,
                                  .team = trainer.team};
    fine = fine && translating_open(&t, &c->model, &c->subwords, &w, &o, e) && translating_run(&t, &lines, e);
    const Translation *found = fine ? translating_of(&t, 0) : NULL;
    for (size_t i = 0; fine && found && i < found->hypothesis[0].length; i++)
        fine = ids_add(target, found->hypothesis[0].tokens[i], e);
    translating_close(&t);
    lines_close(&lines);
    weights_close(&w);
    return fine && ids_add(target, END, e);
}

static bool name_words(Labels *t, const Subwords *p, size_t side, const int32_t *ids, size_t count, Error *e)
{
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++) {
        Buffer name = {0};
        subwords_name(p, side, ids[i], &name);
        fine = name.failed ? fail(e, "out of memory for tokens")
                           : labels_add(t, name.text, name.size, ids[i] == END, e);
        buffer_free(&name);
    }
    return fine;
}

/* The same where subwords are bytes: those of a character belong together. */
static bool name_bytes(Labels *t, const int32_t *ids, size_t count, Error *e)
{
    bool fine = true;
    Buffer text = {0};
    for (size_t i = 0; fine && i <= count; i++) {
        if (i < count && ids[i] >= FIRST_SUBWORD) {
            char byte = (char)(ids[i] - FIRST_SUBWORD);
            buffer_add(&text, &byte, 1);
            continue;
        }
        fine = text.failed ? fail(e, "out of memory for tokens") : labels_add_bytes(t, text.text, text.size, e);
        text.size = 0;
        if (fine && i < count)
            fine = labels_add(t, ids[i] == END ? "</s>" : "<unk>", ids[i] == END ? 4 : 5, ids[i] == END, e);
    }
    buffer_free(&text);
    return fine;
}

static bool name_tokens(const EncDec *c, Inspection *l, size_t which, const int32_t *ids, size_t count, Error *e)
{
    const Subwords *p = &c->subwords;
    const size_t side = which == SOURCE_TOKENS ? SOURCE : TARGET;
    return p->type == SUBWORDS_BYTES && !(p->apart && side == TARGET)
               ? name_bytes(&l->tokens[which], ids, count, e)
               : name_words(&l->tokens[which], p, side, ids, count, e);
}

/* What is read, target [n] with its </s>: the decoder begins with the </s> instead. */
static bool read_pair(EncDec *c, Inspection *l, const Ids *source, const Ids *target, Error *e)
{
    int32_t *reads = memory_get(2 * target->count, sizeof *reads);
    if (!reads)
        return memory_error(e, "a translation", target->count, 2 * sizeof *reads);
    int32_t *position = reads + target->count;
    pairs_positions(c->model.moves, target->id, target->count, position);
    reads[0] = c->model.begin;
    memcpy(reads + 1, target->id, (target->count - 1) * sizeof *reads);
    const InspectRow row = {.sides = 2,
                            .ids = {source->id, reads},
                            .count = {source->count, target->count},
                            .position = {NULL, position},
                            .network = network};
    bool fine = name_tokens(c, l, SOURCE_TOKENS, source->id, source->count, e) &&
                name_tokens(c, l, READ_TOKENS, reads, target->count, e) &&
                name_tokens(c, l, WRITTEN_TOKENS, target->id, target->count, e) && inspect_read(&c->app, l, &row, e);
    memory_free(reads);
    return fine;
}

/* A translation made of bytes may hold any of them. */
static bool say_pair(const EncDec *c, Inspection *l, const Ids *target, Error *e)
{
    Buffer line = {0};
    subwords_line(&c->subwords, target->id, target->count, &line);
    if (!c->options->target_text) {
        buffer_print(&l->note, "encdec: its translation: ");
        picture_text(&l->note, line.text, line.size, false);
        buffer_print(&l->note, "\n");
    }
    bool fine = (!line.failed && !l->note.failed) || fail(e, "out of memory for the translation");
    buffer_free(&line);
    return fine;
}

static void name_maps(EncDec *c, Inspection *l)
{
    static const char *const names[] = {[MAPS_CROSS] = "cross", [MAPS_ENCODER] = "encoder", [MAPS_DECODER] = "decoder"};
    for (size_t i = 0; i < l->recorder.count; i++) {
        Maps *m = &l->recorder.maps[i];
        bool encoder = !strcmp(m->name, "encoder"), decoder = !strcmp(m->name, "decoder");
        m->query = &l->tokens[encoder ? SOURCE_TOKENS : decoder ? READ_TOKENS : WRITTEN_TOKENS];
        m->key = &l->tokens[decoder ? READ_TOKENS : SOURCE_TOKENS];
    }
    l->shown = recorder_maps(&l->recorder, names[c->options->maps]);
}

/* Ids of --target-text; of a parser it may also be a tree in brackets. */
static bool cut_given(const EncDec *c, Cutter *cutter, const char *given, Ids *target, Error *e)
{
    Tree tree = {0};
    Buffer line = {0};
    Error none;
    size_t at = 0;
    if (c->options->trees && tree_read(&tree, given, strlen(given), &at, &none) && tree.count)
        tree_tokens_write(&tree, (TreeLeaves)c->options->leaves, &line);
    else
        buffer_print(&line, "%s", given);
    const bool fine = (!line.failed || memory_error(e, "a text", line.size, 1)) &&
                      cut_line(c, cutter, TARGET, (Line){line.text ? line.text : "", line.size}, target, e);
    tree_free(&tree);
    buffer_free(&line);
    return fine;
}

bool encdec_inspect(App *a, Inspection *l, Error *e)
{
    EncDec *c = (EncDec *)a;
    const char *given = c->options->target_text;
    Buffer text = {0}, words = {0};
    Ids source = {0}, target = {0};
    Cutter cutter = {0};
    bool fine = inspect_text(a, l->options, &text, e) && encdec_open_run(c, e) && cutter_open(&cutter, &c->subwords, e);
    Line line = {text.text, text.size};
    if (fine && c->options->trees) {
        treebank_sentence(line, c->options->split_words, &words);
        fine = !words.failed || memory_error(e, "a text", text.size, 1);
        line = (Line){words.text, words.size};
    }
    fine = fine && cut_line(c, &cutter, SOURCE, line, &source, e) &&
           (given ? cut_given(c, &cutter, given, &target, e) : translate(c, line, &target, e));
    fine = fine && say_pair(c, l, &target, e) && read_pair(c, l, &source, &target, e);
    if (fine)
        name_maps(c, l);
    cutter_close(&cutter);
    ids_close(&source);
    ids_close(&target);
    buffer_free(&text);
    buffer_free(&words);
    return fine;
}

bool encdec_inspect_further(App *a, Inspection *l, Error *e)
{
    const HeadsShown *shown = &l->where;
    const EncDec *c = (const EncDec *)a;
    const Maps *m = l->shown;
    float *mean = NULL;
    if (!c->options->align)
        return true;
    if (strcmp(m->name, "cross") != 0)
        return fail(e, "--align shows attention from target to source: leave out --maps %s", m->name) || app_misused(a);
    if (!align_mean(m, shown->layer, shown->head, &mean, e))
        return false;
    if (a->options->json)
        align_json(&l->json, m, mean);
    else
        align_table(&l->table, m, mean);
    HeadsPanel p = heads_part(m, shown);
    p.weights = mean;
    heads_panel(&l->data, "alignment", &p);
    l->script = "heads";
    memory_free(mean);
    return !l->data.failed || fail(e, "out of memory for an alignment");
}
