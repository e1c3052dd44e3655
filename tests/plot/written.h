/* What is written in a picture, an SVG: that all of it is inside, and that no two texts are over one another. */
#ifndef TESTS_PLOT_WRITTEN_H
#define TESTS_PLOT_WRITTEN_H

#include "tests/suite.h"

/* Fails the test where they do not; `what` says which picture it was. Letters are taken for narrower than fonts have
 * them, so that what fails here is seen by everybody. Gives the number of texts. */
size_t ck_written(const char *svg, const char *what);

#endif
