// SPDX-License-Identifier: MIT
/*
 * The words of the workload model language: tokens, values, variables and
 * lists of attributes.  What the words mean is in personality.c.
 */
#ifndef FILEBENCH_LANGUAGE_H
#define FILEBENCH_LANGUAGE_H

#include "model.h"

/* ---- words ---- */

enum token { END, WORD, TEXT, SIGN };

/* The word that the parser looks at. */
extern enum token token;
extern int token_line;
extern char token_text[512];

void begin_script(const char *text);
void advance(void);
bool next_is(const char *text);
bool accept_word(const char *text); /* steps over the word if it is the next one */
void expect_word(const char *text); /* steps over the word, which must be the next one */

/* ---- values and variables ---- */

struct named {
    struct named *next;
    char *name;
    struct value value;
    bool given; /* on the command line */
    bool used;
};

extern struct named *names;

struct named *find_name(const char *name);
struct value plain_value(const char *text);
struct value scalar(void);

/* cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5) or type=cvar-uniform,parameters=lower:1;upper:2 */
struct value random_variable(void);

/* ---- attributes ---- */

struct attribute {
    char name[32];
    int line;
    bool used;
    struct value value;
};

struct attributes {
    struct attribute list[24];
    int count, line;
    const char *of;
};

struct attributes read_attributes(const char *of);

/* Each of these marks the attribute as known. */
struct attribute *find_attribute(struct attributes *attributes, const char *name);
uint64_t number_of(struct attributes *attributes, const char *name, uint64_t otherwise);
bool truth_of(struct attributes *attributes, const char *name);
char *string_of(struct attributes *attributes, const char *name);

/* A number or a random variable; nothing if the attribute is not there. */
struct value amount_of(struct attributes *attributes, const char *name);

/* What takes room and is a positive number of things: files, threads. */
uint64_t bounded(struct attributes *attributes, const char *name, uint64_t otherwise, uint64_t low, uint64_t high);

/* Gives up at the first attribute that nobody asked for. */
void all_used(const struct attributes *attributes);

#endif
