/* See tree_tokens.h. */
#include "core/text/tree_tokens.h"

#include "base/memory.h"

#include <ctype.h>
#include <string.h>

/* ---- writing */

typedef struct Open {
    size_t *node; /* the constituents that are open */
    size_t count, capacity;
} Open;

static void add_token(Buffer *line, const char *bracket, const char *label)
{
    buffer_print(line, "%s%s%s", line->size ? " " : "", bracket, label);
}

static void shut_before(const Tree *t, Open *o, size_t node, Buffer *line)
{
    for (; o->count && t->node[o->node[o->count - 1]].end <= node; o->count--)
        add_token(line, ")", tree_label(t, o->node[o->count - 1]));
}

static void write_leaf(const Tree *t, size_t node, TreeLeaves leaves, Buffer *line)
{
    const char *tag = tree_label(t, node);
    if (leaves == LEAVES_TAGS) {
        add_token(line, "", *tag ? tag : "()");
        return;
    }
    add_token(line, "(", tag);
    add_token(line, "", tree_word(t, node));
    add_token(line, ")", tag);
}

void tree_tokens_write(const Tree *t, TreeLeaves leaves, Buffer *line)
{
    Open o = {0};
    Buffer own = {0};
    Error ignored;
    for (size_t i = 0; i < t->count; i++) {
        shut_before(t, &o, i, &own);
        if (tree_is_leaf(t, i)) {
            write_leaf(t, i, leaves, &own);
            continue;
        }
        add_token(&own, "(", tree_label(t, i));
        if (memory_grow(&o.node, &o.capacity, o.count + 1, sizeof *o.node, "a tree", &ignored))
            o.node[o.count++] = i;
        else
            own.failed = true;
    }
    shut_before(t, &o, t->count, &own);
    if (own.size)
        buffer_add(line, own.text, own.size);
    line->failed = line->failed || own.failed;
    buffer_free(&own);
    memory_free(o.node);
}

void tree_words_write(const Tree *t, Buffer *line)
{
    for (size_t i = 0, words = 0; i < t->count; i++)
        if (tree_is_leaf(t, i))
            buffer_print(line, "%s%s", words++ ? " " : "", tree_word(t, i));
}

/* ---- reading */

typedef struct Token {
    const char *text;
    size_t size;
} Token;

typedef struct Text {
    const char *text;
    size_t size, at;
} Text;

static bool is_space(char c) { return !c || isspace((unsigned char)c); }

static bool next_token(Text *t, Token *token)
{
    while (t->at < t->size && is_space(t->text[t->at]))
        t->at++;
    token->text = t->text + t->at;
    while (t->at < t->size && !is_space(t->text[t->at]))
        t->at++;
    token->size = (size_t)(t->text + t->at - token->text);
    return token->size > 0;
}

typedef struct Making {
    Tree *t;
    Text line, sentence;
    TreeLeaves leaves;
    TreeRepairs r;
    bool ended; /* the first constituent was shut */
    Buffer word;
} Making;

static bool is_bracket(const Token *k, char bracket) { return k->size && *k->text == bracket; }
static bool is_empty_tag(const Token *k) { return k->size == 2 && !memcmp(k->text, "()", 2); }

/* Makes a label or a word out of any bytes, one that brackets can hold. */
static Token plain(Making *m, Token k)
{
    if (!memchr(k.text, '(', k.size) && !memchr(k.text, ')', k.size))
        return k;
    m->word.size = 0;
    for (size_t i = 0; i < k.size; i++)
        if (k.text[i] == '(' || k.text[i] == ')')
            buffer_add(&m->word, k.text[i] == '(' ? "-LRB-" : "-RRB-", 5);
        else
            buffer_add(&m->word, &k.text[i], 1);
    return (Token){m->word.text, m->word.size};
}

static bool make_room(Making *m, Error *e)
{
    m->r.opened += m->ended || !m->t->count;
    m->ended = false;
    return m->t->count || tree_open(m->t, "S", 1, e);
}

static bool add_leaf(Making *m, const char *tag, size_t size, Error *e)
{
    Token word;
    if (!next_token(&m->sentence, &word)) {
        m->r.over++;
        return true;
    }
    if (!make_room(m, e))
        return false;
    word = plain(m, word);
    return !m->word.failed ? tree_leaf(m->t, tag, size, word.text, word.size, e)
                           : memory_error(e, "a word", word.size, 1);
}

static bool add_constituent(Making *m, Token label, Error *e)
{
    if (m->t->count && !make_room(m, e))
        return false;
    return tree_open(m->t, label.text, label.size, e);
}

static void shut_one(Making *m)
{
    m->r.empty += m->t->inside == m->t->count;
    tree_shut(m->t);
}

static bool has_label(const Tree *t, size_t inside, Token label)
{
    const char *own = tree_label(t, inside - 1);
    return strlen(own) == label.size && !memcmp(own, label.text, label.size);
}

/* The first constituent stays open until all is there. */
static void shut(Making *m, Token label)
{
    Tree *t = m->t;
    size_t found = t->inside;
    while (found && !has_label(t, found, label))
        found = t->node[found - 1].end;
    if (!found || m->ended) {
        m->r.ignored++;
        return;
    }
    for (; t->inside != found; m->r.shut++)
        shut_one(m);
    if (found > 1)
        shut_one(m);
    else
        m->ended = true;
}

/* A tag that the letters of a word suggest. */
static const char *tag_of(const Token *word)
{
    static const char *const marks[][2] = {{",", ","},     {".", "."},     {"?", "."},         {"!", "."},
                                           {":", ":"},     {";", ":"},     {"--", ":"},        {"...", ":"},
                                           {"``", "``"},   {"''", "''"},   {"$", "$"},         {"#", "#"},
                                           {"(", "-LRB-"}, {")", "-RRB-"}, {"-LRB-", "-LRB-"}, {"-RRB-", "-RRB-"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strlen(marks[i][0]) == word->size && !memcmp(marks[i][0], word->text, word->size))
            return marks[i][1];
    const unsigned char first = (unsigned char)*word->text;
    return isdigit(first) ? "CD" : isupper(first) ? "NNP" : "NN";
}

static bool add_guessed(Making *m, Error *e)
{
    Text ahead = m->sentence;
    Token word;
    const char *tag = next_token(&ahead, &word) ? tag_of(&word) : "NN";
    return add_leaf(m, tag, strlen(tag), e);
}

/* After a bracket that opens: where leaves are words, one that follows makes it a leaf; what shuts that is read, too. */
static bool open(Making *m, Token label, Error *e)
{
    Text ahead = m->line;
    Token word, end;
    if (m->leaves == LEAVES_TAGS || !next_token(&ahead, &word) || is_bracket(&word, '(') || is_bracket(&word, ')'))
        return add_constituent(m, label, e);
    m->line = ahead;
    if (next_token(&ahead, &end) && is_bracket(&end, ')') && end.size == label.size + 1 &&
        !memcmp(end.text + 1, label.text, label.size))
        m->line = ahead;
    else
        m->r.shut++;
    return add_leaf(m, label.text, label.size, e);
}

static bool take(Making *m, Token k, Error *e)
{
    if (m->leaves == LEAVES_TAGS && is_empty_tag(&k))
        return add_leaf(m, "", 0, e);
    const bool opens = is_bracket(&k, '('), shuts = is_bracket(&k, ')');
    Token label = opens || shuts ? (Token){k.text + 1, k.size - 1} : k;
    if (memchr(label.text, '(', label.size) || memchr(label.text, ')', label.size)) {
        m->r.ignored++;
        return true;
    }
    if (shuts)
        shut(m, label);
    return shuts                      ? true
           : opens                    ? open(m, label, e)
           : m->leaves == LEAVES_TAGS ? add_leaf(m, label.text, label.size, e)
                                      : add_guessed(m, e);
}

static bool add_missing(Making *m, Error *e)
{
    const bool ended = m->ended;
    Token ignored;
    for (Text ahead = m->sentence; next_token(&ahead, &ignored); ahead = m->sentence) {
        while (m->t->inside > 1) {
            m->r.shut++;
            shut_one(m);
        }
        m->ended = false;
        m->r.missing++;
        if (!add_guessed(m, e))
            return false;
    }
    m->ended = ended;
    return true;
}

bool tree_of_tokens(Tree *t, const char *line, size_t line_size, TreeLeaves leaves, const char *sentence, size_t size,
                    TreeRepairs *r, Error *e)
{
    Making m = {.t = t, .line = {line, line_size, 0}, .sentence = {sentence, size, 0}, .leaves = leaves};
    bool fine = true;
    tree_clear(t);
    for (Token k; fine && next_token(&m.line, &k);)
        fine = take(&m, k, e);
    fine = fine && add_missing(&m, e);
    while (fine && t->inside) {
        m.r.shut += t->inside > 1 || !m.ended;
        shut_one(&m);
    }
    buffer_free(&m.word);
    if (fine && r) {
        const TreeRepairs *n = &m.r;
        r->trees++;
        r->repaired += n->opened + n->shut + n->ignored + n->empty + n->missing + n->over > 0;
        r->opened += n->opened, r->shut += n->shut, r->ignored += n->ignored;
        r->empty += n->empty, r->missing += n->missing, r->over += n->over;
    }
    return fine;
}

bool tree_token_is_word(const char *token, TreeLeaves leaves)
{
    if (leaves == LEAVES_WORDS)
        return *token != '(' && *token != ')';
    return (*token != '(' && *token != ')') || strcmp(token, "()") == 0;
}
