/* Learning subwords: see subwords.h. Words are counted by all threads, each its run of lines, and the counts are added up
 * from the first run to the last one: so words are numbered in the order in which they first come, however many threads count. */
#include "encdec/subwords.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "core/text/shape.h"
#include "encdec/subwords_inner.h"

#include <string.h>

/* What one thread counts. */
typedef struct Counter {
    Vocabulary words;
    Buffer capacity; /* for a line's words */
    bool failed;
    Error e;
} Counter;

typedef struct Counting {
    const SubwordsOptions *options;
    SubwordsText text;
    Pool *pool;
    size_t workers;
    Counter *counter; /* [workers] */
} Counting;

/* --- words --- */

static bool count_word(Vocabulary *v, Line word, Error *e)
{
    return vocabulary_add(v, word.text, word.size, 1, NULL, e);
}

static bool count_words(Vocabulary *v, Line line, Error *e)
{
    size_t at = 0;
    for (Line word; line_word(line, &at, &word);)
        if (!count_word(v, word, e))
            return false;
    return true;
}

/* Those of byte pairs, all of a line or of a part of it. */
static bool count_bpe_words(Vocabulary *v, Line line, Error *e)
{
    BpeWord word;
    for (size_t at = 0; bpe_next_word(line.text, line.size, &at, &word);)
        if (!count_word(v, (Line){word.text, word.size}, e))
            return false;
    return true;
}

/* As they are cut: between white space first. */
static bool count_parted(Vocabulary *v, Line line, Error *e)
{
    size_t at = 0;
    for (Line word; line_word(line, &at, &word);)
        if (!count_bpe_words(v, word, e))
            return false;
    return true;
}

static bool count_line(const Counting *c, Counter *to, Line line)
{
    const SubwordsOptions *o = c->options;
    Line words;
    if (o->apart && c->text.side == TARGET)
        return count_words(&to->words, line, &to->e);
    if (o->type == SUBWORDS_WORDPIECE)
        return wordpiece_count(&to->words, line.text, line.size, o->lower, &to->e);
    if (!tokens_of_line(&o->tokens, c->text.side, line, &to->capacity, &words, &to->e))
        return false;
    if (o->type == SUBWORDS_WORDS || o->type == SUBWORDS_SHAPES)
        return count_words(&to->words, words, &to->e);
    return (o->only_spaces ? count_bpe_words : count_parted)(&to->words, words, &to->e);
}

static void count_run(void *argument, size_t worker)
{
    const Counting *c = argument;
    const Lines *lines = c->text.lines;
    Counter *to = &c->counter[worker];
    size_t from = lines->count / c->workers * worker, end = from + lines->count / c->workers;
    if (worker + 1 == c->workers)
        end = lines->count;
    for (size_t i = from; !to->failed && i < end; i++)
        to->failed = !count_line(c, to, lines_at(lines, i));
}

static bool add_counts(Vocabulary *sum, const Vocabulary *more, Error *e)
{
    for (size_t i = 0; i < more->count; i++) {
        const char *word = vocabulary_word(more, (int32_t)i);
        if (!vocabulary_add(sum, word, strlen(word), more->counts[i], NULL, e))
            return false;
    }
    return true;
}

/* Counts one more text. */
static bool count_text(Counting *c, Vocabulary *sum, Error *e)
{
    if (c->pool)
        pool_run(c->pool, count_run, c);
    else
        count_run(c, 0);
    bool done = true;
    for (size_t i = 0; i < c->workers; i++) {
        Counter *counter = &c->counter[i];
        if (done && counter->failed) {
            *e = counter->e;
            done = false;
        }
        done = done && add_counts(sum, &counter->words, e);
        vocabulary_close(&counter->words);
    }
    return done;
}

static bool add_text(Vocabulary *sum, const SubwordsOptions *o, const SubwordsText *text, Pool *pool, Error *e)
{
    Counting c = {.options = o, .text = *text, .pool = pool, .workers = pool ? pool_size(pool) : 1};
    c.counter = memory_get(c.workers, sizeof *c.counter);
    if (!c.counter)
        return memory_error(e, "words of a text", c.workers, sizeof *c.counter);
    const bool done = count_text(&c, sum, e);
    for (size_t i = 0; i < c.workers; i++) {
        vocabulary_close(&c.counter[i].words);
        buffer_free(&c.counter[i].capacity);
    }
    memory_free(c.counter);
    return done;
}

static bool note_seen(SubwordsSeen *seen, const Vocabulary *words, Error *e)
{
    Vocabulary characters = {0};
    bool done = true;
    for (size_t i = 0; done && i < words->count; i++) {
        const char *word = vocabulary_word(words, (int32_t)i);
        if (!words->counts[i]) /* <unk>, unless it stands in the text */
            continue;
        seen->different_words++;
        seen->words += words->counts[i];
        for (size_t size = strlen(word), length; done && size; word += length, size -= length) {
            length = utf8_step(word, size);
            seen->characters += words->counts[i];
            done = vocabulary_add(&characters, word, length, 1, NULL, e);
        }
    }
    seen->different_characters = characters.count;
    vocabulary_close(&characters);
    return done;
}

/* --- subwords of words --- */

/* Lets a coder count the subwords of all words. */
static bool count_subwords(BpeCoder *coder, const Vocabulary *words, Error *e)
{
    for (size_t i = 0; i < words->count; i++) {
        const char *word = vocabulary_word(words, (int32_t)i);
        if (!words->counts[i])
            continue;
        if (!bpe_encode(coder, word, strlen(word), e))
            return false;
        for (size_t k = 0; k < coder->count; k++)
            coder->subwords.counts[coder->line[k]] += words->counts[i] - 1;
    }
    return true;
}

/* What a word is cut into if merges are dropped: all symbols that they know, besides those of the words. */
static bool add_symbols(Vocabulary *subwords, const Vocabulary *symbols, Error *e)
{
    static const char end[] = "</w>";
    bool done = true;
    for (size_t i = 0; done && i < symbols->count; i++) {
        const char *symbol = vocabulary_word(symbols, (int32_t)i);
        const size_t size = strlen(symbol), without = size - (size < strlen(end) ? 0 : strlen(end));
        const bool final = size >= strlen(end) && strcmp(symbol + without, end) == 0;
        Buffer spelled = {0};
        buffer_print(&spelled, "%.*s%s", (int)(final ? without : size), symbol, final ? "" : "@@");
        done = !spelled.failed || memory_error(e, "subwords", size, 1);
        if (done && spelled.size && vocabulary_search(subwords, spelled.text, spelled.size) < 0)
            done = vocabulary_add(subwords, spelled.text, spelled.size, 1, NULL, e);
        buffer_free(&spelled);
    }
    return done;
}

static bool learn_bpe(Subwords *p, const SubwordsOptions *o, const Vocabulary *words, uint64_t lines,
                      SubwordsSeen *seen, Error *e)
{
    BpeCoder coder;
    if ((!o->codes && !bpe_learn(&p->bpe, words, o->merges, BPE_LEAST, e)) ||
        !bpe_coder_open(&coder, &p->bpe, &p->kept, 0, e))
        return false;
    bool done = count_subwords(&coder, words, e) && (!o->dropout || add_symbols(&coder.subwords, &p->bpe.symbols, e)) &&
                subwords_choose(p, &coder.subwords, 0, lines, e);
    if (seen) {
        seen->met = coder.subwords; /* its list from now on */
        coder.subwords = (Vocabulary){0};
    }
    bpe_coder_close(&coder);
    return done;
}

static bool learn_wordpiece(Subwords *p, const SubwordsOptions *o, const Vocabulary *words, Error *e)
{
    size_t most = o->size > FIRST_SUBWORD ? o->size - FIRST_SUBWORD : SIZE_MAX;
    if (!wordpiece_learn(&p->wordpiece, words, most, o->lower, e))
        return strstr(e->text, "too small") &&
               fail(e, "%s (without <unk> and </s>, which train counts as well); give a larger --size", e->text);
    p->count = FIRST_SUBWORD + p->wordpiece.subwords.count;
    return true;
}

/* Counts the words that are kept, and the shapes of the others: `first` counts those that begin a line. */
static bool count_shapes(Vocabulary *all, const Vocabulary *kept, const SubwordsText *text, const Tokens *tokens,
                         Error *e)
{
    Buffer capacity = {0};
    bool done = true;
    for (size_t i = 0; done && i < text->lines->count; i++) {
        Line words, word;
        size_t at = 0;
        done = tokens_of_line(tokens, text->side, lines_at(text->lines, i), &capacity, &words, e);
        for (bool first = true; done && line_word(words, &at, &word); first = false) {
            const Shape shape = shape_of(word.text, word.size, first);
            const bool is_kept = vocabulary_find(kept, word.text, word.size) != UNKNOWN;
            done = vocabulary_add(all, is_kept ? word.text : shape.name, is_kept ? word.size : strlen(shape.name), 1,
                                  NULL, e);
        }
    }
    buffer_free(&capacity);
    return done;
}

static bool learn_shapes(Subwords *p, const SubwordsOptions *o, const Vocabulary *words, const SubwordsText *texts,
                         size_t count, uint64_t lines, Error *e)
{
    Vocabulary kept, all = {0};
    if (!vocabulary_cut(&kept, words, o->size ? o->size : SIZE_MAX, NULL, e))
        return false;
    bool done = vocabulary_open(&all, e);
    for (size_t i = 0; done && i < count; i++)
        done = (o->apart && texts[i].side == TARGET) || count_shapes(&all, &kept, &texts[i], &o->tokens, e);
    done = done && subwords_choose(p, &all, 0, lines, e);
    vocabulary_close(&kept);
    vocabulary_close(&all);
    return done;
}

static bool learn_from(Subwords *p, const SubwordsOptions *o, const Vocabulary *words, uint64_t lines,
                       SubwordsSeen *seen, Error *e)
{
    switch (o->type) {
    case SUBWORDS_WORDS: return subwords_choose(p, words, o->size, lines, e);
    case SUBWORDS_BPE: return learn_bpe(p, o, words, lines, seen, e);
    default: return learn_wordpiece(p, o, words, e);
    }
}

/* --- all of it --- */

static bool is_given(const SubwordsOptions *o)
{
    return o->type == SUBWORDS_BYTES || o->type == SUBWORDS_GPT2 || o->type == SUBWORDS_SENTENCEPIECE ||
           (o->type != SUBWORDS_BPE && o->vocabulary);
}

/* The tokens of a target that is apart. */
static bool learn_target(Subwords *p, const SubwordsOptions *o, const SubwordsText *texts, size_t count, Pool *pool,
                         Error *e)
{
    Vocabulary tokens;
    uint64_t lines = 0;
    if (!o->apart || o->type == SUBWORDS_SENTENCEPIECE)
        return true;
    if (!vocabulary_open(&tokens, e))
        return false;
    bool done = true;
    for (size_t i = 0; done && i < count; i++) {
        if (texts[i].side != TARGET)
            continue;
        lines += texts[i].lines->count;
        done = add_text(&tokens, o, &texts[i], pool, e);
    }
    done = done && subwords_choose_target(p, &tokens, lines, e);
    vocabulary_close(&tokens);
    return done;
}

static bool learn(Subwords *p, const SubwordsOptions *o, const SubwordsText *texts, size_t count, Pool *pool,
                  SubwordsSeen *seen, Error *e)
{
    Vocabulary words;
    uint64_t lines = 0;
    if (!subwords_read_given(p, o, e))
        return false;
    if (!learn_target(p, o, texts, count, pool, e))
        return false;
    if (is_given(o))
        return true;
    if (!vocabulary_open(&words, e))
        return false;
    for (size_t i = 0; i < count; i++)
        lines += texts[i].lines->count;
    bool done = true;
    for (size_t i = 0; done && i < count; i++)
        done = (o->apart && texts[i].side == TARGET) || add_text(&words, o, &texts[i], pool, e);
    done = done && (!seen || note_seen(seen, &words, e)) &&
           (o->type == SUBWORDS_SHAPES ? learn_shapes(p, o, &words, texts, count, lines, e)
                                       : learn_from(p, o, &words, lines, seen, e));
    if (seen)
        seen->lines = (size_t)lines;
    vocabulary_close(&words);
    return done;
}

bool subwords_learn(Subwords *p, const SubwordsOptions *o, const SubwordsText *texts, size_t count, Pool *pool,
                    SubwordsSeen *seen, Error *e)
{
    *p = (Subwords){.type = o->type,
                    .tokens = o->tokens,
                    .apart = o->apart,
                    .count = FIRST_SUBWORD + 256,
                    .registers = o->registers};
    if (seen)
        *seen = (SubwordsSeen){0};
    bool done = learn(p, o, texts, count, pool, seen, e) && subwords_find_words(p, o, e);
    if (!done)
        subwords_close(p);
    if (!done && seen)
        subwords_seen_close(seen);
    return done;
}

void subwords_seen_close(SubwordsSeen *seen)
{
    vocabulary_close(&seen->met);
    *seen = (SubwordsSeen){0};
}
