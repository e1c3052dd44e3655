/* See tree_drawing.h. Words stand side by side, each as wide as its letters; a constituent is in the middle between its
 * first and its last child. */
#include "encdec/tree_drawing.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "core/plot/picture.h"

#include <string.h>

typedef struct Place {
    double x;
    size_t parent, depth;
} Place;

static size_t letters(const char *text)
{
    size_t count = 0;
    for (size_t size = strlen(text), step; size; text += step, size -= step, count++)
        step = utf8_step(text, size);
    return count;
}

/* In letters from the left, a gap between two words. */
static void place(const Tree *t, Place *p)
{
    double left = 0;
    for (size_t i = 0; i < t->count; i++) {
        p[i].depth = i ? p[p[i].parent].depth + 1 : 0;
        for (size_t k = i + 1; k < t->node[i].end && !tree_is_leaf(t, i); k = t->node[k].end)
            p[k].parent = i;
        if (!tree_is_leaf(t, i))
            continue;
        const size_t word = letters(tree_word(t, i)), tag = letters(tree_label(t, i)), width = word > tag ? word : tag;
        p[i].x = left + (double)width / 2;
        left += (double)width + 2;
    }
    for (size_t i = t->count; i--;) {
        size_t last = i + 1;
        if (tree_is_leaf(t, i))
            continue;
        while (t->node[last].end < t->node[i].end)
            last = t->node[last].end;
        p[i].x = (p[i + 1].x + p[last].x) / 2;
    }
}

static void add_line(Buffer *b, double x, size_t y, const Place *parent, const char *label, const char *kind)
{
    Buffer text = {0};
    buffer_print(b, "%.2f\t%zu\t", x, y);
    if (parent)
        buffer_print(b, "%.2f\t%zu\t", parent->x, parent->depth);
    else
        buffer_print(b, "%.2f\t%zu\t", x, y);
    picture_text(&text, label, strlen(label), true);
    if (text.text)
        picture_label(b, text.text);
    b->failed = b->failed || text.failed;
    buffer_print(b, "\t%s\n", kind);
    buffer_free(&text);
}

bool tree_draw(const App *a, const Tree *t, Error *e)
{
    Place *p = memory_get(t->count, sizeof *p);
    Buffer data = {0};
    if (!p)
        return memory_error(e, "a tree", t->count, sizeof *p);
    place(t, p);
    buffer_print(&data, "x\ty\tparent x\tparent y\tlabel\tkind\n");
    for (size_t i = 0; i < t->count; i++) {
        const bool leaf = tree_is_leaf(t, i);
        add_line(&data, p[i].x, p[i].depth, i ? &p[p[i].parent] : NULL, tree_label(t, i), leaf ? "tag" : "constituent");
        if (leaf)
            add_line(&data, p[i].x, p[i].depth + 1, NULL, tree_word(t, i), "word");
    }
    const bool fine = (!data.failed || memory_error(e, "a picture", data.size, 1)) && app_draw_out(a, "tree", &data, e);
    memory_free(p);
    buffer_free(&data);
    return fine;
}
