/* Maps as one page to explore in a browser, which loads nothing else: plots/heads.html with the data in it. */
#ifndef CORE_PLOT_PAGE_H
#define CORE_PLOT_PAGE_H

#include "core/plot/heads.h"

/* shown: the one that the page begins with. Of long texts it has what pictures show. */
bool page_write(const char *path, const Maps *maps, size_t count, const Maps *shown, const HeadsShown *where, Error *e);

#endif
