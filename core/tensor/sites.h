/* The users of random numbers: the last word of the Philox counter, so that no two purposes ever share a number. */
#ifndef CORE_TENSOR_SITES_H
#define CORE_TENSOR_SITES_H

enum {
    SITE_LAYERS = 0,                /* + number of the dropout, in the order in which the model is built */
    SITE_PASS = 0x08000000,         /* + number of the dropout: of a network's second pass in a step */
    SITE_INIT = 0x10000000,         /* initial weights; a hash of the parameter's name takes the place of the step */
    SITE_DATA = 0x20000000,         /* + what is drawn: rows, shuffles */
    SITE_SAMPLER = 0x30000000,      /* + number of the sample */
    SITE_WORDS = 0x40000000,        /* + side: which words are dropped */
    SITE_LINKS = SITE_DATA + 0x400, /* which link of an alignment */
    SITE_CUTS = 0x50000000,         /* + side: which merges of byte pairs are dropped */
};

#endif
