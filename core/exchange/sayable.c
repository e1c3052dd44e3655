/* See sayable.h. */
#include "core/exchange/sayable.h"

#include "core/run/run.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const Json *item)
{
    return item->kind == JSON_BOOL ? item->truth ? "yes" : "no" : item->text;
}

const char *model_says(const Json *model, const char *option)
{
    const Json *item = json_get(model, option);
    return item ? text_of(item) : run_unless_given(option);
}

bool model_is(const Json *model, const char *option, const char *value)
{
    const char *text = model_says(model, option);
    return text && strcmp(text, value) == 0;
}

double model_number(const Json *model, const char *option)
{
    const Json *item = json_get(model, option);
    return item && item->kind == JSON_NUMBER ? item->number : 0;
}

double model_epsilon(const Json *model)
{
    const double given = model_number(model, "norm-epsilon");
    return given > 0 ? given : 1e-5;
}

size_t model_size(const Json *model, const char *option)
{
    int64_t size;
    return json_integer(json_get(model, option), &size) && size > 0 ? (size_t)size : 0;
}

/* Whether a word is one of "a|b|c". */
static bool is_among(const char *values, const char *word)
{
    const size_t size = strlen(word);
    for (const char *at = values; *at;) {
        const size_t length = strcspn(at, "|");
        if (length == size && strncmp(at, word, size) == 0)
            return true;
        at += length + (at[length] == '|');
    }
    return false;
}

static bool sayable_one(const Json *item, const Sayable *list, const char *format, Error *e)
{
    const char *value = text_of(item), *means = run_unless_given(item->key);
    for (; list->option; list++) {
        if (strcmp(list->option, item->key) != 0)
            continue;
        return !list->values || (value && is_among(list->values, value)) ||
               fail(e, "--format %s cannot express --%s %s, only %s", format, item->key, value ? value : "null",
                    list->values);
    }
    return (means && value && strcmp(means, value) == 0) ||
           fail(e, "--format %s cannot express --%s %s", format, item->key, value ? value : "null");
}

bool sayable_all(const Json *model, const Sayable *list, const char *format, Error *e)
{
    for (size_t i = 0; i < model->count; i++)
        if (!sayable_one(&model->items[i], list, format, e))
            return false;
    return true;
}
