/* JSON as far as configurations, results and safetensors headers need it: read into a tree, written with helpers on a
 * Buffer. Strict: no comments, no trailing commas, nothing after the value, no key twice, nesting at most 64. */
#ifndef CORE_RUN_JSON_H
#define CORE_RUN_JSON_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum JsonKind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } JsonKind;

typedef struct Json Json;
struct Json {
    JsonKind kind;
    bool truth;    /* of a bool */
    double number; /* of a number */
    char *text;    /* a string's bytes, or a number as it was written; closed by a zero byte */
    size_t size;   /* of text (a string may hold zero bytes) */
    char *key;     /* when this is a member of an object */
    Json *items;   /* of an array or an object, in the order of the file */
    size_t count;
};

/* `what` names the text in errors: a path, say. */
bool json_read(Json **json, const char *text, size_t size, const char *what, Error *e);
void json_free(Json *json);

/* The member of an object; NULL when there is none, or j is NULL or no object. */
const Json *json_get(const Json *j, const char *key);

/* The member of an object that is a string; NULL when there is none. */
const char *json_get_text(const Json *j, const char *key);

/* A whole number, exactly; false when j is NULL, no number, not whole or too large. */
bool json_integer(const Json *j, int64_t *value);

/* "key": with the comma before it where one is needed; only the comma when key is NULL (in an array). */
void json_add_key(Buffer *b, const char *key);

/* The same, and [ or {. */
void json_open(Buffer *b, const char *key, char bracket);

/* Quoted and escaped. Always valid UTF-8: other bytes become U+FFFD. */
void json_add_string(Buffer *b, const char *text);
void json_add_bytes(Buffer *b, const char *bytes, size_t size);

/* "key": value, with a comma before it where one is needed. */
void json_add_member(Buffer *b, const char *key, double x);
void json_add_text(Buffer *b, const char *key, const char *text);

/* Prints these members as an object, a line on standard output, and frees them; false where memory ran out. */
bool json_print_members(Buffer *members, Error *e);

/* The shortest form that reads back as the same number; null when it is not finite. */
void json_add_number(Buffer *b, double x);

#endif
