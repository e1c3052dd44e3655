/* The log of a run, read back: RUN/log.tsv as training writes it, whatever columns it has. */
#ifndef CORE_PLOT_LOGS_H
#define CORE_PLOT_LOGS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum LogColumn {
    LOG_LOSS, /* of the step's batch; without smoothing where the log says that, too, as validation is */
    LOG_NORM, /* of the gradient */
    LOG_RATE,
    LOG_SPEED, /* tokens a second */
    LOG_VALID, /* loss on validation data; NaN for a step that was not evaluated, and so are these: */
    LOG_ACCURACY,
    LOG_TOKEN, /* perplexity of a token */
    LOG_WORD,  /* perplexity of a word */
    LOG_BLEU,
    LOG_F1, /* of trees */
    LOG_COLUMNS
} LogColumn;

typedef struct LogLine {
    double step, tokens, seconds; /* the last two: so far */
    double value[LOG_COLUMNS];    /* NaN where there is none, or none that is finite */
} LogLine;

typedef struct Log {
    LogLine *line;
    size_t count;
    char unit[48];                    /* of the losses: "bits/byte" */
    bool titled, titles[LOG_COLUMNS]; /* whether its first line is there, and which columns it names */
} Log;

/* Reads the lines that are finished. Where steps come again, as in a log that was written by several processes, the
 * later ones count. A log without lines is no error; a line that is no line of a log is. */
bool log_read(Log *log, const char *path, Error *e);
bool log_read_run(Log *log, const char *run, Error *e); /* RUN/log.tsv */
void log_free(Log *log);

/* A field of a line of a table: what is between two tabs. */
typedef struct Field {
    const char *text;
    size_t size;
} Field;

/* The field at *at, which moves on to the next; false: the line has no more. */
bool field_next(Field *f, const char *line, size_t size, size_t *at);

/* The number in a field, NaN where it is empty or not finite; false: it is none. */
bool field_number(double *value, const Field *f);

#endif
