/* See tokens.h. */
#include "encdec/tokens.h"

/* Entities and parted hyphens are left out: subwords are to be learned from the text, not from a way to write it. */
static Moses moses_of(const Tokens *t, size_t side) { return (Moses){.language = t->language[side]}; }

bool tokens_open(Tokens *t, TokensRule rule, const char *const language[SIDES_USED], Error *e)
{
    *t = (Tokens){.rule = rule};
    for (size_t side = 0; rule == TOKENS_MOSES && side < SIDES_USED; side++) {
        Error why;
        if (!moses_language(&t->language[side], language[side], &why))
            return fail(e, "%s; --tokens spaces splits words of any language at white space", why.text);
    }
    return true;
}

bool tokens_of_line(const Tokens *t, size_t side, Line line, Buffer *capacity, Line *words, Error *e)
{
    *words = line;
    if (t->rule == TOKENS_SPACES)
        return true;
    capacity->size = 0;
    if (!moses_tokenise(moses_of(t, side), line.text, line.size, capacity, e))
        return false;
    *words = (Line){capacity->text ? capacity->text : "", capacity->size};
    return true;
}

void tokens_join(const Tokens *t, size_t side, Line words, Buffer *text)
{
    Error e;
    if (t->rule == TOKENS_SPACES)
        buffer_add(text, words.text, words.size);
    else if (!moses_detokenise(moses_of(t, side), words.text, words.size, text, &e))
        text->failed = true;
}
