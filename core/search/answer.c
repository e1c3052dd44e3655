/* See answer.h. */
#include "core/search/answer.h"

#include <math.h>

static const double certain[] = {0}; /* log p of </s> */
static const Hypothesis nothing = {.log_each = certain};
static const Answer empty = {.hypothesis = &nothing};

static void add_line(Buffer *b, AnswerText t)
{
    buffer_add(b, t.text, t.size);
    buffer_add(b, "\n", 1);
}

static void add_plain(Buffer *b, bool scores, const Answer *a)
{
    if (scores)
        buffer_print(b, "%.6f\t", a->hypothesis->score);
    add_line(b, a->text);
}

static void add_nbest(Buffer *b, size_t number, const Answer *a)
{
    buffer_print(b, "%zu ||| ", number);
    buffer_add(b, a->text.text, a->text.size);
    buffer_print(b, " ||| F0= %.6f ||| %.6f\n", a->hypothesis->log_p, a->hypothesis->score);
}

static void add_fairseq(Buffer *b, size_t number, const Answer *a)
{
    const double two = log(2);
    const Hypothesis *h = a->hypothesis;
    buffer_print(b, "H-%zu\t%.6f\t", number, h->score / two);
    add_line(b, a->tokens);
    buffer_print(b, "D-%zu\t%.6f\t", number, h->score / two);
    add_line(b, a->text);
    buffer_print(b, "P-%zu\t", number);
    for (size_t i = 0; i <= h->length; i++)
        buffer_print(b, "%s%.4f", i ? " " : "", h->log_each[i] / two);
    buffer_add(b, "\n", 1);
}

void answer_add(Buffer *b, AnswerFormat format, bool scores, size_t number, AnswerText source, const Answer *answers,
                size_t count)
{
    if (format == ANSWER_FAIRSEQ) {
        buffer_print(b, "S-%zu\t", number);
        add_line(b, source);
    }
    for (size_t i = 0; i < count || i == 0; i++) {
        const Answer *a = count ? &answers[i] : &empty;
        if (format == ANSWER_PLAIN)
            add_plain(b, scores, a);
        else if (format == ANSWER_NBEST)
            add_nbest(b, number, a);
        else
            add_fairseq(b, number, a);
    }
}
