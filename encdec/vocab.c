/* encdec vocab: learns subwords from files, or from what a run would train on, writes them in the formats of those who
 * had them first, and says what they are like:
 *
 *     bpe         codes.bpe, and vocabulary.txt with the subwords that the text has then: subword-nmt's
 *     wordpiece   vocab.txt: BERT's
 *     words       words.txt: WORD COUNT, as subword-nmt's get-vocab has them
 *
 * The number of merges is not that of subwords: what is merged further may occur in no word any more, and characters are
 * subwords, too. Both are said. */
#include "encdec/encdec.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"
#include "core/run/json.h"
#include "core/text/archive.h"
#include "encdec/cutting.h"

#include <stdio.h>
#include <string.h>

/* What subwords make of sentences that they were not learned from. */
typedef struct Coverage {
    size_t lines, words, subwords, unknown;
} Coverage;

typedef struct Vocab {
    EncDec *c;
    SubwordsOptions options;
    Sentences sentences; /* where no files are named */
    Lines *files;        /* [count] */
    SubwordsText *texts; /* [count] */
    size_t count;
    Pool *pool;
    Subwords subwords;
    SubwordsSeen seen;
    Coverage valid;
} Vocab;

/* --- what is learned from --- */

/* Which side's language a file is in, by its name: .LANG, packed or not. */
static bool side_of(const Vocab *v, const char *name, size_t *side, Error *e)
{
    const char *const language[] = {v->c->options->source, v->c->options->target};
    const char *slash = strrchr(name, '/');
    for (const char *dot = strchr(slash ? slash : name, '.'); dot; dot = strchr(dot + 1, '.'))
        for (*side = 0; *side < SIDES_USED; ++*side) {
            size_t length = strlen(language[*side]);
            if (!strncmp(dot + 1, language[*side], length) && (!dot[length + 1] || dot[length + 1] == '.'))
                return true;
        }
    return fail(e, "%s: its language is unknown; for --tokens moses, names of files must end in .%s or .%s", name,
                language[0], language[1]);
}

static bool read_file(Vocab *v, size_t i, const char *name, Error *e)
{
    char *text;
    size_t size, side = SOURCE;
    if (v->options.tokens.rule == TOKENS_MOSES && !side_of(v, name, &side, e))
        return app_misused(&v->c->app);
    v->texts[i] = (SubwordsText){&v->files[i], side};
    return text_read(name, &text, &size, e) && lines_of_text(&v->files[i], name, text, size, e);
}

static bool read_texts(Vocab *v, Error *e)
{
    const Options *options = v->c->app.command_line;
    const SourceOptions source = encdec_source_options(v->c, false);
    const bool named = options->argument_count > 0;
    v->count = named ? options->argument_count : SIDES_USED;
    v->files = memory_get(v->count, sizeof *v->files);
    v->texts = memory_get(v->count, sizeof *v->texts);
    if (!v->files || !v->texts)
        return memory_error(e, "texts to learn from", v->count, sizeof *v->files);
    if (!named && !sentences_read(&v->sentences, &source, e))
        return false;
    for (size_t i = 0; i < v->count; i++)
        if (!named)
            v->texts[i] = (SubwordsText){&v->sentences.side[SPLIT_TRAIN][i], i};
        else if (!read_file(v, i, options->arguments[i], e))
            return false;
    return true;
}

/* Files are taken as subword-nmt takes them, unless the command line says otherwise: their words stand apart. */
static bool choose_options(Vocab *v, Error *e)
{
    const Options *options = v->c->app.command_line;
    EncdecOptions *values = v->c->options;
    if (options->argument_count && !options_given(options, "tokens"))
        values->tokens = TOKENS_SPACES;
    if (!encdec_subwords_options(&v->options, v->c, e))
        return false;
    v->options.size += FIRST_SUBWORD; /* here it is that of the file */
    v->options.only_spaces = options->argument_count && v->options.tokens.rule == TOKENS_SPACES;
    if (v->options.type == SUBWORDS_BYTES || v->options.type == SUBWORDS_GPT2 || v->options.type == SUBWORDS_SHAPES)
        return fail(e, "vocab learns --type words, bpe or wordpiece");
    return v->options.type == SUBWORDS_BPE || !v->options.vocabulary ||
           fail(e, "--vocabulary %s is already a vocabulary: there is nothing to learn", v->options.vocabulary);
}

/* --- what comes of it --- */

static bool cover(Coverage *to, const Subwords *p, Pool *pool, const Lines valid[SIDES_USED], Error *e)
{
    Cutting *c = NULL;
    bool done = cutting_open(&c, p, pool, e);
    const size_t most = done ? cutting_most(c) : 1;
    for (size_t side = 0; done && side < SIDES_USED; side++)
        for (size_t first = 0; done && first < valid[side].count; first += most) {
            const size_t left = valid[side].count - first, lines = left < most ? left : most;
            done = cutting_run(c, side, &valid[side], first, lines, e);
            for (size_t i = 0; done && i < lines; i++) {
                size_t count;
                const int32_t *ids = cutting_ids(c, side, i, &count);
                to->subwords += count;
                to->words += line_words(lines_at(&valid[side], first + i));
                for (size_t k = 0; k < count; k++)
                    to->unknown += ids[k] == UNKNOWN;
            }
            to->lines += lines;
        }
    cutting_close(c);
    return done;
}

static bool write_in(const char *folder, const char *name, bool (*write)(const Vocab *v, const char *path, Error *e),
                     const Vocab *v, Error *e)
{
    char *path = path_join(folder, name);
    bool done = path ? write(v, path, e) : memory_error(e, "a path", strlen(folder), 1);
    memory_free(path);
    return done;
}

static bool write_codes(const Vocab *v, const char *path, Error *e) { return bpe_write(&v->subwords.bpe, path, e); }
static bool write_met(const Vocab *v, const char *path, Error *e) { return bpe_subwords_write(&v->seen.met, path, e); }

static bool write_bert(const Vocab *v, const char *path, Error *e)
{
    return wordpiece_write(&v->subwords.wordpiece, path, e);
}

/* Without <unk> and </s>, which a model has of itself. */
static bool write_words(const Vocab *v, const char *path, Error *e)
{
    uint64_t *counts = v->subwords.vocabulary.counts;
    counts[UNKNOWN] = counts[END] = 0;
    return bpe_subwords_write(&v->subwords.vocabulary, path, e);
}

static bool write_files(const Vocab *v, Error *e)
{
    const char *folder = v->c->options->out;
    if (!folder)
        return true;
    if (!folder_make(folder, e))
        return false;
    switch (v->options.type) {
    case SUBWORDS_WORDS: return write_in(folder, "words.txt", write_words, v, e);
    case SUBWORDS_WORDPIECE: return write_in(folder, "vocab.txt", write_bert, v, e);
    default:
        return write_in(folder, "codes.bpe", write_codes, v, e) && write_in(folder, "vocabulary.txt", write_met, v, e);
    }
}

/* --- what is said of it --- */

/* Words or subwords in the file. The subwords of byte pairs that a text has may be called as <unk> or </s> are. */
static size_t listed(const Vocab *v)
{
    const Vocabulary *met = &v->seen.met;
    size_t count = 0;
    for (size_t i = 0; i < met->count; i++)
        count += met->counts[i] > 0;
    return v->options.type == SUBWORDS_BPE ? count : v->subwords.count - FIRST_SUBWORD;
}

static double share(size_t part, size_t all) { return all ? (double)part / (double)all : 0; }

static void print_seen(const SubwordsSeen *seen)
{
    printf("text        %s words (%s different) of %s characters (%s different), in %s lines\n",
           count_text(seen->words).text, count_text(seen->different_words).text, count_text(seen->characters).text,
           count_text(seen->different_characters).text, count_text(seen->lines).text);
}

static void print_text(const Vocab *v)
{
    const Subwords *p = &v->subwords;
    print_seen(&v->seen);
    if (v->options.type == SUBWORDS_BPE && !v->options.codes)
        printf("merges      %s learned, of --merges %s\n", count_text(p->bpe.count).text,
               count_text(v->options.merges).text);
    else if (v->options.type == SUBWORDS_BPE)
        printf("merges      %s in %s\n", count_text(p->bpe.count).text, v->options.codes);
    printf("vocabulary  %s %s; a model has %s with <unk> and </s>\n", count_text(listed(v)).text,
           v->options.type == SUBWORDS_WORDS ? "words"
           : v->options.type == SUBWORDS_BPE ? "subwords in the text's words"
                                             : "subwords",
           count_text(p->count).text);
    if (v->valid.lines)
        printf("valid       %.3f tokens per word, %.4f %% of them <unk>, in %s words and %s lines of both sides\n",
               share(v->valid.subwords, v->valid.words), 100 * share(v->valid.unknown, v->valid.subwords),
               count_text(v->valid.words).text, count_text(v->valid.lines).text);
    if (v->c->options->out)
        printf("written to  %s\n", v->c->options->out);
}

static bool print_json(const Vocab *v, Error *e)
{
    const SubwordsSeen *seen = &v->seen;
    Buffer b = {0};
    json_add_member(&b, "lines", (double)seen->lines);
    json_add_member(&b, "words", (double)seen->words);
    json_add_member(&b, "different_words", (double)seen->different_words);
    json_add_member(&b, "characters", (double)seen->characters);
    json_add_member(&b, "different_characters", (double)seen->different_characters);
    if (v->options.type == SUBWORDS_BPE)
        json_add_member(&b, "merges", (double)v->subwords.bpe.count);
    json_add_member(&b, "vocabulary", (double)listed(v));
    json_add_member(&b, "ids", (double)v->subwords.count);
    if (v->valid.lines) {
        json_add_member(&b, "valid_subwords_a_word", share(v->valid.subwords, v->valid.words));
        json_add_member(&b, "valid_unknown", share(v->valid.unknown, v->valid.subwords));
    }
    return json_print_members(&b, e);
}

/* A run's codes.bpe is what its ids mean: other codes in its place would make the run unreadable. */
static bool may_write(const Vocab *v, Error *e)
{
    const char *folder = v->c->options->out;
    if (!folder)
        return true;
    char *checkpoints = path_join(folder, "checkpoints"); /* other models have a config.json, too */
    bool may = checkpoints || memory_error(e, "the path of a run", strlen(folder) + 12, 1);
    if (may && folder_exists(checkpoints))
        may = fail(e, "--out %s holds a run, whose codes must stay as they are: give another folder", folder);
    memory_free(checkpoints);
    return may;
}

static bool learn(Vocab *v, Error *e)
{
    const size_t threads = v->c->options->threads ? v->c->options->threads : processors_allowed();
    if (!choose_options(v, e))
        return app_misused(&v->c->app);
    if (!may_write(v, e))
        return false;
    if (!read_texts(v, e) || (threads > 1 && !pool_open(&v->pool, threads, false, e)) ||
        !subwords_learn(&v->subwords, &v->options, v->texts, v->count, v->pool, &v->seen, e) ||
        !cover(&v->valid, &v->subwords, v->pool, v->sentences.side[SPLIT_VALID], e) || !write_files(v, e))
        return false;
    if (v->c->options->shared.json)
        return print_json(v, e);
    print_text(v);
    return true;
}

bool encdec_vocab(App *a, Error *e)
{
    EncDec *c = (EncDec *)a;
    Vocab v = {.c = c};
    bool done = learn(&v, e);
    subwords_seen_close(&v.seen);
    subwords_close(&v.subwords);
    pool_close(v.pool);
    for (size_t i = 0; v.files && i < v.count; i++)
        lines_close(&v.files[i]);
    memory_free(v.files);
    memory_free(v.texts);
    sentences_close(&v.sentences);
    return done;
}
