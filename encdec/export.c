/* encdec export: a run becomes a folder of another format. What that cannot say is refused by the option's name.
 *
 * Tokens are our subwords: a caller cuts texts as `encdec subwords` does. */
#include "encdec/export.h"

#include "core/exchange/text_file.h"

#include <stdio.h>

void encdec_export_token(Buffer *b, const Subwords *p, int32_t id)
{
    Buffer name = {0};
    subwords_name(p, TARGET, id, &name);
    json_add_string(b, name.text ? name.text : "");
    b->failed = b->failed || name.failed;
    buffer_free(&name);
}

bool encdec_export_tokens(const Export *x, const Subwords *p, const char *name, Error *e)
{
    Buffer b = {0};
    buffer_print(&b, "[");
    for (size_t i = 0; i < p->count; i++) {
        json_add_key(&b, NULL);
        encdec_export_token(&b, p, (int32_t)i);
    }
    buffer_print(&b, "]\n");
    return text_file(x->making, name, &b, e);
}

bool encdec_export(App *a, Error *e)
{
    static const struct {
        const char *what;
        bool (*write)(Export *x, const Subwords *p, Error *e);
    } formats[] = {[EXPORT_CTRANSLATE2] = {"a Transformer of CTranslate2", encdec_export_ctranslate2},
                   [EXPORT_ONNX] = {"two graphs", encdec_export_onnx}};
    EncDec *c = (EncDec *)a;
    const int format = c->options->exported;
    Export x = {.to = NULL};
    if (!format)
        return fail(e, "which format? Give --format ctranslate2 or onnx") || app_misused(a);
    if (!a->options->out)
        return fail(e, "where to? Give --out DIR") || app_misused(a);
    if (!encdec_open_run(c, e) || !export_open(&x, a, true, e))
        return false;
    if (!export_close(&x, formats[format].write(&x, &c->subwords, e), e))
        return false;
    if (!a->options->quiet)
        fprintf(stderr, "%s: %s with %zu tokens\n", a->options->out, formats[format].what, c->subwords.count);
    return true;
}
