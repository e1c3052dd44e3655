/* encdec as a Task, and as a program. */
#include "encdec/encdec.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/size.h"
#include "core/nn/loss.h"
#include "core/program/network.h"
#include "core/run/json.h"
#include "core/tensor/sites.h"

#include <stdio.h>
#include <string.h>

static const char *const aliases[][2] = {{"embedding.weight", "source_embedding.weight"},
                                         {"embedding.weight", "target_embedding.weight"},
                                         {"embedding.weight", "logits.weight"},
                                         {NULL, NULL}};

static const char *const data_options[] = {
    "train-source", "train-target", "valid-source", "valid-target", "test-source", "test-target", NULL};

/* --- batches --- */

static void row(const App *a, Split split, size_t i, Batch *b)
{
    const EncDec *c = (const EncDec *)a;
    pairs_row(&c->bitext.parts[split], i, b);
    if (c->alignments.start)
        alignments_row(NULL, &c->bitext.parts[split], i, 0, 0, b);
}

/* Where rows of the training part are more than their pairs. */
static void training_batch(void *app, uint64_t step, Batch *b)
{
    EncDec *c = app;
    const SentencePairs *p = &c->bitext.parts[SPLIT_TRAIN];
    size_t count;
    const size_t *pair = order_batch(&c->app.data.order, step, &count);
    batch_clear(b);
    for (size_t i = 0; i < count; i++)
        if (c->alignments.start) {
            pairs_row(p, pair[i], b);
            alignments_row(&c->alignments, p, pair[i], (uint32_t)c->options->shared.seed, step, b);
        } else {
            recut_row(&c->recut, p, pair[i], step, b);
        }
}

static size_t guided_layer(const EncDec *c)
{
    const bool given = options_source(c->app.command_line, "guided-layer") != FROM_DEFAULT;
    return given ? c->options->guided_layer : c->model.decoder.depth - 1;
}

static Tensor *logits(const void *self, Tape *t, const Rows *rows)
{
    const EncDec *c = self;
    AttentionContext context = context_across(&rows[TARGET], &rows[SOURCE]);
    Guide *guide = NULL;
    if (c->alignments.start && t->training && !t->second_pass) {
        guide = arena_take(&t->host, sizeof *guide);
        *guide = (Guide){
            .layer = guided_layer(c), .head = c->options->guided_head, .key = rows[ALIGNED].targets, .which = 1};
    }
    context.guide = guide;
    return model_logits(t, &c->model, &rows[TARGET], model_memory(t, &c->model, &rows[SOURCE]), &context);
}

static Tensor *loss(void *self, Tape *t, const Rows *rows)
{
    const SharedOptions *o = &((const EncDec *)self)->options->shared;
    const int32_t *targets = rows[TARGET].targets;
    Tensor *first = logits(self, t, rows);
    if (!t->training)
        return cross_entropy(t, first, targets, 0, 0);
    Tensor *losses = cross_entropy_z(t, first, targets, o->smoothing, o->z_loss, 0);
    if (o->r_drop > 0)
        once_more(t, first, logits, self, rows, targets, o->smoothing, o->z_loss, o->r_drop);
    return losses;
}

/* --- the task --- */

/* SentencePairs of a part in their order, as many in each batch as have no more positions than a micro-batch. */
static bool cut_scored(EncDec *c, const SentencePairs *p, Error *e)
{
    size_t most = c->app.task.micro_positions, first = 0;
    c->app.data.score_count = p->count;
    c->app.data.score_cut = memory_get(p->count + 1, sizeof *c->app.data.score_cut);
    if (!c->app.data.score_cut)
        return memory_error(e, "batches to score", p->count + 1, sizeof *c->app.data.score_cut);
    for (size_t i = 0; i < p->count; i++) {
        if (p->length[i + 1] - p->length[first] > most) {
            c->app.data.score_cut[++c->app.task.score_batches] = i;
            first = i;
        }
        c->app.task.score_rows = larger(c->app.task.score_rows, i + 1 - first);
    }
    if (p->count)
        c->app.data.score_cut[++c->app.task.score_batches] = p->count;
    return true;
}

static bool trains(const EncDec *c)
{
    const unsigned command = c->app.command_line->command->bit;
    return command == COMMAND_TRAIN || command == COMMAND_INFO;
}

/* Rows may be longer than the texts are. */
static void recut_task(EncDec *c)
{
    Task *t = &c->app.task;
    for (size_t s = 0; s < SIDES_USED; s++)
        t->longest[s] = recut_most(&c->recut, t->longest[s]);
    t->step_positions = (size_t)(c->recut.times * (double)t->step_positions);
    t->micro_positions = larger(t->micro_positions, t->longest[SOURCE]);
    t->batch = training_batch;
}

bool encdec_task(EncDec *c, Error *e)
{
    const SentencePairs *scored = &c->bitext.parts[c->app.data.scored];
    const size_t longest = c->bitext.longest ? c->bitext.longest : smaller(c->options->longest + 1, c->model.context);
    const size_t tokens = c->app.data.order.count ? c->app.data.order.options.tokens : c->options->batch_tokens,
                 pairs = c->options->shared.batch;
    snprintf(c->app.protocol, sizeof c->app.protocol, "%s, %zu pairs, %zu target tokens, %zu words",
             split_name(c->app.data.scored), scored->count, pairs_ids(scored, TARGET), scored->words);
    c->app.task = (Task){.self = c,
                         .sides = SIDES_USED,
                         .longest = {longest, longest},
                         .step_positions = tokens ? larger(tokens, longest) + longest - 1 : pairs * longest,
                         .micro_positions = larger(c->options->micro_tokens, longest),
                         .loss_side = {TARGET},
                         .token_side = TARGET,
                         .word_dropout = {c->options->shared.word_dropout, c->options->shared.word_dropout},
                         .first_word = {FIRST_SUBWORD, FIRST_SUBWORD},
                         .end_word = {(int32_t)(c->model.source.table->shape[0] - c->options->shared.registers),
                                      c->model.begin_only ? c->model.begin : 0}, /* <pad>, which comes last */
                         .batch = dataset_batch,
                         .loss = loss,
                         .score_batch = dataset_score_batch,
                         .words = (double)scored->words,
                         .unit = "nats/token",
                         .per_nat = 1,
                         .protocol = c->app.protocol};
    c->app.task.most_rows = c->app.data.order.count ? c->app.data.order.most_rows
                            : tokens                ? c->app.task.step_positions
                                                    : pairs;
    if (c->recut.rate > 0)
        recut_task(c);
    if (c->alignments.start) {
        Task *t = &c->app.task;
        t->sides = ALIGNED + 1;
        t->longest[ALIGNED] = t->longest[TARGET];
        t->loss_side[1] = ALIGNED;
        t->loss_times[1] = c->options->guided;
        t->batch = training_batch;
    }
    return cut_scored(c, scored, e) && (!trains(c) || encdec_sample_bytes(c, &c->app.task.beside_each, e));
}

/* --- runs --- */

static bool begin(App *a, Error *e) { return subwords_write(((EncDec *)a)->bitext.subwords, a->run->path, e); }

TreeCleaning encdec_cleaning(const EncdecOptions *v)
{
    return (TreeCleaning){
        .keep_outer = v->keep_outer, .keep_functions = v->keep_functions, .keep_traces = v->keep_traces};
}

SourceOptions encdec_source_options(const EncDec *c, bool test)
{
    const EncdecOptions *v = c->options;
    SourceOptions o = {.path = v->shared.data,
                       .language = {v->source, v->target},
                       .seed = (uint32_t)v->shared.seed,
                       .test = test,
                       .treebank = v->trees,
                       .trees = {.cleaning = encdec_cleaning(v),
                                 .leaves = (TreeLeaves)v->leaves,
                                 .count = v->train_trees,
                                 .more = v->more_trees,
                                 .recombined = v->recombine}};
    memcpy(o.file, v->file, sizeof o.file);
    return o;
}

bool encdec_subwords_options(SubwordsOptions *o, const EncDec *c, Error *e)
{
    const EncdecOptions *v = c->options;
    *o = (SubwordsOptions){.type = (SubwordType)v->type,
                           .size = v->size,
                           .merges = v->merges,
                           .lower = v->lower,
                           .apart = v->trees || v->two_vocabularies,
                           .leaves = (TreeLeaves)v->leaves,
                           .word_positions = v->word_positions,
                           .codes = v->codes,
                           .vocabulary = v->vocabulary,
                           .registers = v->shared.registers,
                           .threshold = v->threshold,
                           .dropout = v->bpe_dropout > 0};
    if (v->normalize_punctuation)
        o->tokens.punctuation[SOURCE] = v->source, o->tokens.punctuation[TARGET] = v->target;
    return subwords_suit(o, e) &&
           (o->type == SUBWORDS_BYTES || o->type == SUBWORDS_GPT2 || o->type == SUBWORDS_SENTENCEPIECE ||
            tokens_open(&o->tokens, (TokensRule)v->tokens, (const char *[]){v->source, v->target}, e));
}

/* A run's subwords are its own: files that are given again would not be read. */
static bool read_run(EncDec *c, Error *e)
{
    static const char *const files[] = {"codes", "vocabulary", "vocabulary-threshold", NULL};
    const char *given = options_first_given(c->app.command_line, files);
    SubwordsOptions o;
    if (given)
        return fail(e, "--%s: the run %s already has its vocabulary, in its folder", given, c->app.run->path) ||
               app_misused(&c->app);
    return encdec_subwords_options(&o, c, e) && subwords_read(&c->subwords, &o, c->app.run->path, e);
}

static bool refuse(EncDec *c, Error *e, const char *why) { return fail(e, "%s", why) || app_misused(&c->app); }

/* Of older runs some have top keys or sinks, which their guide did not see; they are read as before. */
static bool guide_suits(EncDec *c, Error *e)
{
    const SharedOptions *s = &c->options->shared;
    const bool stored = options_source(c->app.command_line, "guided-alignment") == FROM_RUN,
               dots = score_is_dot((Score)s->score) && !s->talking_heads && !s->residual_scores && !s->memory_keys &&
                      !s->sigmoid_attention && (stored || (!s->top_keys && !s->sink_score));
    return !(c->options->guided > 0) || dots ||
           refuse(c, e,
                  "--guided-alignment is for a softmax of a head's own dot products: leave out --score, "
                  "--talking-heads, --residual-scores, --top-keys, --memory-keys, --sigmoid-attention and "
                  "--sink-score");
}

static bool suits(EncDec *c, Error *e)
{
    const Options *o = c->app.command_line;
    if (options_given(o, "micro-batch") && c->options->shared.micro_batch)
        return refuse(c, e, "--micro-batch counts rows; encdec counts tokens: give --micro-tokens");
    if (c->options->shared.context < 2)
        return refuse(c, e, "--context is 1: a sentence of one subword and its </s> needs 2");
    if (c->options->bpe_dropout > 0 && c->options->type != SUBWORDS_BPE)
        return refuse(c, e, "--bpe-dropout drops merges of byte pairs, and needs --type bpe");
    if (c->options->guided > 0 && c->options->bpe_dropout > 0)
        return refuse(c, e, "--guided-alignment needs fixed subwords: leave out --bpe-dropout");
    const SharedOptions *s = &c->options->shared;
    const size_t depth = c->options->decoder_depth ? c->options->decoder_depth : s->depth;
    if (c->options->guided > 0 && (c->options->guided_head >= s->heads || c->options->guided_layer >= depth))
        return refuse(c, e,
                      "--guided-layer and --guided-head count from 0: they are less than the decoder's depth and "
                      "--heads");
    if (!guide_suits(c, e))
        return false;
    if (c->options->logits_bias && s->bias_free)
        return refuse(c, e, "--bias-free leaves no bias: not with --logits-bias");
    if (c->options->alignments && !(c->options->guided > 0))
        return refuse(c, e, "--alignments are for --guided-alignment: say how much they count, such as 0.05");
    if (c->options->trees && c->options->shared.registers)
        return refuse(c, e, "--registers are not for --trees, whose positions belong to words");
    if (c->options->two_vocabularies && c->options->type != SUBWORDS_SENTENCEPIECE)
        return refuse(c, e, "--two-vocabularies needs --type sentencepiece");
    if (c->options->normalize_punctuation && c->options->type != SUBWORDS_SENTENCEPIECE)
        return refuse(c, e, "--normalize-punctuation needs --type sentencepiece");
    return (network_suits(s, e) && network_can_skip(s, larger(s->depth, depth), e)) || app_misused(&c->app);
}

/* targets: of a vocabulary of their own, or 0. */
static bool build(EncDec *c, size_t subwords, size_t targets, Error *e)
{
    if (!suits(c, e))
        return false;
    c->app.parameters = &c->model.parameters;
    return model_open(&c->model, c->options, subwords, targets, e);
}

bool encdec_build(EncDec *c, const Subwords *p, Error *e)
{
    if (!build(c, p->count, p->target.count, e))
        return false;
    c->model.moves = p->moves;
    c->model.begin = subwords_begin(p);
    c->model.begin_only = p->pad != 0;
    return true;
}

/* A parser's trees are searched for as the paper does, unless the command line says otherwise. */
static void search_as_parser(EncDec *c)
{
    EncdecOptions *v = c->options;
    const Options *o = c->app.command_line;
    if (!v->trees)
        return;
    v->beam = options_source(o, "beam") == FROM_DEFAULT ? PARSER_BEAM : v->beam;
    v->alpha = options_source(o, "alpha") == FROM_DEFAULT ? PARSER_ALPHA : v->alpha;
    v->max_extra = options_source(o, "max-extra") == FROM_DEFAULT ? PARSER_MAX_EXTRA : v->max_extra;
}

bool encdec_open_run(EncDec *c, Error *e)
{
    if (!app_open_run(&c->app, c->options->shared.run, false, e) || !read_run(c, e) ||
        !encdec_build(c, &c->subwords, e))
        return false;
    search_as_parser(c);
    return true;
}

static bool open_data(App *a, bool to_train, Error *e)
{
    EncDec *c = (EncDec *)a;
    const EncdecOptions *v = c->options;
    BitextOptions o = {.source = encdec_source_options(c, !to_train && v->split == SPLIT_TEST),
                       .keep_training = !to_train && v->split == SPLIT_TRAIN && v->bleu,
                       .known = a->run ? &c->subwords : NULL,
                       .longest = smaller(v->longest, v->shared.context - 1),
                       .context = v->shared.context,
                       .threads = v->shared.workers ? v->shared.workers : processors_allowed()};
    if (!to_train)
        o.source.trees.recombined = 0; /* they are made, and no gold */
    if (!encdec_subwords_options(&o.subwords, c, e))
        return app_misused(a);
    const bool fine = bitext_open(&c->bitext, &o, e);
    a->data.held_out = fine && c->bitext.sentences.held_out;
    return fine;
}

/* --- weights of another run --- */

/* Refuses tables of as many rows for other tokens; those of other sizes are not read. */
static bool tokens_agree(const Subwords *ours, const Subwords *theirs, const char *from, Error *e)
{
    bool same = true;
    for (size_t side = 0; same && side < SIDES_USED; side++) {
        const size_t mine = side == SOURCE ? ours->registers : 0, others = side == SOURCE ? theirs->registers : 0,
                     rows = subwords_count(ours, side) + mine;
        if (rows == subwords_count(theirs, side) + others && !subwords_same(ours, theirs, side, rows, &same, e))
            return false;
    }
    return same || settings_other_tokens(from, e);
}

/* Weights are read by name and shape, which do not say what a row is of. */
static bool begin_suits(const EncDec *c, Error *e)
{
    const char *from = c->options->shared.from;
    if (c->app.run || !from || !folder_exists(from))
        return true;
    EncdecOptions values = {0};
    Options options = {0};
    EncDec other = {.app = {.options = &values.shared, .command_line = &options}, .options = &values};
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {encdec_options, encdec_option_count, &values}};
    SubwordsOptions o;
    bool ours = false; /* a run of encdec: those of others cannot be read here */
    bool fine = options_open(&options, &encdec_program, tables, sizeof tables / sizeof *tables, e) &&
                settings_of_run(from, &options, &ours, e);
    fine = fine && (!ours || (encdec_subwords_options(&o, &other, e) && subwords_read(&other.subwords, &o, from, e) &&
                              tokens_agree(c->bitext.subwords, &other.subwords, from, e)));
    subwords_close(&other.subwords);
    options_close(&options);
    return fine;
}

/* --- the program --- */

static void print_pairs(const EncDec *c)
{
    for (size_t part = 0; part < SPLIT_TEST; part++) {
        const SentencePairs *p = &c->bitext.parts[part];
        double ids = (double)(pairs_ids(p, SOURCE) + pairs_ids(p, TARGET)), count = (double)(p->count ? p->count : 1);
        fprintf(
            stderr,
            "%-5s %8zu pairs, %.1f + %.1f tokens each, %.2f %% of them <unk>; left out: %zu empty, %zu too long%s\n",
            split_name((Split)part), p->count, (double)pairs_ids(p, SOURCE) / count,
            (double)pairs_ids(p, TARGET) / count, 100 * (double)p->unknown / (ids > 0 ? ids : 1),
            part == SPLIT_TRAIN ? p->empty : 0, p->too_long,
            part == SPLIT_VALID && c->bitext.sentences.held_out ? "; held out from train" : "");
    }
}

/* How large a batch is that the learning rate was chosen for, and how large it is. A run that continues has no preset
 * any more to say so. */
static void print_batch(const EncDec *c)
{
    enum { FAR_BELOW = 3 };
    double targets = (double)pairs_ids(&c->bitext.parts[SPLIT_TRAIN], TARGET) / (double)c->app.data.order.batches;
    const char *built_in = app_data(&c->app) ? NULL : c->app.kind->built_in_preset,
               *preset = c->options->shared.preset ? c->options->shared.preset : built_in;
    size_t meant = preset_batch_tokens(preset);
    fprintf(stderr, "batch %.0f target tokens per step on average, %zu steps per epoch\n", targets,
            c->app.data.order.batches);
    if (!c->app.run && c->options->shared.schedule == SCHEDULE_NOAM && targets * FAR_BELOW < (double)meant)
        fprintf(stderr,
                "encdec: warning: the learning rate was chosen for batches of %zu tokens, and these have %.0f: the "
                "model may learn less well, or not at all\n",
                meant, targets);
}

static bool open_alignments(EncDec *c, Error *e)
{
    const SentencePairs *train = &c->bitext.parts[SPLIT_TRAIN];
    const char *path = c->options->alignments;
    if (!(c->options->guided > 0))
        return true;
    if (path && c->bitext.sentences.held_out)
        return fail(e,
                    "--alignments counts lines of the training part: give validation data of its own, or none is held "
                    "out from it");
    return path ? alignments_read(&c->alignments, train, c->bitext.subwords, c->bitext.lines, path, e)
                : alignments_learn(&c->alignments, train, c->bitext.subwords, e);
}

static bool open_all(App *a, Error *e)
{
    EncDec *c = (EncDec *)a;
    const SharedOptions *o = a->options;
    if (!suits(c, e) || (a->run && !read_run(c, e)) || !app_open_data(a, true, e) ||
        !bitext_suits(&c->bitext, SPLIT_TRAIN, e) || !bitext_suits(&c->bitext, SPLIT_VALID, e) || !begin_suits(c, e))
        return false;
    const SentencePairs *train = &c->bitext.parts[SPLIT_TRAIN];
    const OrderOptions how = {.rows = o->batch,
                              .tokens = c->options->batch_tokens,
                              .by_length = c->options->by_length,
                              .seed = (uint32_t)o->seed};
    c->app.data.scored = SPLIT_VALID;
    c->app.figure_name = c->options->trees ? "F1" : NULL;
    if (!encdec_build(c, c->bitext.subwords, e) ||
        !recut_open(&c->recut, c->bitext.subwords, c->options->bpe_dropout, (uint32_t)o->seed, c->model.context, e) ||
        !open_alignments(c, e) || !order_open(&c->app.data.order, train->length, train->count, &how, e) ||
        !encdec_task(c, e))
        return false;
    if (!o->quiet) {
        print_pairs(c);
        print_batch(c);
    }
    return true;
}

/* Pairs of sentences of --length tokens, as many as make up a step. */
static void bench_task(EncDec *c)
{
    Task *t = &c->app.task;
    size_t length = c->options->length, tokens = c->options->batch_tokens;
    t->most_rows = tokens ? larger(tokens / length, 1) : c->options->shared.batch;
    t->longest[SOURCE] = t->longest[TARGET] = length;
    t->step_positions = t->most_rows * length;
    t->micro_positions = smaller(larger(c->options->micro_tokens, length), t->step_positions);
}

static bool open_model(App *a, Error *e)
{
    EncDec *c = (EncDec *)a;
    SubwordsOptions subwords;
    size_t planned[SIDES_USED];
    bool bench = a->command_line->command->bit == COMMAND_BENCH;
    if (!encdec_subwords_options(&subwords, c, e))
        return app_misused(a);
    if (a->run && !read_run(c, e))
        return false;
    if (!a->run && !subwords_planned(&subwords, planned, e))
        return false;
    if (a->run ? !encdec_build(c, &c->subwords, e)
               : !build(c, planned[SOURCE], subwords.apart ? planned[TARGET] : 0, e))
        return false;
    if (!encdec_task(c, e))
        return false;
    if (bench && c->options->length > c->model.context)
        return refuse(c, e, "--length is more than --context, the most that the model reads");
    if (bench)
        bench_task(c);
    return true;
}

static void close_all(App *a)
{
    EncDec *c = (EncDec *)a;
    model_close(&c->model);
    alignments_close(&c->alignments);
    recut_close(&c->recut);
    bitext_close(&c->bitext);
    subwords_close(&c->subwords);
}

static DataNote data(const App *a)
{
    const Sentences *s = &((const EncDec *)a)->bitext.sentences;
    return (DataNote){app_data(a), s->bytes, s->sha256};
}

/* Of the target, because these are what it learns to say. */
static double step_tokens(const App *a)
{
    const EncDec *c = (const EncDec *)a;
    if (c->app.data.order.count)
        return (double)pairs_ids(&c->bitext.parts[SPLIT_TRAIN], TARGET) / (double)c->app.data.order.batches;
    return (double)(a->command_line->command->bit == COMMAND_BENCH ? a->task.step_positions : c->options->batch_tokens);
}

static size_t epoch(const App *a) { return a->data.order.batches; }

static void protocol(const App *a, Buffer *b)
{
    const EncDec *c = (const EncDec *)a;
    const SentencePairs *p = &c->bitext.parts[c->app.data.scored];
    json_add_member(b, "sentences", (double)p->count);
    json_add_member(b, "subwords", (double)pairs_ids(p, TARGET));
    json_add_member(b, "words", (double)p->words);
}

static size_t vocabulary(const App *a, size_t side, size_t *targets)
{
    const Model *m = &((const EncDec *)a)->model;
    *targets = side == TARGET ? m->logits.out : 0;
    return side == SOURCE ? m->source.table->shape[0] : m->logits.out;
}

/* A picture is drawn by one. */
static bool alone(const App *a) { return a->options->out != NULL; }

const AppKind encdec_kind = {.name = "encdec",
                             .files = subwords_files,
                             .program = &encdec_program,
                             .aliases = aliases,
                             .data_options = data_options,
                             .built_in = "built-in sentences",
                             .built_in_preset = "minute",
                             .measure = "bytes",
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
                             .alone = alone,
                             .figure_name = "BLEU",
                             .figure_unit = "0 to 100",
                             .vocabulary = vocabulary};
