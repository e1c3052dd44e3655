/* classifier pretrain as a user sees it, and train --from what it has learned; and the texts without labels that it
 * reads. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "tests/classifier/sources.h"
#include "tests/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY                                                                                                           \
    "--dim 32 --heads 2 --depth 2 --ff 64 --context 32 --words 300 --batch 16 --micro-batch 8 --workers 2 --epochs 0 " \
    "--minutes 0 --warmup 5 --eval-every 0 --no-cache -q "

static const char *pretrained(const char *words)
{
    const char *run = fresh_path("pretrained");
    command_program("classifier");
    works("pretrain --run %s " TINY " %s", run, words);
    return run;
}

static Json *evaluated(const char *run, const char *words)
{
    Said s = must("eval --run %s --no-cache -q --json %s", run, words);
    Json *j = said_json(&s);
    said_free(&s);
    return j;
}

static bool same_files(const char *a, const char *b, const char *name)
{
    size_t size, other;
    char *x = read_in(a, name, &size), *y = read_in(b, name, &other);
    const bool same = x && y && size == other && !memcmp(x, y, size);
    memory_free(x);
    memory_free(y);
    return same;
}

START_TEST(it_learns_to_predict_masked_words)
{
    static const char *const ways[] = {"", "--next-sentence", "--tokens words --no-tie --whole-words",
                                       "--ngrams 3 --ngram-rows 1000"};
    char
        words[200]; /* saying the most frequent token each time gets 4.5 nats and 11 %; of 300 subwords there are 224 */
    snprintf(words, sizeof words, "--lr 3e-3 --dropout 0 --steps 500 %s", ways[_i]);
    const char *run = pretrained(words);
    Json *best = evaluated(run, ""), *first = evaluated(run, "--weights 0");
    ck_assert_double_eq_tol(json_real(first, "loss"), log(_i == 2 ? 123 : 224), 0.3); /* all alike */
    ck_assert_msg(json_real(best, "loss") < 4.35 && json_real(best, "accuracy") > 0.12, "loss %g, accuracy %g",
                  json_real(best, "loss"), json_real(best, "accuracy"));
    ck_assert_double_eq_tol(json_real(best, "perplexity"), exp(json_real(best, "loss")), 1e-3);
    ck_assert(json_real(best, "masked") == json_real(first, "masked") && json_real(best, "masked") > 2000);
    ck_assert((json_get(best, "next_loss") != NULL) == (_i == 1));
    json_free(best);
    json_free(first);
}

/* The loss of the first step, with all that is added to it. */
static double first_loss(const char *words)
{
    size_t size;
    double loss;
    char *log = read_in(pretrained(words), "log.tsv", &size);
    ck_assert(log && sscanf(strchr(log, '\n') + 1, "%*s %*s %lf", &loss) == 1);
    memory_free(log);
    return loss;
}

/* Also of the last block's, where a window that hides nothing keeps it whole in any case. */
START_TEST(a_load_loss_is_of_all_positions)
{
#define EXPERTS "--steps 1 --lr 1e-9 --dropout 0 --depth 1 --experts 4 --load-loss 3"
    ck_assert_double_eq_tol(first_loss(EXPERTS), first_loss(EXPERTS " --window 32"), 1e-4);
#undef EXPERTS
}

START_TEST(a_run_that_goes_on_has_the_same_bits)
{
    char whole[700], parts[720];
    snprintf(whole, sizeof whole, "%s",
             pretrained("--steps 20 --schedule constant --next-sentence --whole-words --seed 3"));
    snprintf(parts, sizeof parts, "%s-parts", whole);
    works("pretrain --run %s " TINY " --steps 7 --schedule constant --next-sentence --whole-words --seed 3", parts);
    works("pretrain --resume %s --steps 13 --no-cache -q", parts);
    works("train --resume %s --steps 20 --no-cache -q", parts);
    ck_assert(same_files(whole, parts, "checkpoints/00000020/model.safetensors"));
    ck_assert(same_files(whole, parts, "checkpoints/00000020/state.safetensors"));
    ck_assert(same_files(whole, parts, "vocab.txt"));
}

/* Each is scored with masks of its own, the same ones for any number of workers and rows. */
START_TEST(a_score_depends_on_no_worker_and_no_batch)
{
    const char *run = pretrained("--steps 3");
    Json *a = evaluated(run, "--workers 1"), *b = evaluated(run, "--workers 3");
    ck_assert(json_real(a, "masked") == json_real(b, "masked") && json_real(a, "accuracy") == json_real(b, "accuracy"));
    ck_assert_double_eq_tol(json_real(a, "loss"), json_real(b, "loss"), 1e-9);
    json_free(a);
    json_free(b);
}

START_TEST(training_begins_with_what_was_pretrained)
{
    char from[700], run[720];
    snprintf(from, sizeof from, "%s", pretrained("--steps 4 --next-sentence --depth 3"));
    snprintf(run, sizeof run, "%s-run", from);
    Said s = must("train --run %s --from %s --preset finetune --workers 2 --steps 4 --epochs 0 --no-cache --freeze 3 "
                  "--layer-rate 0.5 --eval-every 2 --context 64",
                  run, from);
    ck_assert_msg(strstr(s.err, " 52 read: token_embedding.weight") &&
                      strstr(s.err, " 2 not in the file: logits.weight, logits.bias") &&
                      strstr(s.err, "left over: masked.transform.weight") && strstr(s.err, "blocks.2.* lr=1") &&
                      strstr(s.err, "blocks.1.* lr=0"),
                  "%s", s.err);
    said_free(&s);
    ck_assert(same_files(from, run, "vocab.txt"));
    static float values[2][1 << 16];
    static const struct {
        const char *name;
        bool frozen;
    } tensors[] = {{"token_embedding.weight", true},
                   {"segment_embedding.weight", true},
                   {"blocks.1.ff.in.weight", true},
                   {"blocks.2.ff.in.weight", false},
                   {"norm.weight", false}};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        size_t count[2];
        for (int which = 0; which < 2; which++) {
            Safetensors *file;
            Error e;
            char *path = path_join(which ? run : from, "checkpoints/00000004/model.safetensors");
            ck_done(safetensors_open(&file, path, &e), e);
            const SafeTensor *t = safetensors_find(file, tensors[i].name);
            ck_assert(t && (count[which] = safe_elements(t)) <= 1 << 16);
            ck_done(safetensors_read(file, t, SAFE_F32, values[which], count[which], &e), e);
            safetensors_close(file);
            memory_free(path);
        }
        ck_assert(count[0] == count[1]);
        ck_assert_msg((memcmp(values[0], values[1], count[0] * sizeof(float)) == 0) == tensors[i].frozen, "%s",
                      tensors[i].name);
    }
    Json *j = evaluated(run, "");
    ck_assert(json_real(j, "texts") == 500);
    json_free(j);
    works("predict --run %s dull", run);
    works("heads --run %s --text dull --attribution", run);
}

START_TEST(masks_are_filled_in)
{
    const char *run = pretrained("--steps 2 --next-sentence");
    Said s = must("predict --run %s --json --guesses 3 the<br/>[MASK]was[MASK]", run);
    Json *j = said_json(&s);
    const Json *masks = json_get(j, "masks");
    ck_assert(masks && masks->count == 2 && masks->items[0].count == 3 && masks->items[1].count == 3);
    for (size_t i = 0; i < 2; i++)
        ck_assert(masks->items[i].items[0].number >= masks->items[i].items[2].number &&
                  masks->items[i].items[2].number > 0);
    said_free(&s);
    json_free(j);
    works("heads --run %s --text dull --describe", run);
    works("info --run %s", run);
    works("bench --objective masked --tie --marks --segments --next-sentence --steps 2 --batch 4 --words 100 --context "
          "32");
}

START_TEST(n_grams_are_read_by_all_commands)
{
    const char *run = pretrained("--steps 4 --ngrams 3 --ngram-rows 500"), *tuned = fresh_path("tuned");
    works("predict --run %s the[MASK]was[MASK]", run);
    works("predict --run %s --vectors %s/x.npy dull", run, run);
    works("train --from %s --preset finetune --steps 2 --batch 4 --freeze 1 --no-cache -q --run %s", run, tuned);
    works("heads --run %s --text dull --attribution", tuned);
    works("plot --what embeddings --run %s --out %s/p.svg", tuned, tuned);
    works("bench --ngrams 3 --steps 2 --batch 4 --words 100 --context 32");
    Said s = must("info --run %s", tuned);
    ck_assert_ptr_nonnull(strstr(s.out, "ngram_embedding.weight"));
    said_free(&s);
}

START_TEST(what_makes_no_sense_is_refused)
{
    static const struct {
        int status;
        const char *words, *how;
    } cases[] = {
        {1, "has no [MASK]", "predict --run %s dull"},
        {1, "has 3 [MASK]; the model reads 2 tokens", "predict --run %s [MASK][MASK][MASK]"},
        {2, "--attribution", "heads --run %s --text dull --attribution"},
        {2, "--mistakes is about classes", "eval --run %s --no-cache --mistakes 3"},
        {2, "--each is about classes", "eval --run %s --no-cache --each"},
        {2, "--ensemble is about classes", "eval --run %s --no-cache --ensemble regression"},
        {1, "none of its tensors fits another width",
         "train --no-cache -q --preset finetune --steps 1 --dim 64 --from %s"},
        {1, "heads 2, and this one has 4", "train --no-cache -q --preset finetune --steps 1 --heads 4 --from %s"},
        {2, "--next-sentence belongs to pretraining", "train --no-cache -q --steps 1 --next-sentence --from %s"},
        {2, "--freeze 9", "train --no-cache -q --preset finetune --steps 1 --freeze 9 --from %s"},
        {2, "are for registers, [CLS] and [SEP]", "train --no-cache -q --preset finetune --context 2 --from %s"},
        {1, "--examples 5000: 2500 of them would be of class neg, and the training part has 1000",
         "train --no-cache -q --preset finetune --examples 5000 --from %s"},
        {2, "needs --tokens wordpiece", "pretrain --no-cache -q --tokens words --vocabulary x --from %s"},
        {2, "--ngram-rows 1: the first row is", "train --ngrams 2 --ngram-rows 1 --no-cache -q --run %s-1"},
        {2, "--segments does not support --ngrams", "train --segments --ngrams 2 --no-cache -q --run %s-1"},
        {2, "--r-drop is for training with classes", "pretrain --r-drop 1 --no-cache -q --run %s-1"},
        {2, "--word-dropout is for training with classes", "pretrain --word-dropout 0.5 --no-cache -q --run %s-1"},
        {2, "--word-dropout does not support --ngrams", "train --word-dropout 0.1 --ngrams 2 --no-cache -q --run %s-1"},
    };
    char run[700];
    snprintf(run, sizeof run, "%s", pretrained("--steps 1 --context 4"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(cases[i].status, cases[i].words, cases[i].how, run);
}

/* --- texts without labels --- */

static void check_parts(const ReviewsOptions *o, size_t train, size_t valid, size_t test)
{
    Reviews r = source_open(o);
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TRAIN)->count, train);
    ck_assert_uint_eq(reviews_part(&r, SPLIT_VALID)->count, valid);
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TEST)->count, test);
    reviews_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(texts_without_labels_come_from_anywhere)
{
    ReviewsOptions o = {.pretrain = true, .seed = 1, .no_cache = true};
    sources_open();
    for (int i = 0; i < 10; i++) { /* the Large Movie Review Dataset */
        source_print(i % 2 ? "set/train/pos/0" : "set/train/neg/0", "first");
        char name[60];
        snprintf(name, sizeof name, "set/train/%s/%d", i % 2 ? "pos" : "neg", i);
        source_print(name, "labelled%d", i);
        snprintf(name, sizeof name, "set/train/unsup/%d", i);
        source_print(name, "free%d", i);
        snprintf(name, sizeof name, "set/test/%s/%d", i % 2 ? "pos" : "neg", i);
        source_print(name, "secret%d", i);
        snprintf(name, sizeof name, "files/%d.txt", i);
        if (i == 3)
            source_write(name, "", 0);
        else
            source_print(name, "free%d and\n\nmore", i);
    }
    source_print("set/train/urls_unsup.txt", "none");
    source_print("lines.txt", "one\ntwo\n\n");
    source_print("parted.txt", "\xef\xbb\xbf one\ngoes on\n\n\n two\r\n\r\nthree");
    source_print("table.csv", "text,number\n\"a, b\",1\nc,2\n");
    source_print("empty.txt", "\n \n");

    o.path = "set";
    check_parts(&o, 8 + 10 + 1, 2, 10); /* neg/0 is there once, pos/0 beside */
    o.unlabelled = "files";
    check_parts(&o, 8 + 10 + 10 + 1, 2, 10);
    o.pretrain = false; /* none of them to a classifier */
    o.unlabelled = NULL;
    check_parts(&o, 8 + 1, 2, 10);
    o.pretrain = true;
    o.path = "files";
    check_parts(&o, 9, 1, 0); /* a twentieth of 10, rounded */
    o.path = "lines.txt";
    check_parts(&o, 2, 0, 0);
    o.path = "parted.txt";
    check_parts(&o, 3, 0, 0);
    Reviews r = source_open(&o);
    ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, 0), "one goes on ");
    ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, 2), "three ");
    reviews_close(&r);
    o.path = "table.csv";
    check_parts(&o, 2, 0, 0);
    o.path = "empty.txt";
    source_refused(&o, "holds no texts");
}

START_TEST(a_long_text_is_several)
{
    ReviewsOptions o = {.path = "long.txt", .pretrain = true, .length = 4, .no_cache = true};
    sources_open();
    source_print("long.txt", "a b c d e f g h i\nj\n");
    Reviews r = source_open(&o);
    const Texts *t = reviews_part(&r, SPLIT_TRAIN);
    ck_assert(t->count == 4 && t->cut == 0);
    static const char *const wanted[] = {"a b c ", "d e f ", "g h i ", "j "};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, i), wanted[i]);
        ck_assert_uint_eq(t->source[i], i / 3);
    }
    reviews_close(&r);
}

START_TEST(examples_are_alike_of_each_class_and_fewer_are_among_more)
{
    ReviewsOptions o = {.seed = 2, .no_cache = true, .examples = 100};
    Reviews few = source_open(&o);
    o.examples = 500;
    Reviews many = source_open(&o);
    size_t counts[2], there = 0;
    const Texts *a = reviews_part(&few, SPLIT_TRAIN), *b = reviews_part(&many, SPLIT_TRAIN);
    reviews_balance(&few, SPLIT_TRAIN, counts);
    ck_assert(a->count == 100 && counts[0] == 50 && counts[1] == 50 && b->count == 500);
    ck_assert_uint_eq(reviews_part(&few, SPLIT_VALID)->count, 500);
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++)
            there += a->source[i] == b->source[k];
    ck_assert_uint_eq(there, 100);
    reviews_close(&few);
    reviews_close(&many);
}

/* Empty texts, texts of a word, of unknown words only: each row has something to be predicted. */
START_TEST(odd_texts_are_trained_on)
{
    static const char *const ways[] = {"--words 6 --tokens words", "--words 6 --tokens words --next-sentence",
                                       "--words 60 --whole-words --next-sentence"};
    sources_open();
    for (int i = 0; i < 40; i++) {
        char name[40];
        snprintf(name, sizeof name, "odd/%d", i);
        if (i % 4 == 0)
            source_write(name, "", 0);
        else
            source_print(name, i % 4 == 1 ? "x%d" : i % 4 == 2 ? "\xff\x01" : "a b. c unheard%d", i);
    }
    for (size_t i = 0; i < 3; i++) {
        const char *run = fresh_path("odd");
        command_program("classifier");
        works("pretrain --data odd --run %s " TINY " --steps 6 %s", run, ways[i]);
        Json *j = evaluated(run, "");
        ck_assert(json_real(j, "masked") == 2 && json_real(j, "loss") < 10);
        json_free(j);
    }
}

static const Test tests[] = {TEST_LEARNS(it_learns_to_predict_masked_words, 4, 120),
                             TEST(n_grams_are_read_by_all_commands),
                             TEST(a_load_loss_is_of_all_positions),
                             TEST(a_run_that_goes_on_has_the_same_bits),
                             TEST(a_score_depends_on_no_worker_and_no_batch),
                             TEST(training_begins_with_what_was_pretrained),
                             TEST(masks_are_filled_in),
                             TEST(what_makes_no_sense_is_refused),
                             TEST(texts_without_labels_come_from_anywhere),
                             TEST(a_long_text_is_several),
                             TEST(examples_are_alike_of_each_class_and_fewer_are_among_more),
                             TEST(odd_texts_are_trained_on)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("classifier/pretrain", tests, sizeof tests / sizeof *tests, argc, argv);
}
