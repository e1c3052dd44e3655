/* What a format can say of a model: each option of ours that it knows, with the values that it has. All others must mean
 * what they mean in a run that was not given them, so an option that is new here is refused, not lost. */
#ifndef CORE_EXCHANGE_SAYABLE_H
#define CORE_EXCHANGE_SAYABLE_H

#include "core/run/json.h"

typedef struct Sayable {
    const char *option, *values; /* "pre|post"; NULL: any */
} Sayable;

/* model: the options of a run's model, as config.json has them. The list ends with a NULL. */
bool sayable_all(const Json *model, const Sayable *list, const char *format, Error *e);

/* The value of an option as text: "yes", "pre", "64"; what it means where the run does not say; NULL: there is none. */
const char *model_says(const Json *model, const char *option);

/* Whether it is that. */
bool model_is(const Json *model, const char *option, const char *value);

/* A size; 0 where the run does not say. And a number. */
size_t model_size(const Json *model, const char *option);
double model_number(const Json *model, const char *option);

/* What its norms add to a mean square. */
double model_epsilon(const Json *model);

#endif
