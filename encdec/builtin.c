/* See builtin.h. A sentence is drawn as a plan, which is then said twice:
 *
 *     the old woman knows that some dogs want to see a green tree today .
 *     die alte Frau weiß , dass einige Hunde heute einen grünen Baum sehen wollen .
 *
 * The German side is what makes it a task for a network that looks at everything: articles and adjectives agree with a
 * noun's gender, number and case, which stand elsewhere or nowhere in the English; verbs come last in a clause that
 * depends on another, and second after an adverb in front. */
#include "encdec/builtin.h"

#include "base/philox.h"
#include "core/tensor/sites.h"

#include <stdint.h>

enum { SEED = 1, SITE_BUILTIN = SITE_DATA + 0x200 };

#define COUNT(list) (sizeof(list) / sizeof *(list))

typedef enum Gender { MASCULINE, FEMININE, NEUTER, PLURAL, GENDERS } Gender; /* all genders share one plural */
typedef enum Case { NOMINATIVE, ACCUSATIVE } Case;
typedef enum Article { THE, A, ARTICLES } Article;

typedef struct Noun {
    const char *one, *many; /* English */
    const char *ein, *viele;
    Gender gender;
} Noun;

static const Noun nouns[] = {
    {"dog", "dogs", "Hund", "Hunde", MASCULINE},           {"man", "men", "Mann", "Männer", MASCULINE},
    {"tree", "trees", "Baum", "Bäume", MASCULINE},         {"teacher", "teachers", "Lehrer", "Lehrer", MASCULINE},
    {"friend", "friends", "Freund", "Freunde", MASCULINE}, {"woman", "women", "Frau", "Frauen", FEMININE},
    {"cat", "cats", "Katze", "Katzen", FEMININE},          {"town", "towns", "Stadt", "Städte", FEMININE},
    {"flower", "flowers", "Blume", "Blumen", FEMININE},    {"sister", "sisters", "Schwester", "Schwestern", FEMININE},
    {"child", "children", "Kind", "Kinder", NEUTER},       {"horse", "horses", "Pferd", "Pferde", NEUTER},
    {"house", "houses", "Haus", "Häuser", NEUTER},         {"girl", "girls", "Mädchen", "Mädchen", NEUTER},
    {"picture", "pictures", "Bild", "Bilder", NEUTER}};

static const char *const adjectives[][2] = {{"small", "klein"}, {"big", "groß"},   {"old", "alt"},
                                            {"young", "jung"},  {"green", "grün"}, {"beautiful", "schön"},
                                            {"new", "neu"},     {"quiet", "still"}};

/* Nominative and accusative of each gender. */
static const char *const articles[ARTICLES][2][GENDERS] = {
    {{"der", "die", "das", "die"}, {"den", "die", "das", "die"}},
    {{"ein", "eine", "ein", "einige"}, {"einen", "eine", "ein", "einige"}}};
static const char *const endings[ARTICLES][2][GENDERS] = {{{"e", "e", "e", "en"}, {"en", "e", "e", "en"}},
                                                          {{"er", "e", "es", "e"}, {"en", "e", "es", "e"}}};

typedef struct Verb {
    const char *one, *many; /* English: she sees, they see */
    const char *ein, *viele;
} Verb;

static const Verb of_object[] = {{"sees", "see", "sieht", "sehen"},         {"likes", "like", "mag", "mögen"},
                                 {"draws", "draw", "zeichnet", "zeichnen"}, {"finds", "find", "findet", "finden"},
                                 {"hears", "hear", "hört", "hören"},        {"loves", "love", "liebt", "lieben"},
                                 {"knows", "know", "kennt", "kennen"},      {"paints", "paint", "malt", "malen"}};
static const Verb alone[] = {{"sleeps", "sleep", "schläft", "schlafen"},
                             {"laughs", "laugh", "lacht", "lachen"},
                             {"waits", "wait", "wartet", "warten"},
                             {"sings", "sing", "singt", "singen"}};
static const Verb of_clause[] = {{"says", "say", "sagt", "sagen"},
                                 {"knows", "know", "weiß", "wissen"},
                                 {"thinks", "think", "denkt", "denken"},
                                 {"hopes", "hope", "hofft", "hoffen"}};
static const Verb modals[] = {
    {"wants to", "want to", "will", "wollen"}, {"can", "can", "kann", "können"}, {"must", "must", "muss", "müssen"}};
static const char *const adverbs[][2] = {{"today", "heute"}, {"now", "jetzt"}, {"here", "hier"}, {"often", "oft"}};

/* --- a plan --- */

/* The numbers that a sentence is made of, one after the other. */
typedef struct Dice {
    uint32_t sentence;
    uint64_t thrown;
} Dice;

static size_t throw(Dice * d, size_t sides)
{
    return (size_t)philox_below(sides, SEED, d->sentence, d->thrown++, SITE_BUILTIN);
}

typedef struct Thing {
    const Noun *noun;
    const char *const *adjective; /* NULL: none */
    Article article;
    bool many;
} Thing;

typedef struct Clause {
    Thing subject, object;
    const Verb *verb, *modal;  /* modal NULL: none */
    const char *const *adverb; /* NULL: none */
    bool has_object, adverb_first;
} Clause;

static Thing draw_thing(Dice *d)
{
    Thing t = {
        .noun = &nouns[throw(d, COUNT(nouns))], .article = (Article) throw(d, ARTICLES), .many = throw(d, 3) == 0};
    t.adjective = throw(d, 2) ? adjectives[throw(d, COUNT(adjectives))] : NULL;
    return t;
}

static Clause draw_clause(Dice *d)
{
    Clause c = {.subject = draw_thing(d), .object = draw_thing(d), .has_object = throw(d, 4) > 0};
    c.verb = c.has_object ? &of_object[throw(d, COUNT(of_object))] : &alone[throw(d, COUNT(alone))];
    c.modal = throw(d, 3) == 0 ? &modals[throw(d, COUNT(modals))] : NULL;
    c.adverb = throw(d, 3) == 0 ? adverbs[throw(d, COUNT(adverbs))] : NULL;
    c.adverb_first = throw(d, 2);
    return c;
}

/* --- in English --- */

static void english_thing(Buffer *b, const Thing *t)
{
    static const char *const words[ARTICLES][2] = {{"the", "the"}, {"a", "some"}};
    const char *article = words[t->article][t->many], *adjective = t->adjective ? t->adjective[0] : "";
    if (t->article == A && !t->many && *adjective == 'o')
        article = "an";
    buffer_print(b, "%s %s%s%s ", article, adjective, t->adjective ? " " : "", t->many ? t->noun->many : t->noun->one);
}

static void english_verb(Buffer *b, const Clause *c)
{
    bool many = c->subject.many;
    if (c->modal)
        buffer_print(b, "%s %s ", many ? c->modal->many : c->modal->one, c->verb->many);
    else
        buffer_print(b, "%s ", many ? c->verb->many : c->verb->one);
}

static void english_clause(Buffer *b, const Clause *c, bool depends)
{
    bool first = c->adverb && c->adverb_first && !depends;
    if (first)
        buffer_print(b, "%s ", c->adverb[0]);
    english_thing(b, &c->subject);
    english_verb(b, c);
    if (c->has_object)
        english_thing(b, &c->object);
    if (c->adverb && !first)
        buffer_print(b, "%s ", c->adverb[0]);
}

/* --- in German --- */

static void german_thing(Buffer *b, const Thing *t, Case which)
{
    Gender gender = t->many ? PLURAL : t->noun->gender;
    buffer_print(b, "%s ", articles[t->article][which][gender]);
    if (t->adjective)
        buffer_print(b, "%s%s ", t->adjective[1], endings[t->article][which][gender]);
    buffer_print(b, "%s ", t->many ? t->noun->viele : t->noun->ein);
}

/* After the subject and the verb that agrees with it, or (in a clause that depends) with both verbs at the end. */
static void german_rest(Buffer *b, const Clause *c, bool adverb)
{
    if (adverb)
        buffer_print(b, "%s ", c->adverb[1]);
    if (c->has_object)
        german_thing(b, &c->object, ACCUSATIVE);
    if (c->modal)
        buffer_print(b, "%s ", c->verb->viele); /* which is the infinitive */
}

static void german_clause(Buffer *b, const Clause *c, bool depends)
{
    const Verb *agreeing = c->modal ? c->modal : c->verb;
    const char *verb = c->subject.many ? agreeing->viele : agreeing->ein;
    bool first = c->adverb && c->adverb_first && !depends;
    if (first)
        buffer_print(b, "%s %s ", c->adverb[1], verb);
    german_thing(b, &c->subject, NOMINATIVE);
    if (!first && !depends)
        buffer_print(b, "%s ", verb);
    german_rest(b, c, c->adverb && !first);
    if (depends)
        buffer_print(b, "%s ", verb);
}

/* --- sentences --- */

/* "the dog that sees a cat sleeps ." */
static void relative(Buffer *english, Buffer *german, const Clause *about, const Clause *main)
{
    const Thing *who = &about->subject;
    const Verb *agreeing = about->modal ? about->modal : about->verb, *then = main->verb;
    english_thing(english, who);
    buffer_print(english, "that ");
    english_verb(english, about);
    if (about->has_object)
        english_thing(english, &about->object);
    buffer_print(english, "%s ", who->many ? then->many : then->one);
    german_thing(german, who, NOMINATIVE);
    buffer_print(german, ", %s ", articles[THE][NOMINATIVE][who->many ? PLURAL : who->noun->gender]);
    german_rest(german, about, false);
    buffer_print(german, "%s , %s ", who->many ? agreeing->viele : agreeing->ein, who->many ? then->viele : then->ein);
}

static void reported(Buffer *english, Buffer *german, const Thing *who, const Verb *verb, const Clause *c)
{
    english_thing(english, who);
    buffer_print(english, "%s that ", who->many ? verb->many : verb->one);
    english_clause(english, c, true);
    german_thing(german, who, NOMINATIVE);
    buffer_print(german, "%s , dass ", who->many ? verb->viele : verb->ein);
    german_clause(german, c, true);
}

void builtin_pair(Buffer *english, Buffer *german, size_t i)
{
    Dice d = {.sentence = (uint32_t)i};
    Clause c = draw_clause(&d), other = draw_clause(&d);
    switch (throw(&d, 5)) {
    case 0: reported(english, german, &other.subject, &of_clause[throw(&d, COUNT(of_clause))], &c); break;
    case 1:
        english_clause(english, &other, false);
        buffer_print(english, "because ");
        english_clause(english, &c, true);
        german_clause(german, &other, false);
        buffer_print(german, ", weil ");
        german_clause(german, &c, true);
        break;
    case 2:
        other.verb = &alone[throw(&d, COUNT(alone))];
        relative(english, german, &c, &other);
        break;
    default: english_clause(english, &c, false); german_clause(german, &c, false);
    }
    buffer_print(english, ".");
    buffer_print(german, ".");
}
