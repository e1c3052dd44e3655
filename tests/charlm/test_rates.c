/* train --find-lr: a rate from a ramp, by every optimizer, without a run; and what is said where there is none. muP: at
 * its base width it is the standard parametrization, and at others activations change as there. */
#include "base/file.h"
#include "base/memory.h"
#include "tests/charlm/tiny.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static double found(const char *more)
{
    Said s = must("train " TINY " --find-lr --json -q %s", more);
    Json *j = said_json(&s);
    const double lr = json_real(j, "lr");
    ck_assert_msg(isfinite(lr) && lr > 1e-6 && lr <= 1 && json_real(j, "steepest") < 10, "%s: %s", more, s.out);
    json_free(j);
    said_free(&s);
    return lr;
}

/* In a folder of its own, so that whatever it leaves is seen. */
START_TEST(a_ramp_leaves_no_run)
{
    const char *folder = fresh_path("rates");
    char here[4096], **names;
    size_t count;
    Error e;
    ck_done(folder_make(folder, &e), e);
    ck_assert(getcwd(here, sizeof here) && !chdir(folder));
    const double lr = found("");
    ck_done(folder_list(".", &names, &count, &e), e);
    ck_assert_uint_eq(count, 0);
    folder_list_free(names, count);
    ck_assert(!chdir(here));
    ck_assert_msg(lr > 1e-4 && lr < 0.3, "%g", lr);
}

START_TEST(every_optimizer_has_a_ramp)
{
    const double adam = found(""), again = found(""), sgd = found("--optimizer sgd --momentum 0.9");
    ck_assert(adam == again && adam != sgd);
}

/* The same step as noam's highest: its factor is another number. */
START_TEST(noam_gets_its_factor)
{
    const double lr = found(""), factor = found("--schedule noam --warmup 25");
    ck_assert_msg(fabs(factor / (lr * sqrt(16 * 25.0)) - 1) < 1e-9, "%g, not 20 times %g", factor, lr);
}

START_TEST(what_cannot_move_has_no_rate)
{
    refused(1, "no learning rate found", "train " TINY " --find-lr -q --groups *:lr=0");
}

START_TEST(a_ramp_makes_no_run_and_is_not_too_short)
{
    const char *run = fresh_path("run");
    refused(2, "makes no run", "train " TINY " --find-lr --run %s", run);
    ck_assert(!folder_exists(run));
    refused(2, "too short", "train " TINY " --find-lr --steps 20");
    refused(2, "--find-lr", "train " TINY " --steps 1 --out a.png");
    refused(2, "expected a name that ends in", "train " TINY " --find-lr --out a.jpg");
}

START_TEST(a_schedule_ends_at_a_part_of_the_rate)
{
    static const char *const wrong[] = {"2", "-0.1", "x", "0.5x", "nan"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(2, "expected a part of the learning rate, from 0 to 1", "train " TINY " --lr-end %s", wrong[i]);
}

/* Of a run's own options none is refused: what the command line changes may need others. */
START_TEST(options_that_would_do_nothing_are_refused)
{
    static const struct {
        const char *words, *how; /* words NULL: it works */
    } cases[] = {{"--lr-end belongs to --schedule linear, cosine and wsd, not constant", "--lr-end 0.1"},
                 {"--lr-end belongs", "--schedule noam --lr-end 0.1"},
                 {"--decay-steps belongs", "--schedule rsqrt --decay-steps 30"},
                 {"--lr-patience belongs to --schedule plateau, not constant", "--lr-patience 2"},
                 {"--schedule plateau", "--schedule plateau --eval-every 0"},
                 {"--newton-schulz belongs to --optimizer muon, not adam", "--newton-schulz 3"},
                 {"--momentum belongs to --optimizer sgd and muon", "--momentum 0.9"},
                 {"--betas belongs to --optimizer adam, muon and lion", "--optimizer sgd --betas 0.9,0.99"},
                 {"--epsilon belongs to --optimizer adam and muon", "--optimizer lion --epsilon 1e-6"},
                 {"--bias-free leaves no bias", "--bias --bias-free"},
                 {"leave out --score", "--qk-norm --qk-norm-kind cosine --score dot"},
                 {"--ngrams 1", "--ngrams 1"},
                 {"--steps and --epochs both say how long to train", "--epochs 2"},
                 {NULL, "--schedule wsd --lr-end 0.1 --decay-steps 9"},
                 {NULL, "--schedule plateau --lr-patience 2 --eval-every 5"},
                 {NULL, "--optimizer muon --momentum 0.9 --newton-schulz 3 --betas 0.9,0.99 --epsilon 1e-6"},
                 {NULL, "--momentum 0 --decay-steps 0 --no-bias --bias-free --score dot"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].words)
            refused(2, cases[i].words, "train " TINY " --steps 20 --dry-run %s", cases[i].how);
        else
            works("train " TINY " --steps 20 --dry-run -q %s", cases[i].how);
    const char *run = fresh_path("run");
    works("train " TINY " --run %s --steps 2 -q --schedule cosine --lr-end 0.3", run);
    works("train --resume %s --steps 4 -q --schedule constant", run);
    refused(2, "--lr-end belongs", "train --resume %s --steps 6 -q --lr-end 0.3", run);
}

/* A file of settings is what the user asks for, as the command line is; a preset's are only a proposal. */
START_TEST(steps_and_epochs_of_a_file_are_not_both_taken)
{
    const char *both = "--steps and --epochs both say how long to train", *folder = fresh_path("settings");
    Error e;
    ck_done(folder_make(folder, &e), e);
    write_in(folder, "both", "steps = 20\nepochs = 2\n", 22);
    write_in(folder, "epochs", "epochs = 2\n", 11);
    write_in(folder, "steps", "steps = 20\n", 11);
    refused(2, both, "train " TINY " --dry-run --config %s/both", folder);
    refused(2, both, "train " TINY " --dry-run --config %s/epochs --steps 20", folder);
    refused(2, both, "train " TINY " --dry-run --config %s/steps --epochs 2", folder);
    works("train " TINY " --dry-run -q --config %s/epochs --steps 20 --epochs 0", folder);
    works("train " TINY " --dry-run -q --config %s/epochs", folder);
    works("train " TINY " --dry-run -q --config %s/steps", folder);
}

START_TEST(a_ramp_is_drawn)
{
    size_t size;
    if (!can_draw("a_ramp_is_drawn"))
        return;
    const char *folder = fresh_path("rates");
    Error e;
    ck_done(folder_make(folder, &e), e);
    Said s = must("train " TINY " --find-lr --steps 80 -q --out %s/a.svg", folder);
    ck_assert_msg(strstr(s.out, "suggestion: --lr ") && strstr(s.out, "is lowest at"), "%s", s.out);
    said_free(&s);
    char *picture = read_in(folder, "a.svg", &size), *data = read_in(folder, "a.tsv", &size);
    ck_assert(picture && strstr(picture, "steepest descent") && strstr(picture, "loss (bits/byte)"));
    ck_assert_msg(data && strstr(data, "\nsuggestion\t"), "%s", data);
    memory_free(picture);
    memory_free(data);
}

/* ---- muP */

START_TEST(mup_at_its_base_width_is_standard)
{
    static const char *const more[] = {"", "--parametrization mup --base-width 16"};
    const char *folder[2];
    char *state[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        folder[i] = fresh_path(i ? "mup" : "standard");
        works("train " TINY " --steps 8 -q --run %s %s", folder[i], more[i]);
        state[i] = read_in(folder[i], "checkpoints/00000008/state.safetensors", &size[i]);
    }
    ck_assert(state[0] && state[1] && size[0] == size[1] && !memcmp(state[0], state[1], size[0]));
    memory_free(state[0]);
    memory_free(state[1]);
    char *config[] = {read_in(folder[0], "config.json", &size[0]), read_in(folder[1], "config.json", &size[1])};
    ck_assert(!strstr(config[0], "parametrization") && !strstr(config[0], "base-width"));
    ck_assert(strstr(config[1], "\"parametrization\": \"mup\", \"base-width\": 16"));
    memory_free(config[0]);
    memory_free(config[1]);
}

/* What a wider run was made with is part of it: it is scored as it was trained. */
START_TEST(a_wider_run_keeps_its_base)
{
    const char *run = fresh_path("run");
    Json *j = must_json("train " TINY " --steps 8 -q --json --parametrization mup --base-width 8 --run %s", run);
    const double trained = json_real(j, "best");
    json_free(j);
    Said s = must("eval -q --json --stride context --bytes 300 --run %s", run);
    j = said_json(&s);
    ck_assert_msg(fabs(json_real(j, "bits_per_byte") - trained) < 1e-4, "%s, not %g", s.out, trained);
    json_free(j);
    said_free(&s);
    refused(1, "weights of a model with parametrization mup, and this one has standard",
            "train " TINY " --steps 1 -q --run %s --weights %s/checkpoints/00000008/model.safetensors",
            fresh_path("other"), run);
}

START_TEST(activations_of_mup_change_alike_at_each_width)
{
    static const char *const layers[] = {"blocks.0.attention.out.weight: the product",
                                         "blocks.0.ff.out.weight: the product", "logits.weight: the product"};
    Said s = must("train " TINY " --init pytorch --coordinates 16,32,64,128 --json -q");
    Json *j = said_json(&s);
    const Json *list = json_get(j, "layers");
    size_t found = 0;
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < 3; k++) {
            const Json *one = &list->items[i];
            if (strcmp(json_get_text(one, "layer"), layers[k]) != 0)
                continue;
            found++;
            ck_assert_msg(json_real(one, "standard") > 0.4 && fabs(json_real(one, "mup")) < 0.2, "%s: %g, %g",
                          layers[k], json_real(one, "standard"), json_real(one, "mup"));
        }
    ck_assert_uint_eq(found, 3);
    json_free(j);
    said_free(&s);
}

/* What a schedule calls 1 is a factor: the same table as with the rate itself. */
START_TEST(activations_change_at_the_schedules_rate)
{
    static const char *const ways[] = {"noam --warmup 4000 --lr 1", "constant --lr 0.00395284707521",
                                       "constant --lr 0.1"};
    Said s[3];
    for (int i = 0; i < 3; i++)
        s[i] = must("train " TINY " --coordinates 16,32 -q --schedule %s", ways[i]);
    ck_assert_str_eq(s[0].out, s[1].out);
    ck_assert_str_ne(s[0].out, s[2].out);
    for (int i = 0; i < 3; i++)
        said_free(&s[i]);
}

START_TEST(what_mup_and_coordinates_do_not_go_with_is_refused)
{
    refused(2, "leave out --dry-run", "train " TINY " --coordinates 16,32 --dry-run");
    refused(2, "--steps 1 or more", "train " TINY " --coordinates 16,32 --steps 0");
    refused(2, "expected a name that ends in", "train " TINY " --coordinates 16,32 --out a.jpg");
    refused(2, "needs --base-width", "train " TINY " --parametrization mup");
    refused(2, "belongs to --parametrization mup", "train " TINY " --base-width 8");
    refused(2, "scales dot products",
            "train " TINY " --parametrization mup --base-width 8 --attention composed --score bilinear "
            "--distances none");
    refused(2, "each larger than the one before", "train " TINY " --coordinates 16,8");
    refused(2, "2 to 12 widths", "train " TINY " --coordinates 16");
    refused(2, "makes no run", "train " TINY " --coordinates 16,32 --run x");
    refused(2, "compares both parametrizations", "train " TINY " --coordinates 16,32 --precision bf16");
    refused(2, "not a multiple of --heads", "train " TINY " --coordinates 16,33 -q");
}

static const Test tests[] = {
    TEST(a_ramp_leaves_no_run),
    TEST(every_optimizer_has_a_ramp),
    TEST(noam_gets_its_factor),
    TEST(what_cannot_move_has_no_rate),
    TEST(a_ramp_makes_no_run_and_is_not_too_short),
    TEST(a_schedule_ends_at_a_part_of_the_rate),
    TEST(options_that_would_do_nothing_are_refused),
    TEST(steps_and_epochs_of_a_file_are_not_both_taken),
    TEST(a_ramp_is_drawn),
    TEST(mup_at_its_base_width_is_standard),
    TEST(a_wider_run_keeps_its_base),
    TEST(activations_of_mup_change_alike_at_each_width),
    TEST(activations_change_at_the_schedules_rate),
    TEST(what_mup_and_coordinates_do_not_go_with_is_refused),
};

int main(int argc, char **argv) { return suite_run("charlm/rates", tests, sizeof tests / sizeof *tests, argc, argv); }
