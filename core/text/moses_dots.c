/* Words that keep the dot behind them, for moses_tokenise. Words with a dot inside (z.B., U.S.) need no list: each of
 * them keeps its last one. */
#include "core/text/moses_inner.h"

#include <string.h>

/* In English, and in German: titles and what else stands before or behind a name. */
static const char *const titles[] = {
    "Adj",    "Adm",  "Adv", "Asst", "Bart", "Bldg", "Brig", "Bros", "Capt", "Cmdr", "Col",  "Comdr", "Con",
    "Corp",   "Cpl",  "DR",  "Dr",   "Ens",  "Gen",  "Gov",  "Hon",  "Hosp", "Hr",   "Insp", "Lt",    "Maj",
    "Messrs", "Mlle", "MM",  "Mme",  "MR",   "Mr",   "MRS",  "Mrs",  "MS",   "Ms",   "Msgr", "Nos",   "Nr",
    "Op",     "Ord",  "Pfc", "Ph",   "Prof", "Pvt",  "Rep",  "Reps", "Res",  "Rev",  "Rt",   "Sen",   "Sens",
    "Sfc",    "Sgt",  "Sr",  "St",   "Supt", "Surg", "v",    "vs",   NULL};

static const char *const english[] = {"Drs", "rev", "Jan", "Feb", "Mar", "Apr", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", NULL};
static const char *const english_before_digits[] = {"Art", "No", "pp", NULL};

static const char *const german[] = {
    "Art",  "Buchst", "bzgl", "bzw",  "ca",  "Ca",  "Chr", "Co",   "dergl", "dgl",  "Dkr", "etc", "evtl",
    "Evtl", "ff",     "Fr",   "ggf",  "Hrn", "jun", "Ltd", "Mio",  "Mrd",   "MwSt", "No",  "SA",  "sen",
    "sog",  "spp",    "Std",  "usf",  "usw", "vgl", "zzt", "II",   "III",   "IV",   "VI",  "VII", "VIII",
    "IX",   "XI",     "XII",  "XIII", "XIV", "XV",  "XVI", "XVII", "XVIII", "XIX",  "XX",  NULL};

static const char *const french[] = {
    "al",  "ann",       "apr",  "art",  "auj",   "av",         "boul",       "ca",  "cf",  "chap", "contr",
    "dir", "\303\251d", "env",  "etc",  "ex",    "fasc",       "f\303\251m", "fig", "fr",  "hab",  "ibid",
    "id",  "inf",       "lib",  "masc", "MM",    "ms",         "pl",         "pp",  "sec", "sect", "sing",
    "sq",  "sqq",       "suiv", "sup",  "suppl", "t\303\251l", "vb",         "vol", "vs",  NULL};

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

/* In German an ordinal number has a dot: 1. to 99. */
static bool is_ordinal(MosesLanguage language, const char *word, size_t size)
{
    return language == MOSES_GERMAN && size && size <= 2 && *word >= '1' && *word <= '9' &&
           (size == 1 || (word[1] >= '0' && word[1] <= '9'));
}

bool moses_keeps_dot(MosesLanguage language, const char *word, size_t size, bool *before_digits)
{
    *before_digits = is_in(before_numbers[language], word, size);
    return *before_digits || is_initial(language, word, size) || is_ordinal(language, word, size) ||
           is_in(always[language], word, size) || (language != MOSES_FRENCH && is_in(titles, word, size));
}
