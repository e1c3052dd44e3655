/* What a run shows of its model while it learns: sentences that it does not learn from, how they were translated, and
 * how it translates them. */
#include "encdec/encdec.h"
#include "encdec/translating.h"

enum { SHOWN = 6, LONGEST_SHOWN = 60 };

/* Pairs spread over the validation part, their sources as lines. */
static bool choose_pairs(const EncDec *c, Lines *sources, size_t line[SHOWN], Error *e)
{
    const SentencePairs *p = &c->bitext.parts[PART_VALID];
    const Lines *text = &c->bitext.sentences.side[PART_VALID][SOURCE];
    const size_t count = p->count < SHOWN ? p->count : SHOWN;
    for (size_t i = 0; i < count; i++) {
        line[i] = p->line[i * p->count / count];
        const Line source = lines_at(text, line[i]);
        if (!lines_add(sources, source.text, source.size, e))
            return false;
    }
    return true;
}

static void add_line(Buffer *b, const char *name, Line line)
{
    buffer_print(b, "%-13s", name);
    buffer_add(b, line.text, line.size);
    buffer_add(b, "\n", 1);
}

static void add_pair(Buffer *b, const EncDec *c, size_t line, const Translation *found)
{
    const Lines *side = c->bitext.sentences.side[PART_VALID];
    Buffer said = {0};
    if (found)
        pieces_line(c->bitext.pieces, found->hypothesis[0].pieces, found->hypothesis[0].length, &said);
    add_line(b, "source", lines_at(&side[SOURCE], line));
    add_line(b, "reference", lines_at(&side[TARGET], line));
    add_line(b, "translation", (Line){said.text, said.size});
    buffer_add(b, "\n", 1);
    b->failed = b->failed || said.failed;
    buffer_free(&said);
}

bool encdec_show_sample(App *a, Crew *crew, uint64_t step, Error *e)
{
    EncDec *c = (EncDec *)a;
    size_t line[SHOWN];
    Lines sources = {0};
    Translating t = {0};
    Buffer text = {0};
    const TranslatingOptions o = {.beam = 4,
                                  .best = 1,
                                  .alpha = 0.6,
                                  .max_extra = 20,
                                  .max_tokens = 1, /* a sentence at a time: it takes least memory */
                                  .longest = LONGEST_SHOWN,
                                  .workers = 1,
                                  .team = 1};
    bool fine = choose_pairs(c, &sources, line, e) &&
                translating_open(&t, &c->model, c->bitext.pieces, &crew->weights, &o, e) &&
                translating_run(&t, &sources, e);
    for (size_t i = 0; fine && i < sources.count; i++)
        add_pair(&text, c, line[i], translating_of(&t, i));
    fine = fine && (!text.failed || fail(e, "out of memory for a sample")) &&
           run_sample_write(a->run, step, text.text, text.size, e);
    translating_close(&t);
    lines_close(&sources);
    buffer_free(&text);
    return fine;
}
