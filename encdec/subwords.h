/* What a line is to the network: a list of ids, and back again. Two ids are the same for all kinds of subwords:
 *
 *     0  <unk>   what is not in the vocabulary
 *     1  </s>    the end of a sentence; it ends each source and each target, and the decoder begins with it
 *
 * Rows are packed, so there is no id for padding. After these two come
 *
 *     words       the most frequent words (see tokens.h) of both sides of the training part, as they stand
 *     shapes      the same, and for other words their shapes and endings (core/text/shape.h)
 *     bytes       the 256 bytes, by their values
 *     bpe         byte pairs (core/text/bpe.h): all subwords that the words of both sides are cut into
 *     wordpiece   BERT's subwords (core/text/wordpiece.h): id 2 + n is line n of vocab.txt, from 0, and [UNK] is 0
 *     gpt2        byte pairs of bytes (core/text/gpt2.h): id 2 + n is the subword that encoder.json calls n
 *     sentencepiece  pieces of a model (core/text/sentencepiece.h), in its order; import has others, by name
 *
 * One vocabulary serves both sides, except where the target is not written in words of a language: then `apart` says
 * so, its tokens are what stands between spaces, and have ids of their own. A vocabulary is learned from the training part, or read from files that are given, as
 *
 *                 vocabulary                              codes
 *     words       WORD COUNT on each line
 *     bpe         SUBWORD COUNT: which subwords may be given  merges, as subword-nmt writes them
 *     wordpiece   vocab.txt
 *     gpt2        encoder.json                            vocab.bpe
 *     sentencepiece  a .model, which cuts both sides
 *
 * Where the vocabulary has <pad>, as Marian's has, the decoder begins with it, not with </s>, and no translation has it. A line
 * of such a run may begin with the code of a language, >>de<<, which is a token.
 *
 * In the run are vocabulary.tsv (words, shapes, bpe, sentencepiece), source.spm and target.spm (sentencepiece), codes.bpe and kept.txt (bpe), vocab.txt (wordpiece), encoder.json
 * and vocab.bpe (gpt2), and target.tsv where the target is apart, so that it stands on its own. */
#ifndef ENCDEC_SUBWORDS_H
#define ENCDEC_SUBWORDS_H

#include "base/buffer.h"
#include "base/thread.h"
#include "core/text/bpe.h"
#include "core/text/gpt2.h"
#include "core/text/sentencepiece.h"
#include "core/text/tree_tokens.h"
#include "core/text/wordpiece.h"
#include "encdec/tokens.h"

enum { END = 1, FIRST_SUBWORD = 2 };

typedef enum SubwordType {
    SUBWORDS_WORDS,
    SUBWORDS_BYTES,
    SUBWORDS_BPE,
    SUBWORDS_WORDPIECE,
    SUBWORDS_GPT2,
    SUBWORDS_SHAPES,
    SUBWORDS_SENTENCEPIECE
} SubwordType;

typedef struct SubwordsOptions {
    SubwordType type;
    size_t size;   /* ids of words or BERT's subwords that are learned, at most; 0: as many as there are */
    size_t merges; /* of byte pairs that are learned, at most */
    bool lower;    /* BERT's subwords are of words in lower case and without accents */
    bool apart;    /* the target has a vocabulary of its own: trees, in which words are; or pieces */
    TreeLeaves leaves;
    bool word_positions; /* the decoder's positions count words */
    Tokens
        tokens; /* of words and byte pairs; of BERT's subwords only how a text is made of them. Others are those of the
                      text as it stands */
    bool only_spaces; /* bpe learns from words as subword-nmt has them: a tab is a character like others */
    const char *codes, *vocabulary; /* files that are given; NULL: none */
    size_t registers;               /* ids before those of each source, after all others */
    size_t threshold;               /* bpe: how often a subword is in `vocabulary` that may be given */
    bool dropout;                   /* bpe: what merges may leave behind has an id, too */
} SubwordsOptions;

typedef struct Subwords {
    SubwordType type;
    Tokens tokens;
    size_t count;          /* ids */
    size_t registers;      /* that each source begins with: ids from count on */
    Vocabulary vocabulary; /* of words, or of the subwords of words */
    bool apart;
    Vocabulary target; /* where it is apart */
    bool *moves;       /* [of target] whether a token is a word, where positions count these; NULL: they count tokens */
    Bpe bpe;
    Vocabulary kept; /* of byte pairs: the subwords that may be given; without any, all may */
    WordPiece wordpiece;
    Gpt2 gpt2;
    SentencePiece pieces[SIDES_USED];
    int32_t pad; /* of the target; 0: there is none */
} Subwords;

/* What a decoder starts from. */
static inline int32_t subwords_begin(const Subwords *p) { return p->pad ? p->pad : END; }

/* A text that is learned from, and which side's language it is in. */
typedef struct SubwordsText {
    const Lines *lines;
    size_t side;
} SubwordsText;

/* What was seen of the texts; words are those that subwords are made of. Nothing where nothing had to be learned. */
typedef struct SubwordsSeen {
    size_t lines, different_words, different_characters;
    uint64_t words, characters;
    Vocabulary met; /* byte pairs: the subwords of the texts and how often, in the order in which they first come */
} SubwordsSeen;

void subwords_seen_close(SubwordsSeen *seen);

/* Only what is given, for lines of any text to be cut; the ids of byte pairs are not known without a text. */
bool subwords_given(Subwords *p, const SubwordsOptions *o, Error *e);

/* Whether the files that are given are those that the type wants. */
bool subwords_suit(const SubwordsOptions *o, Error *e);

/* Makes subwords of texts, or of what is given. pool: its threads count, NULL: the caller alone; the result does not depend on
 * it. seen may be NULL. */
bool subwords_learn(Subwords *p, const SubwordsOptions *o, const SubwordsText *texts, size_t count, Pool *pool,
                    SubwordsSeen *seen, Error *e);
void subwords_close(Subwords *p);

/* Of pieces: finds <pad>, where the vocabulary has one. */
void subwords_find_pad(Subwords *p);

/* The files of a run that belong to them. */
extern const char *const subwords_files[]; /* up to a NULL: what may be written */
bool subwords_write(const Subwords *p, const char *folder, Error *e);
bool subwords_read(Subwords *p, const SubwordsOptions *o, const char *folder, Error *e);

/* How many ids there will be, as far as options and given files say: to plan with. */
bool subwords_planned(const SubwordsOptions *o, size_t count[SIDES_USED], Error *e);

/* Ids of a side. */
static inline size_t subwords_count(const Subwords *p, size_t side)
{
    return p->apart && side == TARGET ? p->target.count : p->count;
}

/* Adds the line of the target that ids are: up to the first </s>, if there is one. */
void subwords_line(const Subwords *p, const int32_t *ids, size_t count, Buffer *line);

/* Its words, with spaces between them, as they were before they were cut; of bytes and GPT-2's subwords there are none. */
void subwords_words(const Subwords *p, const int32_t *ids, size_t count, Buffer *words);

/* How a subword is called where it is shown; bytes by their values: "0x41". */
void subwords_name(const Subwords *p, size_t side, int32_t id, Buffer *name);

/* Whether ids below this one have the same names on a side of both. */
bool subwords_same(const Subwords *a, const Subwords *b, size_t side, size_t count, bool *same, Error *e);

/* --- a text as ids: cutter.c --- */

/* A list of ids that grows. */
typedef struct Ids {
    int32_t *id;
    size_t count, capacity;
} Ids;

bool ids_add(Ids *ids, int32_t id, Error *e);
bool ids_add_all(Ids *ids, const int32_t *id, size_t count, Error *e);
void ids_close(Ids *ids);

/* It belongs to one thread; several may share the subwords. What it remembers of the text is bounded. */
typedef struct Cutter {
    const Subwords *subwords;
    BpeCoder coder;
    Ids of_coder; /* the id of each subword that the coder has given so far */
    Buffer words; /* of the line, where they are not as in the text */
    Buffer own;   /* its ids as the vocabulary numbers them, from 0 */
    Cuts cuts;
} Cutter;

bool cutter_open(Cutter *c, const Subwords *p, Error *e);
void cutter_close(Cutter *c);

/* Adds the ids of a line of one side, without </s>. */
bool cutter_ids(Cutter *c, size_t side, Line line, Ids *ids, Error *e);

/* The same for ids of byte pairs, whose words are cut anew, with dropout. False: a subword has no id, there are more than
 * `most`, or memory ran out; what was added stays. */
bool cutter_again(Cutter *c, const int32_t *id, size_t count, BpeDropout *dropout, size_t most, Ids *ids);

#endif
