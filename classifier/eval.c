/* classifier eval: how often it is right, where it is wrong, and how well it knows. */
#include "classifier/classifier.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/ranks.h"
#include "classifier/ensemble.h"
#include "core/program/dump.h"
#include "core/program/same_texts.h"
#include "core/research/statistics.h"
#include "core/run/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 10 };

/* What the texts of a part came out as. */
typedef struct Verdicts {
    const Texts *texts;
    size_t classes;
    float *logits;     /* [count, classes] */
    size_t *confusion; /* [classes, classes] true, said */
    double loss;       /* mean, in nats */
    size_t right;
    size_t binned[BINS], bin_right[BINS]; /* by the share of the class that was said */
    double bin_share[BINS];               /* sums */
    Each each;                            /* of each text, where somebody asks for it */
    const char **names;                   /* [each.columns] */
    double *row;                          /* [each.columns] */
    Versus versus;                        /* another run; its name is NULL: none */
} Verdicts;

/* Of each text; after these, its logits, each under the name of its class. */
enum { EACH_TEXT, EACH_CLASS, EACH_PREDICTED, EACH_NATS, EACH_LOGITS };

static bool each_open(Verdicts *r, char *const *classes, Error *e)
{
    static const char *const names[EACH_LOGITS] = {"text", "class", "predicted", "nats"};
    const size_t columns = EACH_LOGITS + r->classes;
    r->names = memory_get(columns, sizeof *r->names);
    r->row = memory_get(columns, sizeof *r->row);
    if (!r->names || !r->row)
        return memory_error(e, "figures of texts", columns, sizeof *r->row);
    for (size_t i = 0; i < columns; i++)
        r->names[i] = i < EACH_LOGITS ? names[i] : classes[i - EACH_LOGITS];
    r->each = (Each){.names = r->names, .columns = columns};
    return true;
}

static bool keep(Verdicts *r, const Corpus *c, size_t i, size_t said, double nats, Error *e)
{
    const size_t text = r->texts->source[i], from = c->start[text], size = c->start[text + 1] - from;
    r->row[EACH_TEXT] = text_number(c->ids + from, size * sizeof *c->ids);
    r->row[EACH_CLASS] = (double)r->texts->labels[i];
    r->row[EACH_PREDICTED] = (double)said;
    r->row[EACH_NATS] = nats;
    for (size_t k = 0; k < r->classes; k++)
        r->row[EACH_LOGITS + k] = (double)r->logits[i * r->classes + k];
    return each_add(&r->each, r->row, e);
}

static bool evaluate(Verdicts *r, const Corpus *c, Error *e)
{
    double *shares = memory_get(r->classes, sizeof *shares);
    r->each.count = 0;
    bool fine = shares || memory_error(e, "shares of classes", r->classes, sizeof *shares);
    for (size_t i = 0; fine && i < r->texts->count; i++) {
        size_t truth = (size_t)r->texts->labels[i];
        size_t said = classifier_shares(shares, r->logits + i * r->classes, r->classes);
        size_t bin = (size_t)(shares[said] * BINS);
        bin = bin < BINS ? bin : BINS - 1;
        r->confusion[truth * r->classes + said]++;
        r->right += said == truth;
        const double nats = -log(fmax(shares[truth], 1e-300));
        r->loss += nats / (double)r->texts->count;
        r->binned[bin]++;
        r->bin_right[bin] += said == truth;
        r->bin_share[bin] += shares[said];
        fine = !r->each.columns || keep(r, c, i, said, nats, e);
    }
    memory_free(shares);
    return fine;
}

static double is_right(const Each *t, size_t text)
{
    const double *row = t->value + text * t->columns;
    return row[EACH_CLASS] < row[EACH_PREDICTED] || row[EACH_CLASS] > row[EACH_PREDICTED] ? 0 : 1;
}

/* McNemar's test: of the texts that one of two got right, how many did each? */
static bool compare(Verdicts *r, const App *a, Error *e)
{
    const size_t count = r->each.count;
    Versus *v = &r->versus;
    Each other;
    size_t only[2] = {0, 0};
    if (!each_of_run(&other, &r->each, a, a->options->against, e))
        return false;
    double *right = memory_get(2 * count, sizeof *right);
    for (size_t i = 0; right && i < count; i++) {
        right[i] = is_right(&r->each, i);
        right[count + i] = is_right(&other, i);
        v->other += right[count + i] / (double)count;
        only[0] += right[i] > right[count + i];
        only[1] += right[i] < right[count + i];
    }
    if (right) {
        const Difference d = difference_paired(right, right + count, count);
        *v = (Versus){
            a->options->against,         "accuracy", (double)r->right / (double)count, v->other, d.mean, d.low, d.high,
            mcnemar_p(only[0], only[1]), {0}};
        snprintf(v->test, sizeof v->test,
                 "McNemar's test: only this run is right about %zu of %zu texts, only the other about %zu", only[0],
                 count, only[1]);
    }
    each_free(&other);
    memory_free(right);
    return right || memory_error(e, "answers", 2 * count, sizeof *right);
}

/* What the members of an ensemble say together takes the place of what the run says. */
static bool join(Verdicts *r, const Classifier *c, Error *e)
{
    bool fine = true;
    for (size_t i = 0; fine && i < r->texts->count; i++)
        fine = keep(r, &c->reviews.corpus, i, 0, 0, e);
    return fine && ensemble_join(c, &r->each, r->logits, r->classes, e);
}

/* How far what it says of its own certainty is from how often it is right (Guo et al. 2017). */
static double calibration_error(const Verdicts *r)
{
    double sum = 0;
    for (size_t i = 0; i < BINS; i++)
        sum += fabs(r->bin_share[i] - (double)r->bin_right[i]);
    return sum / (double)r->texts->count;
}

typedef struct Scores {
    double precision, recall, f1;
} Scores;

static Scores scores_of(const Verdicts *r, size_t class)
{
    size_t said = 0, there = 0, hit = r->confusion[class * r->classes + class];
    for (size_t i = 0; i < r->classes; i++) {
        said += r->confusion[i * r->classes + class];
        there += r->confusion[class * r->classes + i];
    }
    return (Scores){said ? (double)hit / (double)said : 0, there ? (double)hit / (double)there : 0,
                    said + there ? 2.0 * (double)hit / (double)(said + there) : 0};
}

static double mean_f1(const Verdicts *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->classes; i++)
        sum += scores_of(r, i).f1;
    return sum / (double)r->classes;
}

static double accuracy(const Verdicts *r) { return (double)r->right / (double)r->texts->count; }

static bool print_table(const Classifier *c, const Verdicts *r, Error *e)
{
    printf("accuracy %.2f %%, F1 %.4f (mean over classes), loss %.4f nats, calibration error %.4f (%s)\n",
           100 * accuracy(r), mean_f1(r), r->loss, calibration_error(r), c->app.protocol);
    printf("\n%-20s %9s %9s %9s   predicted:", "class", "precision", "recall", "F1");
    for (size_t i = 0; i < r->classes; i++)
        printf(" %9.9s", c->classes[i]);
    for (size_t i = 0; i < r->classes; i++) {
        Scores s = scores_of(r, i);
        printf("\n%-20.20s %9.4f %9.4f %9.4f        ", c->classes[i], s.precision, s.recall, s.f1);
        for (size_t j = 0; j < r->classes; j++)
            printf(" %9zu", r->confusion[i * r->classes + j]);
    }
    printf("\n\nconfidence           texts   correct\n");
    for (size_t i = 0; i < BINS; i++)
        if (r->binned[i])
            printf("%3zu to %3zu %%   %10zu  %6.2f %%\n", i * 100 / BINS, (i + 1) * 100 / BINS, r->binned[i],
                   100 * (double)r->bin_right[i] / (double)r->binned[i]);
    if (r->versus.run) {
        printf("\n");
        versus_print(&r->versus);
    }
    (void)e;
    return true;
}

static bool print_json(const Classifier *c, const Verdicts *r, Error *e)
{
    Buffer b = {0};
    dataset_protocol(&c->app, &b);
    json_add_member(&b, "accuracy", accuracy(r));
    json_add_member(&b, "f1", mean_f1(r));
    json_add_member(&b, "loss", r->loss);
    json_add_member(&b, "calibration_error", calibration_error(r));
    json_open(&b, "confusion", '{');
    for (size_t i = 0; i < r->classes; i++) {
        json_open(&b, c->classes[i], '[');
        for (size_t j = 0; j < r->classes; j++)
            buffer_print(&b, "%s%zu", j ? ", " : "", r->confusion[i * r->classes + j]);
        buffer_print(&b, "]");
    }
    buffer_print(&b, "}");
    if (r->versus.run)
        versus_add(&r->versus, &b);
    return json_print_members(&b, e);
}

/* --- mistakes --- */

typedef struct Mistake {
    double share; /* of what it said */
    size_t text, said;
} Mistake;

static int by_share(const void *a, const void *b)
{
    const Mistake *x = a, *y = b;
    return x->share > y->share ? -1 : x->share < y->share ? 1 : x->text < y->text ? -1 : x->text > y->text;
}

/* The words as they were read: lower case, without markup. */
static void print_words(const Corpus *c, size_t text)
{
    enum { SHOWN = 60 };
    size_t from = c->start[text], to = c->start[text + 1];
    for (size_t i = from; i < to && i < from + SHOWN; i++)
        printf("%s%s", i > from ? " " : "    ", vocabulary_word(&c->words, c->ids[i]));
    printf("%s\n", to - from > SHOWN ? " ..." : "");
}

static bool print_mistakes(const Classifier *c, const Verdicts *r, size_t most, Error *e)
{
    Mistake *list = memory_get(r->texts->count, sizeof *list);
    double *shares = memory_get(r->classes, sizeof *shares);
    size_t count = 0;
    for (size_t i = 0; list && shares && i < r->texts->count; i++) {
        size_t said = classifier_shares(shares, r->logits + i * r->classes, r->classes);
        if (said != (size_t)r->texts->labels[i])
            list[count++] = (Mistake){shares[said], i, said};
    }
    bool fine = (list && shares) || memory_error(e, "a list of mistakes", r->texts->count, sizeof *list);
    if (fine)
        qsort(list, count, sizeof *list, by_share);
    for (size_t i = 0; fine && i < count && i < most; i++) {
        size_t text = list[i].text;
        printf("\ntext %zu: %s, but predicted as %s (%.1f %%)\n", text, c->classes[r->texts->labels[text]],
               c->classes[list[i].said], 100 * list[i].share);
        print_words(&c->reviews.corpus, r->texts->source[text]);
    }
    memory_free(list);
    memory_free(shares);
    return fine;
}

static bool dump_logits(const Verdicts *r, const char *file, Error *e)
{
    Dump d;
    return dump_open(&d, file, r->classes, e) &&
           dump_close(&d, dump_rows(&d, r->logits, r->texts->labels, r->texts->count, e), e);
}

/* --- the test part --- */

/* Each evaluation on the test part is recorded in the run, and their number printed: a test part by which models are
 * chosen is no test part any more. */
static bool note_look(const Classifier *c, const Verdicts *r, Error *e)
{
    char *path = run_file(c->app.run, "test-looks.tsv"), *text = NULL;
    size_t size = 0, looks = 1;
    if (!path || (file_exists(path) && !file_read(path, &text, &size, e))) {
        bool there = path;
        memory_free(path);
        return there ? false : fail(e, "out of memory for a path");
    }
    for (size_t i = 0; i < size; i++)
        looks += text[i] == '\n';
    Buffer b = {0};
    buffer_add(&b, text, size);
    const ClassifierOptions *v = c->options;
    buffer_print(&b, "%.6f\t%zu texts\t%s%s%s\n", accuracy(r), r->texts->count,
                 v->shared.weights ? v->shared.weights : "best", v->ensemble ? ", with " : "",
                 v->ensemble ? v->ensemble : "");
    bool fine = file_write_buffer(path, &b, e);
    if (fine)
        fprintf(stderr, "classifier: this run has been scored on the test part %zu time%s\n", looks,
                looks == 1 ? "" : "s");
    memory_free(text);
    memory_free(path);
    return fine;
}

static bool score(Classifier *c, Verdicts *r, Error *e)
{
    const ClassifierOptions *v = c->options;
    Trainer trainer = {0};
    size_t classes = r->classes;
    r->logits = memory_get(r->texts->count * classes, sizeof *r->logits);
    r->confusion = memory_get(classes * classes, sizeof *r->confusion);
    bool fine = (r->logits && r->confusion) || memory_error(e, "logits", r->texts->count, classes * sizeof *r->logits);
    fine = fine && app_open_trainer(&c->app, &trainer, e) && classifier_logits(c, &trainer, r->texts, r->logits, e);
    trainer_close(&trainer);
    if (!fine)
        return false;
    if ((v->shared.each || v->shared.against || v->ensemble) && !each_open(r, c->classes, e))
        return false;
    if (v->ensemble && !join(r, c, e))
        return false;
    if (!evaluate(r, &c->reviews.corpus, e) || (v->shared.against && !compare(r, &c->app, e)))
        return false;
    return (v->shared.each ? each_print(&r->each, e) : (v->shared.json ? print_json : print_table)(c, r, e)) &&
           (!v->mistakes || print_mistakes(c, r, v->mistakes, e)) &&
           (!v->shared.dump_logits || dump_logits(r, v->shared.dump_logits, e));
}

/* A score of an ensemble says so. */
static void name_members(Classifier *c)
{
    const size_t used = strlen(c->app.protocol);
    if (c->options->ensemble)
        snprintf(c->app.protocol + used, sizeof c->app.protocol - used, ", with %s", c->options->ensemble);
}

/* Texts that the run has nothing to do with are scored whole: their test part, where they have one. */
static bool open_others(Classifier *c, Error *e)
{
    reviews_close(&c->reviews);
    c->reading = &c->tokens;
    c->options->final = true; /* nothing is held out */
    if (!options_given(c->app.command_line, "unlabelled"))
        c->options->unlabelled = NULL;
    if (!app_open_data(&c->app, false, e))
        return false;
    c->app.data.scored = reviews_part(&c->reviews, SPLIT_TEST)->count ? SPLIT_TEST : SPLIT_TRAIN;
    return true;
}

/* What is printed is one thing. */
static bool eval_suits(Classifier *c, bool twice, Error *e)
{
    const ClassifierOptions *v = c->options;
    const SharedOptions *o = &v->shared;
    if (!app_names("ensemble", v->ensemble, e))
        return app_misused(&c->app);
    if (twice && v->split != SPLIT_TEST)
        return fail(e, "--final scores the test part: leave out --split") || app_misused(&c->app);
    if ((o->each || o->json) && v->mistakes)
        return fail(e, "--mistakes is for people who read: leave out --%s", o->each ? "each" : "json") ||
               app_misused(&c->app);
    return each_suits(&c->app, e);
}

bool classifier_eval(App *a, Error *e)
{
    Classifier *c = (Classifier *)a;
    const Options *o = c->app.command_line;
    bool final = options_given(o, "final") && c->options->final;
    bool chosen = options_given(o, "split");
    if (!eval_suits(c, final && chosen, e) || !dump_may_open(c->options->shared.dump_logits, e) ||
        !classifier_open_run(c, e))
        return false;
    if (!c->options->ensemble && (!chosen || c->options->split != SPLIT_TRAIN))
        c->options->examples = 0; /* the other parts are the same with any number, and other data have theirs */
    if (!app_open_data(&c->app, false, e))
        return false;
    app_own_workers(&c->app);
    bool own = strcmp(c->app.learnt, c->reviews.sha256) == 0;
    c->app.data.scored = final ? SPLIT_TEST : (Split)c->options->split;
    if ((!own && !final && !chosen && !open_others(c, e)) || !reviews_suits(&c->reviews, c->app.data.scored, e))
        return false;
    classifier_task(c);
    if (c->model.headless)
        return fail(e,
                    "the run %s has no logits that could be scored: it gives vectors (predict --vectors), and "
                    "weights for train --from",
                    a->run->path);
    if (c->model.masked)
        return masked_eval(c, e);
    name_members(c);
    Verdicts r = {.texts = reviews_part(&c->reviews, c->app.data.scored), .classes = c->class_count};
    bool fine = score(c, &r, e) && (c->app.data.scored != SPLIT_TEST || !own || ranks_own() > 0 || note_look(c, &r, e));
    memory_free(r.logits);
    memory_free(r.confusion);
    memory_free(r.names);
    memory_free(r.row);
    each_free(&r.each);
    return fine;
}
