/* See runs.h. */
#include "tests/plot/runs.h"

#include "base/buffer.h"
#include "base/file.h"
#include "tests/suite.h"

#include <stdio.h>
#include <stdlib.h>

const char *place(const char *name)
{
    static char paths[64][700];
    static const char *folder; /* of this test, which is a process */
    static size_t next;
    char *path = paths[next++ % 64];
    folder = folder ? folder : test_folder();
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *text_file(const char *name, const char *text)
{
    const char *path = place(name);
    Error e;
    size_t size = 0;
    while (text[size])
        size++;
    ck_done(file_write(path, text, size, &e), e);
    return path;
}

const char *falling_log(const char *name, size_t steps, double shift)
{
    Buffer b = {0};
    buffer_print(&b, "%s", HEADER);
    for (size_t i = 1; i <= steps; i++) {
        double loss = 4 + 1 / (double)i + shift;
        buffer_print(&b, "%zu\t100\t%.6f\t%.4g\t%.6g\t", i, loss, 2 / (double)i, 1e-3 * (double)i);
        if (i % 10 == 0)
            buffer_print(&b, "%.6f", loss + 0.5);
        buffer_print(&b, "\t%zu\t0.5\t%.6f\t%s\n", 1000 + i % 7, loss, i % 10 == 0 ? "0.75" : "");
    }
    const char *path = text_file(name, b.text);
    buffer_free(&b);
    return path;
}

const char *made_run(const char *name, const char *model, const char *training, size_t steps, double shift)
{
    const char *path = place(name);
    char file[64];
    Buffer b = {0};
    Error e;
    ck_done(folder_make(path, &e), e);
    buffer_print(&b,
                 "{\"program\": \"charlm\", \"model\": {%s}, \"training\": {%s}, "
                 "\"data\": {\"path\": \"built-in\", \"bytes\": 9, \"sha256\": \"abc\"}}\n",
                 model, training);
    snprintf(file, sizeof file, "%s/config.json", name);
    text_file(file, b.text);
    snprintf(file, sizeof file, "%s/log.tsv", name);
    falling_log(file, steps, shift);
    buffer_free(&b);
    return path;
}
