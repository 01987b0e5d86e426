// SPDX-License-Identifier: MIT
#include "language.h"

#include <ctype.h>

/* ---- words ---- */

static const char *at; /* the rest of the script */
static int line_number;
enum token token;
int token_line;
char token_text[512];

void begin_script(const char *text)
{
    at = text;
    line_number = 1;
    advance();
}

void advance(void)
{
    size_t length = 0;

    for (;; at++) {
        if (*at == '#')
            at += strcspn(at, "\n");
        if (*at == '\n')
            line_number++;
        if (!*at || !isspace((unsigned char)*at))
            break;
    }
    token_line = line_number;
    if (!*at) {
        token = END;
        strcpy(token_text, "end of file");
        return;
    }
    if (*at == '"') {
        length = strcspn(++at, "\"\n");
        if (at[length] != '"')
            fail_at(token_line, "a quote is not closed; close it on the same line");
        token = TEXT;
    } else if (strchr("{}=,()", *at)) {
        length = 1;
        token = SIGN;
    } else {
        length = strcspn(at, " \t\r\n{}=,()\"#");
        token = WORD;
    }
    if (length >= sizeof token_text)
        fail_at(token_line, "a word of %zu characters; %zu are allowed", length, sizeof token_text - 1);
    memcpy(token_text, at, length);
    token_text[length] = 0;
    at += length + (token == TEXT);
}

bool next_is(const char *text)
{
    return token != TEXT && token != END && strcmp(token_text, text) == 0;
}

bool accept_word(const char *text)
{
    if (!next_is(text))
        return false;
    advance();
    return true;
}

void expect_word(const char *text)
{
    if (!accept_word(text))
        fail_at(token_line, "'%s' where '%s' belongs", token_text, text);
}

/* ---- values and variables ---- */

struct named *names;

struct named *find_name(const char *name)
{
    struct named *named = names;

    while (named && strcmp(named->name, name))
        named = named->next;
    return named;
}

struct value plain_value(const char *text)
{
    struct value value = {.kind = STRING};
    char *end;

    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        value.kind = TRUTH;
        value.number = *text == 't';
    } else if (isdigit((unsigned char)*text)) {
        errno = 0;
        value.number = strtoull(text, &end, 10);
        unsigned shift = *end == 'k' ? 10 : *end == 'm' ? 20 : *end == 'g' ? 30 : 0;

        if (!end[shift != 0] && !errno && value.number <= (1ULL << 46) >> shift) {
            value.kind = NUMBER;
            value.number <<= shift;
        }
    }
    if (value.kind == STRING)
        value.string = copy_string(text);
    return value;
}

/* A decimal number as a multiple of 1/unit, exact to the places that unit has. */
static uint64_t decimal(const char *text, uint64_t unit)
{
    uint64_t value = 0, part = unit;
    const char *start = text;

    for (; isdigit((unsigned char)*text) && value < 1ULL << 42; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    value *= unit;
    if (*text == '.') {
        uint64_t numerator = 0, denominator = 1;

        for (text++; isdigit((unsigned char)*text) && denominator < 1000000; text++, denominator *= 10)
            numerator = numerator * 10 + (uint64_t)(*text - '0');
        value += numerator * part / denominator;
    }
    if (*text || text == start)
        fail_at(token_line, "'%s' is not a number below 2^42 with at most 6 decimal places", start);
    return value;
}

struct value scalar(void)
{
    struct value value;

    if (token == TEXT) {
        value = (struct value){.kind = STRING, .string = copy_string(token_text)};
    } else if (token != WORD) {
        fail_at(token_line, "'%s' where a value belongs", token_text);
    } else if (*token_text == '$') {
        struct named *named = find_name(token_text + 1);

        if (!named || named->value.kind == NOTHING)
            fail_at(token_line, "%s has no value; set it above this line", token_text);
        named->used = true;
        value = named->value;
    } else {
        value = plain_value(token_text);
    }
    advance();
    return value;
}

struct value random_variable(void)
{
    struct variable *variable = allocate(1, sizeof *variable);
    char type[sizeof token_text] = "", parameters[sizeof token_text] = "";
    int line = token_line;

    variable->max_q16 = UINT64_MAX;
    expect_word("(");
    do {
        char name[sizeof token_text];

        strcpy(name, token_text);
        advance();
        expect_word("=");
        if (strcmp(name, "type") == 0)
            strcpy(type, token_text);
        else if (strcmp(name, "parameters") == 0)
            strcpy(parameters, token_text);
        else if (strcmp(name, "min") == 0)
            variable->min_q16 = decimal(token_text, Q16);
        else if (strcmp(name, "max") == 0)
            variable->max_q16 = decimal(token_text, Q16);
        else
            fail_at(token_line, "'%s' of a cvar is not supported; type, parameters, min and max are", name);
        advance();
    } while (accept_word(","));
    expect_word(")");

    variable->is_gamma = strcmp(type, "cvar-gamma") == 0;
    if (!variable->is_gamma && strcmp(type, "cvar-uniform"))
        fail_at(line, "the cvar type '%s' is not supported; cvar-gamma and cvar-uniform are", type);
    char *rest = NULL;

    for (char *pair = strtok_r(parameters, ";", &rest); pair; pair = strtok_r(NULL, ";", &rest)) {
        char *colon = strchr(pair, ':');

        if (!colon)
            fail_at(line, "'%s' is not a parameter; they are NAME:NUMBER;NAME:NUMBER", pair);
        *colon = 0;
        if (variable->is_gamma && strcmp(pair, "mean") == 0)
            variable->mean_q16 = decimal(colon + 1, Q16);
        else if (variable->is_gamma && strcmp(pair, "gamma") == 0)
            variable->shape_milli = decimal(colon + 1, 1000);
        else if (!variable->is_gamma && strcmp(pair, "lower") == 0)
            variable->lower_q16 = decimal(colon + 1, Q16);
        else if (!variable->is_gamma && strcmp(pair, "upper") == 0)
            variable->upper_q16 = decimal(colon + 1, Q16);
        else
            fail_at(line, "'%s' is no parameter of %s that is supported", pair, type);
    }
    if (variable->is_gamma && (!variable->shape_milli || variable->shape_milli % 500 || variable->shape_milli > 50000))
        fail_at(line, "a gamma of 0.5, 1, 1.5, ... 50 is supported, no other");
    if (variable->lower_q16 > variable->upper_q16)
        fail_at(line, "lower is above upper");
    return (struct value){.kind = RANDOM, .variable = variable};
}

/* ---- attributes ---- */

struct attributes read_attributes(const char *of)
{
    struct attributes attributes = {.of = of, .line = token_line};

    do {
        if (token != WORD || strlen(token_text) >= sizeof attributes.list[0].name)
            fail_at(token_line, "'%s' where an attribute of %s belongs", token_text, of);
        if (attributes.count == 24)
            fail_at(token_line, "%s has more than 24 attributes", of);
        struct attribute *attribute = &attributes.list[attributes.count++];

        strcpy(attribute->name, token_text);
        attribute->line = token_line;
        advance();
        if (accept_word("="))
            attribute->value = scalar();
    } while (accept_word(","));
    return attributes;
}

struct attribute *find_attribute(struct attributes *attributes, const char *name)
{
    for (int i = 0; i < attributes->count; i++)
        if (strcmp(attributes->list[i].name, name) == 0) {
            attributes->list[i].used = true;
            return &attributes->list[i];
        }
    return NULL;
}

static void __attribute__((noreturn)) wrong_kind(const struct attribute *attribute, const char *wanted)
{
    fail_at(attribute->line, "%s must be %s", attribute->name, wanted);
}

uint64_t number_of(struct attributes *attributes, const char *name, uint64_t otherwise)
{
    struct attribute *attribute = find_attribute(attributes, name);

    if (!attribute)
        return otherwise;
    if (attribute->value.kind != NUMBER)
        wrong_kind(attribute, "a number: digits, and k, m or g behind them");
    return attribute->value.number;
}

bool truth_of(struct attributes *attributes, const char *name)
{
    struct attribute *attribute = find_attribute(attributes, name);

    if (!attribute)
        return false;
    if (attribute->value.kind == NOTHING)
        return true;
    if (attribute->value.kind != TRUTH)
        wrong_kind(attribute, "true or false");
    return attribute->value.number;
}

char *string_of(struct attributes *attributes, const char *name)
{
    struct attribute *attribute = find_attribute(attributes, name);

    if (!attribute)
        return NULL;
    if (attribute->value.kind != STRING)
        wrong_kind(attribute, "a name");
    return attribute->value.string;
}

struct value amount_of(struct attributes *attributes, const char *name)
{
    struct attribute *attribute = find_attribute(attributes, name);

    if (!attribute)
        return (struct value){.kind = NOTHING};
    if (attribute->value.kind != NUMBER && attribute->value.kind != RANDOM)
        wrong_kind(attribute, "a number or a random variable");
    return attribute->value;
}

uint64_t bounded(struct attributes *attributes, const char *name, uint64_t otherwise, uint64_t low,
                        uint64_t high)
{
    uint64_t number = number_of(attributes, name, otherwise);

    if (number < low || number > high)
        fail_at(attributes->line, "%s of %s is %" PRIu64 "; it can be %" PRIu64 " to %" PRIu64, name, attributes->of,
                number, low, high);
    return number;
}

void all_used(const struct attributes *attributes)
{
    for (int i = 0; i < attributes->count; i++)
        if (!attributes->list[i].used)
            fail_at(attributes->list[i].line,
                    "the attribute '%s' of %s is not supported; README.md lists those that are",
                    attributes->list[i].name, attributes->of);
}
