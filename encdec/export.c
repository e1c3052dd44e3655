/* encdec export: a run becomes a folder of another format. What that cannot say is refused by the option's name.
 *
 * Tokens are our subwords: a caller cuts texts as `encdec subwords` does. */
#include "encdec/export.h"

#include <stdio.h>

bool encdec_export(App *a, Error *e)
{
    static const struct {
        const char *what;
        bool (*write)(Export *x, const EncDec *c, Error *e);
    } formats[] = {[EXPORT_CTRANSLATE2] = {"a Transformer of CTranslate2", encdec_export_ctranslate2},
                   [EXPORT_HF] = {"a Marian of transformers", encdec_export_hf},
                   [EXPORT_ONNX] = {"two graphs", encdec_export_onnx}};
    EncDec *c = (EncDec *)a;
    const int format = c->options->exported;
    Export x = {.to = NULL};
    if (!format)
        return fail(e, "which format? Give --format ctranslate2, hf or onnx") || app_misused(a);
    if (!a->options->out)
        return fail(e, "where to? Give --out DIR") || app_misused(a);
    if (!encdec_open_run(c, e) || !export_open(&x, a, true, e))
        return false;
    if (!export_close(&x, formats[format].write(&x, c, e), e))
        return false;
    if (!a->options->quiet)
        fprintf(stderr, "%s: %s with %zu tokens\n", a->options->out, formats[format].what, c->subwords.count);
    return true;
}
