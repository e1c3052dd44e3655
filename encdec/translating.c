/* See translating.h. */
#include "encdec/translating.h"

#include "base/memory.h"
#include "base/size.h"

/* Sentences at once at most: beyond, a step is no cheaper a sentence, and its logits leave every cache. */
enum { MOST_SENTENCES = 256 };

static Tensor *memory(const void *model, Tape *t, const Rows *source) { return model_memory(t, model, source); }

static Tensor *logits(const void *model, Tape *t, const Rows *target, const AttentionContext *context)
{
    return model_logits(t, model, target, NULL, context);
}

static TranslateNetwork network_of(const Model *m)
{
    return (TranslateNetwork){m, &m->decoder, m->begin, m->moves, memory, logits, m->begin_only};
}

TranslatingOptions translating_options(const EncdecOptions *v, const Model *m, size_t best, const TrainerOptions *t)
{
    return (TranslatingOptions){.beam = v->beam,
                                .best = best,
                                .alpha = v->alpha,
                                .groups = v->beam_groups,
                                .full = v->beam_rule == BEAM_FULL,
                                .diversity = v->diversity,
                                .next = {.no_repeat = v->no_repeat},
                                .well_formed = v->trees && v->well_formed,
                                .leaves = (TreeLeaves)v->leaves,
                                .max_extra = v->max_extra,
                                .max_tokens = v->max_tokens,
                                .longest = m->context - 1,
                                .workers = t->workers,
                                .team = t->team,
                                .together = true,
                                .hold = true};
}

/* Positions that all networks have. */
static size_t context_of(const Model *m, const TranslatingOptions *o)
{
    size_t context = m->context;
    for (size_t i = 0; i < o->other_count; i++)
        context = smaller(context, o->other[i].model->context);
    return context;
}

static TranslateOptions search_options(const Model *m, const TranslatingOptions *o)
{
    const size_t context = context_of(m, o), longest = smaller(o->longest, context - 1);
    const size_t most = o->next.prefixes ? context - 1 : smaller(longest + o->max_extra, context - 1);
    const size_t least = larger(smaller(1 + o->max_extra, most) + 1, 2); /* positions of a sentence of one subword */
    TranslateOptions how = {.beam = {.beam = o->beam,
                                     .best = o->best,
                                     .alpha = o->alpha,
                                     .end = END,
                                     .groups = o->groups,
                                     .full = o->full,
                                     .diversity = o->diversity,
                                     .drawn = o->next.drawn},
                            .next = o->next,
                            .words = m->logits.out,
                            .longest = longest + 1,
                            .most = most,
                            .sentences = smaller(larger(o->max_tokens / least, 1), MOST_SENTENCES),
                            .positions = o->max_tokens,
                            .workers = o->workers,
                            .team = o->team,
                            .pool = o->pool,
                            .together = o->together,
                            .hold = o->hold};
    how.next.rule.forbid = o->well_formed ? tree_rule_forbid : NULL;
    return how;
}

bool translating_bytes(size_t *bytes, const Model *m, const Weights *w, const TranslatingOptions *o, Error *e)
{
    const TranslateNetwork network = network_of(m);
    const TranslateOptions how = search_options(m, o);
    return translator_bytes(bytes, &network, w, &how, e);
}

bool translating_open(Translating *t, const Model *m, const Subwords *p, const Weights *w, const TranslatingOptions *o,
                      Error *e)
{
    const TranslateNetwork network = network_of(m);
    TranslateOptions how = search_options(m, o);
    TranslateMember *other = memory_get(o->other_count, sizeof *other);
    *t = (Translating){.subwords = p, .options = *o, .most = how.most};
    t->options.longest = how.longest - 1;
    for (size_t i = 0; other && i < o->other_count; i++)
        other[i] = (TranslateMember){network_of(o->other[i].model), o->other[i].weights};
    how.other = other;
    how.other_count = o->other_count;
    how.next.rule.rule = &t->rule;
    bool done = (other || memory_error(e, "networks", o->other_count, sizeof *other)) &&
                (!o->well_formed || tree_rule_open(&t->rule, p, o->leaves, e)) && cutter_open(&t->cutter, p, e) &&
                translator_open(&t->translator, &network, w, &how, e);
    memory_free(other);
    if (!done)
        translating_close(t);
    return done;
}

static void forget_answers(Translating *t)
{
    if (t->translation)
        translations_close(t->translation, t->sentences);
    t->sentences = 0;
}

void translating_close(Translating *t)
{
    forget_answers(t);
    translator_close(t->translator);
    cutter_close(&t->cutter);
    ids_close(&t->ids);
    memory_free(t->number);
    memory_free(t->sentence);
    memory_free(t->translation);
    memory_free(t->start);
    memory_free(t->prefix);
    memory_free(t->words);
    tree_rule_close(&t->rule);
    buffer_free(&t->kinds);
    *t = (Translating){0};
}

static bool reserve(Translating *t, size_t lines, Error *e)
{
    const struct {
        void *list;
        size_t size;
    } lists[] = {{&t->number, sizeof *t->number},           {&t->sentence, sizeof *t->sentence},
                 {&t->translation, sizeof *t->translation}, {&t->start, sizeof *t->start},
                 {&t->prefix, sizeof *t->prefix},           {&t->words, sizeof *t->words}};
    size_t capacity = t->capacity;
    bool fine = true;
    for (size_t i = 0; fine && i < sizeof lists / sizeof *lists; i++) {
        capacity = t->capacity;
        fine = memory_grow(lists[i].list, &capacity, lines + 1, lists[i].size, "sentences to translate", e);
    }
    t->capacity = fine ? capacity : t->capacity;
    return fine;
}

/* The ids of a line, and </s>. */
static bool add_sentence(Translating *t, Line line, Error *e)
{
    Ids *ids = &t->ids;
    const size_t from = ids->count;
    if (!cutter_ids(&t->cutter, SOURCE, line, ids, e))
        return false;
    if (ids->count - from > t->options.longest) {
        ids->count = from + t->options.longest;
        t->first_cut = t->cut++ ? t->first_cut : t->seen;
    }
    if (t->options.well_formed) {
        const size_t before = t->kinds.size;
        tree_words_kinds(line, &t->kinds);
        t->words[t->sentences].count = t->kinds.size - before;
    }
    t->start[t->sentences++] = from;
    return (!t->kinds.failed || memory_error(e, "words of a sentence", line.size, 1)) && ids_add(ids, END, e);
}

/* The ids that the translation of the last sentence has to begin with; NULL: none. */
static bool add_prefix(Translating *t, const Lines *prefixes, size_t line, Error *e)
{
    const size_t from = t->ids.count;
    t->prefix[t->sentences - 1] = from;
    if (!prefixes)
        return true;
    if (!cutter_ids(&t->cutter, TARGET, lines_at(prefixes, line), &t->ids, e))
        return false;
    const size_t count = t->ids.count - from;
    if (count > t->most && t->options.prefix_file)
        return fail(e, "%s: the prefix in line %zu has %zu tokens, and the model writes at most %zu",
                    t->options.prefix_file, t->seen, count, t->most);
    return count <= t->most || fail(e, "line %zu of the translation has %zu tokens, and the model writes at most %zu",
                                    t->seen, count, t->most);
}

static bool cut_lines(Translating *t, const Lines *lines, const Lines *prefixes, bool whole, Error *e)
{
    const size_t before = t->seen;
    size_t kinds = 0;
    t->ids.count = t->kinds.size = 0;
    t->lines = lines->count;
    for (size_t i = 0; i < lines->count; i++) {
        const Line line = lines_at(lines, i);
        t->seen++;
        const bool none = line_is_empty(line) && !whole;
        t->number[i] = none ? SIZE_MAX : t->sentences;
        if (!none && (!add_sentence(t, line, e) || !add_prefix(t, prefixes, i, e)))
            return false;
    }
    t->start[t->sentences] = t->ids.count;
    for (size_t i = 0; i < lines->count; i++) {
        const size_t s = t->number[i];
        if (s == SIZE_MAX)
            continue;
        const size_t length = t->prefix[s] - t->start[s], prefix = t->start[s + 1] - t->prefix[s];
        const size_t most = smaller(length - 1 - t->subwords->registers + t->options.max_extra, t->most);
        t->words[s].kind = (const uint8_t *)(t->kinds.text ? t->kinds.text + kinds : NULL);
        kinds += t->words[s].count;
        t->sentence[s] = (Sentence){.ids = t->ids.id + t->start[s],
                                    .length = length,
                                    .most = whole ? prefix : larger(most, prefix),
                                    .prefix = t->ids.id + t->prefix[s],
                                    .prefix_length = prefix,
                                    .about = &t->words[s],
                                    .number = (uint32_t)(before + i)};
        t->read += (double)length;
    }
    return true;
}

static bool check_answers(Translating *t, Error *e)
{
    for (size_t i = 0; i < t->lines; i++) {
        const Translation *answer = translating_of(t, i);
        if (answer && !answer->count)
            return fail(e,
                        "line %zu has no translation: the network computed values that are not finite; check its "
                        "weights, or give others with --weights",
                        t->seen - t->lines + i + 1);
        t->written += answer ? (double)(answer->hypothesis[0].length + 1) : 0;
    }
    return true;
}

bool translating_prefixed(Translating *t, const Lines *lines, const Lines *prefixes, bool whole, Error *e)
{
    forget_answers(t);
    if (!reserve(t, lines->count, e) || !cut_lines(t, lines, prefixes, whole, e)) {
        t->sentences = 0; /* none has an answer */
        return false;
    }
    const size_t count = t->sentences;
    t->sentences = 0;
    if (!translator_run(t->translator, t->sentence, count, t->translation, e))
        return false;
    t->sentences = count;
    return check_answers(t, e);
}

bool translating_run(Translating *t, const Lines *lines, Error *e)
{
    return translating_prefixed(t, lines, NULL, false, e);
}

const Translation *translating_of(const Translating *t, size_t i)
{
    return t->number[i] == SIZE_MAX ? NULL : &t->translation[t->number[i]];
}

/* It stays on its line, whatever bytes a network has made up. */
void translating_text(const Translating *t, const Hypothesis *h, Buffer *text)
{
    const size_t from = text->size;
    subwords_line(t->subwords, h->tokens, h->length, text);
    for (size_t i = from; i < text->size; i++)
        if (text->text[i] == '\n' || text->text[i] == '\r')
            text->text[i] = ' ';
}
