/* Applying byte pairs: see bpe.h. A word's pairs wait in a heap for their turn: the lowest rank first, and of one rank
 * the leftmost. All of a rank are merged before the pairs that come about by it are looked at. */
#include "core/text/bpe.h"

#include "base/memory.h"
#include "base/philox.h"
#include "base/utf8.h"
#include "core/text/spaces.h"

#include <string.h>

#define NOWHERE SIZE_MAX

static const char word_end[] = "</w>", marker[] = "@@", coding[] = "a word's byte pairs";

/* A symbol in the word that is being merged: its bytes go to the next one's. */
typedef struct BpeNode {
    int32_t symbol; /* -1: no merge knows it */
    size_t start, previous, next;
    size_t fresh; /* the one that was merged before it, of the same rank */
    bool gone;
} BpeNode;

/* --- the coder --- */

bool bpe_coder_open(BpeCoder *c, const Bpe *b, const Vocabulary *kept, uint64_t threshold, Error *e)
{
    *c = (BpeCoder){.bpe = b, .threshold = threshold};
    for (size_t i = 0; kept && i < kept->count; i++)
        if (kept->counts[i] && kept->counts[i] >= threshold)
            c->kept = kept;
    return vocabulary_open(&c->subwords, e);
}

void bpe_coder_close(BpeCoder *c)
{
    vocabulary_close(&c->subwords);
    known_close(&c->known);
    memory_free(c->line);
    memory_free(c->nodes);
    heap_close(&c->turns);
    buffer_free(&c->spelling);
    *c = (BpeCoder){0};
}

/* --- merging a word --- */

/* The symbol of a word's character; the last one's has the end, too, unless that is a symbol of its own. */
static int32_t character_symbol(const Bpe *b, const char *text, size_t length, bool last)
{
    char symbol[4 + sizeof word_end];
    memcpy(symbol, text, length);
    if (last && !b->separate_end) {
        memcpy(symbol + length, word_end, strlen(word_end));
        length += strlen(word_end);
    }
    return vocabulary_search(&b->symbols, symbol, length);
}

static bool spell(BpeCoder *c, BpeWord word, size_t *count, Error *e)
{
    if (!memory_grow(&c->nodes, &c->node_capacity, word.size + 1, sizeof *c->nodes, coding, e))
        return false;
    size_t n = 0;
    for (size_t at = 0, length; at < word.size; at += length, n++) {
        length = utf8_step(word.text + at, word.size - at);
        int32_t symbol = character_symbol(c->bpe, word.text + at, length, at + length == word.size);
        c->nodes[n] = (BpeNode){.symbol = symbol, .start = at, .previous = n - 1, .next = n + 1};
    }
    if (c->bpe->separate_end) {
        int32_t end = vocabulary_search(&c->bpe->symbols, word_end, strlen(word_end));
        c->nodes[n] = (BpeNode){.symbol = end, .start = word.size, .previous = n - 1};
        n++;
    }
    c->nodes[n - 1].next = NOWHERE;
    *count = n;
    return true;
}

/* A node and its next one wait for their turn, if there is a merge for them. */
static bool await_turn(BpeCoder *c, size_t at, Error *e)
{
    if (at == NOWHERE || c->nodes[at].next == NOWHERE)
        return true;
    Pair pair = {c->nodes[at].symbol, c->nodes[c->nodes[at].next].symbol};
    size_t number = pair.left < 0 || pair.right < 0 ? PAIR_NONE : pairs_find(&c->bpe->pairs, pair);
    return number == PAIR_NONE || heap_push(&c->turns, (Rank){c->bpe->merges[number].rank, at}, e);
}

/* Merges a node with its next one, if they still are what they were when they began to wait. */
static bool merge_node(BpeCoder *c, Rank turn)
{
    BpeNode *left = &c->nodes[turn.second];
    if (left->gone || left->next == NOWHERE)
        return false;
    uint32_t pair = c->bpe->order[turn.first];
    BpeNode *right = &c->nodes[left->next];
    if (left->symbol != c->bpe->pairs.pair[pair].left || right->symbol != c->bpe->pairs.pair[pair].right)
        return false;
    left->symbol = c->bpe->merges[pair].whole;
    left->next = right->next;
    right->gone = true;
    if (left->next != NOWHERE)
        c->nodes[left->next].previous = turn.second;
    return true;
}

/* The rank of the merge of a node and its next one; NOWHERE: there is none, or it is dropped. */
static size_t drawn_rank(BpeCoder *c, size_t at)
{
    const BpeNode *left = &c->nodes[at];
    if (left->next == NOWHERE || left->symbol < 0 || c->nodes[left->next].symbol < 0)
        return NOWHERE;
    size_t number = pairs_find(&c->bpe->pairs, (Pair){left->symbol, c->nodes[left->next].symbol});
    BpeDropout *d = &c->dropout;
    return number == PAIR_NONE || philox_uniform(d->seed, d->step, d->drawn++, d->site) < d->rate
               ? NOWHERE
               : c->bpe->merges[number].rank;
}

/* Of the pairs that are not dropped this time those of the lowest rank are merged, from left to right. */
static bool merge_dropping(BpeCoder *c, BpeWord word, Error *e)
{
    size_t count, least;
    if (!spell(c, word, &count, e))
        return false;
    do {
        least = NOWHERE;
        for (size_t at = 0; at != NOWHERE; at = c->nodes[at].next) {
            const size_t rank = c->nodes[at].fresh = drawn_rank(c, at);
            least = rank < least ? rank : least;
        }
        for (size_t at = 0; least != NOWHERE && at != NOWHERE; at = c->nodes[at].next)
            if (c->nodes[at].fresh == least)
                merge_node(c, (Rank){least, at});
    } while (least != NOWHERE);
    return true;
}

static bool merge_word(BpeCoder *c, BpeWord word, Error *e)
{
    size_t count;
    c->turns.count = 0;
    if (!spell(c, word, &count, e))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!await_turn(c, i, e))
            return false;
    while (c->turns.count) {
        size_t fresh = NOWHERE;
        for (uint64_t rank = c->turns.ranks[0].first; c->turns.count && c->turns.ranks[0].first == rank;) {
            Rank turn = heap_pop(&c->turns);
            if (merge_node(c, turn)) {
                c->nodes[turn.second].fresh = fresh;
                fresh = turn.second;
            }
        }
        for (; fresh != NOWHERE; fresh = c->nodes[fresh].fresh)
            if (!await_turn(c, c->nodes[fresh].previous, e) || !await_turn(c, fresh, e))
                return false;
    }
    return true;
}

/* --- giving subwords --- */

static bool add_to_line(BpeCoder *c, int32_t subword, Error *e)
{
    if (!memory_grow(&c->line, &c->line_capacity, c->count + 1, sizeof *c->line, coding, e))
        return false;
    c->line[c->count++] = subword;
    return true;
}

/* A text and what stands after it; NULL when there is no memory. */
static const char *spelled(BpeCoder *c, const char *text, size_t size, const char *suffix, Error *e)
{
    c->spelling.size = 0;
    buffer_add(&c->spelling, text, size);
    buffer_add(&c->spelling, suffix, strlen(suffix));
    if (c->spelling.failed)
        memory_error(e, coding, size, 1);
    return c->spelling.failed ? NULL : c->spelling.text;
}

static bool emit(BpeCoder *c, const char *text, size_t size, bool final, Error *e)
{
    int32_t subword;
    const char *as = spelled(c, text, size, final ? "" : marker, e);
    return as && vocabulary_add(&c->subwords, as, c->spelling.size, 0, &subword, e) && add_to_line(c, subword, e);
}

/* Writes a subword that is kept; another is split as it was merged, and its parts are written likewise. One that no merge
 * made is written all the same. */
static bool emit_kept(BpeCoder *c, const char *text, size_t size, bool final, Error *e)
{
    const char *as = spelled(c, text, size, final ? "" : marker, e);
    if (!as)
        return false;
    int32_t id = vocabulary_search(c->kept, as, c->spelling.size);
    if (id >= 0 && c->kept->counts[id] && c->kept->counts[id] >= c->threshold) /* <unk> may be there 0 times */
        return emit(c, text, size, final, e);
    if (!(as = spelled(c, text, size, final ? word_end : "", e)))
        return false;
    const Bpe *b = c->bpe;
    id = vocabulary_search(&b->symbols, as, c->spelling.size);
    if (id < 0 || b->made_of[id] == PAIR_NONE)
        return emit(c, text, size, final, e);
    const Pair *made = &b->pairs.pair[b->made_of[id]];
    const char *left = vocabulary_word(&b->symbols, made->left), *right = vocabulary_word(&b->symbols, made->right);
    const size_t end = final ? strlen(word_end) : 0, length = strlen(right);
    if (length <= end) /* version 0.1: it was only told that a word ends here; or a merge within a </w> of the text */
        return emit(c, text, size, final, e);
    return emit_kept(c, left, strlen(left), false, e) && emit_kept(c, right, length - end, final, e);
}

static bool emit_word(BpeCoder *c, BpeWord word, Error *e)
{
    bool done = true;
    for (size_t at = 0, next; done && at != NOWHERE; at = next) {
        next = c->nodes[at].next;
        size_t start = c->nodes[at].start, end = next == NOWHERE ? word.size : c->nodes[next].start;
        bool final = end == word.size;
        if (end > start)
            done = (c->kept ? emit_kept : emit)(c, word.text + start, end - start, final, e);
    }
    return done;
}

/* --- words --- */

static bool recall(BpeCoder *c, const int32_t *subwords, size_t count, Error *e)
{
    for (size_t i = 0; i < count; i++)
        if (!add_to_line(c, subwords[i], e))
            return false;
    return true;
}

static bool encode_word(BpeCoder *c, BpeWord word, Error *e)
{
    size_t first = c->count, count;
    const int32_t *known = c->dropout.rate > 0 ? NULL : known_find(&c->known, word.text, word.size, &count);
    if (known)
        return recall(c, known, count, e);
    if (utf8_step(word.text, word.size) == word.size)
        return emit(c, word.text, word.size, true, e);
    if (c->dropout.rate > 0)
        return merge_dropping(c, word, e) && emit_word(c, word, e);
    return merge_word(c, word, e) && emit_word(c, word, e) &&
           known_add(&c->known, word.text, word.size, c->line + first, c->count - first, e);
}

/* --- lines and texts --- */

bool bpe_encode(BpeCoder *c, const char *line, size_t size, Error *e)
{
    BpeWord word;
    c->count = 0;
    for (size_t at = 0; bpe_next_word(line, size, &at, &word);)
        if (!encode_word(c, word, e))
            return false;
    for (size_t i = 0; i < c->count; i++)
        c->subwords.counts[c->line[i]]++;
    return true;
}

static size_t spaces(const char *text, size_t size)
{
    size_t n = 0;
    while (n < size && text[n] == ' ')
        n++;
    return n;
}

static bool apply_line(BpeCoder *c, const char *line, size_t size, Buffer *out, Error *e)
{
    size_t before = spaces(line, size), end = size;
    while (end > before && line[end - 1] == ' ')
        end--;
    if (!bpe_encode(c, line + before, end - before, e))
        return false;
    buffer_add(out, line, before);
    for (size_t i = 0; i < c->count; i++)
        buffer_print(out, "%s%s", i ? " " : "", bpe_subword(c, i));
    buffer_add(out, line + end, size - end);
    return true;
}

bool bpe_apply(BpeCoder *c, const char *text, size_t size, Buffer *out, Error *e)
{
    for (size_t at = 0, next; at < size; at = next) {
        size_t end = at, length = 0;
        while (end < size && !(length = line_end_length(text + end, size - end)))
            end++;
        next = end + length;
        if (end < size && text[end] != '\r' && text[end] != '\n') { /* it belongs to the word before it */
            end = next;
            length = 0;
        }
        if (!apply_line(c, text + at, end - at, out, e))
            return false;
        buffer_add(out, text + end, length);
    }
    return !out->failed || memory_error(e, "a text of subwords", out->size, 1);
}

void bpe_join(const char *line, size_t size, Buffer *out)
{
    size_t from = 0;
    for (size_t i = 0; i + 1 < size; i++) {
        bool last = i + 2 == size;
        if (line[i] != '@' || line[i + 1] != '@' || (!last && line[i + 2] != ' '))
            continue;
        buffer_add(out, line + from, i - from);
        from = last ? size : i + 3;
        i = from - 1;
    }
    buffer_add(out, line + from, size - from);
}
