/* How others name and lay out the weights of language models like ours. */
#ifndef CHARLM_NAMES_H
#define CHARLM_NAMES_H

#include "core/exchange/naming.h"

/* The tables, for naming.h. */
typedef enum Names {
    NAMES_GPT2,       /* Hugging Face's GPT2LMHeadModel, without its prefix "transformer." */
    NAMES_NANOGPT,    /* nanoGPT's and llm.c's GPT: the same names, with weights as PyTorch's Linear has them */
    NAMES_LLAMA,      /* Hugging Face's LlamaForCausalLM */
    NAMES_GGUF_GPT2,  /* llama.cpp's architectures gpt2 */
    NAMES_GGUF_LLAMA, /* and llama */
    NAMES_COUNT
} Names;

/* For a model with this depth and width; LAYOUT_PAIRS needs the sizes of a head, too. */
NamingTable names_table(Names names, size_t blocks, size_t dim);

#endif
