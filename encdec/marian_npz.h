/* A model as Marian itself writes it: MODEL.npz, which holds its weights and, as special:model.yml, what it is; and beside it
 * source.spm, target.spm and the ids of tokens. The list `vocabs` in MODEL.npz.decoder.yml, decoder.yml or MODEL.npz.yml names
 * their two files, the source's first. Without such a list it is vocab.yml (or the one file whose name ends so); for a model
 * with two vocabularies, two files whose names end in source.vocab.yml and target.vocab.yml.
 *
 * It is read as if it were the same model of Hugging Face's transformers: a configuration, ids, and tensors by those names.
 * Marian has no <pad>: a translation begins with a vector of zeros, which becomes the row of one, whose logit is so low that
 * its share is 0. */
#ifndef ENCDEC_MARIAN_NPZ_H
#define ENCDEC_MARIAN_NPZ_H

#include "core/exchange/naming.h"
#include "core/exchange/npz.h"
#include "core/run/json.h"

typedef struct MarianNpz {
    Source source; /* first */
    Npz npz;
    char *folder;
    bool one, tied;     /* there is one table for all; the decoder's is that of the logits */
    Json *config, *ids; /* as config.json and vocab.json would be */
    Json *target_ids;   /* as target_vocab.json; NULL: the model has one table */
} MarianNpz;

/* To be closed in any case. */
bool marian_npz_open(MarianNpz *n, const char *path, Error *e);
void marian_npz_close(MarianNpz *n);

/* Refuses an array that was not read. */
bool marian_npz_nothing_left(const MarianNpz *n, Error *e);

#endif
