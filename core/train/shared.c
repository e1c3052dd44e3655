/* See shared.h. */
#include "core/train/shared.h"

#include "core/nn/block.h"
#include "core/nn/positions.h"
#include "core/train/optimizer.h"
#include "core/train/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUILD = COMMAND_TRAIN | COMMAND_INFO | COMMAND_BENCH,
    READ = COMMAND_EVAL | COMMAND_WRITE | COMMAND_INFO,
    ALL = BUILD | READ,
    RUN = COMMAND_TRAIN | READ | COMMAND_BENCH,
    TEND = COMMAND_TEND,
    HEADS = COMMAND_HEADS,
    PLOT = COMMAND_PLOT,
    OWN = 0x3f * COMMAND_OWN, /* commands of a program: they read its data and print a result */
    APART = 3 * COMMAND_APART /* and those that read no data */
};

static const OptionChoice activations[] = {
    {"relu", ACTIVATION_RELU}, {"gelu", ACTIVATION_GELU}, {"gelu-tanh", ACTIVATION_GELU_TANH}, {NULL, 0}};
static const OptionChoice norm_kinds[] = {{"layer", NORM_LAYER}, {"rms", NORM_RMS}, {NULL, 0}};
static const OptionChoice norms[] = {{"post", NORM_POST}, {"pre", NORM_PRE}, {NULL, 0}};
static const OptionChoice positions[] = {
    {"none", POSITIONS_NONE}, {"learned", POSITIONS_LEARNED}, {"sinusoid", POSITIONS_SINUSOID}, {NULL, 0}};
static const OptionChoice distances[] = {{"none", DISTANCE_NONE}, {"bias", DISTANCE_BIAS}, {"alibi", DISTANCE_ALIBI},
                                         {"keys", DISTANCE_KEYS}, {"xl", DISTANCE_XL},     {NULL, 0}};
static const OptionChoice attentions[] = {{"fused", ATTENTION_FUSED}, {"composed", ATTENTION_COMPOSED}, {NULL, 0}};
static const OptionChoice scores[] = {{"scaled-dot", SCORE_SCALED_DOT},
                                      {"dot", SCORE_DOT},
                                      {"bilinear", SCORE_BILINEAR},
                                      {"additive", SCORE_ADDITIVE},
                                      {NULL, 0}};
static const OptionChoice inits[] = {
    {"pytorch", INIT_PYTORCH}, {"gpt2", INIT_GPT2}, {"xavier", INIT_XAVIER}, {NULL, 0}};
static const OptionChoice schedules[] = {{"constant", SCHEDULE_CONSTANT},
                                         {"linear", SCHEDULE_LINEAR},
                                         {"cosine", SCHEDULE_COSINE},
                                         {"noam", SCHEDULE_NOAM},
                                         {NULL, 0}};
static const OptionChoice devices[] = {{"cpu", DEVICE_CPU},
                                       {"plain", DEVICE_PLAIN},
                                       {"mine", DEVICE_MINE},
                                       {"cuda", DEVICE_CUDA},
                                       {"emulated", DEVICE_EMULATED},
                                       {"checked", DEVICE_CHECKED},
                                       {NULL, 0}};
static const OptionChoice precisions[] = {
    {"f32", NUMBER_F32}, {"bf16", NUMBER_BF16}, {"f64", NUMBER_F64}, {"tf32", NUMBER_TF32}, {NULL, 0}};
static const OptionChoice axes[] = {{"step", OVER_STEP}, {"tokens", OVER_TOKENS}, {"time", OVER_TIME}, {NULL, 0}};
static const OptionChoice logs[] = {
    {"none", LOG_AXES_NONE}, {"x", LOG_AXES_X}, {"y", LOG_AXES_Y}, {"xy", LOG_AXES_XY}, {NULL, 0}};

/* Made from the list of optimizers. */
#define NUMBER(name) NUMBER_OF_##name,
#define CHOICE(name) {#name, NUMBER_OF_##name},
enum { OPTIMIZERS(NUMBER) };
static const OptionChoice optimizers[] = {OPTIMIZERS(CHOICE){NULL, 0}};

#define AT(field) offsetof(SharedOptions, field)

/* clang-format off */
const Option shared_options[] = {
    /* the model: fixed in a run */
    {"dim", 'E', OPTION_SIZE, OPTION_MODEL, BUILD | PLOT, AT(dim), "256", "[1,65536]", "width of a position's vector"},
    {"heads", 'H', OPTION_SIZE, OPTION_MODEL, BUILD, AT(heads), "8", "[1,4096]", "attention heads in a block"},
    {"head-size", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(head_size), "0", "[0,65536]", "width of a query and a key (0: dim / heads)"},
    {"value-size", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(value_size), "0", "[0,65536]", "width of a value (0: as head-size)"},
    {"depth", 'd', OPTION_SIZE, OPTION_MODEL, BUILD, AT(depth), "12", "[0,4096]", "blocks"},
    {"ff", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(ff), "0", "[0,1048576]", "width inside the feed-forward network (0: 4 dim)"},
    {"context", 'C', OPTION_SIZE, OPTION_MODEL, BUILD | PLOT, AT(context), "256", "[1,1048576]", "positions that the model reads at once"},
    {"window", 0, OPTION_SIZE, OPTION_MODEL, BUILD, AT(window), "0", NULL, "a query sees so many keys (0: all)"},
    {"activation", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(activation), "relu", .choices = activations, "in the feed-forward network"},
    {"norm", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(norm), "post", .choices = norms, "layer norm behind each branch, or before it"},
    {"norm-kind", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(norm_kind), NULL, .choices = norm_kinds, "mean 0, variance 1 and a bias; or mean square 1 (none given: layer)"},
    {"positions", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(positions), "learned", .choices = positions, "how a position is known"},
    {"distances", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(distances), "none", .choices = distances, "what the distance from a query to a key does to their score"},
    {"attention", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(attention), "fused", .choices = attentions, "one operation, or made of small ones"},
    {"score", 0, OPTION_CHOICE, OPTION_MODEL, BUILD, AT(score), "scaled-dot", .choices = scores, "how well a query fits a key; the last two composed"},
    {"bias", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(bias), "yes", NULL, "biases of query, key and value"},
    {"tie", 0, OPTION_YES_NO, OPTION_MODEL, BUILD, AT(tie), "no", NULL, "logits read the embedding's table"},
    {"dropout", 0, OPTION_REAL, OPTION_TRAINING, BUILD, AT(dropout), "0", "[0,1)", "share dropped from embeddings and branches"},
    {"attention-dropout", 0, OPTION_REAL, OPTION_TRAINING, BUILD, AT(attention_dropout), "0", "[0,1)", "share of attention weights dropped"},
    {"ff-dropout", 0, OPTION_REAL, OPTION_TRAINING, BUILD, AT(ff_dropout), "0", "[0,1)", "share dropped inside the feed-forward network"},
    {"init", 0, OPTION_CHOICE, OPTION_TRAINING, BUILD, AT(init), "pytorch", .choices = inits, "how weights begin"},
    {"from", 0, OPTION_PATH, OPTION_TRAINING, COMMAND_TRAIN, AT(from), NULL, "RUN|FILE", "weights that begin as those of the same name and shape in a run, at its best, or a .safetensors file"},
    {"map", 0, OPTION_TEXT, OPTION_TRAINING, COMMAND_TRAIN, AT(map), NULL, "OLD=NEW,...", "a name that begins with OLD in --from begins with NEW here; the first that fits counts"},

    /* training: kept on resume unless given again */
    {"data", 'D', OPTION_PATH, OPTION_TRAINING, (RUN & ~COMMAND_BENCH) | OWN | PLOT, AT(data), NULL, "FILE", "what to learn from (none: built-in data)"},
    {"batch", 'b', OPTION_SIZE, OPTION_TRAINING, BUILD, AT(batch), "32", "[1,1048576]", "rows of a step"},
    {"micro-batch", 0, OPTION_SIZE, OPTION_TRAINING, BUILD, AT(micro_batch), "2", NULL, "rows a worker computes at once (0: all)"},
    {"steps", 'N', OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN | COMMAND_BENCH | PLOT, AT(steps), "100000", NULL, "counted from the run's first"},
    {"epochs", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(epochs), "0", NULL, "passes over the training data, instead of steps (0: steps)"},
    {"minutes", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(minutes), "0", "[0,]", "of training in all (0: no limit)"},
    {"lr", 'l', OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(lr), "1e-4", "[0,]", "learning rate (0: 0.4 / dim; noam: its factor, 0: 1)"},
    {"schedule", 0, OPTION_CHOICE, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(schedule), "constant", .choices = schedules, "of the learning rate"},
    {"warmup", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(warmup), "0", NULL, "steps until the learning rate is reached"},
    {"decay-steps", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(decay_steps), "0", NULL, "where linear and cosine end (0: the first --steps)"},
    {"optimizer", 0, OPTION_CHOICE, OPTION_TRAINING, BUILD, AT(optimizer), NULL, .choices = optimizers, "what moves the weights (none given: adam)"},
    {"momentum", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN, AT(momentum), NULL, "[0,1)", "SGD's: how much of a step goes on in the next (none given: 0)"},
    {"betas", 0, OPTION_TEXT, OPTION_TRAINING, COMMAND_TRAIN, AT(betas), "0.9,0.999", "A,B", "Adam's averages"},
    {"epsilon", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN, AT(epsilon), "1e-8", "(0,]", "Adam's"},
    {"decay", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN, AT(decay), "0", "[0,]", "weight decay of matrices, apart from the gradient"},
    {"clip", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN, AT(clip), "1", "[0,]", "largest norm of the gradient (0: any)"},
    {"smoothing", 0, OPTION_REAL, OPTION_TRAINING, COMMAND_TRAIN | PLOT, AT(smoothing), "0", "[0,1)", "label smoothing"},
    {"eval-every", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN, AT(eval_every), "1500", NULL, "steps (0: at the end only)"},
    {"save-every", 0, OPTION_TEXT, OPTION_TRAINING, COMMAND_TRAIN, AT(save_every), "10m", "N|TIME", "steps, or a time as 90s, 10m, 2h (0: at new bests and the end)"},
    {"keep", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN, AT(keep), "2", NULL, "last checkpoints, besides the best (0: all)"},
    {"patience", 0, OPTION_SIZE, OPTION_TRAINING, COMMAND_TRAIN, AT(patience), "0", NULL, "evaluations without a new best before the end (0: any)"},
    {"seed", 'r', OPTION_SIZE, OPTION_TRAINING, (ALL & ~COMMAND_INFO) | PLOT, AT(seed), "1", "[0,4294967295]", "of all random numbers"},
    {"workers", 0, OPTION_SIZE, OPTION_TRAINING, RUN | BUILD, AT(workers), "0", "[0,1024]", "rows are shared out among (0: one a processor)"},
    {"team", 0, OPTION_SIZE, OPTION_TRAINING, RUN | HEADS, AT(team), "0", "[0,1024]", "cores of a worker (0: 1; when it works alone, all)"},
    {"device", 0, OPTION_CHOICE, OPTION_TRAINING, RUN | BUILD | HEADS, AT(device), "cpu", .choices = devices, "what computes (mine: yours, see course/README.md; cuda: a GPU; emulated, checked: GPU kernels on this processor, slowly)"},
    {"precision", 0, OPTION_CHOICE, OPTION_TRAINING, RUN | BUILD | HEADS, AT(precision), "f32", .choices = precisions, "of activations (tf32: f32, products on a GPU rounded)"},
    {"recompute", 0, OPTION_YES_NO, OPTION_TRAINING, BUILD, AT(recompute), "no", NULL, "forget what is inside a block and compute it again: less memory"},

    /* of this call */
    {"run", 0, OPTION_PATH, OPTION_HERE, COMMAND_TRAIN | READ | TEND | PLOT | HEADS, AT(run), NULL, "DIR", "the run (train: a new one; none: runs/PROGRAM-N)"},
    {"resume", 0, OPTION_PATH, OPTION_HERE, COMMAND_TRAIN, AT(resume), NULL, "DIR", "go on with this run"},
    {"weights", 0, OPTION_TEXT, OPTION_HERE, (RUN & ~COMMAND_BENCH) | HEADS | PLOT, AT(weights), NULL, "WHICH", "best, last, average, a step or a file (none: best; train: fresh)"},
    {"preset", 'p', OPTION_PRESET, OPTION_HERE, BUILD | PLOT, AT(preset), NULL, NULL, "a whole recipe; see below"},
    {"config", 0, OPTION_CONFIG, OPTION_HERE, BUILD | PLOT, AT(config), NULL, "FILE", "options as lines `name = value`"},
    {"dry-run", 0, OPTION_FLAG, OPTION_HERE, COMMAND_TRAIN, AT(dry_run), NULL, NULL, "print what it would take, and stop"},
    {"quiet", 'q', OPTION_FLAG, OPTION_HERE, ALL | TEND | OWN | APART | PLOT | HEADS, AT(quiet), NULL, NULL, "no progress"},
    {"json", 0, OPTION_FLAG, OPTION_HERE, ALL | TEND | OWN | APART | PLOT | HEADS, AT(json), NULL, NULL, "the result as one line of JSON"},

    {"profile", 0, OPTION_FLAG, OPTION_HERE, COMMAND_BENCH, AT(profile), NULL, NULL, "say where a step's time goes"},

    /* pictures */
    {"compare", 0, OPTION_PATH, OPTION_HERE, PLOT, AT(compare), NULL, "DIR", "draw this run, too; more of them may follow"},
    {"what", 0, OPTION_TEXT, OPTION_HERE, PLOT, AT(what), "loss", "LIST", "all, or some of loss,accuracy,bleu,perplexity,rate,norm,speed; or what is in no log: schedule, schedules, smoothing, lengths, coverage, positions, embeddings"},
    {"over", 0, OPTION_CHOICE, OPTION_HERE, PLOT, AT(over), "step", .choices = axes, "what runs from left to right"},
    {"log", 0, OPTION_CHOICE, OPTION_HERE, PLOT, AT(log), "none", .choices = logs, "axes that are logarithmic"},
    {"apart", 0, OPTION_FLAG, OPTION_HERE, PLOT, AT(apart), NULL, NULL, "a curve for each run, also where only seeds differ"},
    {"watch", 0, OPTION_FLAG, OPTION_HERE, PLOT, AT(watch), NULL, NULL, "draw again and again, as long as the run is trained"},
    {"out", 0, OPTION_PATH, OPTION_HERE, PLOT | HEADS, AT(out), NULL, "FILE", "the picture, .png, .svg, .pdf or .txt; its data lie beside it as .tsv (-: the terminal)"},
    {"size", 0, OPTION_TEXT, OPTION_HERE, PLOT | HEADS, AT(size), NULL, "SIZE", "of the picture: 8.5cm, 16cmx9cm, 900x540"},
    {"terminal", 0, OPTION_TEXT, OPTION_HERE, PLOT | HEADS, AT(terminal), NULL, "NAME", "gnuplot's, instead of the one that FILE's ending means: sixelgd, qt"},
};
/* clang-format on */

const size_t shared_option_count = sizeof shared_options / sizeof *shared_options;

const char *device_name(int device) { return choice_name(devices, device); }

bool parse_every(const char *text, size_t *steps, double *seconds, Error *e)
{
    char *end;
    double value = strtod(text, &end);
    double unit = *end == 's' ? 1 : *end == 'm' ? 60 : *end == 'h' ? 3600 : 0;
    bool decimal = end != text && strspn(text, "0123456789.eE+") >= (size_t)(end - text); /* no nan either */
    *steps = 0;
    *seconds = 0;
    if (!decimal || value > 1e15 || (unit > 0 ? end[1] != 0 : *end || floor(value) < value))
        return fail(e, "--save-every '%s': expected a number of steps, or a time as 90s, 10m, 2h", text);
    if (unit > 0)
        *seconds = value * unit;
    else
        *steps = (size_t)value;
    return true;
}

bool parse_betas(const char *text, double *beta1, double *beta2, Error *e)
{
    char *end;
    *beta1 = strtod(text, &end);
    bool fine = end != text && *end == ',';
    const char *second = end + 1;
    *beta2 = fine ? strtod(second, &end) : 0;
    fine = fine && end != second && !*end && *beta1 >= 0 && *beta1 < 1 && *beta2 >= 0 && *beta2 < 1;
    return fine || fail(e, "--betas '%s': expected two numbers from 0 to below 1, as 0.9,0.999", text);
}
