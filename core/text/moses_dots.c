/* Words that keep the dot after them, for moses_tokenise. Words with a dot inside (z.B., U.S.) need no list: each of
 * them keeps its last one.
 *
 * Which words these are is the Moses toolkit's choice: scripts/share/nonbreaking_prefixes/nonbreaking_prefix.{en,de,fr}
 * of github.com/moses-smt/mosesdecoder, which sacremoses brings along. Another choice would be other tokens than those
 * that BLEU is published for. Here they are sorted, and what several lists share, initials and Roman numbers are rules;
 * tests/fixtures/moses-dots.json holds what sacremoses makes of each. See NOTICE. */
#include "core/text/moses_inner.h"

#include <string.h>

/* In English, and in German: titles and what else stands before or after a name. */
static const char *const titles[] = {"Adj",  "Adm",   "Adv",  "Asst", "Bart", "Bldg",   "Brig", "Bros", "Capt", "Cmdr",
                                     "Col",  "Comdr", "Con",  "Corp", "Cpl",  "DR",     "Dr",   "Ens",  "Gen",  "Gov",
                                     "Hon",  "Hosp",  "Insp", "Lt",   "Maj",  "Messrs", "Mlle", "MM",   "Mme",  "MR",
                                     "Mr",   "MRS",   "Mrs",  "MS",   "Ms",   "Msgr",   "Nos",  "Nr",   "Op",   "Ord",
                                     "Pfc",  "Ph",    "Prof", "Pvt",  "Rep",  "Reps",   "Res",  "Rev",  "Rt",   "Sen",
                                     "Sens", "Sfc",   "Sgt",  "Sr",   "St",   "Supt",   "Surg", "v",    "vs",   NULL};

static const char *const english[] = {"Drs", "Hr",  "rev", "Rs",  "Jan", "Feb", "Mar", "Apr",
                                      "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", NULL};
static const char *const english_before_digits[] = {"Art", "No", "pp", NULL};

static const char *const german[] = {"Art",   "BSE", "Buchst", "bzgl", "bzw",  "ca", "Ca",  "Chr", "Co",
                                     "dergl", "dgl", "Dkr",    "etc",  "evtl", "ff", "ggf", "jun", "Ltd",
                                     "Mio",   "Mrd", "MwSt",   "No",   "pp",   "SA", "sen", "sog", "sogen",
                                     "spp",   "Std", "usf",    "usw",  "vgl",  "Zt", "zzt", NULL};

static const char *const french[] = {
    "al",  "ann",       "apr", "art",  "auj", "av",    "boul",       "ca",  "cf",  "chap", "contr",
    "dir", "\303\251d", "env", "etc",  "ex",  "fasc",  "f\303\251m", "fig", "fr",  "hab",  "ibid",
    "id",  "inf",       "lib", "masc", "MM",  "ms",    "pl",         "pp",  "sec", "sect", "sing",
    "sq",  "sqq",       "SS",  "suiv", "sup", "suppl", "t\303\251l", "vb",  "vol", "vs",   NULL};

/* Up to twenty, without those of one letter. In German an ordinal number has a dot: Heinrich VIII. */
static const char *const romans[] = {"ii",   "iii", "iv", "vi",  "vii",  "viii",  "ix",  "xi", "xii",
                                     "xiii", "xiv", "xv", "xvi", "xvii", "xviii", "xix", "xx", NULL};

static const char *const none[] = {NULL};
static const char *const *const always[] = {english, german, french};
static const char *const *const before_numbers[] = {english_before_digits, none, none};

static bool is_in(const char *const *list, const char *word, size_t size)
{
    for (; *list; list++)
        if (strlen(*list) == size && !memcmp(*list, word, size))
            return true;
    return false;
}

/* A single letter, as of a first name. Small ones are no words in German, and in French only `a` is one. */
static bool is_initial(MosesLanguage language, const char *word, size_t size)
{
    char first = language == MOSES_FRENCH ? 'b' : 'a';
    bool capital = size == 1 && *word >= 'A' && *word <= 'Z', small = size == 1 && *word >= first && *word <= 'z';
    return capital || (small && language != MOSES_ENGLISH);
}

/* In capitals alone or in small letters alone. */
static bool is_roman(const char *word, size_t size)
{
    enum { LONGEST = 5, CASES = 'a' - 'A' }; /* xviii */
    char small[LONGEST];
    if (!size || size > LONGEST)
        return false;
    bool capital = *word >= 'A' && *word <= 'Z';
    for (size_t i = 0; i < size; i++)
        small[i] = (char)(word[i] + (capital ? CASES : 0));
    return is_in(romans, small, size);
}

/* 1. to 99., I. to XX. and i. to xx. */
static bool is_ordinal(const char *word, size_t size)
{
    bool number = size && size <= 2 && *word >= '1' && *word <= '9' &&
                  (size == 1 || (word[1] >= '0' && word[1] <= '9'));
    return number || is_roman(word, size);
}

bool moses_keeps_dot(MosesLanguage language, const char *word, size_t size, bool *before_digits)
{
    *before_digits = is_in(before_numbers[language], word, size);
    return *before_digits || is_initial(language, word, size) || (language == MOSES_GERMAN && is_ordinal(word, size)) ||
           is_in(always[language], word, size) || (language != MOSES_FRENCH && is_in(titles, word, size));
}
