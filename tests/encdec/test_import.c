/* encdec import: Marian models of transformers (tests/fixtures/marian.py) read the same tokens here, compute the same and write the
 * same; they are runs like others; and what is no such model is refused. */
#include "base/crc.h"
#include "base/file.h"
#include "base/memory.h"
#include "core/program/heads.h"
#include "core/run/safetensors.h"
#include "core/session/session.h"
#include "encdec/encdec.h"
#include "tests/cases.h"
#include "tests/command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MARIAN "tests/fixtures/marian/"

static const char *const names[] = {"plain",
                                    "odd",
                                    "two",
                                    "untied",
                                    "npz/model.npz",
                                    "npz-two/model.npz",
                                    "npz-untied/model.npz",
                                    "npz-untied/older.npz"};
enum { MODELS = sizeof names / sizeof *names, PAIRS = 3, LONGEST = 40 };
static const char *const texts[PAIRS][2] = {
    {"The weights of the model", "of the words"},
    {"It's 12 caf\xC3\xA9s \xE2\x80\x94 \xEF\xAC\x81ne,  no?", "a"},
    {">>de<< the \xE4\xB8\xAD\xE6\x96\x87", "\xC3\xA9 <br /> model weights that it has read"}};

static void setup(void) { command_program("encdec"); }

/* The folder that a model is in. */
static const char *folder_of(const char *name)
{
    static char folder[100];
    snprintf(folder, sizeof folder, "%.*s", (int)strcspn(name, "/"), name);
    return folder;
}

static bool has_two_tables(const char *name) { return !strcmp(name, "two") || (!strncmp(name, "npz-", 4)); }

static const char *imported(const char *name)
{
    const char *run = fresh_path("run");
    works("import " MARIAN "%s --out %s -q", name, run);
    return run;
}

/* ---- what it computes: the run is open in this process, as score opens it */

typedef struct Opened {
    EncdecOptions values;
    InspectOptions inspect;
    AppKind kind;
    Program program;
    Options options;
    EncDec c;
    Trainer trainer;
} Opened;

static Tensor *logits(void *self, Tape *t, const Rows *rows)
{
    return model_pairs(t, &((const EncDec *)self)->model, &rows[SOURCE], &rows[TARGET]);
}

static void opened_run(Opened *o, const char *run, const char *device, const char *precision)
{
    static const Command commands[] = {{"score", COMMAND_SCORE, NULL, "", encdec_score}};
    char *arguments[] = {"encdec",      "score",
                         "--run",       (char *)(uintptr_t)run,
                         "--device",    (char *)(uintptr_t)device,
                         "--precision", (char *)(uintptr_t)precision,
                         "-q"};
    Error e;
    *o = (Opened){.kind = encdec_kind, .program = encdec_program};
    const OptionTable tables[] = {{shared_options, shared_option_count, &o->values.shared},
                                  {encdec_options, encdec_option_count, &o->values},
                                  {inspect_options, inspect_option_count, &o->inspect}};
    o->program.commands = commands;
    o->program.command_count = 1;
    o->c = (EncDec){.app = {.kind = &o->kind, .options = &o->values.shared, .command_line = &o->options},
                    .options = &o->values};
    ck_done(options_open(&o->options, &o->program, tables, 3, &e), e);
    ck_done(options_parse(&o->options, sizeof arguments / sizeof *arguments, arguments, &e), e);
    ck_done(encdec_open_run(&o->c, &e) && encdec_task(&o->c, &e), e);
    o->c.app.task.score_rows = o->c.app.task.most_rows = 1;
    o->c.app.task.loss = logits;
    ck_done(app_open_trainer(&o->c.app, &o->trainer, &e), e);
}

static void opened_close(Opened *o)
{
    trainer_close(&o->trainer);
    app_close(&o->c.app);
    options_close(&o->options);
}

/* A pair of texts as a batch's only row. */
static void fill(const EncDec *c, Batch *b, const char *const pair[SIDES_USED])
{
    Ids ids[SIDES_USED] = {{0}, {0}};
    Cutter cutter;
    Error e;
    batch_clear(b);
    ck_done(cutter_open(&cutter, &c->subwords, &e), e);
    for (size_t s = 0; s < SIDES_USED; s++)
        ck_done(cutter_ids(&cutter, s, (Line){pair[s], strlen(pair[s])}, &ids[s], &e) && ids_add(&ids[s], END, &e), e);
    const size_t length[2] = {0, ids[SOURCE].count > ids[TARGET].count ? ids[SOURCE].count : ids[TARGET].count};
    const SentencePairs one = {.count = 1,
                               .ids = {ids[SOURCE].id, ids[TARGET].id},
                               .start = {(size_t[]){0, ids[SOURCE].count}, (size_t[]){0, ids[TARGET].count}},
                               .length = (size_t *)(uintptr_t)length,
                               .begin = c->model.begin};
    pairs_row(&one, 0, b);
    cutter_close(&cutter);
    ids_close(&ids[SOURCE]);
    ids_close(&ids[TARGET]);
}

static void compare(Opened *o, Safetensors *file, const Batch *b, size_t pair, double by)
{
    static double theirs[1 << 14], ours[1 << 14];
    char name[20];
    Error e;
    Worker *w = &o->trainer.worker[0];
    snprintf(name, sizeof name, "logits.%zu", pair);
    const SafeTensor *t = safetensors_find(file, name);
    ck_assert(t && safe_elements(t) <= 1 << 14);
    ck_done(safetensors_read(file, t, SAFE_F64, theirs, safe_elements(t), &e), e);
    const Tensor *y = session_run(w, b, logits, &o->c);
    const size_t count = safe_elements(t);
    ck_assert_uint_ge(y->rows, t->shape[0]); /* filled up to a multiple of 32 */
    ck_assert_uint_eq(y->columns, t->shape[1]);
    ck_done(session_doubles(w, y, 0, count, ours, &e), e);
    double largest = 1;
    for (size_t k = 0; k < count; k++)
        largest = fmax(largest, theirs[k] > -1e8 ? fabs(theirs[k]) : 0); /* but that of what is never said */
    for (size_t k = 0; k < count; k++)
        ck_assert_msg(fabs(ours[k] - theirs[k]) <= by * largest, "pair %zu, %zu: %.12g, there %.12g", pair, k, ours[k],
                      theirs[k]);
    session_end(w);
}

static void compute_as_theirs(const char *name, const char *device, const char *precision, double by)
{
    char path[300];
    const char *run = imported(name);
    Safetensors *file;
    Opened o;
    Batch b;
    Error e;
    snprintf(path, sizeof path, MARIAN "%s/reference.safetensors", folder_of(name));
    ck_done(safetensors_open(&file, path, &e), e);
    opened_run(&o, run, device, precision);
    const BatchSize size = {.sides = SIDES_USED, .rows = 1, .positions = {LONGEST, LONGEST}};
    ck_done(batch_open(&b, &size, &e), e);
    for (size_t i = 0; i < PAIRS; i++) {
        fill(&o.c, &b, texts[i]);
        compare(&o, file, &b, i, by);
    }
    batch_close(&b);
    opened_close(&o);
    safetensors_close(file);
}

START_TEST(in_f64_it_computes_what_transformers_does) { compute_as_theirs(names[_i], "plain", "f64", 1e-9); }
START_TEST(in_f32_it_computes_that_to_rounding) { compute_as_theirs(names[_i], "cpu", "f32", 1e-5); }

/* ---- tokens */

START_TEST(tokens_are_those_of_transformers)
{
    char path[200];
    snprintf(path, sizeof path, "marian/%s/tokens", folder_of(names[_i]));
    Cases cases = cases_open(path);
    const SubwordsOptions o = {.type = SUBWORDS_SENTENCEPIECE, .apart = has_two_tables(names[_i])};
    Subwords p;
    Cutter cutter;
    Error e;
    ck_done(subwords_read(&p, &o, imported(names[_i]), &e) && cutter_open(&cutter, &p, &e), e);
    for (size_t i = 0; i < cases.list->count; i++)
        for (size_t side = 0; side < SIDES_USED; side++) {
            const Json *one = &cases.list->items[i], *text = case_value(one, 0);
            Ids ids = {0};
            Buffer found = {0};
            ck_done(cutter_ids(&cutter, side, (Line){text->text, text->size}, &ids, &e) && ids_add(&ids, END, &e), e);
            buffer_add(&found, ids.id, ids.count * sizeof *ids.id);
            case_expect_ids(one, 1 + side, &found);
            buffer_free(&found);
            ids_close(&ids);
        }
    cutter_close(&cutter);
    subwords_close(&p);
    cases_close(&cases);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* ---- translations */

static void expect_lines(const char *out, const Cases *cases, size_t at)
{
    for (size_t i = 0; i < cases->list->count; i++) {
        const Json *wanted = case_value(&cases->list->items[i], at);
        const size_t size = strcspn(out, "\n");
        ck_assert_msg(size == wanted->size && !memcmp(out, wanted->text, size), "'%.*s', there '%s'", (int)size, out,
                      wanted->text);
        out += size + 1;
    }
}

START_TEST(translations_are_those_of_transformers)
{
    char path[200];
    Buffer lines = {0};
    snprintf(path, sizeof path, "marian/%s/translations", folder_of(names[_i]));
    Cases cases = cases_open(path);
    const char *run = imported(names[_i]);
    for (size_t i = 0; i < cases.list->count; i++)
        buffer_print(&lines, "%s\n", case_value(&cases.list->items[i], 0)->text);
    static const char *const searches[] = {"--beam 1", "--beam-rule full --beam 2 --alpha 1",
                                           "--beam-rule full --beam 5 --alpha 0.6"};
    for (size_t i = 0; i < 3; i++) {
        command_input(lines.text, lines.size);
        Said s = must("translate --run %s --max-extra 5 %s -q", run, searches[i]);
        expect_lines(s.out, &cases, 2 + 2 * i);
        said_free(&s);
    }
    buffer_free(&lines);
    cases_close(&cases);
}

/* ---- it is a run */

START_TEST(it_is_scored_shown_and_learns_further)
{
    static char run[700];
    const char *folder = fresh_path("texts");
    Buffer lines = {0};
    Error e;
    snprintf(run, sizeof run, "%s", imported(names[_i]));
    ck_done(folder_make(folder, &e), e);
    for (int i = 0; i < 60; i++)
        buffer_print(&lines, "the weights of word %d\n", i);
    write_in(folder, "train.en", lines.text, lines.size);
    write_in(folder, "train.fr", lines.text, lines.size);
    buffer_free(&lines);
    Json *before = must_json("eval --run %s --data %s --target fr --split train --bleu=no --json", run, folder);
    works("train --resume %s --data %s --target fr --steps 20 --lr 0.003 --warmup 1 --batch-tokens 200 -q", run,
          folder);
    Json *after = must_json("eval --run %s --split train --bleu=no --json", run);
    ck_assert_double_lt(json_real(after, "loss"), json_real(before, "loss") - 0.5);
    json_free(before);
    json_free(after);
    works("heads --run %s --text the_weights --json", run);
    command_input("the weights\n", 12);
    Said s = must("translate --run %s --sample --seed 2 --nbest 3 -q", run);
    ck_assert(!strstr(s.out, "<pad>"));
    said_free(&s);
    works("info --run %s", run);
    write_in(folder, "train.fr", "other\n", 6); /* the first data are the run's from then on */
    write_in(folder, "train.en", "other\n", 6);
    refused(1, "was trained on other data", "train --resume %s --data %s --target fr --steps 30 -q", run, folder);
}

/* ---- what is refused */

static const char *copied(const char *name)
{
    static const char *const files[] = {"config.json", "vocab.json", "model.safetensors",
                                        "source.spm",  "target.spm", "tokenizer_config.json"};
    static char folder[700];
    Error e;
    snprintf(folder, sizeof folder, "%s", fresh_path("folder"));
    ck_done(folder_make(folder, &e), e);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[300];
        snprintf(path, sizeof path, MARIAN "%s/%s", name, files[i]);
        copy_in(path, folder, files[i]);
    }
    return folder;
}

START_TEST(what_would_change_its_meaning_is_refused_by_name)
{
    static const Edit edits[] = {
        {"config.json", "\"model_type\": \"marian\"", "\"model_type\": \"bart\"",
         "'model_type' is bart; marian can be"},
        {"config.json", "MarianMTModel", "MarianModel", "'architectures' is MarianModel"},
        {"config.json", "{", "{\"normalize_before\": true,", "'normalize_before' must be false"},
        {"config.json", "{", "{\"static_position_embeddings\": false,", "'static_position_embeddings' must be true"},
        {"config.json", "{", "{\"add_bias_logits\": true,", "'add_bias_logits' must be false"},
        {"config.json", "{", "{\"quantization_config\": {},", "'quantization_config' is not supported"},
        {"config.json", "{", "{\"auto_map\": {},", "'auto_map' is not supported"},
        {"config.json", "{", "{\"num_experts\": 2,", "'num_experts' is not supported"},
        {"config.json", "{", "{\"pruned_heads\": {\"0\": [1]},", "'pruned_heads' must be empty"},
        {"added_tokens.json", "}", ", \"<name>\": 900}", "added_tokens.json: '<name>' is not in the vocabulary"},
        {"added_tokens.json", "1", "2", "added_tokens.json: the id of '<unk>' is not 1"},
        {"tokenizer_config.json", "{", "{\"added_tokens_decoder\": {\"7\": {\"content\": \"the\"}}, ",
         "the added token 'the' is not special"},
        {"tokenizer_config.json", "{",
         "{\"added_tokens_decoder\": {\"1\": {\"content\": \"<pad>\", \"special\": true}}, ",
         "the id of '<pad>' is not 2"},
        {"tokenizer_config.json", "{", "{\"unk_token\": \"the\", ", "'unk_token' is the, and only <unk> is supported"},
        {"special_tokens_map.json", "{", "{\"eos_token\": \"<s>\"", "map.json: 'eos_token' is <s>, and only </s>"},
        {"config.json", "{", "{\"bad_words_ids\": [[3]],", "'bad_words_ids' must be that of <pad> alone"},
        {"config.json", "{", "{\"forced_bos_token_id\": 3,", "config.json: 'forced_bos_token_id' is not supported"},
        {"generation_config.json", "{", "{\"forced_bos_token_id\": 3,",
         "generation_config.json: 'forced_bos_token_id' is not supported"},
        {"generation_config.json", "{", "{\"suppress_tokens\": [3],", "'suppress_tokens' is not supported"},
        {"generation_config.json", "{", "{\"bad_words_ids\": [[3]],", "generation_config.json: 'bad_words_ids' must"},
        {"generation_config.json", "{", "{\"decoder_start_token_id\": 9,",
         "generation_config.json: 'decoder_start_token_id' is not the id of <pad>, 2"},
        {"generation_config.json", "[0]", "[0, 3]", "generation_config.json: 'eos_token_id' is not the id of </s>, 0"},
        {"config.json", "\"decoder_ffn_dim\": 20", "\"decoder_ffn_dim\": 21", "'decoder_ffn_dim' 21 differs"},
        {"config.json", "\"swish\"", "\"mish\"", "'activation_function' is mish; gelu, gelu_new"},
        {"config.json", "\"eos_token_id\": 0", "\"eos_token_id\": 2", "'eos_token_id' is not the id of </s>, 0"},
        {"config.json", "\"decoder_start_token_id\": 2", "\"decoder_start_token_id\": 1",
         "'decoder_start_token_id' is not"},
        {"config.json", "\"encoder_attention_heads\": 3,", "\"encoder_attention_heads\": 5,",
         "'encoder_attention_heads' 5"},
        {"config.json", "\"encoder_layers\": 2", "\"encoder_layers\": 1", "has no place in the model"},
        {"config.json", "\"encoder_layers\": 2", "\"encoder_layers\": 3", "is missing"},
        {"config.json", "\"d_model\": 12", "\"d_model\": 9", "of another shape"},
        {"vocab.json", "\"</s>\"", "\"<s>\"", "has no token </s>"},
        {"vocab.json", "\"<pad>\"", "\"<pa>\"", "has no <pad>"},
        {"vocab.json", ": 7,", ": 6,", "have the same id 6"},
        {"vocab.json", ": 7,", ": 7000,", "is not a number from 0 to"},
        {"vocab.json", ", \"<pad>\"", ", \"more\": 900, \"<pad>\"", "is not a number from 0 to"},
    };
    const char *folder = copied("plain"), *run = fresh_path("run");
    static const char generation[] = "{\"eos_token_id\": [0], \"begin_suppress_tokens\": [], \"num_beams\": 4}";
    write_in(folder, "added_tokens.json", "{\"<unk>\": 1}", 12);
    write_in(folder, "special_tokens_map.json", "{}", 2);
    write_in(folder, "generation_config.json", generation, sizeof generation - 1);
    works("import %s --out %s-first -q", folder, run);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        import_refused(folder, run, &edits[i]);
}

START_TEST(one_file_of_weights_may_be_named) { imports_a_named_file(copied("plain"), imported("plain")); }

START_TEST(a_folder_that_is_not_whole_is_refused)
{
    static const char *const files[] = {"model.safetensors", "source.spm", "target.spm", "vocab.json", "config.json"};
    const char *folder = copied("plain"), *run = fresh_path("run");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[800];
        size_t size;
        char *bytes = read_in(folder, files[i], &size);
        write_in(folder, files[i], bytes, size / 2);
        refused(1, files[i], "import %s --out %s -q", folder, run);
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        ck_assert_int_eq(remove(path), 0);
        refused(1, files[i], "import %s --out %s -q", folder, run);
        write_in(folder, files[i], bytes, size);
        memory_free(bytes);
    }
    refused(2, "Give --out RUN", "import %s", folder);
    refused(2, "Name one folder", "import --out %s", run);
    ck_assert(!folder_exists(run));
}

static const char *folder_of_marian(const char *name)
{
    static const char *const files[] = {"model.npz",  "opus.vocab.yml",        "opus.source.vocab.yml",
                                        "source.spm", "opus.target.vocab.yml", "target.spm"};
    const char *folder = fresh_path("folder");
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[300];
        snprintf(path, sizeof path, MARIAN "%s/%s", name, files[i]);
        if (file_exists(path))
            copy_in(path, folder, files[i]);
    }
    return folder;
}

/* YAML needs no quotes around a word for that, and Marian writes none. */
START_TEST(a_word_may_begin_with_a_hyphen)
{
    const char *folder = folder_of_marian("npz");
    size_t size;
    char *words = read_in(folder, "opus.vocab.yml", &size), *re = strstr(words, "\nre: ");
    ck_assert_ptr_nonnull(re);
    memcpy(re + 1, "-e", 2);
    write_in(folder, "opus.vocab.yml", words, size);
    memory_free(words);
    works("import %s/model.npz --out %s -q", folder, fresh_path("run"));
}

static size_t number_at(const char *bytes, size_t size)
{
    size_t number = 0;
    while (size-- > 0)
        number = number << 8 | (unsigned char)bytes[size];
    return number;
}

/* Gives each entry of an archive the checksum of what is there. */
static void mend_sums(char *bytes, size_t size)
{
    for (char *at = bytes; at + 46 <= bytes + size; at++) {
        if (memcmp(at, "PK\1\2", 4) != 0)
            continue;
        const char *local = bytes + number_at(at + 42, 4);
        const char *data = local + 30 + number_at(local + 26, 2) + number_at(local + 28, 2);
        const uint32_t sum = crc_of(CRC_ZIP, data, number_at(at + 24, 4));
        for (size_t i = 0; i < 4; i++)
            at[16 + i] = (char)(sum >> 8 * i);
    }
}

/* Of a file, to bytes as many. */
typedef struct Change {
    const char *from, *to, *said;
} Change;

/* Wherever it stands: an archive has names twice. */
static void refused_when_changed(const char *folder, const char *bytes, size_t size, const Change *c)
{
    const size_t length = strlen(c->from);
    char *changed = memory_get(size, 1);
    size_t times = 0;
    ck_assert_ptr_nonnull(changed);
    memcpy(changed, bytes, size);
    for (size_t k = 0; k + length <= size; k++)
        if (!memcmp(bytes + k, c->from, length)) {
            memcpy(changed + k, c->to, length);
            times++;
        }
    ck_assert_msg(times && strlen(c->to) == length, "%s", c->from);
    mend_sums(changed, size);
    write_in(folder, "model.npz", changed, size);
    refused(1, c->said, "import %s/model.npz --out %s/changed -q", folder, folder);
    memory_free(changed);
}

START_TEST(a_damaged_file_of_marian_is_refused_in_one_line)
{
    const char *folder = folder_of_marian("npz"), *run = fresh_path("run");
    size_t size;
    char *bytes = read_in(folder, "model.npz", &size);
    for (size_t cut = 0; cut < size; cut += size / 6) {
        write_in(folder, "model.npz", bytes, cut);
        refused(1, "is no archive of arrays", "import %s/model.npz --out %s -q", folder, run);
    }
    bytes[220] ^= 1; /* of the first array */
    write_in(folder, "model.npz", bytes, size);
    refused(1, "is damaged: its checksum is another", "import %s/model.npz --out %s -q", folder, run);
    bytes[220] ^= 1;
    static const Change changes[] = {
        {"transformer-postprocess: dan", "transformer-postprocess: dna", "'transformer-postprocess' is dna"},
        {"dim-emb: 12", "dim-emb: 15", "is of another shape"},
        {"dim-emb: 12", "dim-emb: 13", "model.npz: 'dim-emb' 13 is not a multiple of 'transformer-heads' 3"},
        {"transformer-heads: 3", "transformer-heads: x", "'transformer-heads' must be a whole number from 1 to"},
        {"transformer-heads: 3", "transformer-heads: 0", "'transformer-heads' must be a whole number from 1 to"},
        {"enc-depth: 1", "enc-depth: 2", "'encoder_l2_self_Wq' is missing"},
        {"dec-depth: 2", "dec-depth: 1", "has no place in the model"},
        {"tied-embeddings-all: true", "tied-embeddings-all: tree", "'tied-embeddings-all' is tree, neither"},
        {"'descr': '<f4'", "'descr': '<f8'", "is no array that can be read"}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        refused_when_changed(folder, bytes, size, &changes[i]);
    memory_free(bytes);
    ck_assert(!folder_exists(run));
}

/* What the options say of tables is what the file has to have. */
START_TEST(tables_that_are_not_as_the_options_say_are_refused)
{
    static const Change changes[] = {
        {"tied-embeddings-all: false", "tied-embeddings-all: true\n", "array 'Wemb' is missing"},
        {"tied-embeddings: false", "tied-embeddings: true\n", "array 'decoder_ff_logit_out_Wt' has no place"},
        {"encoder_Wemb", "encoder_Wemc", "array 'encoder_Wemb' is missing"},
        {"logit_out_Wt", "logit_out_Wx", "array 'decoder_ff_logit_out_Wt' is missing"},
        {"transformer-postprocess-emb: d", "####\ntied-embeddings-src: true",
         "'tied-embeddings-src' is supported only"}};
    const char *folder = folder_of_marian("npz-untied");
    size_t size;
    char *bytes = read_in(folder, "model.npz", &size);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        refused_when_changed(folder, bytes, size, &changes[i]);
    memory_free(bytes);
}

static void renamed(const char *folder, const char *from, const char *to)
{
    char path[2][800];
    snprintf(path[0], sizeof path[0], "%s/%s", folder, from);
    snprintf(path[1], sizeof path[1], "%s/%s", folder, to);
    ck_assert_int_eq(rename(path[0], path[1]), 0);
}

START_TEST(which_vocabulary_is_meant_is_not_guessed)
{
    const char *one = folder_of_marian("npz"), *two = folder_of_marian("npz-two"), *run = fresh_path("run");
    copy_in(MARIAN "npz/opus.vocab.yml", one, "a.vocab.yml");
    refused(1, "has 2 files whose names end in vocab.yml", "import %s/model.npz --out %s -q", one, run);
    renamed(one, "a.vocab.yml", "a.words.yml");
    works("import %s/model.npz --out %s-one -q", one, run);
    renamed(one, "opus.vocab.yml", "opus.words.yml");
    refused(1, "has no file vocab.yml", "import %s/model.npz --out %s -q", one, run);
    renamed(two, "opus.target.vocab.yml", "fr.vocab.yml");
    refused(1, "ends in target.vocab.yml", "import %s/model.npz --out %s -q", two, run);
    renamed(two, "fr.vocab.yml", "fr.words.yml");
    refused(1, "ends in target.vocab.yml", "import %s/model.npz --out %s -q", two, run);
    renamed(two, "fr.words.yml", "target.vocab.yml");
    works("import %s/model.npz --out %s-two -q", two, run);
    copy_in(MARIAN "npz/opus.vocab.yml", two, "other.source.vocab.yml");
    refused(1, "ends in source.vocab.yml", "import %s/model.npz --out %s -q", two, run);
    ck_assert(!folder_exists(run));
}

/* Beside a model and a second vocabulary, which makes it a guess what is meant, is a configuration with `vocabs`. said: what
 * import says to that; NULL: nothing. */
static void expect_vocabs(const char *name, const char *file, const char *vocabs, const char *said)
{
    const char *folder = folder_of_marian(name), *run = fresh_path("run");
    char words[400];
    copy_in(MARIAN "npz/opus.vocab.yml", folder, "other.vocab.yml");
    snprintf(words, sizeof words, "relative-paths: true\nmodels:\n  - model.npz\n%s%s\nbeam-size: 6\n",
             strchr(vocabs, ':') ? "" : "vocabs:\n", vocabs);
    write_in(folder, file, words, strlen(words));
    if (said)
        refused(1, said, "import %s/model.npz --out %s -q", folder, run);
    else
        works("import %s/model.npz --out %s -q", folder, run);
}

#define SOURCE_OPUS "opus.source.vocab.yml"
#define TARGET_OPUS "opus.target.vocab.yml"

START_TEST(a_configuration_beside_it_says_which_vocabulary_is_whose)
{
    static const struct {
        const char *model, *file, *vocabs, *said;
    } cases[] = {
        {"npz", "decoder.yml", "  - opus.vocab.yml\n  - /of/the/training/opus.vocab.yml", NULL},
        {"npz", "decoder.yml", "- opus.vocab.yml\n- other.vocab.yml",
         "decoder.yml: 'vocabs' names two different files, but the model has one table"},
        {"npz", "decoder.yml", "  - opus.vocab.yml", "'vocabs' must be two files, each on a line"},
        {"npz", "decoder.yml", "  - a.yml\n  - a.yml\n  - a.yml", "'vocabs' must be two files"},
        {"npz", "decoder.yml", "vocabs: [opus.vocab.yml, opus.vocab.yml]", "'vocabs' must be two files"},
        {"npz", "decoder.yml", "vocabs: opus.vocab.yml", "'vocabs' must be two files"},
        {"npz", "decoder.yml", "vocabs: []", "has 2 files whose names end in vocab.yml"},
        {"npz", "decoder.yml", "normalize: 1", "has 2 files whose names end in vocab.yml"},
        {"npz", "decoder.yml", "vocabs: # both\n  - opus.vocab.yml\n  - opus.vocab.yml", NULL},
        {"npz", "decoder.yml", "  - opus.spm\n  - opus.spm",
         "'vocabs' names 'opus.spm', but only files whose names end in .yml"},
        {"npz", "decoder.yml", "  - a/b.yml\n  - a/b.yml", "decoder.yml: 'vocabs' names 'b.yml', which is not in"},
        {"npz", "decoder.yml", "", "has 2 files whose names end in vocab.yml"},
        {"npz", "model.npz.yml", "  - no.yml\n  - no.yml", "model.npz.yml: 'vocabs' names 'no.yml'"},
        {"npz-untied", "model.npz.yml", "  - opus.vocab.yml\n  - opus.vocab.yml", NULL},
        {"npz-two", "decoder.yml", "  - " SOURCE_OPUS "\n  - '" TARGET_OPUS "'\r", NULL},
        {"npz-two", "decoder.yml", "vocabs:\r\n  - " TARGET_OPUS "\r\n  - " SOURCE_OPUS "\r",
         "'encoder_Wemb' is of another shape"},
        {"npz-two", "model.npz.decoder.yml", "  - \"" TARGET_OPUS "\"\n  - " SOURCE_OPUS,
         "'encoder_Wemb' is of another shape"},
        {"npz-two", "decoder.yml", "  - " SOURCE_OPUS "\n  - " SOURCE_OPUS, "'decoder_Wemb' is of another shape"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_vocabs(cases[i].model, cases[i].file, cases[i].vocabs, cases[i].said);
}

static const Test tests[] = {TEST_LOOP(in_f64_it_computes_what_transformers_does, MODELS),
                             TEST_LOOP(in_f32_it_computes_that_to_rounding, MODELS),
                             TEST_LOOP(tokens_are_those_of_transformers, MODELS),
                             TEST_LOOP(translations_are_those_of_transformers, MODELS),
                             TEST_LOOP(it_is_scored_shown_and_learns_further, MODELS),
                             TEST(what_would_change_its_meaning_is_refused_by_name),
                             TEST(one_file_of_weights_may_be_named),
                             TEST(a_folder_that_is_not_whole_is_refused),
                             TEST(a_word_may_begin_with_a_hyphen),
                             TEST(a_damaged_file_of_marian_is_refused_in_one_line),
                             TEST(tables_that_are_not_as_the_options_say_are_refused),
                             TEST(which_vocabulary_is_meant_is_not_guessed),
                             TEST(a_configuration_beside_it_says_which_vocabulary_is_whose)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    setup();
    return suite_run("encdec/import", tests, sizeof tests / sizeof *tests, argc, argv);
}
