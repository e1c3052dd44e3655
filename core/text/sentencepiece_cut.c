/* A text as pieces: see sentencepiece.h. */
#include "base/memory.h"
#include "core/text/sentencepiece.h"

#include <string.h>

#define NOWHERE SIZE_MAX

/* Bytes of the character that a text begins with, by its first byte alone. */
static size_t character(const char *text, size_t size)
{
    const unsigned char byte = (unsigned char)*text;
    const size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return length < size ? length : size;
}

/* Unknown ones are bytes, or one with those before. */
static bool add(const SentencePiece *s, int32_t id, Bytes text, Cuts *c, Error *e)
{
    const bool bytes = id == s->unknown && s->byte_fallback;
    if (id == s->unknown && !bytes && c->count && c->list[c->count - 1].id == id) {
        c->list[c->count - 1].text.size += text.size;
        return true;
    }
    const size_t more = bytes ? text.size : 1;
    if (!memory_grow(&c->list, &c->capacity, c->count + more, sizeof *c->list, "pieces of a text", e))
        return false;
    for (size_t i = 0; i < more; i++) {
        const int32_t one = bytes ? s->byte[(unsigned char)text.at[i]] : id;
        c->list[c->count++] = (Cut){one, bytes ? s->pieces[one].text : text};
    }
    return true;
}

/* --- unigram --- */

/* The best way to cut the text before a byte: its score, and its last piece. */
typedef struct CutNode {
    float score;
    int32_t id;
    size_t from; /* where that begins; NOWHERE: no way ends here */
} CutNode;

/* Of equal ones the first stays. Scores are 32-bit floats, as sentencepiece 0.2.3 has them, so that the same ones are equal
 * (0.2.1 compares before it rounds, and does not count the size of a user's piece). */
static void offer(CutNode *node, float score, int32_t id, size_t from)
{
    if (node->from == NOWHERE || score > node->score)
        *node = (CutNode){score, id, from};
}

/* A piece of a user scores so well, the longer the better, that it is taken. */
static double score_of(const SentencePiece *s, int32_t id, size_t size)
{
    return s->pieces[id].kind == PIECE_USER ? 0.1 * (double)size - 0.1 : (double)s->pieces[id].score;
}

static void walk(const SentencePiece *s, const Buffer *text, CutNode *nodes)
{
    const float unknown = s->least - 10;
    for (size_t at = 0, one; at < text->size; at += one) {
        const float before = nodes[at].score;
        bool single = false;
        Prefixes p = prefixes_begin(&s->parts);
        one = character(text->text + at, text->size - at);
        for (size_t end = at; end < text->size && prefixes_step(&p, text->text[end]);) {
            const SortedText *found = prefixes_here(&p);
            end++;
            if (!found || s->pieces[found->id].kind == PIECE_UNUSED)
                continue;
            offer(&nodes[end], (float)(score_of(s, found->id, end - at) + (double)before), found->id, at);
            single = single || end - at == one;
        }
        if (!single)
            offer(&nodes[at + one], unknown + before, s->unknown, at);
    }
}

static bool cut_unigram(const SentencePiece *s, Cuts *c, Error *e)
{
    const size_t size = c->text.size;
    if (!memory_grow(&c->nodes, &c->node_capacity, size + 1, sizeof *c->nodes, "ways to cut a text", e))
        return false;
    for (size_t i = 0; i <= size; i++)
        c->nodes[i] = (CutNode){0, s->unknown, NOWHERE};
    walk(s, &c->text, c->nodes);
    size_t next = NOWHERE;
    for (size_t end = size, from; end; end = from) { /* the chain of ends points back, and is turned round */
        from = c->nodes[end].from;
        c->nodes[end].from = next;
        next = end;
    }
    for (size_t at = 0; next != NOWHERE; at = next, next = c->nodes[next].from)
        if (!add(s, c->nodes[next].id, (Bytes){c->text.text + at, next - at}, c, e))
            return false;
    return true;
}

/* --- byte pairs --- */

typedef struct CutSymbol {
    Bytes text; /* of size 0: it was joined to its left neighbour */
    size_t left, right;
    bool whole; /* of a user */
} CutSymbol;

/* A number that grows as a score falls. */
static uint32_t falling(float score)
{
    uint32_t bits;
    score += 0.0F; /* -0 is 0 */
    memcpy(&bits, &score, sizeof bits);
    return bits >> 31 ? bits : ~bits & INT32_MAX;
}

/* The symbol at `left` and its right neighbour, if both together are a piece: its score comes first, then its place; its
 * size tells later whether they are still there. */
static bool propose(const SentencePiece *s, Cuts *c, size_t left, Error *e)
{
    const CutSymbol *a = left == NOWHERE ? NULL : &c->symbols[left];
    const CutSymbol *b = a && a->right != NOWHERE ? &c->symbols[a->right] : NULL;
    if (!b || a->whole || b->whole)
        return true;
    const size_t size = a->text.size + b->text.size;
    const SortedText *piece = sorted_find(&s->parts, a->text.at, size);
    return !piece || heap_push(&c->heap, (Rank){falling(s->pieces[piece->id].score), (uint64_t)left << 32 | size}, e);
}

static bool lay_out(const SentencePiece *s, Cuts *c, size_t *count, Error *e)
{
    const Buffer *text = &c->text;
    *count = 0;
    for (size_t at = 0, one; at < text->size; at += one) {
        const SortedText *user = prefixes_longest(&s->users, text->text + at, text->size - at);
        one = user ? user->size : character(text->text + at, text->size - at);
        if (!memory_grow(&c->symbols, &c->symbol_capacity, *count + 1, sizeof *c->symbols, "characters", e))
            return false;
        c->symbols[*count] = (CutSymbol){{text->text + at, one}, *count - 1, *count + 1, user != NULL};
        ++*count;
    }
    c->symbols[*count - 1].right = NOWHERE; /* left of the first is NOWHERE, too */
    return true;
}

static bool join_next(const SentencePiece *s, Cuts *c, Error *e)
{
    const Rank best = heap_pop(&c->heap);
    const size_t left = (size_t)(best.second >> 32), size = (size_t)(best.second & UINT32_MAX);
    CutSymbol *a = &c->symbols[left], *b = a->right == NOWHERE ? NULL : &c->symbols[a->right];
    if (!b || !a->text.size || a->text.size + b->text.size != size)
        return true;
    a->text.size = size;
    b->text.size = 0;
    a->right = b->right;
    if (a->right != NOWHERE)
        c->symbols[a->right].left = left;
    return propose(s, c, a->left, e) && propose(s, c, left, e);
}

static bool cut_bpe(const SentencePiece *s, Cuts *c, Error *e)
{
    size_t count;
    if (c->text.size > UINT32_MAX)
        return fail(e, "a line of more than 4 GiB cannot be cut");
    if (!lay_out(s, c, &count, e))
        return false;
    c->heap.count = 0;
    for (size_t i = 0; i < count; i++)
        if (!propose(s, c, i, e))
            return false;
    while (c->heap.count)
        if (!join_next(s, c, e))
            return false;
    for (size_t at = 0; at != NOWHERE; at = c->symbols[at].right) {
        const Bytes text = c->symbols[at].text;
        const SortedText *piece = sorted_find(&s->parts, text.at, text.size);
        if (!add(s, piece ? piece->id : s->unknown, text, c, e))
            return false;
    }
    return true;
}

/* --- both --- */

bool sentencepiece_cut(const SentencePiece *s, const char *text, size_t size, Cuts *c, Error *e)
{
    c->count = c->text.size = 0;
    return rule_apply(&s->rule, &s->users, text, size, &c->text, e) &&
           (!c->text.size || (s->bpe ? cut_bpe : cut_unigram)(s, c, e));
}

void cuts_close(Cuts *c)
{
    memory_free(c->list);
    buffer_free(&c->text);
    memory_free(c->nodes);
    memory_free(c->symbols);
    heap_close(&c->heap);
    *c = (Cuts){0};
}
