/* Byte pairs of bytes as Hugging Face's tokenizers read them: vocab.json and merges.txt, the same in one file,
 * tokenizer.json, and what class of tokenizer that is, tokenizer_config.json. */
#ifndef CORE_EXCHANGE_HF_TOKENS_H
#define CORE_EXCHANGE_HF_TOKENS_H

#include "core/text/gpt2.h"

/* context: how many tokens the model reads. */
bool hf_tokens_write(const char *folder, const Gpt2 *g, size_t context, Error *e);

#endif
