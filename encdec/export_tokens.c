/* Subwords as other formats list them. */
#include "encdec/export.h"

#include "core/exchange/text_file.h"

#include <stdio.h>
#include <string.h>

static void add_token(Buffer *b, const Subwords *p, size_t side, int32_t id)
{
    Buffer name = {0};
    subwords_name(p, side, id, &name);
    json_add_string(b, name.text ? name.text : "");
    b->failed = b->failed || name.failed;
    buffer_free(&name);
}

void encdec_export_token(Buffer *b, const Subwords *p, int32_t id) { add_token(b, p, TARGET, id); }

static bool write_list(const Export *x, const Subwords *p, size_t side, const char *name, Error *e)
{
    Buffer b = {0};
    buffer_print(&b, "[");
    for (size_t i = 0; i < subwords_count(p, side); i++) {
        json_add_key(&b, NULL);
        add_token(&b, p, side, (int32_t)i);
    }
    buffer_print(&b, "]\n");
    return text_file(x->making, name, &b, e);
}

bool encdec_export_tokens(const Export *x, const Subwords *p, const char *name, Error *e)
{
    static const char *const sides[] = {[SOURCE] = "source_", [TARGET] = "target_"}, shared[] = "shared_";
    if (!p->apart)
        return write_list(x, p, TARGET, name, e);
    name += strncmp(name, shared, strlen(shared)) ? 0 : strlen(shared);
    for (size_t side = 0; side < SIDES_USED; side++) {
        char file[64];
        snprintf(file, sizeof file, "%s%s", sides[side], name);
        if (!write_list(x, p, side, file, e))
            return false;
    }
    return true;
}
