/* See tree_rule.h. */
#include "encdec/tree_rule.h"

#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { OTHER, OPENS, SHUTS, WORD };   /* a token */
enum { EITHER, MARK_ALONE, NO_MARK }; /* a word of the sentence */

/* ---- tokens */

static bool is_mark(const char *const *marks, const char *text, size_t size)
{
    for (; *marks; marks++)
        if (strlen(*marks) == size && !memcmp(*marks, text, size))
            return true;
    return false;
}

static const char *const mark_tags[] = {",", ":", ".", "``", "''", NULL};
static const char *const mark_words[] = {",", ".", "?", "!", ":", ";", "--", "...", "``", "''", NULL};

bool tree_rule_open(TreeRule *r, const Subwords *p, TreeLeaves leaves, Error *e)
{
    const Vocabulary *v = &p->target;
    *r = (TreeRule){.leaves = leaves,
                    .count = v->count,
                    .kind = memory_get(v->count, sizeof *r->kind),
                    .shuts = memory_get(v->count, sizeof *r->shuts),
                    .marks = memory_get(v->count, sizeof *r->marks)};
    if (!r->kind || !r->shuts || !r->marks)
        return memory_error(e, "tokens of trees", v->count, 8);
    for (size_t i = 0; i < v->count; i++) {
        const char *token = vocabulary_word(v, (int32_t)i);
        r->shuts[i] = -1;
        if (i < FIRST_SUBWORD)
            continue;
        r->kind[i] = tree_token_is_word(token, leaves) ? WORD : *token == '(' ? OPENS : SHUTS;
        r->marks[i] = is_mark(mark_tags, token + (leaves == LEAVES_WORDS), strlen(token) - (leaves == LEAVES_WORDS));
    }
    for (size_t i = 0; i < v->count; i++)
        for (size_t k = 0; r->kind[i] == SHUTS && k < v->count; k++)
            if (r->kind[k] == OPENS && !strcmp(vocabulary_word(v, (int32_t)i) + 1, vocabulary_word(v, (int32_t)k) + 1))
                r->shuts[i] = (int32_t)k;
    return true;
}

void tree_rule_close(TreeRule *r)
{
    memory_free(r->kind);
    memory_free(r->shuts);
    memory_free(r->marks);
    *r = (TreeRule){0};
}

/* ---- words */

void tree_words_kinds(Line sentence, Buffer *kinds)
{
    size_t at = 0;
    for (Line word; line_word(sentence, &at, &word);) {
        bool letter = false;
        for (size_t i = 0; i < word.size; i++)
            letter = letter || isalnum((unsigned char)word.text[i]) || (unsigned char)word.text[i] > 127;
        const char kind = is_mark(mark_words, word.text, word.size) ? MARK_ALONE : letter ? NO_MARK : EITHER;
        buffer_add(kinds, &kind, 1);
    }
}

/* ---- the rule */

typedef struct State {
    int32_t last; /* the bracket that was opened last and is not shut; -1: none */
    size_t open;  /* brackets that are */
    size_t words; /* so far */
    bool empty;   /* no word after that bracket */
    bool is_word; /* the last token is a word */
} State;

/* Reads backwards: brackets that were shut again are passed over. */
static State state_of(const TreeRule *r, const NextRow *row)
{
    State s = {.last = -1};
    size_t shut = 0;
    for (size_t i = 0; i < row->count; i++) {
        const int kind = r->kind[row->tokens[i]];
        s.open += kind == OPENS;
        s.open -= kind == SHUTS && s.open;
        s.words += kind == WORD;
    }
    for (size_t i = row->count; s.last < 0 && i--;) {
        const int kind = r->kind[row->tokens[i]];
        shut += kind == SHUTS;
        if (kind == OPENS && shut)
            shut--;
        else if (kind == OPENS)
            s.last = row->tokens[i];
    }
    s.is_word = row->count && r->kind[row->tokens[row->count - 1]] == WORD;
    s.empty = row->count && r->kind[row->tokens[row->count - 1]] == OPENS;
    return s;
}

/* Whether a tag of marks, or one of words, suits the next word. */
static bool suits(const TreeRule *r, const TreeWords *w, const State *s, int32_t tag)
{
    const uint8_t kind = s->words < w->count ? w->kind[s->words] : EITHER;
    return kind == EITHER || r->marks[tag] == (kind == MARK_ALONE);
}

/* Whether a bracket that has been opened may be the tag of the next word: where leaves are words, and not the first one. */
static bool is_tag(const TreeRule *r, const State *s, const TreeWords *w)
{
    return r->leaves == LEAVES_WORDS && s->empty && s->open > 1 && suits(r, w, s, s->last);
}

/* Tokens that are needed until all is shut: each word comes with its own brackets where it has these. */
static size_t needed(const TreeRule *r, const State *s, const TreeWords *w)
{
    return (w->count - s->words) * (r->leaves == LEAVES_WORDS ? 3 : 1) + s->open - (is_tag(r, s, w) ? 2 : 0);
}

/* What tags a mark has the mark in it, and nothing else. */
static bool may_open(const TreeRule *r, const State *s, const TreeWords *w, const NextRow *row, int32_t token)
{
    State then = {token, s->open + 1, s->words, true, false};
    if (s->words == w->count || (!s->open && row->count))
        return false;
    if (r->leaves == LEAVES_WORDS && ((s->empty && r->marks[s->last]) || (r->marks[token] && !is_tag(r, &then, w))))
        return false;
    return needed(r, &then, w) + row->count < row->most;
}

static bool may_be_word(const TreeRule *r, const State *s, const TreeWords *w, int32_t token)
{
    if (s->words == w->count || !s->open)
        return false;
    return r->leaves == LEAVES_TAGS ? suits(r, w, s, token) : is_tag(r, s, w);
}

static bool may_shut(const TreeRule *r, const State *s, const TreeWords *w, int32_t token)
{
    return s->open && r->shuts[token] == s->last && !s->empty && (s->open > 1 || s->words == w->count);
}

static bool allowed(const TreeRule *r, const State *s, const TreeWords *w, const NextRow *row, int32_t token)
{
    if (token == END)
        return row->count && !s->open;
    switch (r->kind[token]) {
    case OPENS: return !(s->is_word && r->leaves == LEAVES_WORDS) && may_open(r, s, w, row, token);
    case SHUTS: return may_shut(r, s, w, token);
    case WORD: return !(s->is_word && r->leaves == LEAVES_WORDS) && may_be_word(r, s, w, token);
    default: return false;
    }
}

void tree_rule_forbid(const void *rule, const NextRow *row, double *log_p)
{
    const TreeRule *r = rule;
    const TreeWords *w = row->about;
    const State s = state_of(r, row);
    bool some = false;
    if (s.words > w->count || needed(r, &s, w) + (row->count ? 0 : 2) > row->most - row->count)
        return;
    for (size_t i = 0; !some && i < r->count; i++)
        some = allowed(r, &s, w, row, (int32_t)i);
    for (size_t i = 0; some && i < r->count; i++)
        if (!allowed(r, &s, w, row, (int32_t)i))
            log_p[i] = (double)-INFINITY;
}
