/* classifier export: a run becomes a folder of another format. If the format cannot express an option, the option is
 * named. */
#include "classifier/export.h"

#include <stdio.h>

bool classifier_export(App *a, Error *e)
{
    Classifier *c = (Classifier *)a;
    const int format = c->options->format;
    Export x = {.to = NULL};
    if (format == EXPORT_NONE)
        return fail(e, "which format? Give --format hf or onnx") || app_misused(a);
    if (!a->options->out)
        return fail(e, "where to? Give --out DIR") || app_misused(a);
    if (!classifier_open_run(c, e) || !export_open(&x, a, true, e))
        return false;
    const bool hf = format == EXPORT_HF;
    if (!export_close(&x, hf ? classifier_export_hf(c, &x, e) : classifier_export_onnx(c, &x, e), e))
        return false;
    if (!a->options->quiet)
        fprintf(stderr, "%s: %s of %zu blocks, %zu wide, with %zu tokens\n", a->options->out,
                hf ? "a model" : "a graph", c->options->shared.depth, c->options->shared.dim, tokens_count(c->reading));
    return true;
}
