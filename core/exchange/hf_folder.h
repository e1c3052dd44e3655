/* A model as Hugging Face publishes it, to be read: a folder with
 *
 *     config.json                            what it is
 *     model.safetensors                      its weights; or model.safetensors.index.json, and the files that it names;
 *                                            or any one file FILE.safetensors, where that is named instead of the folder
 *     tokenizer.json                         its tokens: byte pairs of bytes, or WordPiece; or the same as vocab.json and
 *                                            merges.txt, encoder.json and vocab.bpe, or vocab.txt
 *     tokenizer_config.json                  how tokens are read, where it is there
 *     special_tokens_map.json                which tokens are marks, where it is there
 *     added_tokens.json                      tokens that are added to those, where it is there: there may be none
 *
 * What it says of itself that would change the meaning, and that is not known, is refused by name: here what any model may
 * say, all else by the caller. */
#ifndef CORE_EXCHANGE_HF_FOLDER_H
#define CORE_EXCHANGE_HF_FOLDER_H

#include "core/exchange/naming.h"
#include "core/run/json.h"
#include "core/text/wordpiece.h"

enum { HF_FILES = 256 };

typedef struct HfFolder {
    Source source; /* first: of its tensors. A name may lack the prefix, have _orig_mod. before it, or end in .gamma and
                    * .beta for .weight and .bias */
    const char *path, *prefix;
    char *around;              /* the folder that a file is in which was named; NULL: path is what was named */
    const char *single;        /* the name of that file; NULL: none */
    const char *const *longer; /* tensors that may have more rows than are read, of tokens without a name; ends with a
                                * NULL; NULL: none */
    const char *const (*aliases)[2]; /* a name, and another one where that is missing; ends with a NULL; NULL: none */
    size_t left_out;                 /* such rows */
    Json *config;
    Safetensors *file[HF_FILES];
    bool *used[HF_FILES]; /* [tensors of the file] */
    size_t files;
} HfFolder;

/* Whether a path is that of a single file of weights. */
bool hf_is_file(const char *path);

/* Reads config.json, and refuses what no network here does whatever it is: weights of few bits, code of its own, blocks of
 * fewer heads. To be closed in any case. path: of the folder, or of a file hf_is_file. prefix: "transformer." */
bool hf_open(HfFolder *h, const char *path, const char *prefix, Error *e);
void hf_close(HfFolder *h);

/* A file of the folder that is JSON. */
bool hf_json(Json **json, const HfFolder *h, const char *name, Error *e);

/* The same where there is such a file; NULL: there is none. */
bool hf_json_if_there(Json **json, const HfFolder *h, const char *name, Error *e);

/* Whether the folder has a file of that name. */
bool hf_file(char **path, const HfFolder *h, const char *name, bool *there, Error *e);

/* An error in a file that was made of tokenizer.json names that instead, and what the file would be called. Returns false. */
bool hf_blame(Error *e, const HfFolder *h, const char *made, const char *called);

/* What a key says, for messages. */
const char *hf_said(const HfFolder *h, const char *key);

/* A size of the configuration; `otherwise` where it is not there, or null (0: that is an error). */
bool hf_size(const HfFolder *h, const char *key, size_t otherwise, size_t *size, Error *e);

/* A number; `otherwise` where it is not there, or null. */
bool hf_number(const HfFolder *h, const char *key, double otherwise, double *number, Error *e);

/* A truth; `otherwise` where it is not there. */
bool hf_truth(const HfFolder *h, const char *key, bool otherwise, bool *truth, Error *e);

/* Refuses one that is not `wanted`. */
bool hf_must_be(const HfFolder *h, const char *key, bool otherwise, bool wanted, Error *e);

/* Refuses a key that says anything else than this text. */
bool hf_must_say(const HfFolder *h, const char *key, const char *wanted, Error *e);

/* Opens its weights. */
bool hf_weights(HfFolder *h, Error *e);

/* Whether they have a tensor. */
bool hf_has(const HfFolder *h, const char *name);

/* Refuses a tensor that was not read, unless its name ends in one of these. The list ends with a NULL. */
bool hf_nothing_left(const HfFolder *h, const char *const *ignored, Error *e);

/* What a text becomes here. */
typedef struct HfWords {
    const Vocabulary *words;
    const int32_t *theirs;         /* [words->count] the id that each has in the folder; NULL: the same as here */
    const char *const *named;      /* names that are one token in a text; the list ends with a NULL */
    bool named_only;               /* no other token may be added, not even a special one, whose name would be text */
    const char *const *flags;      /* what an added token of such a name must not be; the list ends with a NULL */
    const char *const (*marks)[2]; /* {"cls_token", "[CLS]"}: which token is what; the list ends with a NULL */
    const char *single, *pair; /* what is made of a text A and of two: "[CLS] A [SEP]"; NULL: there is no such thing. A
                                * part with the second segment is followed by :1 */
} HfWords;

/* Refuses a token that added_tokens.json, tokenizer_config.json or tokenizer.json adds, unless the vocabulary has it under
 * that id and texts are split at it as here (added_tokens.json does not say how they are); other marks than these, which
 * tokenizer_config.json and special_tokens_map.json name; and a post_processor that surrounds texts with other tokens.
 * tokenizer: tokenizer.json; NULL: there is none. */
bool hf_adds_as_here(const HfFolder *h, const Json *tokenizer, const HfWords *w, Error *e);

/* The files of its tokens, to be freed with memory_free: in the folder, or made of tokenizer.json as `made` followed by
 * .vocab.json and .merges.txt. found: whether there are any. */
typedef struct HfTokens {
    char *vocabulary, *merges;
    bool made;
} HfTokens;

bool hf_tokens_find(HfTokens *t, const HfFolder *h, const char *made, bool *found, Error *e);

/* The same of WordPiece as BERT has it: a vocab.txt. lower: words are read in lower case and without accents. */
typedef struct HfWordPiece {
    char *vocabulary; /* to be freed with memory_free */
    bool made, lower;
} HfWordPiece;

bool hf_wordpiece_find(HfWordPiece *t, const HfFolder *h, const char *made, Error *e);

/* Writes a vocabulary as vocab.txt and tokenizer.json, and what class of tokenizer that is. context: how many tokens the
 * model reads. */
bool hf_wordpiece_write(const char *folder, const WordPiece *w, size_t context, Error *e);

#endif
