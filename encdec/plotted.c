/* What plot draws of encdec's data and model: pairs of sentences, of any length, in subwords. */
#include "encdec/encdec.h"

#include <string.h>

static void add_pairs(TextSet *t, const Bitext *b, Split part)
{
    static const char *const names[][SIDES_USED] = {{"train, source", "train, target"},
                                                    {"valid, source", "valid, target"}};
    const SentencePairs *p = &b->parts[part];
    for (size_t side = 0; side < SIDES_USED; side++)
        t->list[t->count++] = (TextList){.name = names[part][side],
                                         .ids = p->ids[side],
                                         .start = p->start[side],
                                         .count = p->count,
                                         .vocabulary = b->subwords->apart ? side : 0,
                                         .learnt = part == SPLIT_TRAIN};
}

bool encdec_texts(App *a, TextSet *t, Error *e)
{
    EncDec *c = (EncDec *)a;
    if (a->options->run && !encdec_open_run(c, e))
        return false;
    const bool words = c->options->type == SUBWORDS_WORDS;
    t->reads = a->options->context;
    t->knows = !words ? 0 : a->run ? c->subwords.count : c->options->size;
    c->options->longest = a->options->context = SIZE_MAX / 2;
    c->options->size = a->run || !words ? c->options->size : 0; /* all words there are */
    if (!app_open_data(&c->app, false, e))
        return false;
    const size_t kinds[] = {subwords_count(c->bitext.subwords, SOURCE), subwords_count(c->bitext.subwords, TARGET)};
    t->kinds = kinds[SOURCE] > kinds[TARGET] ? kinds[SOURCE] : kinds[TARGET];
    t->knows = c->bitext.subwords->apart ? 0 : t->knows; /* there is no one size */
    t->unknown = UNKNOWN;
    t->text = "sentence";
    t->measured = words ? "words" : "subwords";
    add_pairs(t, &c->bitext, SPLIT_TRAIN);
    add_pairs(t, &c->bitext, SPLIT_VALID);
    return true;
}

bool encdec_name_token(const App *a, const char *table, int32_t id, Labels *names, Error *e)
{
    const EncDec *c = (const EncDec *)a;
    Buffer name = {0};
    const size_t side = strncmp(table, "source", 6) == 0 ? SOURCE : TARGET;
    const char byte = (char)(id - FIRST_SUBWORD);
    if (c->subwords.type == SUBWORDS_BYTES && !(c->subwords.apart && side == TARGET) && id >= FIRST_SUBWORD)
        return labels_add(names, &byte, 1, false, e);
    subwords_name(&c->subwords, side, id, &name);
    bool fine = name.failed ? fail(e, "out of memory for tokens") : labels_add(names, name.text, name.size, false, e);
    buffer_free(&name);
    return fine;
}
