/* Answers of processes that share a search's batches (base/ranks.h), for all of them. */
#ifndef CORE_SEARCH_TOGETHER_H
#define CORE_SEARCH_TOGETHER_H

#include "core/search/translate.h"

/* Every process has some of the translations [count], and gets the others'. */
bool answers_share(Translation *translations, size_t count, Error *e);

#endif
