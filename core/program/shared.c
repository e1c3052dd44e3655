/* See shared.h. */
#include "core/program/shared.h"

#include "core/nn/positions.h"
#include "core/nn/stack.h"
#include "core/research/report.h"
#include "core/train/optimizer.h"
#include "core/train/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUILD = COMMAND_TRAIN | COMMAND_INFO | COMMAND_BENCH,
    READ = COMMAND_EVAL | COMMAND_WRITE | COMMAND_SCORE | COMMAND_INFO,
    ALL = BUILD | READ,
    RUN = COMMAND_TRAIN | READ | COMMAND_BENCH,
    TEND = COMMAND_TEND,
    HEADS = COMMAND_HEADS,
    PLOT = COMMAND_PLOT,
    COMPARE = COMMAND_COMPARE,
    SWEEP = COMMAND_SWEEP,
    EXPORT = COMMAND_EXPORT,
    OWN = 0x3f * COMMAND_OWN, /* commands of a program: they read its data and print a result */
    APART = 3 * COMMAND_APART /* and those that read no data */
};

static const OptionChoice activations[] = {{"relu", ACTIVATION_RELU},           {"gelu", ACTIVATION_GELU},
                                           {"gelu-tanh", ACTIVATION_GELU_TANH}, {"silu", ACTIVATION_SILU},
                                           {"relu2", ACTIVATION_RELU2},         {NULL, 0}};
static const OptionChoice norm_kinds[] = {{"layer", NORM_LAYER}, {"rms", NORM_RMS},   {"rms-plain", NORM_RMS_PLAIN},
                                          {"scale", NORM_SCALE}, {"tanh", NORM_TANH}, {NULL, 0}};
static const OptionChoice norms[] = {{"post", NORM_POST},
                                     {"pre", NORM_PRE},
                                     {"sandwich", NORM_SANDWICH},
                                     {"parallel", NORM_PARALLEL},
                                     {"deepnorm", NORM_DEEP},
                                     {"residual", NORM_RESIDUAL},
                                     {NULL, 0}};
static const OptionChoice qk_norm_kinds[] = {{"rms", 0}, {"cosine", 1}, {NULL, 0}};
static const OptionChoice positions[] = {{"none", POSITIONS_NONE},
                                         {"learned", POSITIONS_LEARNED},
                                         {"sinusoid", POSITIONS_SINUSOID},
                                         {"rotary", POSITIONS_ROTARY},
                                         {"sinusoid-halves", POSITIONS_HALVES},
                                         {"sinusoid-slower", POSITIONS_SLOWER},
                                         {NULL, 0}};
static const OptionChoice distances[] = {
    {"none", DISTANCE_NONE}, {"bias", DISTANCE_BIAS}, {"alibi", DISTANCE_ALIBI},
    {"keys", DISTANCE_KEYS}, {"xl", DISTANCE_XL},     {"buckets", DISTANCE_BUCKETS},
    {"t5", DISTANCE_T5},     {"mlp", DISTANCE_MLP},   {NULL, 0}};
static const OptionChoice patterns[] = {{"none", PATTERN_LISTS},
                                        {"local", PATTERN_LOCAL},
                                        {"strided", PATTERN_STRIDED},
                                        {"fixed", PATTERN_FIXED},
                                        {NULL, 0}};
static const OptionChoice attentions[] = {{"fused", ATTENTION_FUSED}, {"composed", ATTENTION_COMPOSED}, {NULL, 0}};
static const OptionChoice scores[] = {{"scaled-dot", SCORE_SCALED_DOT},
                                      {"dot", SCORE_DOT},
                                      {"bilinear", SCORE_BILINEAR},
                                      {"additive", SCORE_ADDITIVE},
                                      {NULL, 0}};
static const OptionChoice scalings[] = {{"linear", 0}, {"ntk", 1}, {NULL, 0}};
static const OptionChoice skips[] = {{"none", SKIP_NONE}, {"x0", SKIP_X0}, {"unet", SKIP_UNET}, {NULL, 0}};
static const OptionChoice inits[] = {
    {"pytorch", INIT_PYTORCH}, {"gpt2", INIT_GPT2}, {"xavier", INIT_XAVIER}, {NULL, 0}};
static const OptionChoice branch_inits[] = {
    {"same", BRANCH_SAME}, {"scaled", BRANCH_SCALED}, {"zero", BRANCH_ZERO}, {NULL, 0}};
static const OptionChoice parametrizations[] = {
    {"standard", PARAMETRIZATION_STANDARD}, {"mup", PARAMETRIZATION_MUP}, {NULL, 0}};
static const OptionChoice schedules[] = {{"constant", SCHEDULE_CONSTANT}, {"linear", SCHEDULE_LINEAR},
                                         {"cosine", SCHEDULE_COSINE},     {"noam", SCHEDULE_NOAM},
                                         {"wsd", SCHEDULE_WSD},           {"rsqrt", SCHEDULE_RSQRT},
                                         {"plateau", SCHEDULE_PLATEAU},   {NULL, 0}};
static const OptionChoice devices[] = {{"cpu", DEVICE_CPU},
                                       {"plain", DEVICE_PLAIN},
                                       {"mine", DEVICE_MINE},
                                       {"cuda", DEVICE_CUDA},
                                       {"emulated", DEVICE_EMULATED},
                                       {"checked", DEVICE_CHECKED},
                                       {NULL, 0}};
static const OptionChoice precisions[] = {{"f32", NUMBER_F32},   {"bf16", NUMBER_BF16}, {"f64", NUMBER_F64},
                                          {"tf32", NUMBER_TF32}, {"int8", NUMBER_INT8}, {NULL, 0}};
static const OptionChoice axes[] = {{"step", OVER_STEP}, {"tokens", OVER_TOKENS}, {"time", OVER_TIME}, {NULL, 0}};
static const OptionChoice plotted[] = {{"picture", PLOTTED_PICTURE}, {"events", PLOTTED_EVENTS}, {NULL, 0}};
static const OptionChoice figures[] = {{"validation", LOG_VALID},
                                       {"accuracy", LOG_ACCURACY},
                                       {"perplexity", LOG_WORD},
                                       {"bleu", LOG_BLEU},
                                       {"f1", LOG_F1},
                                       {"training", LOG_LOSS},
                                       {NULL, 0}};
static const OptionChoice formats[] = {{"text", REPORT_TEXT},         {"tsv", REPORT_TSV},     {"csv", REPORT_CSV},
                                       {"markdown", REPORT_MARKDOWN}, {"latex", REPORT_LATEX}, {NULL, 0}};
static const OptionChoice fits[] = {{"none", FIT_NONE}, {"scaling", FIT_SCALING}, {NULL, 0}};
static const OptionChoice logs[] = {
    {"none", LOG_AXES_NONE}, {"x", LOG_AXES_X}, {"y", LOG_AXES_Y}, {"xy", LOG_AXES_XY}, {NULL, 0}};

/* Made from the list of optimizers. */
#define CHOICE(number, name) {#name, OPTIMIZER_##number},
static const OptionChoice optimizers[] = {OPTIMIZERS(CHOICE){NULL, 0}};

#define AT(field) offsetof(SharedOptions, field)

/* clang-format off */
const Option shared_options[] = {
    /* the model: fixed in a run */
    {"dim", 'E', OPTION_SIZE, OPTION_MODEL, BUILD | PLOT, AT(dim), "256", "[1,65536]", "width of the model: numbers in the vector of a position"},
    {"heads", 'H', OPTION_SIZE, OPTION_MODEL, BUILD, AT(heads), "8", "[1,4096]", "attention heads per block"},
    {"kv-heads", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(kv_heads), NULL, "[1,4096]", "heads of keys and values, a divisor of --heads; queries share them in groups (default: --heads)"},
    {"head-size", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(head_size), "0", "[0,65536]", "width of a query and a key (0: dim / heads)"},
    {"value-size", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(value_size), "0", "[0,65536]", "width of a value (0: the same as --head-size)"},
    {"depth", 'd', OPTION_SIZE, OPTION_MODEL, BUILD, AT(depth), "12", "[0,4096]", "number of blocks"},
    {"loops", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(loops), NULL, "[1,4096]", "how many times the chain of blocks runs, with the same weights (default 1)"},
    {"ff", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(ff), "0", "[0,1048576]", "hidden width of the feed-forward network (0: 4 dim; with --gate 8/3 dim, in sixteens)"},
    {"context", 'C', OPTION_SIZE, OPTION_MODEL, BUILD | PLOT, AT(context), "256", "[1,1048576]", "how many positions the model reads at once"},
    {"registers", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(registers), NULL, "[1,1024]", "learned vectors before each text (encdec: source), of --context's positions, that are no tokens and that all positions see (none given: 0)"},
    {"window", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(window), "0", NULL, "how many keys a query sees, itself among them, of those up to itself (0: all); in an encoder it also sees all after it: --sparse local has two sides"},
    {"window-pattern", 0, OPTION_TEXT, OPTION_MODEL, BUILD, AT(window_pattern), NULL, "SSSL", "one letter per block, repeated: S, queries see --window keys; L, all keys (default S)"},
    {"sinks", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(sinks), NULL, "[1,1048576]", "all queries see the first N keys, whatever --window and --sparse hide; with --sparse local, the first N queries also see all keys (default 0)"},
    {"sparse", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(sparse), NULL, .choices = patterns, "which keys a query sees: local, those less than --stride away; strided, also those a multiple of --stride away; fixed, those in its own stretch of --stride positions, and the last block of each stretch (default none: all keys)"},
    {"stride", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(stride), NULL, "[1,1048576]", "the stride of --sparse in positions, a multiple of --sparse-block (default: the root of --context times --sparse-block)"},
    {"sparse-block", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(sparse_block), NULL, "[1,65536]", "apply --sparse to blocks of this many positions, which is faster from 32 on (default 1)"},
    {"activation", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(activation), "relu", .choices = activations, "activation function of the feed-forward network"},
    {"gate", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(gate), NULL, NULL, "multiply the activated numbers by a second linear map of the same input: a gated linear unit, SwiGLU with silu, GEGLU with gelu (default no)"},
    {"experts", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(experts), NULL, "[2,64]", "a mixture of N feed-forward networks, each of width --ff and without biases; a router chooses a few of them for each position (default: one network)"},
    {"chosen-experts", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(chosen_experts), NULL, "[1,64]", "how many of --experts are chosen for a position (default 2)"},
    {"norm", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(norm), "post", .choices = norms, "where to normalize: after each branch is added; before the branch; before it and on what it adds; or once for all branches of a block, which are then parallel; deepnorm: like post, with scales that depend on the depth; residual: like post, plus the sum of all branches at the end"},
    {"macaron", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(macaron), NULL, NULL, "a second feed-forward network before attention; each of the two adds half of its result (default no)"},
    {"norm-kind", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(norm_kind), NULL, .choices = norm_kinds, "layer norm; RMS norm: mean square 1, without a bias; rms-plain: without a gain, too; scale norm: a learned length; or tanh of x times a learned number (default layer)"},
    {"norm-epsilon", 0, OPTION_REAL, OPTION_MODEL, BUILD, AT(norm_epsilon), NULL, "[0,]", "what layer and RMS norms add to the mean square before the root, such as 1e-12 for BERT (default, or 0: 1e-5)"},
    {"positions", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(positions), "learned", .choices = positions, "vectors of positions, added to the embeddings; or rotary: queries and keys of self-attention are rotated"},
    {"rotary-base", 0, OPTION_REAL, OPTION_MODEL, BUILD, AT(rotary_base), NULL, "[0,]", "rotary: the last pair of numbers turns about this many times as slowly as the first (default, or 0: 10000)"},
    {"rotary-share", 0, OPTION_REAL, OPTION_MODEL, BUILD, AT(rotary_share), NULL, "[0,1]", "rotary: the part of each head that is rotated (default, or 0: all of it)"},
    {"rotary-stretch", 0, OPTION_REAL, OPTION_MODEL, BUILD, AT(rotary_stretch), NULL, "[0,]", "rotary: rotate this many times as slowly, for a model --from that was trained with a shorter --context (default, or 0: 1)"},
    {"rotary-scaling", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(rotary_scaling), NULL, .choices = scalings, "linear: --rotary-stretch slows all pairs alike; ntk: by a larger base, the slow ones most (default linear)"},
    {"distances", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(distances), "none", .choices = distances, "how the distance between query and key enters their score"},
    {"alibi-heads", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(alibi_heads), NULL, "[1,4096]", "use --distances alibi in the first N heads only (default: all)"},
    {"adaptive-span", 0, OPTION_REAL, OPTION_MODEL, BUILD, AT(adaptive_span), NULL, "[0,]", "each head learns how far it looks; its weights fall to 0 over this many positions, such as 32 (default, or 0: all look everywhere)"},
    {"attention", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(attention), "fused", .choices = attentions, "compute attention as one operation, or as several small ones"},
    {"score", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(score), "scaled-dot", .choices = scores, "how query and key are scored; the last two need --attention composed"},
    {"bias", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(bias), "yes", NULL, "add biases to query, key and value"},
    {"bias-free", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(bias_free), NULL, NULL, "no biases in any linear map or layer norm (default no)"},
    {"score-cap", 0, OPTION_REAL, OPTION_MODEL, BUILD, AT(score_cap), NULL, "[0,]", "replace an attention score s by c tanh(s / c), with this c, such as 50 (default: no cap)"},
    {"logit-cap", 0, OPTION_REAL, OPTION_MODEL, BUILD, AT(logit_cap), NULL, "[0,]", "the same for logits, such as 30 (default: no cap)"},
    {"sink-score", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(sink_score), NULL, NULL, "each head's softmax has one more, learned score, of a key whose value is 0 (default no)"},
    {"value-gate", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(value_gate), NULL, NULL, "multiply the result of the attention heads by the sigmoid of a linear map of the same input (default no)"},
    {"talking-heads", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(talking_heads), NULL, NULL, "mix scores across heads, and weights again; needs --attention composed (default no)"},
    {"top-keys", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(top_keys), NULL, "[1,1048576]", "each query keeps only its N largest scores; needs --attention composed (default: all)"},
    {"sigmoid-attention", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(sigmoid_attention), NULL, NULL, "weights are sigmoid(score - log context) instead of a softmax; needs --attention composed (default no)"},
    {"memory-keys", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(memory_keys), NULL, "[1,65536]", "learned keys and values without a position, in each block, that all queries see; needs --attention composed (default 0)"},
    {"qk-norm", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(qk_norm), NULL, NULL, "RMS norm of queries and keys, head by head, before they are rotated or scored (default no)"},
    {"qk-norm-kind", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(qk_norm_kind), NULL, .choices = qk_norm_kinds, "with --qk-norm: RMS norm with gains, or cosine: scores are cosines times a learned number for each head (default rms)"},
    {"value-residual", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(value_residual), NULL, NULL, "mix each block's values with those of the first block, in learned shares (default no)"},
    {"residual-scores", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(residual_scores), NULL, NULL, "add the attention scores of the block before to those of each block; needs --attention composed (default no)"},
    {"skip", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(skip), NULL, .choices = skips, "what else a block reads: x0, the embeddings; unet, in the later half of the blocks, what the earlier half read, in reverse order (default none)"},
    {"embedding-norm", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(embedding_norm), NULL, NULL, "normalize the embeddings before the first block (default no)"},
    {"tie", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(tie), "no", NULL, "share one table between embedding and logits"},
    {"parametrization", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(parametrization), NULL, .choices = parametrizations, "mup: scale initial weights, learning rates, attention and logits so that the best --lr of --base-width suits every --dim (default standard)"},
    {"base-width", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(base_width), NULL, "[1,65536]", "with --parametrization mup: the --dim at which mup is the same as standard"},
    {"dropout", 0, OPTION_REAL, OPTION_TRAINING, BUILD, AT(dropout), "0", "[0,1)", "probability of dropping a number of embeddings and branches"},
    {"attention-dropout", 0, OPTION_REAL, OPTION_TRAINING, BUILD, AT(attention_dropout), "0", "[0,1)", "probability of dropping an attention weight"},
    {"ff-dropout", 0, OPTION_REAL, OPTION_TRAINING, BUILD, AT(ff_dropout), "0", "[0,1)", "probability of dropping a hidden number of the feed-forward network"},
    {"branch-dropout", 0, OPTION_REAL, OPTION_TRAINING, BUILD, AT(branch_dropout), NULL, "[0,1)", "stochastic depth: probability of dropping a branch of the last block for a step; lower in earlier blocks (default 0)"},
    {"init", 0, OPTION_CHOICE, OPTION_TRAINING, BUILD, AT(init), "pytorch", .choices = inits, "how weights are initialized"},
    {"branch-init", 0, OPTION_CHOICE, OPTION_TRAINING, BUILD, AT(branch_init), NULL, .choices = branch_inits, "initial weights of the last map of each branch: as --init says; scaled: divided by the root of 2 depth, as gpt2 does anyway; or zero (default same)"},
    {"from", 0, OPTION_PATH, OPTION_TRAINING, COMMAND_TRAIN, AT(from), NULL, "RUN|FILE", "start from another model's weights, where name and shape match: a run's best weights, or a .safetensors file"},
    {"map", 0, OPTION_TEXT, OPTION_TRAINING, COMMAND_TRAIN, AT(map), NULL, "OLD=NEW,...", "rename tensors of --from: a leading OLD becomes NEW; the first pair that matches is used"},

    /* training: kept on resume unless given again */
    {"data", 'D', OPTION_PATH, OPTION_TRAINING, (RUN & ~COMMAND_BENCH) | OWN | PLOT, AT(data), NULL, "FILE", "the data (default: the built-in data)"},
    {"batch", 'b', OPTION_SIZE, OPTION_TRAINING, BUILD, AT(batch), "32", "[1,1048576]", "rows per step"},
    {"micro-batch", 0, OPTION_SIZE, OPTION_TRAINING, BUILD, AT(micro_batch), "2", NULL, "rows that a worker computes at once (0: all)"},
    {"steps", 'N', OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN | COMMAND_BENCH | PLOT, AT(steps), "100000", NULL, "steps in all, including those before a resume"},
    {"epochs", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(epochs), "0", NULL, "passes over the training data, instead of --steps (0: --steps)"},
    {"minutes", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(minutes), "0", "[0,]", "training time in all, or, in a run that had no limit, from this resume on (0: no limit)"},
    {"lr", 'l', OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(lr), "1e-4", "[0,]", "learning rate (0: 0.4 / dim); for noam its factor (0: 1)"},
    {"schedule", 0, OPTION_CHOICE, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(schedule), "constant", .choices = schedules, "schedule of the learning rate"},
    {"warmup", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(warmup), "0", NULL, "steps over which the learning rate rises to its full value (with --minutes, a quarter of the time at most)"},
    {"lr-end", 0, OPTION_TEXT, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(lr_end), NULL, "PART", "the part of --lr at which linear, cosine and wsd end (default 0, cosine 0.1)"},
    {"lr-patience", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN, AT(lr_patience), NULL, NULL, "plateau: halve the learning rate after this many evaluations without a new best (default 3)"},
    {"decay-steps", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(decay_steps), "0", NULL, "the step at which linear, cosine and wsd end (0: the first --steps)"},
    {"optimizer", 0, OPTION_CHOICE, OPTION_TRAINING, BUILD, AT(optimizer), NULL, .choices = optimizers, "the optimizer (default adam)"},
    {"momentum", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN, AT(momentum), NULL, "[0,1)", "momentum of SGD (default 0) and Muon (default, or 0: 0.95)"},
    {"newton-schulz", 0, OPTION_SIZE, OPTION_TRAINING, BUILD, AT(newton_schulz), NULL, "[1,20]", "Muon's iterations, which bring the singular values of a matrix near 1: fewer take less time (default 5)"},
    {"betas", 0, OPTION_TEXT, OPTION_TRAINING, COMMAND_TRAIN, AT(betas), "0.9,0.999", "A,B", "Adam's decay rates of the two moments; Lion's of the direction and of its momentum"},
    {"epsilon", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN, AT(epsilon), "1e-8", "(0,]", "Adam's epsilon"},
    {"decay", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN, AT(decay), "0", "[0,]", "weight decay of matrices, decoupled from the gradient"},
    {"groups", 0, OPTION_TEXT, OPTION_TRAINING, COMMAND_TRAIN, AT(groups), NULL, "PATTERN:lr=X,decay=X;...", "other settings for the tensors that a pattern such as blocks.*.norm?.* matches: lr (times --lr; 0: frozen), decay, beta1, beta2, momentum; the first pattern that matches is used"},
    {"clip", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN, AT(clip), "1", "[0,]", "clip the gradient to this norm (0: never)"},
    {"ema", 0, OPTION_REAL, OPTION_TRAINING, BUILD, AT(ema), NULL, "[0,1)", "also keep a moving average of the weights with this decay, such as 0.999; it is what is evaluated, saved and read by other commands (default, or 0: no)"},
    {"smoothing", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(smoothing), "0", "[0,1)", "label smoothing"},
    {"z-loss", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN, AT(z_loss), NULL, "[0,]", "add this times the square of the logits' log sum exp to the training loss, such as 1e-4 (default 0)"},
    {"load-loss", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN, AT(load_loss), NULL, "[0,]", "with --experts: add this, such as 0.01, times the unevenness of the choices (1 if all are chosen equally often) to the training loss (default 0)"},
    {"span-loss", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN, AT(span_loss), NULL, "[0,]", "with --adaptive-span: minimize this, such as 0.01, times the mean span of each block's heads, too, as a part of --context; the loss that is printed is without it (default 0)"},
    {"eval-every", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN, AT(eval_every), "1500", NULL, "steps between evaluations (0: at the end only)"},
    {"save-every", 0, OPTION_TEXT, OPTION_TRAINING, COMMAND_TRAIN, AT(save_every), "10m", "N|TIME", "steps or time between checkpoints, such as 500, 90s, 10m, 2h (0: only new bests and the last)"},
    {"keep", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN, AT(keep), "2", NULL, "newest checkpoints to keep, besides the best (0: all)"},
    {"patience", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN, AT(patience), "0", NULL, "stop after this many evaluations without a new best (0: never)"},
    {"seed", 'r', OPTION_SIZE, OPTION_TRAINING, (ALL & ~COMMAND_INFO) | PLOT, AT(seed), "1", "[0,4294967295]", "seed of all random numbers"},
    {"workers", 0, OPTION_SIZE, OPTION_TRAINING, RUN | BUILD, AT(workers), "0", "[0,1024]", "workers that share a step's rows (0: one per core)"},
    {"shares", 0, OPTION_SIZE, OPTION_TRAINING, BUILD, AT(shares), NULL, "[1,1024]", "parts into which the micro-batches of a step are divided, and so workers that can share it; the sum of their gradients depends on this number, and not on workers (default 8; 2 for a model of more than 16 million parameters)"},
    {"shard", 0, OPTION_YES_NO, OPTION_TRAINING, BUILD, AT(shard), NULL, NULL, "of several processes (mpirun), each keeps a part of the optimizer's moments and moves those weights; a run may go on with it or without (default no)"},
    {"team", 0, OPTION_SIZE, OPTION_TRAINING, RUN | HEADS, AT(team), "0", "[0,1024]", "cores per worker (0: 1, or all for a single worker)"},
    {"device", 0, OPTION_CHOICE, OPTION_TRAINING, RUN | BUILD | HEADS, AT(device), "cpu", .choices = devices, "where to compute (mine: your own kernels, see course/README.md; cuda: a GPU; emulated, checked: GPU kernels on the CPU, slowly)"},
    {"precision", 0, OPTION_CHOICE, OPTION_TRAINING, RUN | BUILD | HEADS, AT(precision), "f32", .choices = precisions, "number type of activations (tf32: f32, but a GPU rounds the operands of products; int8: f32, but linear maps round to 8 bits, and nothing trains)"},
    {"recompute", 0, OPTION_YES_NO, OPTION_TRAINING, BUILD, AT(recompute), "no", NULL, "drop a block's activations and recompute them in the backward pass, to save memory"},

    /* of this call */
    {"run", 0, OPTION_PATH, OPTION_HERE, COMMAND_TRAIN | READ | TEND | PLOT | HEADS | EXPORT, AT(run), NULL, "DIR", "directory of the run (train: a new one, by default runs/PROGRAM-N)"},
    {"resume", 0, OPTION_PATH, OPTION_HERE, COMMAND_TRAIN, AT(resume), NULL, "DIR", "continue this run"},
    {"weights", 0, OPTION_TEXT, OPTION_HERE, (RUN & ~COMMAND_BENCH) | HEADS | PLOT | EXPORT, AT(weights), NULL, "WHICH", "which weights: best, last, average, a step or a file (default best; train: newly initialized)"},
    {"preset", 'p', OPTION_PRESET, OPTION_HERE, BUILD | PLOT, AT(preset), NULL, NULL, "use a preset; see below"},
    {"config", 0, OPTION_CONFIG, OPTION_HERE, BUILD | PLOT, AT(config), NULL, "FILE", "read options from a file of lines `name = value`"},
    {"dry-run", 0, OPTION_FLAG, OPTION_HERE, COMMAND_TRAIN, AT(dry_run), NULL, NULL, "print the memory and work that it would take, and stop"},
    {"find-lr", 0, OPTION_FLAG, OPTION_HERE, COMMAND_TRAIN, AT(find_lr), NULL, NULL, "make no run: raise the learning rate from 1e-7 to 10 over 200 steps (or --steps), and suggest one"},
    {"coordinates", 0, OPTION_TEXT, OPTION_HERE, COMMAND_TRAIN, AT(coordinates), NULL, "WIDTHS", "make no run: train models of several --dim, such as 32,64,128, for 5 steps (or --steps) with each --parametrization, and compare how much their activations change"},
    {"wait", 0, OPTION_TEXT, OPTION_HERE, RUN, AT(wait), NULL, "TIME", "of several processes (mpirun), how long one waits for another before it ends them all (default 10m)"},
    {"tuning", 0, OPTION_TEXT, OPTION_HERE, RUN | BUILD | HEADS | SWEEP, AT(tuning), NULL, "WORDS", "take these choices instead of measuring them: all or some of what `bench` prints after \"tuning:\", such as f32-short=own,chunk=512; it replaces ATTEND_TUNING of the environment"},
    {"dump-logits", 0, OPTION_PATH, OPTION_HERE, COMMAND_EVAL, AT(dump_logits), NULL, "FILE.npy", "write the logits of all that is scored, and its targets as FILE.ids.npy"},
    {"skip-blocks", 0, OPTION_TEXT, OPTION_HERE, COMMAND_EVAL | COMMAND_WRITE | COMMAND_SCORE, AT(skip_blocks), NULL, "N,...", "leave out these blocks, counted from 0, of each stack; a model trained with --branch-dropout can do without some"},
    {"quiet", 'q', OPTION_FLAG, OPTION_HERE, ALL | TEND | OWN | APART | PLOT | HEADS | COMPARE | SWEEP | EXPORT, AT(quiet), NULL, NULL, "print no progress"},
    {"json", 0, OPTION_FLAG, OPTION_HERE, ALL | TEND | OWN | APART | PLOT | HEADS | COMPARE | SWEEP, AT(json), NULL, NULL, "print the result as one line of JSON"},

    {"profile", 0, OPTION_FLAG, OPTION_HERE, COMMAND_BENCH, AT(profile), NULL, NULL, "show where a step's time goes"},

    /* pictures */
    {"compare", 0, OPTION_PATH, OPTION_HERE, PLOT, AT(compare), NULL, "DIR", "draw this run as well; name more of them as arguments"},
    {"what", 0, OPTION_TEXT, OPTION_HERE, PLOT, AT(what), "loss", "LIST", "all, or some of loss,accuracy,bleu,f1,perplexity,rate,norm,speed; or one of those that need no log: schedule, schedules, smoothing, lengths, coverage, positions, embeddings"},
    {"over", 0, OPTION_CHOICE, OPTION_HERE, PLOT, AT(over), "step", .choices = axes, "the horizontal axis"},
    {"log", 0, OPTION_CHOICE, OPTION_HERE, PLOT, AT(log), "none", .choices = logs, "logarithmic axes"},
    {"apart", 0, OPTION_FLAG, OPTION_HERE, PLOT, AT(apart), NULL, NULL, "draw one curve per run, even if only the seeds differ"},
    {"watch", 0, OPTION_FLAG, OPTION_HERE, PLOT, AT(watch), NULL, NULL, "redraw for as long as the run is training"},
    {"out", 0, OPTION_PATH, OPTION_HERE, PLOT | HEADS, AT(out), NULL, "FILE", "picture to write: .png, .svg, .pdf or .txt, with its data beside it as .tsv (-: the terminal)"},
    {"out", 0, OPTION_PATH, OPTION_HERE, COMMAND_TRAIN, AT(out), NULL, "FILE", "with --find-lr or --coordinates, also draw what it finds: .png, .svg, .pdf or .txt, with its data beside it as .tsv"},
    {"format", 0, OPTION_CHOICE, OPTION_HERE, PLOT, AT(plotted), "picture", .choices = plotted, "a picture, or a file of events for TensorBoard in each run"},
    {"size", 0, OPTION_TEXT, OPTION_HERE, PLOT | HEADS | COMPARE, AT(size), NULL, "SIZE", "size of the picture, such as 8.5cm, 16cmx9cm or 900x540"},
    {"terminal", 0, OPTION_TEXT, OPTION_HERE, PLOT | HEADS, AT(terminal), NULL, "NAME", "gnuplot terminal, instead of the one that FILE's ending implies, such as sixelgd or qt"},

    /* comparisons */
    {"figure", 0, OPTION_CHOICE, OPTION_HERE, COMPARE, AT(figure), "validation", .choices = figures, "the figure to compare: the validation part's loss, accuracy, perplexity per word, BLEU or F1, or the training loss"},
    {"last", 0, OPTION_FLAG, OPTION_HERE, COMPARE, AT(last), NULL, NULL, "take the last value of each run, instead of its best"},
    {"at", 0, OPTION_TEXT, OPTION_HERE, COMPARE, AT(at), NULL, "LIMIT", "read each run up to steps=N, tokens=N, seconds=N or flop=N (default: to its end)"},
    {"against", 0, OPTION_PATH, OPTION_HERE, COMPARE, AT(against), NULL, "RUN", "compare with the group of this run, or with this row of a table (default: with the first)"},
    {"tuned", 0, OPTION_TEXT, OPTION_HERE, COMPARE, AT(tuned), NULL, "OPTION", "compare each row of a sweep's table at its best value of this option, such as lr"},
    {"over", 0, OPTION_TEXT, OPTION_HERE, COMPARE, AT(along), NULL, "OPTION", "with --out: draw the figure over the values of this option of a sweep's table, such as lr, a line for each row"},
    {"format", 0, OPTION_CHOICE, OPTION_HERE, COMPARE, AT(format), "text", .choices = formats, "how to print the table"},
    {"fit", 0, OPTION_CHOICE, OPTION_HERE, COMPARE, AT(fit), "none", .choices = fits, "instead of comparing groups, fit a law to the last losses of all runs: how they fall with parameters, tokens and FLOP"},
    {"out", 0, OPTION_PATH, OPTION_HERE, COMPARE, AT(out), NULL, "FILE", "also draw the table: .png, .svg, .pdf or .txt, with its data beside it as .tsv"},

    {"each", 0, OPTION_FLAG, OPTION_HERE, COMMAND_EVAL, AT(each), NULL, NULL, "print what each text adds to the score, one line per text, instead of the score"},
    {"against", 0, OPTION_PATH, OPTION_HERE, COMMAND_EVAL, AT(against), NULL, "RUN", "also score this run on the same texts, and test whether the two differ"},

    {"out", 0, OPTION_PATH, OPTION_HERE, EXPORT, AT(out), NULL, "PATH", "what to write: a new or empty folder; for some formats, a file"},

    /* sweeps */
    {"run", 0, OPTION_PATH, OPTION_HERE, SWEEP, AT(run), NULL, "DIR", "directory of the sweep, with a directory for each run (default: runs/FILE)"},
    {"dry-run", 0, OPTION_FLAG, OPTION_HERE, SWEEP, AT(dry_run), NULL, NULL, "print which runs it would train, with their time, FLOP and disk space, and stop"},
    {"known", 0, OPTION_PATH, OPTION_HERE, SWEEP, AT(known), NULL, "FILE", "a sweep.tsv of this sweep from elsewhere: runs that it lists as done are not trained again"},
    {"jobs", 0, OPTION_SIZE, OPTION_HERE, SWEEP, AT(jobs), "1", "[1,1024]", "runs to train at once; they share the cores"},
};
/* clang-format on */

const size_t shared_option_count = sizeof shared_options / sizeof *shared_options;

const char *device_name(int device) { return choice_name(devices, device); }

const char *schedule_name(int schedule) { return choice_name(schedules, schedule); }

bool parse_every(const char *text, size_t *steps, double *seconds, Error *e)
{
    char *end;
    double value = strtod(text, &end);
    double unit = *end == 's' ? 1 : *end == 'm' ? 60 : *end == 'h' ? 3600 : 0;
    bool decimal = end != text && strspn(text, "0123456789.eE+") >= (size_t)(end - text); /* no nan either */
    *steps = 0;
    *seconds = 0;
    if (!decimal || value > 1e15 || (unit > 0 ? end[1] != 0 : *end || floor(value) < value))
        return fail(e, "--save-every '%s': expected a number of steps, or a time such as 90s, 10m or 2h", text);
    if (unit > 0)
        *seconds = value * unit;
    else
        *steps = (size_t)value;
    return true;
}

enum { A_YEAR = 365 * 24 * 3600 };

bool parse_time(const char *text, double *seconds, Error *e)
{
    size_t steps;
    Error why;
    return (parse_every(text, &steps, seconds, &why) && *seconds >= 1 && *seconds <= A_YEAR) ||
           fail(e, "--wait '%s': expected a time from 1s to a year, such as 90s, 10m or 2h", text);
}

bool parse_part(const char *text, double *part, Error *e)
{
    char *end;
    *part = strtod(text, &end);
    return (end != text && !*end && *part >= 0 && *part <= 1) ||
           fail(e, "--lr-end '%s': expected a part of the learning rate, from 0 to 1", text);
}

bool parse_betas(const char *text, double *beta1, double *beta2, Error *e)
{
    char *end;
    *beta1 = strtod(text, &end);
    bool fine = end != text && *end == ',';
    const char *second = end + 1;
    *beta2 = fine ? strtod(second, &end) : 0;
    fine = fine && end != second && !*end && *beta1 >= 0 && *beta1 < 1 && *beta2 >= 0 && *beta2 < 1;
    return fine || fail(e, "--betas '%s': expected two numbers, at least 0 and below 1, such as 0.9,0.999", text);
}
