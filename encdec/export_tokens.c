/* Subwords as other formats list them. */
#include "encdec/export.h"

#include "core/exchange/text_file.h"

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
