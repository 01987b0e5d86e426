// SPDX-License-Identifier: MIT
/*
 * The command line of our programs, from a table:
 *
 *     static struct option_rule rules[] = {
 *         {.name = "--dir", .text = &dir, .value = "DIR", .required = true},
 *         {.name = "--seed", .number = &seed, .low = 1, .required = true},
 *         {.name = "--scale", .scale = &scale},
 *         {.name = "--order", .choice = &order, .choices = orders},
 *         {.name = "--print", .flag = &print},
 *         {.name = NULL},
 *     };
 *
 *     parse_options(argv, rules);
 *
 * What is wrong ends the program with one line that names the option and says
 * what to give, and with status 2, before anything has been done.  An option
 * that comes twice has its last value.  --help prints the usage, made from the
 * table.
 */
#ifndef SPINDLE_OPTIONS_H
#define SPINDLE_OPTIONS_H

#include <stdbool.h>

#include "program.h"

#define SCALE_ONE 1000000u      /* the scale is kept in millionths: no floating point */
#define OPTIONS_TEXT 2048       /* room for the usage of a program */

/* One option. Which of the six pointers is set decides what its value is; with .flag it has none. */
struct option_rule {
    const char *name;           /* with its dashes; NULL ends the table */
    bool *flag;
    const char **text;          /* any text but an empty one */
    uint64_t *number;           /* a whole number from .low to .high */
    uint32_t *scale;            /* a decimal in (0, 1], in millionths */
    int *choice;                /* index of a word of .choices */
    void (*take)(const char *name, const char *value);  /* called for each time that the option comes */
    uint64_t low, high;         /* .high 0: no bound */
    const char *const *choices; /* NULL ends the list */
    const char *value;          /* of a text, or for .take: what the usage calls the value */
    bool required;
    bool given;                 /* set by parse_options() */
};

/* ---- values ----------------------------------------------------------------- */

/* The whole number TEXT, from LOW to HIGH: digits and nothing else. */
static inline uint64_t parse_number(const char *name, const char *text, uint64_t low, uint64_t high)
{
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < low || value > high)
        die_usage("%s %s: give a whole number from %" PRIu64 " to %" PRIu64, name, text, low, high);
    return value;
}

/* The decimal TEXT in (0, 1], in millionths. */
static inline uint32_t parse_scale(const char *name, const char *text)
{
    const char *at = text;
    uint32_t whole = 0, part = 0, unit = SCALE_ONE;

    while (*at >= '0' && *at <= '9' && whole <= 1)
        whole = whole * 10 + (uint32_t)(*at++ - '0');
    if (at > text && *at == '.')
        for (at++; *at >= '0' && *at <= '9' && unit > 1; at++)
            part += (uint32_t)(*at - '0') * (unit /= 10);
    if (at == text || *at != '\0' || whole > 1 || whole * SCALE_ONE + part > SCALE_ONE || whole + part == 0)
        die_usage("%s %s: give a decimal above 0 and up to 1, with at most 6 digits behind the point", name, text);
    return whole * SCALE_ONE + part;
}

/* COUNT times the scale, to the nearest whole number, but at least LEAST. */
static inline uint64_t scaled(uint64_t count, uint32_t scale, uint64_t least)
{
    uint64_t value = (count * scale + SCALE_ONE / 2) / SCALE_ONE;

    return value > least ? value : least;
}

/* ---- texts made from the table ------------------------------------------------ */

static inline void option_append(char *text, const char *more)
{
    strncat(text, more, OPTIONS_TEXT - 1 - strlen(text));
}

/* Appends the option as one writes it: "--seed N", "--op read|write". */
static inline void option_append_form(char *text, const struct option_rule *rule)
{
    option_append(text, rule->name);
    if (rule->flag != NULL)
        return;
    option_append(text, " ");
    if (rule->choice != NULL)
        for (size_t i = 0; rule->choices[i] != NULL; i++) {
            option_append(text, i > 0 ? "|" : "");
            option_append(text, rule->choices[i]);
        }
    else
        option_append(text, rule->number != NULL ? "N" : rule->scale != NULL ? "S" : rule->value);
}

static inline void __attribute__((noreturn)) option_help(const struct option_rule *rules)
{
    char text[OPTIONS_TEXT] = "";

    for (const struct option_rule *rule = rules; rule->name != NULL; rule++) {
        option_append(text, rule->required ? " " : " [");
        option_append_form(text, rule);
        option_append(text, rule->required ? "" : "]");
    }
    printf("usage: " PROGRAM "%s\n", text);
    exit(fflush(stdout) == 0 ? 0 : STATUS_FAILED);
}

static inline void __attribute__((noreturn)) option_unknown(const struct option_rule *rules, const char *word)
{
    char text[OPTIONS_TEXT] = "";

    for (const struct option_rule *rule = rules; rule->name != NULL; rule++) {
        option_append(text, rule->name);
        option_append(text, rule[1].name != NULL ? ", " : "");
    }
    die_usage("%s is no option; there are %s; --help shows what each takes", word, text);
}

static inline void __attribute__((noreturn)) option_lacks_value(const struct option_rule *rule)
{
    char text[OPTIONS_TEXT] = "";

    option_append_form(text, rule);
    die_usage("%s needs a value; give %s", rule->name, text);
}

static inline void options_require(const struct option_rule *rules)
{
    char text[OPTIONS_TEXT] = "";

    for (const struct option_rule *rule = rules; rule->name != NULL; rule++)
        if (rule->required && !rule->given) {
            option_append(text, " ");
            option_append_form(text, rule);
        }
    if (*text != '\0')
        die_usage("the command line lacks%s; add what is missing", text);
}

/* ---- the parser ----------------------------------------------------------------- */

static inline int parse_choice(const struct option_rule *rule, const char *value)
{
    char text[OPTIONS_TEXT] = "";
    int i;

    for (i = 0; rule->choices[i] != NULL; i++) {
        if (strcmp(rule->choices[i], value) == 0)
            return i;
        option_append(text, i == 0 ? "" : rule->choices[i + 1] != NULL ? ", " : " or ");
        option_append(text, rule->choices[i]);
    }
    die_usage("%s %s: give %s", rule->name, value, text);
}

static inline void option_store(const struct option_rule *rule, const char *value)
{
    if (rule->text != NULL)
        *rule->text = value;
    else if (rule->number != NULL)
        *rule->number = parse_number(rule->name, value, rule->low, rule->high != 0 ? rule->high : UINT64_MAX);
    else if (rule->scale != NULL)
        *rule->scale = parse_scale(rule->name, value);
    else if (rule->choice != NULL)
        *rule->choice = parse_choice(rule, value);
    else
        rule->take(rule->name, value);
}

/* Reads the words behind the program's name. ARGV ends with NULL, as main() gets it. */
static inline void parse_options(char **argv, struct option_rule *rules)
{
    while (*++argv != NULL) {
        struct option_rule *rule = rules;

        if (strcmp(*argv, "--help") == 0)
            option_help(rules);
        while (rule->name != NULL && strcmp(rule->name, *argv) != 0)
            rule++;
        if (rule->name == NULL)
            option_unknown(rules, *argv);
        rule->given = true;
        if (rule->flag != NULL) {
            *rule->flag = true;
            continue;
        }
        /* Another option where a value belongs: the value was forgotten. */
        if (argv[1] == NULL || *argv[1] == '\0' || strncmp(argv[1], "--", 2) == 0)
            option_lacks_value(rule);
        option_store(rule, *++argv);
    }
    options_require(rules);
}

#endif
