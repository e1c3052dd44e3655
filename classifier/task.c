/* classifier as a Task, and as a program. */
#include "classifier/classifier.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/ranks.h"
#include "classifier/baseline.h"
#include "core/cli/words.h"
#include "core/nn/loss.h"
#include "core/program/network.h"
#include "core/run/json.h"
#include "core/tensor/sites.h"
#include "core/train/step.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void add_text(const Classifier *c, Batch *b, const Texts *texts, size_t i)
{
    classifier_add_text(c, b, texts->ids + texts->start[i], texts->start[i + 1] - texts->start[i]);
    size_t at = batch_row(b, LABEL, 1);
    b->side[LABEL].ids[at] = 0;
    b->side[LABEL].targets[at] = texts->labels ? texts->labels[i] : -1;
    classifier_add_segments(c, b, SIZE_MAX);
    ngrams_add(&c->model.ngrams, b);
}

/* Where not all texts are scored, they are spread evenly. */
static void row(const App *a, Split split, size_t i, Batch *b)
{
    const Classifier *c = (const Classifier *)a;
    const Texts *texts = reviews_part(&c->reviews, split);
    if (split == a->data.scored && a->data.score_count)
        i = i * texts->count / a->data.score_count;
    if (c->model.masked)
        masked_row(c, texts, i, b);
    else
        add_text(c, b, texts, i);
}

static Tensor *logits(const void *self, Tape *t, const Rows *rows)
{
    return model_logits(t, &((const Classifier *)self)->model, rows);
}

static Tensor *loss(void *self, Tape *t, const Rows *rows)
{
    const SharedOptions *o = &((const Classifier *)self)->options->shared;
    const int32_t *targets = rows[LABEL].targets;
    Tensor *first = logits(self, t, rows);
    if (!t->training) {
        t->guesses = likeliest(t, first);
        return cross_entropy(t, first, targets, 0, 0);
    }
    Tensor *losses = cross_entropy_z(t, first, targets, o->smoothing, o->z_loss, 0);
    if (o->r_drop > 0)
        once_more(t, first, logits, self, rows, targets, o->smoothing, o->z_loss, o->r_drop);
    return losses;
}

void classifier_task(Classifier *c)
{
    const SharedOptions *o = &c->options->shared;
    const Texts *texts = reviews_part(&c->reviews, c->app.data.scored);
    size_t scored = c->score_most && c->score_most < texts->count ? c->score_most : texts->count;
    c->app.data.score_count = scored;
    size_t most = c->app.data.order.most_rows ? c->app.data.order.most_rows : o->batch;
    size_t rows = o->micro_batch && o->micro_batch < most ? o->micro_batch : most;
    snprintf(c->app.protocol, sizeof c->app.protocol, "%s, %zu texts, up to %zu %s", split_name(c->app.data.scored),
             scored, c->model.context, c->options->tokens == TOKEN_WORDS ? "words" : "subwords");
    c->app.task = (Task){.self = c,
                         .sides = model_sides(&c->model),
                         .longest = {c->model.context, 1, c->model.context, c->model.context, c->model.context},
                         .most_rows = most,
                         .loss_side = {LABEL},
                         .token_side = TEXT,
                         .word_dropout = {o->word_dropout},
                         .first_word = {c->reading ? c->reading->first_word : UNKNOWN + 1},
                         .end_word = {c->model.registers.first},
                         .unknown_word = {c->reading ? c->reading->unknown : UNKNOWN},
                         .guesses = true,
                         .batch = dataset_batch,
                         .loss = loss,
                         .score_batches = (scored + rows - 1) / rows,
                         .score_rows = rows,
                         .score_batch = dataset_score_batch,
                         .unit = "nats",
                         .per_nat = 1,
                         .protocol = c->app.protocol};
    ngrams_drop(&c->model.ngrams, &c->app.task, o->ngram_dropout);
    if (c->model.masked)
        masked_task(c);
}

/* --- logits and vectors of any texts --- */

typedef struct OutputsWork {
    Classifier *c;
    Trainer *trainer;
    const Texts *texts;
    Batch *batches; /* one a worker */
    SessionNetwork network;
    size_t columns;
    size_t end;         /* of the texts of this process */
    atomic_size_t next; /* of these, the first that nobody has taken */
    float *outputs;
    Error *error; /* [workers] what went wrong there; empty: nothing */
} OutputsWork;

static Tensor *logits_of(void *self, Tape *t, const Rows *rows)
{
    const Classifier *c = self;
    return model_logits(t, &c->model, rows);
}

static void outputs_work(void *argument, size_t number)
{
    OutputsWork *l = argument;
    Worker *w = &l->trainer->worker[number];
    const size_t rows = l->c->app.task.score_rows, columns = l->columns;
    for (size_t first; (first = atomic_fetch_add(&l->next, rows)) < l->end;) {
        size_t end = first + rows < l->end ? first + rows : l->end;
        Batch *b = &l->batches[number];
        batch_clear(b);
        for (size_t i = first; i < end; i++)
            add_text(l->c, b, l->texts, i);
        const Tensor *y = session_run(w, b, l->network, l->c);
        bool fine = session_floats(w, y, 0, (end - first) * columns, l->outputs + first * columns, &l->error[number]);
        session_end(w);
        if (!fine)
            return;
    }
}

/* Whole batches are dealt to processes, so that they are the same in any number of these. */
static void texts_of_process(const OutputsWork *l, size_t process, size_t *first, size_t *end)
{
    const size_t rows = l->c->app.task.score_rows, count = l->texts->count;
    deal((count + rows - 1) / rows, ranks_count(), process, first, end);
    *first = *first * rows < count ? *first * rows : count;
    *end = *end * rows < count ? *end * rows : count;
}

/* Every process gets what the others have computed. */
static bool share_outputs(const OutputsWork *l, Error *e)
{
    size_t *at = memory_get(ranks_count() + 1, sizeof *at), first;
    if (!at)
        return memory_error(e, "messages between processes", ranks_count() + 1, sizeof *at);
    for (size_t i = 0; i < ranks_count(); i++) {
        texts_of_process(l, i, &first, &at[i + 1]);
        at[i + 1] *= l->columns * sizeof *l->outputs;
    }
    at[0] = 0;
    ranks_gather_parts(l->outputs, at);
    memory_free(at);
    return true;
}

bool classifier_outputs(Classifier *c, Trainer *trainer, SessionNetwork network, const Texts *texts, size_t columns,
                        float *outputs, Error *e)
{
    size_t rows = c->app.task.score_rows, workers = trainer->options.workers, first;
    const BatchSize size = plan_size(&c->app.task, rows, true);
    OutputsWork l = {.c = c,
                     .trainer = trainer,
                     .texts = texts,
                     .batches = memory_get(workers, sizeof(Batch)),
                     .network = network,
                     .columns = columns,
                     .outputs = outputs,
                     .error = memory_get(workers, sizeof(Error))};
    bool fine = (l.batches && l.error) || memory_error(e, "batches", workers, sizeof(Batch) + sizeof(Error));
    for (size_t i = 0; fine && i < workers; i++)
        fine = batch_open(&l.batches[i], &size, e);
    texts_of_process(&l, ranks_own(), &first, &l.end);
    l.next = first;
    if (fine)
        pool_run(trainer->pool, outputs_work, &l);
    for (size_t i = 0; i < workers; i++) {
        fine = fine && trainer->options.k->finish(trainer->worker[i].stream, e) &&
               (!*l.error[i].text || fail(e, "%s", l.error[i].text));
        if (l.batches)
            batch_close(&l.batches[i]);
    }
    memory_free(l.batches);
    memory_free(l.error);
    return fine && (ranks_count() == 1 || share_outputs(&l, e));
}

bool classifier_logits(Classifier *c, Trainer *trainer, const Texts *texts, float *logits, Error *e)
{
    return classifier_outputs(c, trainer, logits_of, texts, c->model.classes, logits, e);
}

/* --- runs --- */

/* The run's classes, a line each, in their order. */
static bool write_classes(const Classifier *c, Error *e)
{
    Buffer b = {0};
    char *path = run_file(c->app.run, "classes.txt");
    char *const *classes = c->classes ? c->classes : c->reviews.classes;
    for (size_t i = 0; i < (c->classes ? c->class_count : c->reviews.class_count); i++)
        buffer_print(&b, "%s\n", classes[i]);
    bool fine = file_write_buffer(path, &b, e);
    memory_free(path);
    return fine;
}

static bool begin(App *a, Error *e)
{
    Classifier *c = (Classifier *)a;
    return tokens_write(c->reading, a->run->path, e) && (!classifier_has_classes(c) || write_classes(c, e));
}

/* One line of classes.txt; the text after it is changed. */
static bool read_class(Classifier *c, const char *path, char *line, size_t size, Error *e)
{
    const char *fault = class_fault(line, size);
    for (size_t i = 0; !fault && i < c->class_count; i++)
        fault = strlen(c->classes[i]) == size && !memcmp(c->classes[i], line, size) ? "appears twice" : NULL;
    if (fault)
        return fail(e, "%s, line %zu: the class '%s' %s", path, c->class_count + 1, quoted(line, size).text, fault);
    line[size] = 0;
    c->classes[c->class_count] = memory_string(line);
    return c->classes[c->class_count++] || memory_error(e, "the names of classes", size, 1);
}

static bool read_classes(Classifier *c, Error *e)
{
    char *text = NULL, *path = run_file(c->app.run, "classes.txt");
    size_t size = 0, count = 0;
    bool fine = (path || memory_error(e, "a path", 1, 1)) && file_read(path, &text, &size, e);
    for (size_t i = 0; fine && i < size; i++)
        count += text[i] == '\n';
    if (fine && (!count || text[size - 1] != '\n'))
        fine = fail(e, count ? "%s is truncated: its last line has no end" : "%s has no classes", path);
    if (fine && !(c->classes = memory_get(count, sizeof *c->classes)))
        fine = memory_error(e, "the names of classes", count, sizeof *c->classes);
    for (char *line = text, *end; fine && c->class_count < count; line = end + 1) {
        end = memchr(line, '\n', (size_t)(text + size - line));
        fine = read_class(c, path, line, (size_t)(end - line), e);
    }
    memory_free(text);
    memory_free(path);
    return fine;
}

static bool read_run(Classifier *c, Error *e)
{
    if (!tokens_read(&c->tokens, (TokenKind)c->options->tokens, c->app.run->path, e))
        return false;
    c->reading = &c->tokens;
    return !classifier_has_classes(c) || read_classes(c, e);
}

/* What the options say of tokens goes together. */
static bool tokens_suit(const Classifier *c, Error *e)
{
    const ClassifierOptions *v = c->options;
    const SharedOptions *o = &v->shared;
    const bool masked = classifier_is_masked(c);
    if (o->tie && !masked)
        return fail(e, "--tie: the classifier's logits are for classes, which have no rows in the table of words");
    if (v->vocabulary && v->tokens == TOKEN_WORDS)
        return fail(e, "--vocabulary is a file of subwords: it needs --tokens wordpiece, bert or bert-cased");
    if (v->next_sentence && !masked)
        return fail(e, "--next-sentence belongs to pretraining: give --objective masked, or the command pretrain");
    if (v->next_sentence && !(v->marks && v->segments))
        return fail(e, "--next-sentence needs --marks and --segments");
    if (v->segments && o->ngrams)
        return fail(e, "--segments does not support --ngrams");
    const size_t marks = classifier_marks(c) + v->next_sentence;
    return o->context > marks ||
           fail(e, "--context %zu: %zu of its positions are for registers, [CLS] and [SEP]", o->context, marks);
}

bool classifier_build(Classifier *c, size_t tokens, size_t classes, Error *e)
{
    const SharedOptions *o = &c->options->shared;
    if (!tokens_suit(c, e) || !network_suits(o, e) || !network_can_skip(o, o->depth, e))
        return app_misused(&c->app);
    c->app.parameters = &c->model.parameters;
    return model_open(&c->model, c->options, tokens, classes, e);
}

bool classifier_open_run(Classifier *c, Error *e)
{
    return app_open_run(&c->app, c->options->shared.run, false, e) && read_run(c, e) &&
           classifier_build(c, tokens_count(&c->tokens), c->class_count, e);
}

ReviewsOptions classifier_reviews_options(const Classifier *c)
{
    const ClassifierOptions *v = c->options;
    const bool run = c->app.run, masked = classifier_is_masked(c), classes = classifier_has_classes(c);
    return (ReviewsOptions){.path = v->shared.data,
                            .text_column = v->text_column,
                            .label_column = v->label_column,
                            .vocabulary = {.kind = (TokenKind)v->tokens,
                                           .size = v->words,
                                           .marks = v->marks || masked,
                                           .file = v->vocabulary},
                            .length = classifier_room(c),
                            .seed = (uint32_t)v->shared.seed,
                            .final = v->final,
                            .examples = v->examples,
                            .pretrain = masked,
                            .unlabelled = masked ? v->unlabelled : NULL,
                            .no_cache = !v->cache,
                            .tokens = c->reading,
                            .classes = run && classes ? (const char *const *)c->classes : NULL,
                            .class_count = c->class_count};
}

/* What a run has learned from is not held out afterwards. */
static bool final_suits(const Classifier *c, Error *e)
{
    const char *final = options_stored(c->app.command_line, "final");
    const bool own = strcmp(c->app.learnt, c->reviews.sha256) == 0;
    return !c->app.run || !final || strcmp(final, "yes") != 0 || !c->app.data.held_out || !own ||
           fail(e,
                "--no-final: the run %s has learned from all texts (--final), and none is left to validate it with: "
                "leave the option out; eval --final scores the test part",
                c->app.run->path);
}

static bool open_data(App *a, bool to_train, Error *e)
{
    Classifier *c = (Classifier *)a;
    const ReviewsOptions o = classifier_reviews_options(c);
    (void)to_train;
    if (!tokens_suit(c, e))
        return app_misused(a);
    if (!reviews_open(&c->reviews, &o, e))
        return false;
    c->reading = &c->reviews.tokens;
    a->data.held_out = reviews_part(&c->reviews, SPLIT_VALID)->count > 0;
    return final_suits(c, e) || app_misused(a);
}

/* How many texts of each class there are. */
static bool print_balance(const Classifier *c, Error *e)
{
    size_t *counts = memory_get(c->reviews.class_count, sizeof *counts);
    if (!counts)
        return memory_error(e, "counts of classes", c->reviews.class_count, sizeof *counts);
    for (int part = 0; part < SPLITS; part++) {
        const Texts *texts = reviews_part(&c->reviews, (Split)part);
        reviews_balance(&c->reviews, (Split)part, counts);
        fprintf(stderr, "%-5s %6zu texts, %zu cut at %zu %s:", split_name((Split)part), texts->count, texts->cut,
                classifier_room(c), classifier_unit(c));
        for (size_t i = 0; i < c->reviews.class_count; i++)
            fprintf(stderr, "%s %s %zu", i ? "," : "", c->reviews.classes[i], counts[i]);
        fputc('\n', stderr);
    }
    memory_free(counts);
    return true;
}

/* How much there is to pretrain on. */
static bool print_amount(const Classifier *c)
{
    for (int part = 0; part < SPLITS; part++) {
        const Texts *texts = reviews_part(&c->reviews, (Split)part);
        fprintf(stderr, "%-5s %6zu texts of up to %zu tokens: %zu in all\n", split_name((Split)part), texts->count,
                classifier_room(c), texts->count ? texts->start[texts->count] - texts->start[0] : 0);
    }
    return true;
}

/* --- the program --- */

/* Another run's tokens, and its model's options where the command line says nothing else, for its weights. */
static bool begin_with(Classifier *c, Error *e)
{
    static const char *const heads[] = {"objective", "next-sentence", "tie", "pool", NULL};
    const char *from = c->options->shared.from;
    const Options *o = c->app.command_line;
    Run *run = NULL;
    bool ours = false;
    if (!from || !folder_exists(from))
        return true;
    bool fine = run_open(&run, from, false, e) && settings_begin_with(run, c->app.command_line, heads, &ours, e);
    if (fine && ours && c->options->pooler && !options_given(o, "pool"))
        fine = options_set(c->app.command_line, "pool", "first", FROM_RUN, e); /* a pooler has learned that one */
    ours = ours && !options_first_given(o, (const char *const[]){"words", "tokens", "vocabulary", NULL});
    if (fine && ours) {
        fine = tokens_read(&c->tokens, (TokenKind)c->options->tokens, run->path, e);
        c->reading = &c->tokens;
        if (fine && (c->options->marks || classifier_is_masked(c)) && !tokens_have_marks(&c->tokens))
            fine = fail(
                e, "the tokens of the run %s have no [CLS], [SEP] and [MASK]: give --tokens, which makes others", from);
    }
    run_close(run);
    return fine;
}

/* What only one of the two kinds of training does. */
static bool training_suits(const Classifier *c, Error *e)
{
    static const char *const pretraining[] = {"unlabelled", "mask-share", "whole-words", NULL};
    const SharedOptions *o = &c->options->shared;
    if (classifier_is_masked(c))
        return !(o->r_drop > 0 || o->word_dropout > 0) ||
               fail(e, "--%s is for training with classes: pretraining masks words instead",
                    o->r_drop > 0 ? "r-drop" : "word-dropout");
    const char *given = options_first_given(c->app.command_line, pretraining);
    return !given || fail(e, "--%s is for pretraining: give --objective masked, or the command pretrain", given);
}

/* Of so few texts none is held out, and nothing says when the network is at its best. */
static void warn_of_validation(const Classifier *c)
{
    if (!c->options->final && !reviews_part(&c->reviews, SPLIT_VALID)->count && ranks_own() == 0)
        fprintf(stderr, "classifier: warning: too few texts to hold any out for validation; the last checkpoint will "
                        "count as the best. Give more texts, or --final\n");
}

static bool open_all(App *a, Error *e)
{
    Classifier *c = (Classifier *)a;
    const SharedOptions *o = a->options;
    if (!training_suits(c, e))
        return app_misused(a);
    if (c->options->objective == OBJECTIVE_VECTORS)
        return fail(e,
                    "--objective vectors: such a run has nothing to learn; train --from it, or pretrain --from it") ||
               app_misused(a);
    if ((a->run ? !read_run(c, e) : !begin_with(c, e)) || !app_open_data(a, true, e) ||
        !reviews_suits(&c->reviews, SPLIT_TRAIN, e))
        return false;
    const Texts *texts = reviews_part(&c->reviews, SPLIT_TRAIN);
    const OrderOptions how = {.rows = o->batch,
                              .tokens = c->options->batch_tokens,
                              .by_length = c->options->by_length,
                              .seed = (uint32_t)o->seed};
    c->app.data.scored = SPLIT_VALID;
    c->score_most = c->options->eval_texts;
    if (!classifier_build(c, tokens_count(&c->reviews.tokens), c->reviews.class_count, e) ||
        (!a->run && !classifier_layer_rates(c, e)) ||
        !order_open(&c->app.data.order, texts->start, texts->count, &how, e))
        return false;
    classifier_task(c);
    warn_of_validation(c);
    return o->quiet || (c->model.masked ? print_amount(c) : print_balance(c, e));
}

static bool open_model(App *a, Error *e)
{
    Classifier *c = (Classifier *)a;
    if (a->run ? !read_run(c, e) || !classifier_build(c, tokens_count(&c->tokens), c->class_count, e)
               : !classifier_build(c, c->options->words, 2, e))
        return false;
    classifier_task(c);
    return true;
}

static void close_all(App *a)
{
    Classifier *c = (Classifier *)a;
    model_close(&c->model);
    reviews_close(&c->reviews);
    tokens_close(&c->tokens);
    for (size_t i = 0; i < c->class_count; i++)
        memory_free(c->classes[i]);
    memory_free(c->classes);
}

static DataNote data(const App *a)
{
    const Classifier *c = (const Classifier *)a;
    const Texts *texts = reviews_part(&c->reviews, SPLIT_TRAIN);
    return (DataNote){a->options->data, texts->count ? texts->start[texts->count] : 0, c->reviews.sha256};
}

static double step_tokens(const App *a)
{
    const Classifier *c = (const Classifier *)a;
    if (!c->app.data.order.count)
        return (double)(a->options->batch * a->options->context);
    return c->options->batch_tokens ? (double)c->options->batch_tokens
                                    : (double)(a->options->batch * c->app.data.order.mean);
}

static size_t epoch(const App *a) { return a->data.order.batches; }

static void protocol(const App *a, Buffer *b)
{
    const Classifier *c = (const Classifier *)a;
    json_add_member(b, "texts", (double)c->app.data.score_count);
}

static size_t vocabulary(const App *a, size_t side, size_t *targets)
{
    const Classifier *c = (const Classifier *)a;
    const size_t ids[] = {(size_t)c->model.registers.first, c->model.masked ? c->model.context : 1, 2, 1};
    *targets = side == LABEL ? c->model.classes : side == NEXT && c->model.next.weight ? 2 : 0;
    return c->model.ngrams.longest && side >= NGRAMS ? c->model.ngrams.rows : ids[side];
}

bool classifier_pretrain(App *a, Error *e)
{
    Options *o = a->command_line;
    const char *preset = "pretrain";
    bool fine = a->options->resume || options_set(o, "objective", "masked", FROM_COMMAND_LINE, e);
    if (fine && ((const Classifier *)a)->options->next_sentence)
        fine = options_set(o, "marks", "yes", FROM_COMMAND_LINE, e) &&
               options_set(o, "segments", "yes", FROM_COMMAND_LINE, e);
    if (fine && !a->options->resume && !a->options->preset) {
        fine = options_preset(o, preset, e) && (app_data(a) || options_set(o, "minutes", "1", FROM_PRESET, e));
        a->options->preset = preset; /* so that none is chosen for the built-in texts */
    }
    return fine && app_train(a, e);
}

bool classifier_baseline(App *a, Error *e)
{
    Classifier *c = (Classifier *)a;
    return app_open_data(a, false, e) &&
           baseline_run(&c->reviews, c->options->final ? SPLIT_TEST : SPLIT_VALID, c->options->shared.json, e);
}

/* What a run begins with. */
static const char *const files[] = {"classes.txt", "vocabulary.tsv", "vocab.txt", NULL};

static const char *const whole[] = {"data", "unlabelled", NULL};

const AppKind classifier_kind = {.name = "classifier",
                                 .files = files,
                                 .program = &classifier_program,
                                 .whole = whole,
                                 .built_in = "built-in reviews",
                                 .built_in_preset = "minute",
                                 .measure = "words",
                                 .open = open_all,
                                 .open_model = open_model,
                                 .close = close_all,
                                 .open_data = open_data,
                                 .data = data,
                                 .row = row,
                                 .epoch = epoch,
                                 .step_tokens = step_tokens,
                                 .protocol = protocol,
                                 .begin = begin,
                                 .vocabulary = vocabulary};
