/* What the commands of charlm share: options, text, model, and the Task that the training loop runs. */
#ifndef CHARLM_CHARLM_H
#define CHARLM_CHARLM_H

#include "base/buffer.h"
#include "charlm/data.h"
#include "charlm/model.h"
#include "core/train/settings.h"
#include "core/train/setup.h"

typedef struct Charlm {
    Values *v;
    Options *options;
    Run *run;
    Text text;
    Model model;
    Part training;
    Windows windows;   /* what is scored */
    Split split;       /* whose bytes those are */
    char protocol[96]; /* that in words, as every figure is given with it */
    Task task;
    char learnt[65]; /* sha256 of the text that the run learns from */
    bool misused;    /* what failed was asked for wrongly: exit status 2 */
} Charlm;

/* Marks a failure as the command line's. */
static inline bool charlm_misused(Charlm *c)
{
    c->misused = true;
    return false;
}

/* Names under which a file may have a tied table, instead of ours. */
extern const char *const charlm_aliases[][2];

/* Fills the Task: batches of the training part, and windows of `scored` bytes, of c->split, to score. */
void charlm_task(Charlm *c, Part scored, size_t stride);

/* Adds members to an object that is being written: split, bytes, context, stride. */
void charlm_json_protocol(const Charlm *c, Buffer *b);

/* Makes the model that the options describe. */
bool charlm_build(Charlm *c, Error *e);

/* Opens a run, --run's or --resume's, and takes over its options; then its model. */
bool charlm_open_run(Charlm *c, const char *path, bool to_write, Error *e);
void charlm_close(Charlm *c);

/* Opens the text: what the command line names, else the run's, else the built-in one. The run's may have changed since
 * it was made: then it cannot be trained on, and one line on standard error says so where it is only read. */
bool charlm_open_text(Charlm *c, bool to_train, Error *e);

/* What the options mean for a crew; one line on standard error says what the machine does badly of it. */
bool charlm_crew_options(const Charlm *c, CrewOptions *options, bool training, Error *e);

/* A crew that holds the run's weights and does not train. */
bool charlm_open_crew(Charlm *c, Crew *crew, Error *e);

/* The commands: false with an Error when the work failed. */
bool charlm_train(Charlm *c, Error *e);
bool charlm_eval(Charlm *c, Error *e);
bool charlm_baseline(Charlm *c, Error *e);
bool charlm_sample(Charlm *c, Error *e);
bool charlm_info(Charlm *c, Error *e);
bool charlm_bench(Charlm *c, Error *e);
bool charlm_bench_sample(Charlm *c, Error *e); /* bench --sample */

#endif
