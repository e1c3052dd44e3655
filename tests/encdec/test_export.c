/* encdec export: the files that CTranslate2 and onnxruntime ask for. That they find the same translations,
 * tests/peers/interop.py shows. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

#define TINY                                                                                                           \
    "--preset minute --minutes 0 --steps 0 --dim 8 --heads 2 --depth 2 --decoder-depth 1 --ff 6 --context 16 "         \
    "--bleu-sentences 0 -q "

/* model.bin, read variable by variable. */
typedef struct Reader {
    char *bytes;
    size_t size, at;
} Reader;

static unsigned number(Reader *r, size_t bytes)
{
    unsigned value = 0;
    ck_assert(r->at + bytes <= r->size);
    for (size_t i = 0; i < bytes; i++)
        value |= (unsigned)(unsigned char)r->bytes[r->at + i] << 8 * i;
    r->at += bytes;
    return value;
}

static const char *name(Reader *r)
{
    const unsigned size = number(r, 2);
    const char *text = r->bytes + r->at;
    ck_assert(size && r->at + size <= r->size && !text[size - 1] && strlen(text) == size - 1);
    r->at += size;
    return text;
}

typedef struct Variable {
    const char *name;
    unsigned rank, shape[2], type, bytes;
    const char *data;
} Variable;

enum { MOST = 200 };

typedef struct Bin {
    Reader r;
    Variable v[MOST];
    size_t count;
    const char *alias[MOST][2];
    size_t aliases;
} Bin;

static void read_bin(Bin *b, const char *folder)
{
    b->r.at = 0;
    b->r.bytes = read_in(folder, "model.bin", &b->r.size);
    ck_assert_ptr_nonnull(b->r.bytes);
    ck_assert_uint_eq(number(&b->r, 4), 6);
    ck_assert_str_eq(name(&b->r), "TransformerSpec");
    ck_assert_uint_eq(number(&b->r, 4), 7);
    b->count = number(&b->r, 4);
    ck_assert_uint_le(b->count, MOST);
    for (size_t i = 0; i < b->count; i++) {
        Variable *v = &b->v[i];
        v->name = name(&b->r);
        v->rank = number(&b->r, 1);
        ck_assert_uint_le(v->rank, 2);
        unsigned elements = 1;
        for (unsigned k = 0; k < v->rank; k++)
            elements *= v->shape[k] = number(&b->r, 4);
        v->type = number(&b->r, 1);
        v->bytes = number(&b->r, 4);
        ck_assert_uint_eq(v->bytes, elements * (v->type == 0 ? 4 : v->type));
        v->data = b->r.bytes + b->r.at;
        b->r.at += v->bytes;
    }
    b->aliases = number(&b->r, 4);
    for (size_t i = 0; i < b->aliases; i++)
        for (size_t k = 0; k < 2; k++)
            b->alias[i][k] = name(&b->r);
    ck_assert_uint_eq(b->r.at, b->r.size);
}

static const Variable *find(const Bin *b, const char *wanted)
{
    for (size_t i = 0; i < b->count; i++)
        if (!strcmp(b->v[i].name, wanted))
            return &b->v[i];
    return NULL;
}

/* Rows of a variable are a tensor of the run, as it is. */
static void expect_rows(const Bin *b, const char *variable, size_t first, const Safetensors *file, const char *tensor)
{
    const Variable *v = find(b, variable);
    const SafeTensor *t = safetensors_find(file, tensor);
    float values[8192];
    Error e;
    ck_assert_msg(v && t && v->type == 0, "%s, %s", variable, tensor);
    const size_t columns = t->rank == 2 ? t->shape[1] : 1, count = safe_elements(t);
    ck_assert(v->rank == t->rank && (t->rank < 2 || v->shape[1] == columns) && v->shape[0] >= first + t->shape[0]);
    ck_done(safetensors_read(file, t, SAFE_F32, values, count, &e), e);
    ck_assert_mem_eq(v->data + first * columns * sizeof(float), values, count * sizeof(float));
}

static Safetensors *weights(const char *run)
{
    char path[800];
    Safetensors *file;
    Error e;
    snprintf(path, sizeof path, "%s/checkpoints/00000000/model.safetensors", run);
    ck_done(safetensors_open(&file, path, &e), e);
    return file;
}

static Json *json_of(const char *folder, const char *file)
{
    size_t size;
    char *text = read_in(folder, file, &size);
    Json *json;
    Error e;
    ck_assert_ptr_nonnull(text);
    ck_done(json_read(&json, text, size, file, &e), e);
    memory_free(text);
    return json;
}

START_TEST(a_tied_model_has_its_weights_and_aliases)
{
    static Bin b;
    const char *run = fresh_path("run"), *out = fresh_path("out");
    command_program("encdec");
    works("train --run %s " TINY, run);
    works("export --run %s --format ctranslate2 --out %s", run, out);
    read_bin(&b, out);
    Safetensors *w = weights(run);
    expect_rows(&b, "encoder/layer_1/self_attention/linear_0/weight", 0, w, "encoder.1.attention.query.weight");
    expect_rows(&b, "encoder/layer_1/self_attention/linear_0/weight", 8, w, "encoder.1.attention.key.weight");
    expect_rows(&b, "decoder/layer_0/self_attention/linear_0/weight", 16, w, "decoder.0.attention.value.weight");
    expect_rows(&b, "decoder/layer_0/attention/linear_0/weight", 0, w, "decoder.0.cross.query.weight");
    expect_rows(&b, "decoder/layer_0/attention/linear_1/weight", 8, w, "decoder.0.cross.value.weight");
    expect_rows(&b, "decoder/layer_0/attention/layer_norm/gamma", 0, w, "decoder.0.norm_cross.weight");
    expect_rows(&b, "encoder/layer_0/ffn/linear_0/weight", 0, w, "encoder.0.ff.in.weight");
    expect_rows(&b, "encoder/layer_0/ffn/linear_1/bias", 0, w, "encoder.0.ff.out.bias");
    expect_rows(&b, "decoder/embeddings/weight", 0, w, "embedding.weight");
    safetensors_close(w);
    ck_assert(find(&b, "encoder/num_heads")->data[0] == 2 && find(&b, "encoder/num_heads")->type == 2);
    ck_assert(!find(&b, "decoder/pre_norm")->data[0] && !find(&b, "decoder/layer_1/ffn/linear_0/weight"));
    ck_assert(!find(&b, "encoder/layer_norm/gamma"));
    ck_assert_uint_eq(b.aliases, 2);
    ck_assert_str_eq(b.alias[0][1], "decoder/embeddings/weight");
    const Variable *table = find(&b, "encoder/position_encodings/encodings");
    float second[2];
    ck_assert(table && table->shape[0] == 16 && table->shape[1] == 8);
    memcpy(second, table->data, sizeof second);
    ck_assert(second[0] == 0 && second[1] == 1); /* sine and cosine of position 0 */
    Json *config = json_of(out, "config.json"), *vocabulary = json_of(out, "shared_vocabulary.json");
    ck_assert_str_eq(json_get_text(config, "decoder_start_token"), "</s>");
    ck_assert_str_eq(json_get_text(config, "unk_token"), "<unk>");
    ck_assert(vocabulary->count == find(&b, "decoder/embeddings/weight")->shape[0]);
    ck_assert_str_eq(vocabulary->items[1].text, "</s>");
    json_free(config);
    json_free(vocabulary);
    memory_free(b.r.bytes);
}

START_TEST(tables_apart_gates_and_rms_norms_have_their_variables)
{
    static Bin b;
    const char *run = fresh_path("run"), *out = fresh_path("out");
    command_program("encdec");
    works("train --run %s " TINY "--norm pre --norm-kind rms --gate --activation silu --tie=no --positions learned",
          run);
    works("export --run %s --format ctranslate2 --out %s -q", run, out);
    read_bin(&b, out);
    Safetensors *w = weights(run);
    expect_rows(&b, "encoder/layer_0/ffn/linear_0/weight", 0, w, "encoder.0.ff.gate.weight");
    expect_rows(&b, "encoder/layer_0/ffn/linear_0_noact/weight", 0, w, "encoder.0.ff.in.weight");
    expect_rows(&b, "decoder/layer_norm/gamma", 0, w, "decoder.norm.weight");
    expect_rows(&b, "encoder/embeddings_0/weight", 0, w, "source_embedding.weight");
    expect_rows(&b, "decoder/projection/bias", 0, w, "logits.bias");
    expect_rows(&b, "decoder/position_encodings/encodings", 0, w, "target_position_embedding.weight");
    safetensors_close(w);
    ck_assert(!find(&b, "encoder/layer_0/ffn/layer_norm/beta") && !find(&b, "decoder/layer_norm/beta"));
    ck_assert(find(&b, "decoder/activation")->data[0] == 2 && find(&b, "encoder/pre_norm")->data[0] == 1);
    ck_assert_uint_eq(b.aliases, 0);
    memory_free(b.r.bytes);
}

/* A layer norm without a bias has a beta of zeros: without one it would be an RMS norm there. */
START_TEST(a_layer_norm_without_bias_keeps_its_mean)
{
    static Bin b;
    const char *run = fresh_path("run"), *out = fresh_path("out");
    command_program("encdec");
    works("train --run %s " TINY "--bias-free --positions none", run);
    works("export --run %s --format ctranslate2 --out %s -q", run, out);
    read_bin(&b, out);
    static const float zeros[8];
    const Variable *beta = find(&b, "decoder/layer_0/attention/layer_norm/beta");
    ck_assert(beta && beta->bytes == sizeof zeros);
    ck_assert_mem_eq(beta->data, zeros, sizeof zeros);
    ck_assert(!find(&b, "encoder/layer_0/ffn/linear_0/bias"));
    ck_assert_mem_eq(find(&b, "encoder/position_encodings/encodings")->data, zeros, sizeof zeros);
    memory_free(b.r.bytes);
}

/* A list of tokens is in the order of ids that a Marian's file of names says, but for the first two, which are ours. */
static void expect_order(const char *folder, const char *list, const char *marian, const char *names)
{
    Json *said = json_of(folder, list), *ids = json_of(marian, names);
    ck_assert_uint_eq(said->count, ids->count);
    ck_assert_str_eq(said->items[0].text, "<unk>");
    ck_assert_str_eq(said->items[1].text, "</s>");
    for (size_t i = 2; i < said->count; i++)
        ck_assert_msg(json_real(ids, said->items[i].text) == (double)i, "%s of %s", said->items[i].text, list);
    json_free(said);
    json_free(ids);
}

START_TEST(two_vocabularies_have_a_list_and_a_table_each)
{
    static const char marian[] = "tests/fixtures/marian/two";
    static Bin b;
    const char *run = fresh_path("run"), *bin = fresh_path("bin"), *graphs = fresh_path("graphs");
    command_program("encdec");
    works("import %s --out %s -q", marian, run);
    works("export --run %s --format ctranslate2 --out %s -q", run, bin);
    works("export --run %s --format onnx --out %s -q", run, graphs);
    expect_order(bin, "source_vocabulary.json", marian, "vocab.json");
    expect_order(bin, "target_vocabulary.json", marian, "target_vocab.json");
    expect_order(graphs, "source_tokens.json", marian, "vocab.json");
    expect_order(graphs, "target_tokens.json", marian, "target_vocab.json");
    read_bin(&b, bin);
    Safetensors *w = weights(run);
    expect_rows(&b, "encoder/embeddings_0/weight", 0, w, "source_embedding.weight");
    expect_rows(&b, "decoder/embeddings/weight", 0, w, "target_embedding.weight");
    safetensors_close(w);
    ck_assert_uint_eq(b.aliases, 1);
    ck_assert_str_eq(b.alias[0][0], "decoder/projection/weight");
    memory_free(b.r.bytes);
}

static void expect_count(const char *folder, const char *list, size_t count)
{
    Json *said = json_of(folder, list);
    ck_assert_uint_eq(said->count, count);
    json_free(said);
}

static bool has_text(const char *bytes, size_t size, const char *text)
{
    const size_t length = strlen(text);
    for (size_t i = 0; i + length <= size; i++)
        if (!memcmp(bytes + i, text, length))
            return true;
    return false;
}

/* Whether a graph has these bytes, of which none is zero. */
static void expect_in_graph(const char *folder, const char *file, const char *bytes, bool wanted)
{
    size_t size;
    char *graph = read_in(folder, file, &size);
    ck_assert_msg(graph && has_text(graph, size, bytes) == wanted, "%s", file);
    memory_free(graph);
}

/* A table of 8 columns, as protocol buffers have it: its shape, its type, its name. Numbers have 7 bits to a byte. */
static void expect_table(const char *folder, const char *file, const char *name, unsigned rows)
{
    char bytes[80];
    snprintf(bytes, sizeof bytes, "\b%c%c\b\b\x10\1B%c%s", (int)(rows % 128 + 128), (int)(rows / 128),
             (int)strlen(name), name);
    expect_in_graph(folder, file, bytes, true);
}

START_TEST(vocabularies_of_different_sizes_have_tables_of_these_sizes)
{
    enum { SOURCES = 368, TARGETS = 239 };
    static const char source[] = "source_embedding.weight", target[] = "target_embedding.weight";
    static Bin b;
    const char *run = fresh_path("run"), *bin = fresh_path("bin"), *graphs = fresh_path("graphs");
    char logits[40];
    command_program("encdec");
    works("import tests/fixtures/marian/npz-two/model.npz --out %s -q", run);
    works("export --run %s --format ctranslate2 --out %s -q", run, bin);
    works("export --run %s --format onnx --out %s -q", run, graphs);
    expect_count(bin, "source_vocabulary.json", SOURCES);
    expect_count(bin, "target_vocabulary.json", TARGETS);
    expect_count(graphs, "source_tokens.json", SOURCES);
    expect_count(graphs, "target_tokens.json", TARGETS);
    read_bin(&b, bin);
    ck_assert_uint_eq(find(&b, "encoder/embeddings_0/weight")->shape[0], SOURCES);
    ck_assert_uint_eq(find(&b, "decoder/embeddings/weight")->shape[0], TARGETS);
    ck_assert_uint_eq(find(&b, "decoder/projection/bias")->shape[0], TARGETS);
    memory_free(b.r.bytes);
    expect_table(graphs, "encoder.onnx", source, SOURCES);
    expect_table(graphs, "decoder.onnx", target, TARGETS);
    expect_in_graph(graphs, "encoder.onnx", target, false);
    expect_in_graph(graphs, "decoder.onnx", source, false);
    snprintf(logits, sizeof logits, "\n\b\x12\6target\n\3\b%c%c", TARGETS % 128 + 128, TARGETS / 128);
    expect_in_graph(graphs, "decoder.onnx", logits, true);
}

START_TEST(what_ctranslate2_cannot_say_is_refused_by_name)
{
    static const char *const cases[][2] = {{"--norm sandwich", "--norm sandwich, only post|pre"},
                                           {"--positions rotary", "--positions rotary"},
                                           {"--distances bias", "--distances bias"},
                                           {"--activation relu2", "--activation relu2"},
                                           {"--kv-heads 1", "--kv-heads 1"},
                                           {"--window 3", "--window 3"},
                                           {"--head-size 6", "--head-size 6"}};
    const char *run = fresh_path("run"), *out = fresh_path("out");
    command_program("encdec");
    works("train --run %s " TINY "%s", run, cases[_i][0]);
    refused(1, cases[_i][1], "export --run %s --format ctranslate2 --out %s", run, out);
    ck_assert(!folder_exists(out));
}

START_TEST(two_graphs_and_the_tokens_in_their_order)
{
    static const char *const kinds[] = {"", "--norm pre --tie=no --positions learned --distances bias --kv-heads 1",
                                        "--distances t5"};
    static const char *const files[] = {"encoder.onnx", "decoder.onnx", "tokens.json"};
    const char *run = fresh_path("run"), *first = fresh_path("a"), *second = fresh_path("b");
    command_program("encdec");
    works("train --run %s " TINY "%s", run, kinds[_i]);
    works("export --run %s --format onnx --out %s", run, first);
    works("export --run %s --format onnx --out %s -q", run, second);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size, again;
        char *a = read_in(first, files[i], &size), *b = read_in(second, files[i], &again);
        ck_assert_msg(a && b && size == again && !memcmp(a, b, size), "%s", files[i]);
        /* one table of a stack's buckets, and of its distances */
        ck_assert(i == 2 ||
                  (_i == 2) == has_text(a, size, i ? "decoder.distance_bias.weight" : "encoder.0.attention.bucket"));
        memory_free(a);
        memory_free(b);
    }
    Json *tokens = json_of(first, "tokens.json");
    ck_assert_str_eq(tokens->items[0].text, "<unk>");
    ck_assert_str_eq(tokens->items[1].text, "</s>");
    json_free(tokens);
}

/* A run of --preset tiny, but small. */
START_TEST(the_translator_that_is_recommended_becomes_graphs)
{
    const char *run = fresh_path("run"), *out = fresh_path("out");
    command_program("encdec");
    works("train --run %s --preset tiny --type words --dim 8 --ff 6 --minutes 0 --steps 0 --bleu-sentences 0 -q", run);
    works("export --run %s --format onnx --out %s -q", run, out);
}

/* ---- a Marian of transformers */

#define PIECES TINY "--type sentencepiece --vocabulary tests/fixtures/pieces/unigram.model "

/* last: a line; the code of a language is one to what has <pad> alone */
static void same_translations(const char *run, const char *other, const char *options, const char *last)
{
    char lines[200];
    snprintf(lines, sizeof lines, "The weights of the model\nIt's 12 caf\xC3\xA9s, no?\n\n%s\n", last);
    char *text[2];
    for (int i = 0; i < 2; i++) {
        command_input(lines, strlen(lines));
        Said s = must("translate --run %s --beam 2 --max-extra 5 -q %s", i ? other : run, options);
        text[i] = memory_string(s.out);
        said_free(&s);
    }
    ck_assert_msg(strlen(text[0]) > 20 && !strcmp(text[0], text[1]), "%s\n%s", text[0], text[1]);
    memory_free(text[0]);
    memory_free(text[1]);
}

START_TEST(an_imported_marian_goes_and_comes_back_the_same)
{
    static const char *const models[] = {"plain", "odd", "two", "untied"};
    const char *run = fresh_path("run"), *out = fresh_path("out"), *again = fresh_path("again");
    command_program("encdec");
    works("import tests/fixtures/marian/%s --out %s -q", models[_i], run);
    works("export --run %s --format hf --out %s -q", run, out);
    works("import %s --out %s -q", out, again);
    same_translations(run, again, "", ">>de<< the words");
}

/* Its decoder begins with </s>; there it begins with a <pad> that has the vectors of </s>. */
START_TEST(a_marian_that_was_trained_here_comes_back_the_same)
{
    static const char *const kinds[] = {"", "--tie=no --bias=no", "--two-vocabularies --plain-embeddings --logits-bias",
                                        "--positions sinusoid", "--positions sinusoid --tie=no --dim 10 --logits-bias"};
    const char *run = fresh_path("run"), *out = fresh_path("out"), *again = fresh_path("again");
    command_program("encdec");
    works("train --run %s " PIECES "--norm-kind layer --positions sinusoid-halves --steps 3 --lr 1e-3 %s", run,
          kinds[_i]);
    works("export --run %s --format hf --out %s -q", run, out);
    works("import %s --out %s -q", out, again);
    same_translations(run, again, "--scores --device plain --precision f64", "the words of it");
    Json *config = json_of(out, "config.json"), *names = json_of(out, "vocab.json");
    ck_assert(json_real(names, "</s>") == 1 && json_real(names, "<unk>") == 0);
    ck_assert(json_real(names, "<pad>") == json_real(config, "decoder_start_token_id"));
    ck_assert(json_real(config, "vocab_size") == (double)names->count);
    json_free(config);
    json_free(names);
}

START_TEST(what_a_marian_cannot_say_is_refused_by_name)
{
    static const char *const cases[][2] = {
        {TINY, "--type words, only sentencepiece"},
        {PIECES "--norm pre", "--norm pre, only post"},
        {PIECES "--positions learned", "--positions learned, only sinusoid|sinusoid-halves"},
        {PIECES "--norm-epsilon 1e-6", "--norm-epsilon 1e-06"},
        {PIECES "--gate", "--gate yes"}};
    const char *run = fresh_path("run"), *out = fresh_path("out");
    command_program("encdec");
    works("train --run %s --norm-kind layer --positions sinusoid-halves %s", run, cases[_i][0]);
    refused(1, cases[_i][1], "export --run %s --format hf --out %s", run, out);
    ck_assert(!folder_exists(out));
}

START_TEST(what_a_graph_cannot_say_is_refused_by_name)
{
    static const char *const cases[][2] = {{"--window 3", "--window 3, only 0"},
                                           {"--norm residual", "--norm residual"},
                                           {"--distances xl", "--distances xl"},
                                           {"--value-gate", "--value-gate yes"}};
    const char *run = fresh_path("run"), *out = fresh_path("out");
    command_program("encdec");
    works("train --run %s " TINY "%s", run, cases[_i][0]);
    refused(1, cases[_i][1], "export --run %s --format onnx --out %s", run, out);
    ck_assert(!folder_exists(out));
}

START_TEST(what_is_not_said_is_asked_for)
{
    const char *run = fresh_path("run"), *out = fresh_path("out");
    command_program("encdec");
    works("train --run %s " TINY, run);
    refused(2, "Give --format ctranslate2", "export --run %s --out %s", run, out);
    refused(2, "Give --out DIR", "export --run %s --format ctranslate2", run);
    refused(1, "is not empty", "export --run %s --format ctranslate2 --out %s", run, run);
    command_limit_files(9000);
    refused(1, "model.bin", "export --run %s --format ctranslate2 --out %s", run, out);
    command_limit_files(0);
    ck_assert(!folder_exists(out));
}

static const Test tests[] = {TEST(a_tied_model_has_its_weights_and_aliases),
                             TEST(tables_apart_gates_and_rms_norms_have_their_variables),
                             TEST(a_layer_norm_without_bias_keeps_its_mean),
                             TEST_LOOP(what_ctranslate2_cannot_say_is_refused_by_name, 7),
                             TEST(two_vocabularies_have_a_list_and_a_table_each),
                             TEST(vocabularies_of_different_sizes_have_tables_of_these_sizes),
                             TEST_LOOP(two_graphs_and_the_tokens_in_their_order, 3),
                             TEST(the_translator_that_is_recommended_becomes_graphs),
                             TEST_LOOP(what_a_graph_cannot_say_is_refused_by_name, 4),
                             TEST_LOOP(an_imported_marian_goes_and_comes_back_the_same, 4),
                             TEST_LOOP(a_marian_that_was_trained_here_comes_back_the_same, 5),
                             TEST_LOOP(what_a_marian_cannot_say_is_refused_by_name, 5),
                             TEST(what_is_not_said_is_asked_for)};

int main(int argc, char **argv) { return suite_run("encdec/export", tests, sizeof tests / sizeof *tests, argc, argv); }
