/* Translations as lines of text, as other tools write them.
 *
 *     plain     TEXT                                     scores: SCORE <tab> TEXT
 *     nbest     NUMBER ||| TEXT ||| F0= LOG_P ||| SCORE  as Marian does, in nats
 *     fairseq   S-NUMBER <tab> SOURCE                    as fairseq-generate does, which divides by ln 2
 *               H-NUMBER <tab> SCORE <tab> TOKENS        the tokens as they are
 *               D-NUMBER <tab> SCORE <tab> TEXT          and put together
 *               P-NUMBER <tab> LOG_P of each token and of </s>
 *
 * The best comes first; plain and nbest write a line for each hypothesis, fairseq its lines H, D and P. NUMBER counts
 * sentences from 0. Where there is no hypothesis, an empty text of score 0 stands for it, so that lines picked out by
 * grep ^D- still match their sources.
 */
#ifndef CORE_SEARCH_ANSWER_H
#define CORE_SEARCH_ANSWER_H

#include "base/buffer.h"
#include "core/search/beam.h"

typedef enum AnswerFormat { ANSWER_PLAIN, ANSWER_FAIRSEQ, ANSWER_NBEST } AnswerFormat;

typedef struct AnswerText {
    const char *text; /* any bytes but the end of a line */
    size_t size;
} AnswerText;

typedef struct Answer {
    AnswerText tokens, text; /* with spaces between; and as they are read. Only fairseq has tokens */
    const Hypothesis *hypothesis;
} Answer;

/* The lines of one sentence. */
void answer_add(Buffer *b, AnswerFormat format, bool scores, size_t number, AnswerText source, const Answer *answers,
                size_t count);

#endif
