/* data/join: what is made of the archives of a set, on small ones that are built like those of WMT 2014. */
#include "tests/data/fixture.h"

#include <string.h>

/* Archives for English and one other language (de, fr): of each text two lines, of newstest2014 three. */
static void make_archives(const char *other)
{
    ck_assert_int_eq(
        fixture_run("o=%s; p=$o-en; d=data/wmt14-en-$o; mkdir -p $d/x && cd $d/x\n"
                    "for l in en $o; do\n"
                    "for f in europarl-v7 commoncrawl news-commentary-v9 undoc.2000 giga-fren; do\n"
                    "printf '%%s 1 %%s\\n%%s 2 %%s\\n' $f $l $f $l >$f.$p.$l; done\n"
                    "printf 'old 1 %%s\\nold 2 %%s\\n' $l $l >newstest2013.$l\n"
                    "{ echo '<srcset setid=\"newstest2014\">'; echo '<doc><p>'\n"
                    "for i in 1 2 3; do echo \"<seg id=\\\"$i\\\"> new <b> $i &amp; $l \\303\\266</seg>\"; done\n"
                    "echo '</p></doc>'; } >sgm.$l; done\n"
                    "mkdir training un dev\n"
                    "mv europarl* news-comm* training; mv undoc* un; mv newstest2013* dev\n"
                    "mv sgm.en dev/newstest2014-${o}en-src.en.sgm; mv sgm.$o dev/newstest2014-${o}en-ref.$o.sgm\n"
                    "for l in en $o; do gzip -c giga-fren.$p.$l >giga-fren.release2.fixed.$l.gz; done\n"
                    "tar -czf ../training-parallel-europarl-v7.tgz training/europarl*\n"
                    "tar -czf ../training-parallel-commoncrawl.tgz ./commoncrawl*\n"
                    "tar -czf ../training-parallel-nc-v9.tgz training/news*\n"
                    "tar -czf ../training-parallel-un.tgz un\n"
                    "tar -cf ../training-giga-fren.tar giga-fren.release2*\n"
                    "tar -czf ../dev.tgz dev && cd .. && rm -r x",
                    other),
        0);
}

static const char *const others[] = {"de", "fr"};

START_TEST(texts_are_joined_in_their_order)
{
    static const char *const train[] = {
        "europarl-v7 1 en\neuroparl-v7 2 en\ncommoncrawl 1 en\ncommoncrawl 2 en\nnews-commentary-v9 1 en\n"
        "news-commentary-v9 2 en\n",
        "news-commentary-v9 2 en\nundoc.2000 1 en\nundoc.2000 2 en\ngiga-fren 1 en\ngiga-fren 2 en\n"};
    const char *o = others[_i];
    fixture_open();
    make_archives(o);
    expect_run(0, _i ? "train.en, train.fr: 10 pairs" : "train.en, train.de: 6 pairs", "data/join wmt14-en-%s", o);
    expect_run(0, train[_i], "cat data/wmt14-en-%s/train.en", o);
    expect_run(0, "", "cd data/wmt14-en-%s; sed 's/en$/%s/' train.en | cmp - train.%s", o, o, o);
    expect_run(0, "old 1 en\nold 2 en\n", "cat data/wmt14-en-%s/valid.en", o);
    expect_run(0, "new <b> 1 &amp; en ö\nnew <b> 2 &amp; en ö\nnew <b> 3", "cat data/wmt14-en-%s/test.en", o);
    expect_run(0, "", "cd data/wmt14-en-%s; sed 's/ en / %s /' test.en | cmp - test.%s && [ ! -e .join ]", o, o, o);
}

START_TEST(what_is_made_already_stays)
{
    fixture_open();
    make_archives("de");
    expect_run(0, "6 pairs", "data/join wmt14-en-de");
    expect_run(0, "mine", "echo mine >data/wmt14-en-de/train.en; data/join wmt14-en-de; cat data/wmt14-en-de/train.en");
    expect_run(0, "6 pairs", "rm data/wmt14-en-de/test.de; data/join wmt14-en-de");
}

START_TEST(what_is_not_as_published_makes_nothing)
{
    static const struct {
        const char *make, *words;
    } faults[] = {
        {"rm dev.tgz", "there is no data/wmt14-en-de/dev.tgz: data/fetch wmt14-en-de gets it"},
        {"head -c 100 dev.tgz >d; mv d dev.tgz", "dev.tgz cannot be read"},
        {"echo x >y; tar -czf training-parallel-nc-v9.tgz y", "holds none of: news-commentary-v9.de-en.en"},
        {"mkdir dev; for f in newstest2013.de newstest2014-deen-ref.de.sgm newstest2014-deen-src.en.sgm; do\n"
         "tar -xOf dev.tgz dev/$f >dev/$f; done; echo 1 >dev/newstest2013.en; tar -czf dev.tgz dev",
         "valid has 1 lines in en and 2 in de"},
        {"mkdir dev; for f in newstest2013.de newstest2013.en newstest2014-deen-src.en.sgm; do\n"
         "tar -xOf dev.tgz dev/$f >dev/$f; done; : >dev/newstest2014-deen-src.de.sgm; tar -czf dev.tgz dev",
         "test has 3 lines in en and 0 in de"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        fixture_open();
        make_archives("de");
        ck_assert_int_eq(fixture_run("cd data/wmt14-en-de; %s", faults[i].make), 0);
        expect_run(1, faults[i].words, "data/join wmt14-en-de");
        expect_run(0, "", "cd data/wmt14-en-de; for f in train valid test; do [ ! -e $f.en ] && [ ! -e $f.de ]; done");
        expect_run(0, "", "[ ! -e data/wmt14-en-de/.join ]");
    }
}

/* Fetching ends with it; other sets have nothing to be joined; and a file that another set has is not asked for. */
START_TEST(fetching_joins_and_shares)
{
    fixture_open();
    make_archives("de");
    ck_assert_int_eq(
        fixture_run(". data/common.sh; mv data/wmt14-en-de home; rm home/training-parallel-un.tgz home/*.tar\n"
                    "for f in home/*; do f=${f##*/}; for s in wmt14-en-de other; do\n"
                    "echo \"$s | $f | $(wc -c <home/$f) | sha256:$(digest sha256 <home/$f) | http://127.0.0.1:1/$f\"\n"
                    "done; done >data/sets"),
        0);
    expect_run(0, "data/wmt14-en-de/test.en, test.de: 3 pairs", "data/fetch wmt14-en-de home");
    expect_run(0, "is the same file", "data/fetch other");
    expect_run(0, "", "cmp home/dev.tgz data/other/dev.tgz && [ ! -e data/other/train.en ]");
    expect_run(1, "could not be fetched", "rm -r data/other; echo >>data/wmt14-en-de/dev.tgz; data/fetch other");
    ck_assert(!fixture_has("data/other/dev.tgz") && fixture_has("data/other/training-parallel-nc-v9.tgz"));
}

START_TEST(wrong_usage_is_told)
{
    fixture_open();
    expect_run(2, "usage: data/join SET", "data/join");
    expect_run(0, "", "data/join multi30k");
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(texts_are_joined_in_their_order, 2), TEST(what_is_made_already_stays),
                                 TEST(what_is_not_as_published_makes_nothing), TEST(fetching_joins_and_shares),
                                 TEST(wrong_usage_is_told)};
    return suite_run("data/join", tests, sizeof tests / sizeof *tests, argc, argv);
}
