/* See subwords.h: files, and ids as a text. subwords_learn.c makes subwords, cutter.c the ids of a text. */
#include "encdec/subwords.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/text/spaces.h"
#include "encdec/subwords_inner.h"

#include <stdio.h>
#include <string.h>

static const char end[] = "</s>";

/* --- the vocabulary of words and byte pairs --- */

static bool choose(Vocabulary *v, const Vocabulary *counted, size_t size, uint64_t lines, Error *e)
{
    Vocabulary ranked;
    if (!vocabulary_cut(&ranked, counted, size ? size - 1 : SIZE_MAX, NULL, e))
        return false;
    bool done = vocabulary_open(v, e) && vocabulary_add(v, end, strlen(end), lines, NULL, e);
    if (done)
        v->counts[UNKNOWN] = ranked.counts[UNKNOWN];
    for (size_t i = 1; done && i < ranked.count; i++) {
        const char *word = vocabulary_word(&ranked, (int32_t)i);
        done = strcmp(word, end) == 0 || vocabulary_add(v, word, strlen(word), ranked.counts[i], NULL, e);
    }
    vocabulary_close(&ranked);
    return done;
}

bool subwords_choose(Subwords *p, const Vocabulary *counted, size_t size, uint64_t lines, Error *e)
{
    bool done = choose(&p->vocabulary, counted, size, lines, e);
    p->count = p->vocabulary.count;
    return done;
}

bool subwords_choose_target(Subwords *p, const Vocabulary *counted, uint64_t lines, Error *e)
{
    return choose(&p->target, counted, 0, lines, e);
}

bool subwords_find_words(Subwords *p, const SubwordsOptions *o, Error *e)
{
    if (!o->apart || !o->word_positions || o->type == SUBWORDS_SENTENCEPIECE)
        return true;
    p->moves = memory_get(p->target.count, sizeof *p->moves);
    for (size_t i = FIRST_SUBWORD; p->moves && i < p->target.count; i++)
        p->moves[i] = tree_token_is_word(vocabulary_word(&p->target, (int32_t)i), o->leaves);
    return p->moves || memory_error(e, "words of trees", p->target.count, sizeof *p->moves);
}

int32_t subwords_find(const Vocabulary *v, const char *word, size_t size)
{
    int32_t id = vocabulary_find(v, word, size);
    return id == END ? UNKNOWN : id;
}

void subwords_close(Subwords *p)
{
    vocabulary_close(&p->vocabulary);
    vocabulary_close(&p->target);
    memory_free(p->moves);
    vocabulary_close(&p->kept);
    bpe_close(&p->bpe);
    wordpiece_close(&p->wordpiece);
    gpt2_close(&p->gpt2);
    for (size_t side = 0; side < SIDES_USED; side++)
        sentencepiece_close(&p->pieces[side]);
    *p = (Subwords){0};
}

/* --- files that are given --- */

bool subwords_suit(const SubwordsOptions *o, Error *e)
{
    static const char *const names[] = {"words", "bytes", "bpe", "wordpiece", "gpt2", "shapes", "sentencepiece"};
    const bool codes = o->type == SUBWORDS_BPE || o->type == SUBWORDS_GPT2;
    if (o->codes && !codes)
        return fail(e, "--codes gives merges of byte pairs, which --type %s does not use", names[o->type]);
    if (o->vocabulary && o->type == SUBWORDS_BYTES)
        return fail(e, "--vocabulary: the vocabulary of --type bytes is always the 256 bytes");
    if (o->vocabulary && o->type == SUBWORDS_SHAPES)
        return fail(e, "--vocabulary: --type shapes learns which words are frequent");
    if (o->vocabulary && o->type == SUBWORDS_BPE && !o->codes)
        return fail(e, "--vocabulary lists the subwords allowed, and needs the --codes that make them");
    if (o->threshold && (o->type != SUBWORDS_BPE || !o->vocabulary))
        return fail(e, "--vocabulary-threshold needs --type bpe and --vocabulary");
    if (o->type == SUBWORDS_SENTENCEPIECE && !o->vocabulary)
        return fail(e, "--type sentencepiece cannot be learned here: give its model with --vocabulary FILE.model");
    return o->type != SUBWORDS_GPT2 || (o->codes && o->vocabulary) ||
           fail(e, "--type gpt2 cannot be learned here: give its files with --vocabulary encoder.json and --codes "
                   "vocab.bpe");
}

/* Subwords that are there often enough. */
static bool keep(Vocabulary *kept, const char *path, size_t threshold, Error *e)
{
    Vocabulary all;
    if (!bpe_subwords_read(&all, path, e))
        return false;
    bool done = vocabulary_open(kept, e);
    for (size_t i = 0; done && i < all.count; i++) {
        const char *subword = vocabulary_word(&all, (int32_t)i);
        if (all.counts[i] && all.counts[i] >= threshold)
            done = vocabulary_add(kept, subword, strlen(subword), all.counts[i], NULL, e);
    }
    vocabulary_close(&all);
    if (done && kept->count == 1 && !kept->counts[UNKNOWN])
        done = fail(e, "%s has no subword with a count of at least %zu: none would be allowed", path, threshold);
    return done;
}

static bool read_words(Subwords *p, const char *path, Error *e)
{
    Vocabulary words;
    if (!bpe_subwords_read(&words, path, e))
        return false;
    bool done = (words.count > 1 || fail(e, "%s has no words", path)) && subwords_choose(p, &words, 0, 0, e);
    vocabulary_close(&words);
    return done;
}

static bool read_wordpiece(Subwords *p, const char *path, bool lower, Error *e)
{
    if (!wordpiece_read(&p->wordpiece, path, lower, e))
        return false;
    p->count = FIRST_SUBWORD + p->wordpiece.subwords.count;
    return true;
}

static bool read_gpt2(Subwords *p, const char *encoder, const char *merges, Error *e)
{
    if (!gpt2_read(&p->gpt2, encoder, merges, e))
        return false;
    p->count = FIRST_SUBWORD + p->gpt2.subwords.count;
    return true;
}

void subwords_find_pad(Subwords *p)
{
    const int32_t id = vocabulary_find(p->apart ? &p->target : &p->vocabulary, "<pad>", 5);
    p->pad = id > END ? id : 0;
}

/* All that a text may be cut into. */
static bool name_pieces(Vocabulary *v, const SentencePiece *s, const char *path, Error *e)
{
    if (!vocabulary_open(v, e) || !vocabulary_add(v, end, strlen(end), 0, NULL, e))
        return false;
    for (size_t i = 0; i < s->count; i++) {
        const Piece *piece = &s->pieces[i];
        if (piece->kind == PIECE_CONTROL || piece->kind == PIECE_UNKNOWN)
            continue;
        if (memchr(piece->text.at, '\n', piece->text.size))
            return fail(e, "%s: piece %zu has a line end, which no line has", path, i);
        if (!vocabulary_add(v, piece->text.at, piece->text.size, 0, NULL, e))
            return false;
    }
    return true;
}

static bool read_pieces(Subwords *p, const char *path, Error *e)
{
    for (size_t side = 0; side < SIDES_USED; side++)
        if (!sentencepiece_read(&p->pieces[side], path, e))
            return false;
    if (!name_pieces(&p->vocabulary, p->pieces, path, e) || (p->apart && !name_pieces(&p->target, p->pieces, path, e)))
        return false;
    p->count = p->vocabulary.count;
    return true;
}

bool subwords_read_given(Subwords *p, const SubwordsOptions *o, Error *e)
{
    switch (o->type) {
    case SUBWORDS_WORDS: return !o->vocabulary || read_words(p, o->vocabulary, e);
    case SUBWORDS_BPE:
        return (!o->codes || bpe_read(&p->bpe, o->codes, e)) &&
               (!o->vocabulary || keep(&p->kept, o->vocabulary, o->threshold, e));
    case SUBWORDS_WORDPIECE: return !o->vocabulary || read_wordpiece(p, o->vocabulary, o->lower, e);
    case SUBWORDS_GPT2: return read_gpt2(p, o->vocabulary, o->codes, e);
    case SUBWORDS_SENTENCEPIECE: return read_pieces(p, o->vocabulary, e);
    default: return true;
    }
}

bool subwords_given(Subwords *p, const SubwordsOptions *o, Error *e)
{
    *p = (Subwords){.type = o->type, .tokens = o->tokens, .apart = o->apart, .count = FIRST_SUBWORD + 256};
    bool done = subwords_read_given(p, o, e);
    if (!done)
        subwords_close(p);
    return done;
}

/* A target that is apart: brackets and tags, of which a treebank has about this many. */
enum { TARGETS_PLANNED = 128 };

bool subwords_planned(const SubwordsOptions *o, size_t count[SIDES_USED], Error *e)
{
    Subwords p = {.type = o->type};
    bool done = subwords_read_given(&p, o, e);
    *count = o->type == SUBWORDS_BYTES ? FIRST_SUBWORD + 256 : o->type == SUBWORDS_BPE ? o->merges : o->size;
    if (p.bpe.count)
        *count = p.bpe.count;
    if (p.count)
        *count = p.count;
    count[TARGET] = o->apart ? TARGETS_PLANNED : *count;
    subwords_close(&p);
    return done;
}

/* --- files of a run --- */

typedef enum File {
    VOCABULARY,
    CODES,
    KEPT,
    VOCAB,
    ENCODER,
    MERGES,
    TARGETS,
    PIECES,
    FILES = PIECES + SIDES_USED
} File;

typedef struct RunFiles {
    char *path[FILES];
} RunFiles;

static void files_free(RunFiles *f)
{
    for (size_t i = 0; i < FILES; i++)
        memory_free(f->path[i]);
}

const char *const subwords_files[FILES + 1] = {"vocabulary.tsv", "codes.bpe", "kept.txt",   "vocab.txt",
                                               "encoder.json",   "vocab.bpe", "target.tsv", "source.spm",
                                               "target.spm",     NULL};

static bool files_of(RunFiles *f, const char *folder, Error *e)
{
    bool done = true;
    for (size_t i = 0; i < FILES; i++) {
        f->path[i] = path_join(folder, subwords_files[i]);
        done = done && f->path[i];
    }
    return done || memory_error(e, "a path", strlen(folder), 1);
}

static bool write_files(const Subwords *p, const RunFiles *f, Error *e)
{
    switch (p->type) {
    case SUBWORDS_WORDPIECE: return wordpiece_write(&p->wordpiece, f->path[VOCAB], e);
    case SUBWORDS_GPT2: return gpt2_write(&p->gpt2, f->path[ENCODER], f->path[MERGES], e);
    case SUBWORDS_BYTES: return true;
    case SUBWORDS_SENTENCEPIECE:
        return vocabulary_write(&p->vocabulary, f->path[VOCABULARY], e) &&
               sentencepiece_write(&p->pieces[SOURCE], f->path[PIECES + SOURCE], e) &&
               sentencepiece_write(&p->pieces[TARGET], f->path[PIECES + TARGET], e);
    default:
        return vocabulary_write(&p->vocabulary, f->path[VOCABULARY], e) &&
               (p->type != SUBWORDS_BPE || bpe_write(&p->bpe, f->path[CODES], e)) &&
               (!p->kept.count || bpe_subwords_write(&p->kept, f->path[KEPT], e));
    }
}

bool subwords_write(const Subwords *p, const char *folder, Error *e)
{
    RunFiles f;
    bool done = files_of(&f, folder, e) && write_files(p, &f, e) &&
                (!p->apart || vocabulary_write(&p->target, f.path[TARGETS], e));
    files_free(&f);
    return done;
}

static bool read_vocabulary(Vocabulary *v, size_t *count, const char *path, Error *e)
{
    if (!vocabulary_read(v, path, e))
        return false;
    *count = v->count;
    return (v->count > END && !strcmp(vocabulary_word(v, END), end)) ||
           fail(e, "%s, line 2: the second word of a vocabulary for translation must be %s", path, end);
}

/* kept.txt is there where it was given once. */
static bool read_files(Subwords *p, const SubwordsOptions *o, const RunFiles *f, Error *e)
{
    switch (o->type) {
    case SUBWORDS_WORDPIECE: return read_wordpiece(p, f->path[VOCAB], o->lower, e);
    case SUBWORDS_GPT2: return read_gpt2(p, f->path[ENCODER], f->path[MERGES], e);
    case SUBWORDS_BYTES: return true;
    case SUBWORDS_SENTENCEPIECE:
        return read_vocabulary(&p->vocabulary, &p->count, f->path[VOCABULARY], e) &&
               sentencepiece_read(&p->pieces[SOURCE], f->path[PIECES + SOURCE], e) &&
               sentencepiece_read(&p->pieces[TARGET], f->path[PIECES + TARGET], e);
    default:
        return read_vocabulary(&p->vocabulary, &p->count, f->path[VOCABULARY], e) &&
               (o->type != SUBWORDS_BPE || bpe_read(&p->bpe, f->path[CODES], e)) &&
               (o->type != SUBWORDS_BPE || !o->vocabulary || keep(&p->kept, f->path[KEPT], 0, e));
    }
}

bool subwords_read(Subwords *p, const SubwordsOptions *o, const char *folder, Error *e)
{
    RunFiles f;
    size_t ignored;
    *p = (Subwords){.type = o->type,
                    .tokens = o->tokens,
                    .apart = o->apart,
                    .count = FIRST_SUBWORD + 256,
                    .registers = o->registers};
    bool done = files_of(&f, folder, e) && read_files(p, o, &f, e) &&
                (!o->apart || read_vocabulary(&p->target, &ignored, f.path[TARGETS], e)) &&
                subwords_find_words(p, o, e);
    if (done && p->type == SUBWORDS_SENTENCEPIECE)
        subwords_find_pad(p);
    files_free(&f);
    if (!done)
        subwords_close(p);
    return done;
}

/* --- ids as a text --- */

/* The words that ids are, with spaces between them. */
static void words_line(const Vocabulary *v, const int32_t *ids, size_t count, Buffer *line)
{
    for (size_t i = 0; i < count; i++)
        buffer_print(line, "%s%s", i ? " " : "", vocabulary_word(v, ids[i]));
}

static void bytes_line(const int32_t *ids, size_t count, Buffer *line)
{
    for (size_t i = 0; i < count; i++) {
        char byte = ids[i] < FIRST_SUBWORD ? '?' : (char)(unsigned char)(ids[i] - FIRST_SUBWORD);
        buffer_add(line, &byte, 1);
    }
}

static void bpe_line(const Subwords *p, const int32_t *ids, size_t count, Buffer *line)
{
    Buffer subwords = {0};
    words_line(&p->vocabulary, ids, count, &subwords);
    bpe_join(subwords.text ? subwords.text : "", subwords.size, line);
    line->failed = line->failed || subwords.failed;
    buffer_free(&subwords);
}

/* The id that a vocabulary which counts from 0 has for one of ours. */
static int32_t own_id(int32_t id, int32_t unknown) { return id < FIRST_SUBWORD ? unknown : id - FIRST_SUBWORD; }

static void wordpiece_line(const Subwords *p, const int32_t *ids, size_t count, Buffer *line)
{
    Error e;
    int32_t *own = memory_get(count, sizeof *own);
    for (size_t i = 0; own && i < count; i++)
        own[i] = own_id(ids[i], p->wordpiece.unknown);
    if (!own || !wordpiece_decode(&p->wordpiece, own, count, line, &e))
        line->failed = true;
    memory_free(own);
}

static void gpt2_line(const Subwords *p, const int32_t *ids, size_t count, Buffer *line)
{
    Error e;
    for (size_t i = 0; i < count; i++) {
        int32_t own = own_id(ids[i], -1);
        if (own < 0)
            buffer_add(line, "?", 1);
        else if (!gpt2_decode(&p->gpt2, &own, 1, line, &e))
            line->failed = true;
    }
}

/* Pieces that the model does not know keep their marks of spaces, which become spaces in place; the text's new size. */
static size_t unmark(char *text, size_t size)
{
    size_t to = 0;
    for (size_t i = 0; i < size; to++) {
        const bool mark = size - i >= SPACE_MARK_SIZE && !memcmp(text + i, SPACE_MARK, SPACE_MARK_SIZE);
        text[to] = mark ? ' ' : text[i];
        i += mark ? SPACE_MARK_SIZE : 1;
    }
    return to;
}

/* The text that pieces are, without space at its ends. */
static void pieces_line(const Subwords *p, const int32_t *ids, size_t count, Buffer *line)
{
    const SentencePiece *s = &p->pieces[TARGET];
    const Vocabulary *v = p->apart ? &p->target : &p->vocabulary;
    Error e;
    Buffer text = {0};
    Bytes *pieces = memory_get(count, sizeof *pieces);
    for (size_t i = 0; pieces && i < count; i++) {
        const char *word = vocabulary_word(v, ids[i]);
        pieces[i] = ids[i] == UNKNOWN ? s->pieces[s->unknown].text : (Bytes){word, strlen(word)};
    }
    if (!pieces || !sentencepiece_join(s, pieces, count, &text, &e))
        line->failed = true;
    size_t from = 0, to = unmark(text.text, text.size);
    for (size_t space; from < to && (space = space_length(text.text + from, to - from));)
        from += space;
    for (size_t space; from < to && (space = space_behind(text.text + from, to - from));)
        to -= space;
    if (to > from)
        buffer_add(line, text.text + from, to - from);
    memory_free(pieces);
    buffer_free(&text);
}

void subwords_words(const Subwords *p, const int32_t *ids, size_t count, Buffer *words)
{
    switch (p->type) {
    case SUBWORDS_BPE: bpe_line(p, ids, count, words); break;
    case SUBWORDS_WORDPIECE: wordpiece_line(p, ids, count, words); break;
    default: words_line(&p->vocabulary, ids, count, words);
    }
}

void subwords_line(const Subwords *p, const int32_t *ids, size_t count, Buffer *line)
{
    size_t before_end = 0;
    while (before_end < count && ids[before_end] != END)
        before_end++;
    if (p->type == SUBWORDS_SENTENCEPIECE) {
        pieces_line(p, ids, before_end, line);
        return;
    }
    if (p->apart) {
        words_line(&p->target, ids, before_end, line);
        return;
    }
    if (p->type == SUBWORDS_BYTES || p->type == SUBWORDS_GPT2) {
        if (p->type == SUBWORDS_BYTES)
            bytes_line(ids, before_end, line);
        else
            gpt2_line(p, ids, before_end, line);
        return;
    }
    Buffer words = {0};
    subwords_words(p, ids, before_end, &words);
    tokens_join(&p->tokens, TARGET, (Line){words.text ? words.text : "", words.size}, line);
    line->failed = line->failed || words.failed;
    buffer_free(&words);
}

static const char *name_of(const Subwords *p, int32_t id)
{
    if (id < FIRST_SUBWORD)
        return id == UNKNOWN ? "<unk>" : end;
    if (p->type == SUBWORDS_WORDPIECE)
        return vocabulary_word(&p->wordpiece.subwords, id - FIRST_SUBWORD);
    return p->type == SUBWORDS_GPT2 ? vocabulary_word(&p->gpt2.subwords, id - FIRST_SUBWORD)
                                    : vocabulary_word(&p->vocabulary, id);
}

void subwords_name(const Subwords *p, size_t side, int32_t id, Buffer *name)
{
    if (p->apart && side == TARGET)
        buffer_print(name, "%s", vocabulary_word(&p->target, id));
    else if ((size_t)id >= p->count)
        buffer_print(name, "[%zu]", (size_t)id - p->count);
    else if (p->type == SUBWORDS_BYTES && id >= FIRST_SUBWORD)
        buffer_print(name, "0x%02x", (unsigned)(id - FIRST_SUBWORD));
    else
        buffer_print(name, "%s", name_of(p, id));
}

bool subwords_same(const Subwords *a, const Subwords *b, size_t side, size_t count, bool *same, Error *e)
{
    Buffer name[2] = {{0}, {0}};
    bool failed = false;
    *same = true;
    for (size_t id = 0; *same && !failed && id < count; id++) {
        name[0].size = name[1].size = 0;
        subwords_name(a, side, (int32_t)id, &name[0]);
        subwords_name(b, side, (int32_t)id, &name[1]);
        failed = name[0].failed || name[1].failed;
        *same = failed ||
                (name[0].size == name[1].size && (!name[0].size || !memcmp(name[0].text, name[1].text, name[0].size)));
    }
    buffer_free(&name[0]);
    buffer_free(&name[1]);
    return !failed || fail(e, "out of memory for the names of subwords");
}
