/* See pieces.h. */
#include "encdec/pieces.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

static const char end[] = "</s>", vocabulary_file[] = "vocabulary.tsv", codes_file[] = "codes.bpe";

bool ids_add(Ids *ids, int32_t id, Error *e)
{
    if (ids->count == ids->room) {
        size_t room = ids->room ? 2 * ids->room : 1024;
        int32_t *more = memory_resize(ids->id, room, sizeof *more);
        if (!more)
            return memory_error(e, "ids of a text", room, sizeof *more);
        ids->id = more;
        ids->room = room;
    }
    ids->id[ids->count++] = id;
    return true;
}

void ids_close(Ids *ids)
{
    memory_free(ids->id);
    *ids = (Ids){0};
}

/* --- words --- */

static bool count_words(Vocabulary *v, const Lines *text, Error *e)
{
    for (size_t i = 0; i < text->count; i++) {
        size_t at = 0;
        for (Line word; line_word(lines_at(text, i), &at, &word);)
            if (!vocabulary_add(v, word.text, word.size, 1, NULL, e))
                return false;
    }
    return true;
}

/* <unk>, </s>, and then the most frequent of all that were counted. What is written in the text as one of those two is
 * not among them. */
static bool choose(Pieces *p, const Vocabulary *counted, size_t size, uint64_t lines, Error *e)
{
    Vocabulary ranked;
    if (!vocabulary_cut(&ranked, counted, size ? size - 1 : SIZE_MAX, NULL, e))
        return false;
    bool done = vocabulary_add(&p->vocabulary, end, strlen(end), lines, NULL, e);
    p->vocabulary.counts[UNKNOWN] = ranked.counts[UNKNOWN];
    for (size_t i = 1; done && i < ranked.count; i++) {
        const char *word = vocabulary_word(&ranked, (int32_t)i);
        done = strcmp(word, end) == 0 || vocabulary_add(&p->vocabulary, word, strlen(word), ranked.counts[i], NULL, e);
    }
    vocabulary_close(&ranked);
    return done;
}

static bool learn_words(Pieces *p, size_t size, const Lines *const texts[SIDES_USED], Error *e)
{
    Vocabulary counted;
    uint64_t lines = 0;
    if (!vocabulary_open(&p->vocabulary, e) || !vocabulary_open(&counted, e))
        return false;
    bool done = true;
    for (size_t i = 0; done && i < SIDES_USED; i++) {
        done = count_words(&counted, texts[i], e);
        lines += texts[i]->count;
    }
    done = done && choose(p, &counted, size, lines, e);
    vocabulary_close(&counted);
    return done;
}

/* The id of a word or a piece of the text, which is never that of </s>. */
static int32_t find(const Pieces *p, const char *word, size_t size)
{
    int32_t id = vocabulary_find(&p->vocabulary, word, size);
    return id == END ? UNKNOWN : id;
}

static bool word_ids(const Pieces *p, Line line, Ids *ids, Error *e)
{
    size_t at = 0;
    for (Line word; line_word(line, &at, &word);) {
        if (!ids_add(ids, find(p, word.text, word.size), e))
            return false;
    }
    return true;
}

static void words_line(const Pieces *p, const int32_t *ids, size_t count, Buffer *line)
{
    for (size_t i = 0; i < count; i++)
        buffer_print(line, "%s%s", i ? " " : "", vocabulary_word(&p->vocabulary, ids[i]));
}

/* --- bytes --- */

static bool byte_ids(Line line, Ids *ids, Error *e)
{
    for (size_t i = 0; i < line.size; i++)
        if (!ids_add(ids, FIRST_PIECE + (unsigned char)line.text[i], e))
            return false;
    return true;
}

static void bytes_line(const int32_t *ids, size_t count, Buffer *line)
{
    for (size_t i = 0; i < count; i++) {
        char byte = ids[i] < FIRST_PIECE ? '?' : (char)(unsigned char)(ids[i] - FIRST_PIECE);
        buffer_add(line, &byte, 1);
    }
}

/* --- byte pairs --- */

static bool count_for_merges(Vocabulary *v, const Lines *text, Error *e)
{
    for (size_t i = 0; i < text->count; i++) {
        size_t at = 0;
        for (Line word; line_word(lines_at(text, i), &at, &word);)
            if (!bpe_count_words(v, word.text, word.size, NULL, e))
                return false;
    }
    return true;
}

static bool learn_merges(Bpe *bpe, size_t merges, const Lines *const texts[SIDES_USED], Error *e)
{
    Vocabulary counted;
    if (!vocabulary_open(&counted, e))
        return false;
    bool done = true;
    for (size_t i = 0; done && i < SIDES_USED; i++)
        done = count_for_merges(&counted, texts[i], e);
    done = done && bpe_learn(bpe, &counted, merges, BPE_LEAST, e);
    vocabulary_close(&counted);
    return done;
}

/* Lets a coder count the pieces of all lines. */
static bool count_pieces(BpeCoder *coder, const Lines *text, Error *e)
{
    for (size_t i = 0; i < text->count; i++) {
        size_t at = 0;
        for (Line word; line_word(lines_at(text, i), &at, &word);)
            if (!bpe_encode(coder, word.text, word.size, e))
                return false;
    }
    return true;
}

static bool learn_bpe(Pieces *p, size_t merges, const Lines *const texts[SIDES_USED], Error *e)
{
    BpeCoder coder;
    uint64_t lines = 0;
    if (!learn_merges(&p->bpe, merges, texts, e) || !vocabulary_open(&p->vocabulary, e) ||
        !bpe_coder_open(&coder, &p->bpe, NULL, 0, e))
        return false;
    bool done = true;
    for (size_t i = 0; done && i < SIDES_USED; i++) {
        done = count_pieces(&coder, texts[i], e);
        lines += texts[i]->count;
    }
    done = done && choose(p, &coder.pieces, 0, lines, e);
    bpe_coder_close(&coder);
    return done;
}

static bool bpe_ids(Cutter *c, Line line, Ids *ids, Error *e)
{
    const Pieces *p = c->pieces;
    size_t at = 0;
    for (Line word; line_word(line, &at, &word);) {
        if (!bpe_encode(&c->coder, word.text, word.size, e))
            return false;
        while (c->known.count < c->coder.pieces.count) {
            const char *piece = vocabulary_word(&c->coder.pieces, (int32_t)c->known.count);
            if (!ids_add(&c->known, find(p, piece, strlen(piece)), e))
                return false;
        }
        for (size_t i = 0; i < c->coder.count; i++)
            if (!ids_add(ids, c->known.id[c->coder.line[i]], e))
                return false;
    }
    return true;
}

static void bpe_line(const Pieces *p, const int32_t *ids, size_t count, Buffer *line)
{
    Buffer pieces = {0};
    words_line(p, ids, count, &pieces);
    bpe_join(pieces.text ? pieces.text : "", pieces.size, line);
    line->failed = line->failed || pieces.failed;
    buffer_free(&pieces);
}

/* --- all kinds --- */

static bool learn_from(Pieces *p, const PiecesOptions *o, const Lines *const texts[SIDES_USED], Error *e)
{
    return o->type == PIECES_WORDS ? learn_words(p, o->size, texts, e) : learn_bpe(p, o->merges, texts, e);
}

static bool learn(Pieces *p, const PiecesOptions *o, const Lines *const texts[SIDES_USED], Error *e)
{
    Lines words[SIDES_USED] = {{0}, {0}};
    bool done = true;
    if (o->type == PIECES_BYTES)
        return true;
    if (o->tokens.rule == TOKENS_SPACES)
        return learn_from(p, o, texts, e);
    for (size_t side = 0; done && side < SIDES_USED; side++)
        done = tokens_of_lines(&o->tokens, side, texts[side], &words[side], e);
    done = done && learn_from(p, o, (const Lines *[]){&words[SOURCE], &words[TARGET]}, e);
    for (size_t side = 0; side < SIDES_USED; side++)
        lines_close(&words[side]);
    return done;
}

size_t pieces_planned(const PiecesOptions *o)
{
    return o->type == PIECES_BYTES ? FIRST_PIECE + 256 : o->type == PIECES_BPE ? o->merges : o->size;
}

bool pieces_learn(Pieces *p, const PiecesOptions *o, const Lines *const texts[SIDES_USED], Error *e)
{
    *p = (Pieces){.type = o->type, .tokens = o->tokens, .count = FIRST_PIECE + 256};
    bool done = learn(p, o, texts, e);
    if (p->vocabulary.count)
        p->count = p->vocabulary.count;
    if (!done)
        pieces_close(p);
    return done;
}

void pieces_close(Pieces *p)
{
    vocabulary_close(&p->vocabulary);
    bpe_close(&p->bpe);
    *p = (Pieces){0};
}

typedef struct RunFiles {
    char *vocabulary, *codes;
} RunFiles;

static bool files_of(RunFiles *f, const char *folder, Error *e)
{
    *f = (RunFiles){path_join(folder, vocabulary_file), path_join(folder, codes_file)};
    return (f->vocabulary && f->codes) || memory_error(e, "a path", strlen(folder), 1);
}

static void files_free(RunFiles *f)
{
    memory_free(f->vocabulary);
    memory_free(f->codes);
}

bool pieces_write(const Pieces *p, const char *folder, Error *e)
{
    RunFiles f;
    bool done = files_of(&f, folder, e);
    if (done && p->type != PIECES_BYTES)
        done = vocabulary_write(&p->vocabulary, f.vocabulary, e) &&
               (p->type != PIECES_BPE || bpe_write(&p->bpe, f.codes, e));
    files_free(&f);
    return done;
}

static bool read_files(Pieces *p, const RunFiles *f, Error *e)
{
    if (!vocabulary_read(&p->vocabulary, f->vocabulary, e) ||
        (p->type == PIECES_BPE && !bpe_read(&p->bpe, f->codes, e)))
        return false;
    p->count = p->vocabulary.count;
    return (p->count > END && !strcmp(vocabulary_word(&p->vocabulary, END), end)) ||
           fail(e, "%s, line 2: the second word of a vocabulary for translation is %s", f->vocabulary, end);
}

bool pieces_read(Pieces *p, const PiecesOptions *o, const char *folder, Error *e)
{
    RunFiles f;
    *p = (Pieces){.type = o->type, .tokens = o->tokens, .count = FIRST_PIECE + 256};
    bool done = files_of(&f, folder, e) && (p->type == PIECES_BYTES || read_files(p, &f, e));
    files_free(&f);
    if (!done)
        pieces_close(p);
    return done;
}

bool cutter_open(Cutter *c, const Pieces *p, Error *e)
{
    *c = (Cutter){.pieces = p};
    return p->type != PIECES_BPE || bpe_coder_open(&c->coder, &p->bpe, NULL, 0, e);
}

void cutter_close(Cutter *c)
{
    if (c->pieces && c->pieces->type == PIECES_BPE)
        bpe_coder_close(&c->coder);
    ids_close(&c->known);
    buffer_free(&c->words);
    *c = (Cutter){0};
}

bool cutter_ids(Cutter *c, size_t side, Line line, Ids *ids, Error *e)
{
    const Pieces *p = c->pieces;
    Line words;
    if (p->type == PIECES_BYTES)
        return byte_ids(line, ids, e);
    return tokens_of_line(&p->tokens, side, line, &c->words, &words, e) &&
           (p->type == PIECES_WORDS ? word_ids(p, words, ids, e) : bpe_ids(c, words, ids, e));
}

/* The words that ids are, with spaces between them. */
static void join_pieces(const Pieces *p, const int32_t *ids, size_t count, Buffer *words)
{
    if (p->type == PIECES_BPE)
        bpe_line(p, ids, count, words);
    else
        words_line(p, ids, count, words);
}

void pieces_line(const Pieces *p, const int32_t *ids, size_t count, Buffer *line)
{
    size_t before_end = 0;
    while (before_end < count && ids[before_end] != END)
        before_end++;
    if (p->type == PIECES_BYTES) {
        bytes_line(ids, before_end, line);
        return;
    }
    Buffer words = {0};
    join_pieces(p, ids, before_end, &words);
    tokens_join(&p->tokens, TARGET, (Line){words.text ? words.text : "", words.size}, line);
    line->failed = line->failed || words.failed;
    buffer_free(&words);
}

void pieces_name(const Pieces *p, int32_t id, Buffer *name)
{
    if (p->type == PIECES_BYTES && id >= FIRST_PIECE)
        buffer_print(name, "0x%02x", (unsigned)(id - FIRST_PIECE));
    else
        buffer_print(name, "%s", id == UNKNOWN ? "<unk>" : id == END ? end : vocabulary_word(&p->vocabulary, id));
}
