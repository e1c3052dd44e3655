/* data/check as somebody with a broken download calls it. */
#include "base/philox.h"
#include "tests/data/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 60000 };

/* Lines of text that pack somewhat. */
static const char *text(void)
{
    static char bytes[SIZE + 1];
    for (int i = 0; i < SIZE; i++)
        bytes[i] = i % 41 == 40 ? '\n' : (char)('a' + philox_below(20, 1, 2, (uint64_t)i, 3));
    return bytes;
}

/* A set of one file, which is text() or what it should be, and one whose file is kept packed. */
static void open_fixture(void)
{
    fixture_open();
    fixture_write("letters", text(), SIZE);
    ck_assert_int_eq(
        fixture_run(". data/common.sh\n"
                    "gzip -c letters >l.gz\n"
                    "{ echo '# a comment'\n"
                    "echo\n"
                    "echo \"letters | letters | %d | md5:$(digest md5 <letters) | http://nowhere/l.zip\"\n"
                    "echo \"packed | p.tar.gz | $(wc -c <l.gz) | md5:$(digest md5 <l.gz) | http://nowhere/\"\n"
                    "} >data/sets",
                    SIZE),
        0);
}

START_TEST(a_whole_file_is_fine_whatever_packs_it)
{
    open_fixture();
    expect_run(0, "letters: letters as published (60,000 bytes, md5)", "data/check letters");
    expect_run(0, "as published", "gzip -c letters >letters.gz && data/check letters.gz");
    expect_run(0, "packed as published", "cp l.gz p.tar.gz && data/check p.tar.gz");
    expect_run(0, "none of the known sets", "cp letters other && data/check other");
    expect_run(0, "60,000 bytes, packed as gz", "data/check l.gz");
    expect_run(0, "nothing is wrong", "tar cf some.tar letters && data/check some.tar");
    expect_run(0, "as published", "mkdir letter\\ box && cp letters letter\\ box && data/check 'letter box/letters'");
}

/* Packers that are not gzip, where they are there. */
START_TEST(other_packers_are_known)
{
    static const struct {
        const char *tool, *line, *name;
    } packers[] = {{"xz", "xz -k letters", "letters.xz"},
                   {"bzip2", "bzip2 -k letters", "letters.bz2"},
                   {"zip", "zip -q letters.zip letters", "letters.zip"}};
    open_fixture();
    if (fixture_run("command -v %s", packers[_i].tool)) {
        test_skip("other_packers_are_known", packers[_i].tool);
        return;
    }
    ck_assert_int_eq(fixture_run("%s", packers[_i].line), 0);
    expect_run(0, "as published", "data/check %s", packers[_i].name);
    expect_run(1, "cut off", "dd if=%s of=cut.%s bs=1000 count=10 2>/dev/null; data/check cut.%s", packers[_i].name,
               strchr(packers[_i].name, '.') + 1, strchr(packers[_i].name, '.') + 1);
}

START_TEST(what_is_wrong_with_a_file_is_said)
{
    open_fixture();
    static const struct {
        const char *make, *name, *words;
    } faults[] = {
        {"true", "nowhere", "no such file"},
        {"mkdir box", "box", "is a folder"},
        {": >nothing", "nothing", "is empty"},
        {"echo '<!DOCTYPE html><html>moved' >letters.zip", "letters.zip", "is a web page"},
        {"printf '\\n  <HTML lang=\"en\">' >page.gz", "page.gz", "is a web page"},
        {"echo 'version https://git-lfs.github.com/spec/v1' >letters", "letters", "Git LFS"},
        {"printf '\\377\\376a\\000b\\000' >wide", "wide", "UTF-16"},
        {"cp letters some.gz", "some.gz", "named as gz, but its first bytes say"},
        {"cp l.gz some.xz", "some.xz", "named as xz, but its first bytes say gz"},
        {"dd if=l.gz of=cut.gz bs=1 count=400 2>/dev/null", "cut.gz", "is cut off"},
        {"{ dd if=l.gz bs=300 count=1; echo rubbish; dd if=l.gz bs=308 skip=1; } 2>/dev/null >bad.gz", "bad.gz",
         "is damaged"},
        {"n=$(wc -c <l.gz); { head -c $((n - 8)) l.gz; printf abcdefgh; } >sum.gz", "sum.gz", "is damaged"},
        {"tar cf whole.tar letters; dd if=whole.tar of=cut.tar bs=512 count=119 2>/dev/null", "cut.tar", "is cut off"},
        {"dd if=/dev/zero of=none bs=1000 count=99 2>/dev/null; tar cf whole.tar none; dd if=whole.tar of=cut.tar "
         "bs=512 "
         "count=119 2>/dev/null",
         "cut.tar", "is cut off"}, /* in a file of zeros, which look like the end */
        {"tar cf bad.tar letters && printf x | dd of=bad.tar bs=1 seek=3 conv=notrunc 2>/dev/null", "bad.tar",
         "is damaged"},
        {"printf '(S (A a)\\n' >cut.mrg", "cut.mrg", "2 brackets that open and 1 that shut"},
        {"sed 's/$/\\r/' letters >crlf", "crlf", "CR LF"},
        {"sed 's/$/\\r/' letters >crlf && mv crlf letters", "letters", "copied as text"},
        {"dd if=letters of=l bs=1000 count=59 2>/dev/null; mv l letters", "letters", "59,000 of the 60,000 bytes"},
        {"echo more >>letters", "letters", "60,005 bytes, where letters has 60,000"},
        {"tr a b <letters >l; mv l letters", "letters", "has another checksum than letters: md5"},
        {"tr a b <letters | gzip >letters.gz", "letters.gz", "has another checksum than letters: md5"},
        {"cp l.gz p.tar.gz && echo >>p.tar.gz", "p.tar.gz", "where packed has"},
        {"gzip -1 -c letters >p.tar.gz", "p.tar.gz", "packed"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        fixture_write("letters", text(), SIZE);
        ck_assert_msg(fixture_run("%s", faults[i].make) == 0, "%s: %s", faults[i].make, fixture_said());
        int status = fixture_run("data/check %s", faults[i].name);
        char start[100];
        snprintf(start, sizeof start, "%s: ", faults[i].name);
        ck_assert_msg(status == 1 && strstr(fixture_said(), faults[i].words), "%s: status %d, '%s'", faults[i].make,
                      status, fixture_said());
        const char *end = strchr(fixture_said(), '\n');
        ck_assert_msg(strstr(fixture_said(), start) == fixture_said() && end && !end[1], "%s", fixture_said());
    }
}

START_TEST(a_run_is_what_was_saved_or_is_not)
{
    open_fixture();
    ck_assert_int_eq(
        fixture_run("for s in 00000003 00000017; do mkdir -p run/checkpoints/$s && cd run/checkpoints/$s &&\n"
                    "echo model $s >model.safetensors && echo state $s >state.safetensors &&\n"
                    "sha256sum model.safetensors state.safetensors >SHA256SUMS && cd ../../.. || exit 1; done\n"
                    "printf 'step\\tloss\\n3\\t5.5\\n17\\t\\n' >run/log.tsv\n"
                    "echo '{\"program\": \"lm\", \"model\": {}, \"training\": {\"lr\": 1}}' >run/config.json"),
        0);
    expect_run(0, "run: nothing is wrong with it (a run; checkpoints: 2, sha256)", "data/check run");
    expect_run(0, "run: nothing is wrong with it",
               "cd run && echo a >codes && sha256sum codes >SHA256SUMS && cd .. && data/check run");
    expect_run(
        0, "run: nothing is wrong with it",
        "cp run/config.json whole.json; sed 's/\"lr\": 1/\"data\": \"w{\\\\\"{1.txt\"/' whole.json >run/config.json;\n"
        "data/check run && grep -q 'w{.\"{1' run/config.json; s=$?; cp whole.json run/config.json; exit $s");
    static const struct {
        const char *make, *words; /* in the folder of the run */
    } faults[] = {
        {": >config.json", "config.json does not hold the options of a run"},
        {"head -c 40 old.json >config.json", "config.json does not hold the options"},
        {"printf '%s' \"$(cat old.json)\" | sed 's/}$//' >config.json", "config.json does not hold the options"},
        {"rm config.json", "config.json is missing"},
        {"rm log.tsv", "has no log.tsv"},
        {": >log.tsv", "line 1 of log.tsv is not one of a log"},
        {"head -c 3000 ../letters >log.tsv", "line 1 of log.tsv is not one of a log"},
        {"{ cat old.tsv && cat ../letters; } >log.tsv", "line 4 of log.tsv is not one of a log"},
    };
    ck_assert_int_eq(fixture_run("cp run/config.json run/old.json && cp run/log.tsv run/old.tsv"), 0);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        ck_assert_int_eq(fixture_run("cd run && { %s; }", faults[i].make), 0);
        expect_run(1, faults[i].words, "data/check run");
        ck_assert_int_eq(fixture_run("cd run && cp old.json config.json && cp old.tsv log.tsv"), 0);
    }
    expect_run(0, "nothing is wrong", "printf 18 >>run/log.tsv; data/check run"); /* while it trains */
    expect_run(1, "run: is damaged: codes is not what was saved", "echo b >run/codes; data/check run");
    expect_run(1, "run: is damaged: codes is not what was saved", "rm run/codes; data/check run");
    expect_run(1, "00000017/state.safetensors is not what was saved",
               "cp run/checkpoints/00000003/state.safetensors run/checkpoints/00000017; data/check run");
    expect_run(1, "has no checksum of checkpoints/00000003/model", "rm run/checkpoints/0*3/SHA*; data/check run");
    expect_run(1, "has no checkpoints/00000003/model", "rm run/checkpoints/0*3/model*; data/check run");
    expect_run(1, "has no checkpoint", "rm -r run/checkpoints/*; data/check run");
}

/* train.en is no name of one set alone: it is known in a folder of the set's name. */
START_TEST(names_that_many_sets_have_count_in_their_folder)
{
    open_fixture();
    ck_assert_int_eq(
        fixture_run(". data/common.sh\n"
                    "for f in train.en.gz val.en.gz test_1.en.gz trains; do\n"
                    "echo \"m | $f | $(wc -c <l.gz) | md5:$(digest md5 <l.gz) | http://h/$f\" >>data/sets\n"
                    "done\n"
                    "mkdir m; for f in train.en.gz val.en.gz test_1.en.gz trains; do\n"
                    "cp l.gz m/$f; gzip -c data/sets >$f; done"),
        0);
    expect_run(0, "train.en.gz: nothing is wrong", "data/check train.en.gz val.en.gz test_1.en.gz");
    expect_run(1, "trains: has", "data/check trains");
    expect_run(0, "test_1.en.gz: m as published", "data/check m/train.en.gz m/val.en.gz m/test_1.en.gz");
    expect_run(0, "train.en.gz: m as published", "cd m; ../data/check train.en.gz");
    expect_run(1, "train.en.gz: has another checksum than m",
               "cd m; tr a b <train.en.gz >t; mv t train.en.gz; ../data/check ./train.en.gz");
}

/* The table that people get: each line whole, each file of a set once, the same file the same in all sets. */
START_TEST(the_table_is_whole)
{
    fixture_open();
    expect_run(0, "",
               ". data/common.sh; here=data; sets '' | awk -F '|' '\n"
               "NF != 5 || $3 !~ /^[1-9][0-9]*$/ || $5 !~ /^https?:/ || seen[$1, $2]++ { print; bad = 1 }\n"
               "$2 in is && is[$2] != $3 $4 && $2 !~ /^(train|val|test)/ { print; bad = 1 }\n"
               "{ is[$2] = $3 $4; n = split($4, sum, / +/) }\n"
               "!n { print; bad = 1 }\n"
               "{ for (i = 1; i <= n; i++) {\n"
               "    split(sum[i], part, /:/)\n"
               "    wanted = part[1] == \"md5\" ? 32 : part[1] == \"sha1\" ? 40 : part[1] == \"sha256\" ? 64 : 0\n"
               "    if (length(part[2]) != wanted || part[2] ~ /[^0-9a-f]/) { print; bad = 1 }\n"
               "} }\n"
               "END { exit bad }'");
    expect_run(0, "13 9 4 6",
               ". data/common.sh; here=data; n() { sets $1 | wc -l | tr -d ' '; }\n"
               "echo $(($(n wmt14-en-de) + $(n multi30k))) $(n multi30k) $(n wmt14-en-de) $(n wmt14-en-fr)");
}

START_TEST(each_file_gets_a_line_and_one_that_is_wrong_fails_them_all)
{
    open_fixture();
    expect_run(1, "letters as published", ": >nothing; data/check letters nothing letters");
    expect_run(1, "nothing: is empty", "data/check nothing letters");
    expect_run(2, "usage", "data/check");
    expect_run(0, "a\\b: nothing is wrong", "cp letters 'a\\b' && data/check 'a\\b'");
}

/* FIPS 180 and RFC 1321 say what "abc" gives. */
START_TEST(each_kind_of_checksum_is_checked)
{
    static const char *const sums[] = {"md5:900150983cd24fb0d6963f7d28e17f72",
                                       "sha1:a9993e364706816aba3e25717850c26c9cd0d89d",
                                       "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"};
    fixture_open();
    fixture_write("abc", "abc", 3);
    for (size_t i = 0; i < 3; i++) {
        fixture_print("data/sets", "abc | abc | 3 | %s | -\n", sums[i]);
        expect_run(0, "as published (3 bytes, ", "data/check abc");
        fixture_print("data/sets", "abc | abc | 3 | %s0 | -\n", sums[i]);
        expect_run(1, "another checksum", "data/check abc");
        fixture_print("data/sets", "abc | abc | 3 | %s %s0 | -\n", sums[0],
                      sums[i]); /* the last of several counts, too */
        expect_run(1, "another checksum", "data/check abc");
    }
}

/* Whichever tools this system has, and none. */
START_TEST(checksums_are_made_with_the_tools_that_are_there)
{
    open_fixture();
    fixture_tools_without("md5sum");
    expect_run(0, "as published", "PATH=tools data/check letters");
    if (system("command -v openssl md5 >/dev/null")) {
        test_skip("checksums_are_made_with_the_tools_that_are_there", "there is no openssl, nor md5");
    } else {
        expect_run(1, "another checksum", "tr a b <letters >l && mv l letters && PATH=tools data/check letters");
        fixture_write("letters", text(), SIZE);
    }
    fixture_tools_without("md5sum openssl md5");
    expect_run(0, "no tool here makes its checksums", "PATH=tools data/check letters");
    fixture_tools_without("gzip unzip");
    expect_run(1, "is packed (gz), and gzip is not installed", "PATH=tools data/check l.gz");
}

/* Two sets may have files of one name: the folder says which is meant. */
START_TEST(the_folder_tells_sets_apart)
{
    fixture_open();
    fixture_print("data/sets", "one | train | 3 | | -\ntwo | train | 4 | | -\n");
    expect_run(0, "one/train: one as published", "mkdir one two && echo 12 >one/train && data/check one/train");
    expect_run(0, "two/train: two as published", "echo 123 >two/train && data/check two/train");
}

START_TEST(each_line_of_the_table_is_whole_and_what_programs_read_is_there)
{
    fixture_open();
    expect_run(0, "",
               "here=data; . data/common.sh\n"
               "sets '' | awk -F '|' 'NF != 5 || $3 !~ /^[1-9][0-9]*$/ || $5 !~ /^https?:/ { print; bad = 1 }\n"
               "{ n = split($4, sums, \" \"); bad += n == 0; for (i in sums) {\n"
               "    split(sums[i], s, \":\"); length_of[\"md5\"] = 32; length_of[\"sha1\"] = 40\n"
               "    length_of[\"sha256\"] = 64\n"
               "    if (length(s[2]) != length_of[s[1]] || s[2] !~ /^[0-9a-f]*$/) { print; bad = 1 } } }\n"
               "END { exit bad || !NR }'");
    expect_run(0, "100000000|md5:a1fa5ffddb56f4953e226637dabbb36a sha1:57b8363b814821dc9d47aa4d41f58733519076b2|http",
               "here=data; . data/common.sh; sets enwik8");
    expect_run(1, "8 of the 100,000,000 bytes of enwik8: it was cut off", "echo 1234567 >enwik8; data/check enwik8");
    expect_run(0, "imdb|aclImdb_v1.tar.gz|84125825|md5:7c2ac02c03563afcf9b574c7e56c153a|https://ai.stanford.edu/",
               "here=data; . data/common.sh; sets imdb");
    expect_run(1, "1,000 of the 84,125,825 bytes of imdb: it was cut off",
               "head -c 5000 data/fetch | gzip | head -c 1000 >aclImdb_v1.tar.gz; data/check aclImdb_v1.tar.gz");
}

static const Test tests[] = {TEST(a_whole_file_is_fine_whatever_packs_it),
                             TEST_LOOP(other_packers_are_known, 3),
                             TEST(what_is_wrong_with_a_file_is_said),
                             TEST(a_run_is_what_was_saved_or_is_not),
                             TEST(each_file_gets_a_line_and_one_that_is_wrong_fails_them_all),
                             TEST(names_that_many_sets_have_count_in_their_folder),
                             TEST(the_table_is_whole),
                             TEST(each_kind_of_checksum_is_checked),
                             TEST(checksums_are_made_with_the_tools_that_are_there),
                             TEST(the_folder_tells_sets_apart),
                             TEST(each_line_of_the_table_is_whole_and_what_programs_read_is_there)};

int main(int argc, char **argv) { return suite_run("data/check", tests, sizeof tests / sizeof *tests, argc, argv); }
