/* What plot draws of classifier's data and model: its texts, whole and with all of their words. */
#include "classifier/classifier.h"

#include <string.h>

bool classifier_texts(App *a, TextSet *t, Error *e)
{
    Classifier *c = (Classifier *)a;
    if (a->options->run && !app_open_run(a, a->options->run, false, e))
        return false;
    ReviewsOptions o = classifier_reviews_options(c);
    o.vocabulary = (TokensOptions){.kind = TOKEN_WORDS};
    o.length = 0;
    o.tokens = NULL;
    o.classes = NULL;
    if (!reviews_open(&c->reviews, &o, e) || !app_same_data(a, c->reviews.sha256, false, e))
        return false;
    t->kinds = tokens_count(&c->reviews.tokens);
    t->unknown = UNKNOWN;
    t->reads = c->options->tokens == TOKEN_WORDS ? a->options->context - classifier_marks(c) : 0;
    t->knows = c->options->tokens == TOKEN_WORDS ? c->options->words : 0;
    t->text = "text";
    t->measured = "words";
    for (Split part = SPLIT_TRAIN; part <= SPLIT_VALID; part++) {
        const Texts *texts = reviews_part(&c->reviews, part);
        t->list[t->count++] = (TextList){.name = split_name(part),
                                         .ids = texts->ids,
                                         .start = texts->start,
                                         .count = texts->count,
                                         .learnt = part == SPLIT_TRAIN};
    }
    return true;
}

bool classifier_name_token(const App *a, const char *table, int32_t id, Labels *names, Error *e)
{
    const Classifier *c = (const Classifier *)a;
    char number[24];
    snprintf(number, sizeof number, "[%d]", id - c->model.registers.first);
    const char *word = id < c->model.registers.first ? token_name(&c->tokens, id) : number; /* a register */
    (void)table;
    return labels_add(names, word, strlen(word), false, e);
}
