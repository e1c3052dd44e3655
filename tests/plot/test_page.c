/* The page to explore: its numbers are the weights, no token can break it, and a browser shows them. */
#include "core/plot/page.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/run/json.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 2, HEADS = 2, QUERIES = 3, KEYS = 4 };

static const char *const queries[QUERIES] = {"</script><b>", "a\"b\\c'", "\u6ce8\n"};
static const char *const keys[KEYS] = {"<!--", " ", "&amp;", "\xff"};

/* Cross maps of awkward tokens with weights of which no two are alike. */
typedef struct Example {
    Labels query, key;
    float weights[LAYERS * HEADS * QUERIES * KEYS];
    Maps maps;
} Example;

static void example_open(Example *x)
{
    Error e;
    *x = (Example){.maps = {.name = "cross", .layers = LAYERS, .heads = HEADS, .queries = QUERIES, .keys = KEYS}};
    for (size_t i = 0; i < QUERIES; i++)
        ck_done(labels_add(&x->query, queries[i], strlen(queries[i]), false, &e), e);
    for (size_t i = 0; i < KEYS; i++)
        ck_done(labels_add(&x->key, keys[i], strlen(keys[i]), false, &e), e);
    for (size_t i = 0; i < sizeof x->weights / sizeof *x->weights; i++)
        x->weights[i] = (float)(i + 1) / 100;
    x->maps.weights = x->weights;
    x->maps.query = &x->query;
    x->maps.key = &x->key;
}

static void example_close(Example *x)
{
    labels_close(&x->query);
    labels_close(&x->key);
}

static const HeadsShown everything = {EVERY, EVERY, 0, 0};

/* Writes the page; its bytes, to be freed with memory_free. */
static char *page_of(const Example *x, const HeadsShown *where, char path[600])
{
    Error e;
    char *text;
    size_t size;
    snprintf(path, 600, "%s/page.html", test_folder());
    ck_done(page_write(path, &x->maps, 1, &x->maps, where, &e) && file_read(path, &text, &size, &e), e);
    ck_assert_uint_eq(strlen(text), size);
    return text;
}

/* What stands in the page's one element of data. */
static Json *data_of(char *page)
{
    static const char begin[] = "id=\"data\">";
    char *from = strstr(page, begin), *to = from ? strstr(from, "</script") : NULL;
    Json *j;
    Error e;
    ck_assert(from && to);
    from += sizeof begin - 1;
    ck_done(json_read(&j, from, (size_t)(to - from), "the page", &e), e);
    return j;
}

START_TEST(its_numbers_are_the_weights)
{
    static const HeadsShown cases[] = {
        {EVERY, EVERY, 0, 0}, {EVERY, EVERY, 0, 2}, {EVERY, EVERY, 1, 2}, {EVERY, EVERY, 3, 9}};
    Example x;
    char path[600];
    example_open(&x);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char *page = page_of(&x, &cases[c], path);
        Json *j = data_of(page);
        const HeadsPanel p = heads_part(&x.maps, &cases[c]);
        const Json *m = &json_get(j, "maps")->items[0], *layers = json_get(m, "weights"),
                   *names = json_get(m, "queries");
        ck_assert(layers->count == LAYERS && names->count == p.rows);
        for (size_t i = 0; i < p.rows; i++)
            ck_assert_str_eq(names->items[i].text, label_shown(&x.query, p.first_row + i));
        for (size_t l = 0; l < LAYERS; l++)
            for (size_t h = 0; h < HEADS; h++)
                for (size_t i = 0; i < p.rows; i++) {
                    const Json *row = &layers->items[l].items[h].items[i];
                    ck_assert_uint_eq(row->count, p.columns);
                    for (size_t k = 0; k < p.columns; k++)
                        ck_assert_double_lt(
                            fabs(row->items[k].number -
                                 (double)maps_head(&x.maps, l, h)[(p.first_row + i) * KEYS + p.first_column + k]),
                            1e-6);
                }
        json_free(j);
        memory_free(page);
    }
    example_close(&x);
}

START_TEST(it_loads_nothing)
{
    static const char *const calls[] = {"src=",   "href=",          "@import", "url(",
                                        "fetch(", "XMLHttpRequest", "import(", "https:"};
    Example x;
    char path[600];
    example_open(&x);
    char *page = page_of(&x, &everything, path);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        ck_assert_msg(!strstr(page, calls[i]), "%s", calls[i]);
    ck_assert(!strstr(page, "@DATA@"));
    memory_free(page);
    example_close(&x);
}

static bool write_page(void *argument, Error *e)
{
    const Example *x = argument;
    char path[600];
    snprintf(path, sizeof path, "%s/page.html", test_folder());
    return page_write(path, &x->maps, 1, &x->maps, &everything, e);
}

START_TEST(memory_that_runs_out_is_said)
{
    Example x;
    example_open(&x);
    fail_each_allocation(write_page, &x);
    example_close(&x);
}

/* What a browser makes of the page, once `script` has run after it: its elements as text; NULL: there is no browser.
 */
static char *shown_by_browser(const char *page, const char *script)
{
    static const char *const browsers[] = {"chromium", "chromium-browser", "google-chrome"};
    char path[600], out[620], call[2000], *text = NULL;
    Buffer b = {0};
    Error e;
    size_t size;
    snprintf(path, sizeof path, "%s/shown.html", test_folder());
    snprintf(out, sizeof out, "%s.out", path);
    buffer_print(&b, "%s<script>%s</script>", page, script);
    ck_done(file_write(path, b.text, b.size, &e), e);
    buffer_free(&b);
    for (size_t i = 0; !text && i < 3; i++) {
        snprintf(call, sizeof call, "command -v %s >/dev/null 2>&1", browsers[i]);
        if (system(call) != 0)
            continue;
        snprintf(call, sizeof call,
                 "timeout 60 %s --headless --no-sandbox --disable-gpu --user-data-dir=%s.profile --dump-dom "
                 "'file://%s' >%s 2>/dev/null",
                 browsers[i], path, path, out);
        if (system(call) == 0)
            ck_done(file_read(out, &text, &size, &e), e);
    }
    return text;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

START_TEST(a_browser_shows_what_a_token_looks_at)
{
    static const char point[] = "document.querySelector('text.query[data-query=\"1\"]').dispatchEvent(new "
                                "MouseEvent('mouseover', {bubbles: true}))";
    static const char lines[] =
        "document.getElementById('view').value = 'lines'; document.getElementById('head').value = 'mean'; draw()";
    Example x;
    char path[600];
    example_open(&x);
    char *page = page_of(&x, &everything, path), *dom = shown_by_browser(page, point);
    if (!dom) {
        test_skip("plot/page/a_browser_shows_what_a_token_looks_at", "there is no Chromium that runs");
    } else {
        ck_assert_uint_eq(count_of(dom, "fill=\"rgb("), QUERIES * KEYS);
        ck_assert_msg(strstr(dom, "<b>a\"b\\c'</b> (1) looks at <b>xFF</b> (3) 0.080, <b>&amp;amp;</b> (2) 0.070"),
                      "%s", dom);
        ck_assert_ptr_nonnull(strstr(dom, "&lt;/script&gt;&lt;b&gt;</text>"));
        memory_free(dom);
        dom = shown_by_browser(page, lines);
        ck_assert_uint_eq(count_of(dom, "<line "), QUERIES * KEYS);
        memory_free(dom);
    }
    memory_free(page);
    example_close(&x);
}

static const Test tests[] = {TEST(its_numbers_are_the_weights), TEST(it_loads_nothing),
                             TEST(memory_that_runs_out_is_said), TEST_SLOW(a_browser_shows_what_a_token_looks_at, 200)};

int main(int argc, char **argv) { return suite_run("plot/page", tests, sizeof tests / sizeof *tests, argc, argv); }
