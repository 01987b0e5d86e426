// SPDX-License-Identifier: MIT
/*
 * filebench: runs a personality in the subset of filebench's workload model
 * language that README.md lists.
 *
 *     filebench --dir DIR --personality NAME --seed N [--scale S] [--set VARIABLE=VALUE] ...
 *
 * In order: parse the personality, lay its filesets out in memory, create
 * them (phase create), run the threads (phase run), compare what the file
 * system holds with what was done.  All arithmetic is in integers, and every
 * thread draws from a generator of its own, so that the same seed draws the
 * same numbers everywhere.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "virtual_clock.h"

#define Q16 65536ULL /* values of random variables have 16 binary places */
#define FD_MAX 64
#define PATTERN_BYTES 65536ULL
#define CREATE_BYTES (1ULL << 20) /* filebench preallocates in writes of 1 MiB */
#define WRITE_LOCKS 1024
#define THREAD_STACK_BYTES (128 << 10)

/* ---- errors ---- */

static const char *script_name;

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
    va_list arguments;

    fflush(stdout);
    flockfile(stderr); /* never unlocked: one message, however many threads fail */
    fputs("filebench: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _exit(1);
}

#define fail_at(line, format, ...) fail("%s:%d: " format, script_name, line, ##__VA_ARGS__)

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);

    if (!memory)
        fail("no memory for %zu times %zu bytes; use a smaller --scale", count, size);
    return memory;
}

static char *copy_string(const char *text)
{
    return strcpy(allocate(strlen(text) + 1, 1), text);
}

/* ---- random numbers, in integers ---- */

struct random {
    uint64_t state;
};

static uint64_t random_next(struct random *random) /* SplitMix64, as in rawio */
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static struct random random_stream(uint64_t seed, uint64_t stream)
{
    struct random random = {seed};

    random.state = random_next(&random) ^ (stream * 0xd1342543de82ef95ULL);
    random_next(&random);
    return random;
}

/* 0 ... below-1; the bias is below 2^-24 for everything asked here. */
static uint64_t random_below(struct random *random, uint64_t below)
{
    return (uint64_t)((unsigned __int128)random_next(random) * below >> 64);
}

/* Logarithm to base 2, 16 binary places, from repeated squaring. */
static uint64_t log2_q16(uint64_t value)
{
    int whole = 63 - __builtin_clzll(value);
    uint64_t mantissa = value << (63 - whole), result = (uint64_t)whole;

    for (int bit = 0; bit < 16; bit++) {
        unsigned __int128 square = (unsigned __int128)mantissa * mantissa;

        result <<= 1;
        if (square >> 127) {
            result |= 1;
            mantissa = (uint64_t)(square >> 64);
        } else {
            mantissa = (uint64_t)(square >> 63);
        }
    }
    return result;
}

/*
 * Gamma distributed with a shape in steps of a half: the sum of as many
 * exponentials as the shape has wholes, -ln(U), and for the half Z*Z/2, where
 * the normal Z is the sum of 12 uniforms less 6.
 */
static uint64_t gamma_q16(struct random *random, uint64_t mean_q16, uint64_t shape_milli)
{
    const uint64_t ln2_q16 = 45426;
    uint64_t sum = 0;

    for (uint64_t whole = shape_milli / 1000; whole; whole--) {
        uint64_t uniform = random_next(random) >> 32;

        sum += ((32 * Q16 - log2_q16(uniform + 1)) * ln2_q16) >> 16;
    }
    if (shape_milli % 1000) {
        int64_t z = -12 * 65535 / 2;

        for (int i = 0; i < 3; i++)
            for (uint64_t word = random_next(random), part = 0; part < 4; part++)
                z += (int64_t)((word >> (16 * part)) & 0xffff);
        sum += (uint64_t)(z * z) >> 17;
    }
    return (uint64_t)((unsigned __int128)mean_q16 * sum * 1000 / shape_milli >> 16);
}

struct variable {
    bool is_gamma; /* else uniform from lower to upper */
    uint64_t mean_q16, shape_milli, lower_q16, upper_q16, min_q16, max_q16;
};

static uint64_t variable_q16(const struct variable *variable, struct random *random)
{
    uint64_t value = variable->is_gamma
                         ? gamma_q16(random, variable->mean_q16, variable->shape_milli)
                         : variable->lower_q16 + random_below(random, variable->upper_q16 - variable->lower_q16 + 1);

    return value < variable->min_q16 ? variable->min_q16 : value > variable->max_q16 ? variable->max_q16 : value;
}

/* ---- the language: words ---- */

enum token { END, WORD, TEXT, SIGN };

static const char *at; /* the rest of the script */
static int line_number;
static enum token token;
static int token_line;
static char token_text[512];

static void advance(void)
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

static bool next_is(const char *text)
{
    return token != TEXT && token != END && strcmp(token_text, text) == 0;
}

static bool accept(const char *text)
{
    if (!next_is(text))
        return false;
    advance();
    return true;
}

static void expect(const char *text)
{
    if (!accept(text))
        fail_at(token_line, "'%s' where '%s' belongs", token_text, text);
}

/* ---- the language: values and variables ---- */

enum kind { NOTHING, NUMBER, TRUTH, STRING, RANDOM };

struct value {
    enum kind kind;
    uint64_t number; /* of a truth 0 or 1 */
    char *string;
    struct variable *variable;
};

struct named {
    struct named *next;
    char *name;
    struct value value;
    bool given; /* on the command line */
    bool used;
};

static struct named *names;

static struct named *find_name(const char *name)
{
    struct named *named = names;

    while (named && strcmp(named->name, name))
        named = named->next;
    return named;
}

static struct value plain_value(const char *text)
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

static struct value scalar(void)
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

/* cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5) or type=cvar-uniform,parameters=lower:1;upper:2 */
static struct value random_variable(void)
{
    struct variable *variable = allocate(1, sizeof *variable);
    char type[sizeof token_text] = "", parameters[sizeof token_text] = "";
    int line = token_line;

    variable->max_q16 = UINT64_MAX;
    expect("(");
    do {
        char name[sizeof token_text];

        strcpy(name, token_text);
        advance();
        expect("=");
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
    } while (accept(","));
    expect(")");

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

static struct attributes read_attributes(const char *of)
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
        if (accept("="))
            attribute->value = scalar();
    } while (accept(","));
    return attributes;
}

static struct attribute *find_attribute(struct attributes *attributes, const char *name)
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

static uint64_t number_of(struct attributes *attributes, const char *name, uint64_t otherwise)
{
    struct attribute *attribute = find_attribute(attributes, name);

    if (!attribute)
        return otherwise;
    if (attribute->value.kind != NUMBER)
        wrong_kind(attribute, "a number: digits, and k, m or g behind them");
    return attribute->value.number;
}

static bool truth_of(struct attributes *attributes, const char *name)
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

static char *string_of(struct attributes *attributes, const char *name)
{
    struct attribute *attribute = find_attribute(attributes, name);

    if (!attribute)
        return NULL;
    if (attribute->value.kind != STRING)
        wrong_kind(attribute, "a name");
    return attribute->value.string;
}

/* A number or a random variable; nothing if the attribute is not there. */
static struct value amount_of(struct attributes *attributes, const char *name)
{
    struct attribute *attribute = find_attribute(attributes, name);

    if (!attribute)
        return (struct value){.kind = NOTHING};
    if (attribute->value.kind != NUMBER && attribute->value.kind != RANDOM)
        wrong_kind(attribute, "a number or a random variable");
    return attribute->value;
}

static void all_used(const struct attributes *attributes)
{
    for (int i = 0; i < attributes->count; i++)
        if (!attributes->list[i].used)
            fail_at(attributes->list[i].line, "the attribute '%s' of %s is not supported; README.md lists those that are",
                    attributes->list[i].name, attributes->of);
}

static uint64_t draw(const struct value *value, struct random *random)
{
    return value->kind == RANDOM ? variable_q16(value->variable, random) >> 16 : value->number;
}

/* ---- what a personality defines ---- */

struct entry { /* a file, or a directory that comes and goes */
    uint64_t full_bytes; /* size that preallocation and writewholefile give it */
    uint64_t bytes;      /* size now */
    uint32_t directory, serial, open_count;
    bool busy;
};

struct entries {
    struct entry *list;
    uint64_t *present; /* one bit for each that exists */
    uint32_t count, present_count, rotor[2];
};

struct directory {
    char *path;
    bool made;
};

struct fileset {
    struct fileset *next;
    char *name, *path;
    int line;
    struct value size;
    uint64_t file_count, leaf_count, width, shape_milli;
    uint64_t mean_depth_q16;
    uint64_t preallocated_percent;
    bool preallocates, readonly, writeonly;
    struct entries files, leaves;
    struct directory *directories;
    uint32_t directory_count, directory_room, directory_rotor;
};

enum type {
    APPENDFILE, APPENDFILERAND, CLOSEFILE, CREATEFILE, DELAY, DELETEFILE, FINISHONBYTES, FINISHONCOUNT, FSYNC,
    LIMIT, LISTDIR, MAKEDIR, OPENFILE, READ, READWHOLEFILE, REMOVEDIR, STATFILE, WRITE, WRITEWHOLEFILE,
};

static const struct {
    const char *name;
    enum type type;
    bool is_io; /* counts as an operation, as in filebench */
    bool opens; /* the file of its fd, if that is not open */
} flowop_types[] = {
    {"appendfile", APPENDFILE, true, true},
    {"appendfilerand", APPENDFILERAND, true, true},
    {"closefile", CLOSEFILE, true, false},
    {"createfile", CREATEFILE, true, false},
    {"delay", DELAY, false, false},
    {"deletefile", DELETEFILE, true, false},
    {"eventlimit", LIMIT, false, false},
    {"iopslimit", LIMIT, false, false},
    {"bwlimit", LIMIT, false, false},
    {"opslimit", LIMIT, false, false},
    {"finishonbytes", FINISHONBYTES, false, false},
    {"finishoncount", FINISHONCOUNT, false, false},
    {"fsync", FSYNC, true, false},
    {"listdir", LISTDIR, true, false},
    {"makedir", MAKEDIR, true, false},
    {"openfile", OPENFILE, true, false},
    {"read", READ, true, true},
    {"readwholefile", READWHOLEFILE, true, true},
    {"removedir", REMOVEDIR, true, false},
    {"statfile", STATFILE, true, false},
    {"write", WRITE, true, true},
    {"writewholefile", WRITEWHOLEFILE, true, true},
};

struct flowop {
    struct flowop *next;
    char *name;
    enum type type;
    int line, number;
    bool is_io, random, dsync;
    struct fileset *fileset;
    struct value io_bytes, index;
    uint64_t iterations, value;
    uint32_t fd, source_fd;
    uint64_t done, done_bytes; /* of all threads, summed at the end */
};

struct group { /* threads that do the same */
    struct group *next;
    char *name;
    uint64_t instances;
    struct flowop *flowops;
};

static struct fileset *filesets, **filesets_end = &filesets;
static struct group *groups, **groups_end = &groups;
static int flowop_count;
static uint64_t thread_count;
static bool stop_when_empty; /* set mode quit firstdone */
static bool has_run;
static uint64_t run_seconds, io_bytes_max = CREATE_BYTES;
static const char *base; /* --dir */
static uint64_t scale_millionths = 1000000;

static uint64_t scaled(uint64_t value)
{
    return value ? (uint64_t)(((unsigned __int128)value * scale_millionths + 999999) / 1000000) : 0;
}

static struct fileset *find_fileset(const char *name)
{
    struct fileset *fileset = filesets;

    while (fileset && strcmp(fileset->name, name))
        fileset = fileset->next;
    return fileset;
}

/* What takes room and is a positive number of things: files, threads. */
static uint64_t bounded(struct attributes *attributes, const char *name, uint64_t otherwise, uint64_t low,
                        uint64_t high)
{
    uint64_t number = number_of(attributes, name, otherwise);

    if (number < low || number > high)
        fail_at(attributes->line, "%s of %s is %" PRIu64 "; it can be %" PRIu64 " to %" PRIu64, name, attributes->of,
                number, low, high);
    return number;
}

static void define_fileset(bool is_file)
{
    struct attributes attributes = read_attributes(is_file ? "a file" : "a fileset");
    struct fileset *fileset = allocate(1, sizeof *fileset);
    struct attribute *preallocates = find_attribute(&attributes, "prealloc");

    fileset->line = attributes.line;
    fileset->name = string_of(&attributes, "name");
    fileset->path = string_of(&attributes, "path");
    if (!fileset->name || !*fileset->name || strchr(fileset->name, '/') || *fileset->name == '.')
        fail_at(attributes.line, "%s needs name=, a plain file name", attributes.of);
    if (find_fileset(fileset->name))
        fail_at(attributes.line, "there are two filesets '%s'", fileset->name);
    if (!fileset->path || strcmp(fileset->path, base))
        fail_at(attributes.line, "path must be $dir, which is --dir here");
    fileset->size = amount_of(&attributes, "size");
    fileset->file_count = is_file ? 1 : bounded(&attributes, "entries", 0, 0, 10000000);
    fileset->leaf_count = is_file ? 0 : bounded(&attributes, "leafdirs", 0, 0, 1000000);
    fileset->width = is_file ? 10 : bounded(&attributes, "dirwidth", 0, 2, UINT32_MAX);
    fileset->shape_milli = is_file ? 0 : bounded(&attributes, "dirgamma", 1500, 0, 50000);
    if (fileset->shape_milli % 500)
        fail_at(attributes.line, "a dirgamma of 0, 500, 1000, 1500, ... 50000 is supported, no other");
    if (!fileset->file_count == !fileset->leaf_count) /* with both, filebench gives files and directories one name */
        fail_at(attributes.line, "%s needs entries= or leafdirs=, one of them", attributes.of);
    if (preallocates && preallocates->value.kind == NOTHING) {
        fileset->preallocates = true;
        fileset->preallocated_percent = 100;
    } else if (preallocates && preallocates->value.kind == TRUTH) {
        fileset->preallocates = preallocates->value.number;
        fileset->preallocated_percent = preallocates->value.number ? 100 : 0;
    } else if (preallocates) {
        fileset->preallocated_percent = bounded(&attributes, "prealloc", 0, 0, 100);
        fileset->preallocates = true;
    }
    fileset->readonly = truth_of(&attributes, "readonly");
    fileset->writeonly = truth_of(&attributes, "writeonly");
    find_attribute(&attributes, "cached"); /* nothing is dropped from the cache here */
    if (fileset->readonly && fileset->writeonly)
        fail_at(attributes.line, "a fileset cannot be readonly and writeonly");
    all_used(&attributes);
    *filesets_end = fileset;
    filesets_end = &fileset->next;
}

static struct flowop *find_flowop(const char *name)
{
    for (struct group *group = groups; group; group = group->next)
        for (struct flowop *flowop = group->flowops; flowop; flowop = flowop->next)
            if (strcmp(flowop->name, name) == 0)
                return flowop;
    return NULL;
}

static struct flowop *read_flowop(void)
{
    struct flowop *flowop = allocate(1, sizeof *flowop);
    size_t i = 0, types = sizeof flowop_types / sizeof *flowop_types;

    while (i < types && !next_is(flowop_types[i].name))
        i++;
    if (i == types)
        fail_at(token_line, "the flowop '%s' is not supported; README.md lists those that are", token_text);
    flowop->type = flowop_types[i].type;
    flowop->is_io = flowop_types[i].is_io;
    flowop->line = token_line;
    flowop->number = flowop_count++;
    advance();

    struct attributes attributes = read_attributes(flowop_types[i].name);
    char *set = string_of(&attributes, "filesetname"), *file = string_of(&attributes, "filename");

    if (!string_of(&attributes, "name"))
        fail_at(flowop->line, "a flowop needs name=");
    flowop->name = copy_string(string_of(&attributes, "name"));
    for (char *c = flowop->name; *c; c++) {
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
            fail_at(flowop->line, "the name '%s' has other characters than letters, digits, _ and -", flowop->name);
        if (*c == '-')
            *c = '_'; /* a part of a metric's name */
    }
    if (find_flowop(flowop->name))
        fail_at(flowop->line, "there are two flowops '%s'; give each a name of its own", flowop->name);
    if (set || file) {
        flowop->fileset = find_fileset(set ? set : file);
        if (!flowop->fileset)
            fail_at(flowop->line, "no fileset or file '%s' is defined above", set ? set : file);
    }
    flowop->fd = (uint32_t)bounded(&attributes, "fd", 0, 0, FD_MAX - 1);
    flowop->iterations = bounded(&attributes, "iters", 1, 1, UINT32_MAX);

    switch (flowop->type) {
    case APPENDFILE:
    case APPENDFILERAND:
    case READ:
    case READWHOLEFILE:
    case WRITE:
    case WRITEWHOLEFILE:
        flowop->io_bytes = amount_of(&attributes, "iosize");
        if (flowop->io_bytes.kind == NOTHING && flowop->type != READWHOLEFILE && flowop->type != WRITEWHOLEFILE)
            fail_at(flowop->line, "%s needs iosize=", flowop_types[i].name);
        if (flowop->io_bytes.kind == NUMBER && flowop->io_bytes.number > 64 << 20)
            fail_at(flowop->line, "iosize is %" PRIu64 "; up to 64m is supported", flowop->io_bytes.number);
        if (flowop->io_bytes.kind == NUMBER && flowop->io_bytes.number > io_bytes_max)
            io_bytes_max = flowop->io_bytes.number;
        if (flowop->type == READ || flowop->type == WRITE)
            flowop->random = truth_of(&attributes, "random");
        if (flowop->type == WRITEWHOLEFILE)
            flowop->source_fd = (uint32_t)bounded(&attributes, "srcfd", flowop->fd, 0, FD_MAX - 1);
        break;
    case DELETEFILE:
    case STATFILE:
        if (find_attribute(&attributes, "fd"))
            fail_at(flowop->line, "%s by fd is not supported; name a fileset", flowop_types[i].name);
        break;
    case DELAY:
    case FINISHONBYTES:
    case FINISHONCOUNT:
        flowop->value = number_of(&attributes, "value", 0);
        if (!flowop->value)
            fail_at(flowop->line, "%s needs value=, a number above 0", flowop_types[i].name);
        if (flowop->type != DELAY)
            flowop->value = scaled(flowop->value);
        break;
    default:
        break;
    }
    if (flowop_types[i].opens || flowop->type == OPENFILE || flowop->type == CREATEFILE)
        flowop->dsync = truth_of(&attributes, "dsync");
    if (flowop->type == OPENFILE || flowop->type == CREATEFILE || flowop->type == DELETEFILE ||
        flowop->type == STATFILE)
        flowop->index = amount_of(&attributes, "indexed");
    if (!flowop->fileset && (flowop->type == CREATEFILE || flowop->type == DELETEFILE || flowop->type == LISTDIR ||
                             flowop->type == MAKEDIR || flowop->type == OPENFILE || flowop->type == REMOVEDIR ||
                             flowop->type == STATFILE))
        fail_at(flowop->line, "%s needs filesetname=", flowop_types[i].name);
    if (flowop->fileset && (flowop->type == MAKEDIR || flowop->type == REMOVEDIR) && !flowop->fileset->leaf_count)
        fail_at(flowop->line, "the fileset '%s' has no leafdirs", flowop->fileset->name);
    all_used(&attributes);
    return flowop;
}

static void define_process(void)
{
    struct attributes process = read_attributes("a process");
    uint64_t instances = bounded(&process, "instances", 1, 1, 1000);

    if (!string_of(&process, "name"))
        fail_at(process.line, "a process needs name=");
    all_used(&process);
    expect("{");
    do {
        expect("thread");
        struct attributes thread = read_attributes("a thread");
        struct group *group = allocate(1, sizeof *group);
        struct flowop **end = &group->flowops;

        group->instances = instances * bounded(&thread, "instances", 1, 1, 1000);
        group->name = string_of(&thread, "name");
        number_of(&thread, "memsize", 0); /* all threads read into, and write from, one buffer */
        if (!group->name)
            fail_at(thread.line, "a thread needs name=");
        all_used(&thread);
        thread_count += group->instances;
        *groups_end = group; /* before its flowops, so that they find each other's names */
        groups_end = &group->next;
        expect("{");
        do {
            expect("flowop");
            struct flowop *flowop = read_flowop();

            *end = flowop;
            end = &flowop->next;
        } while (!next_is("}"));
        expect("}");
    } while (!next_is("}"));
    expect("}");
}

static void set_variable(void)
{
    char name[sizeof token_text];
    int line = token_line;

    if (accept("mode")) {
        expect("quit");
        stop_when_empty = next_is("firstdone");
        if (!stop_when_empty && !next_is("timeout"))
            fail_at(token_line, "the mode '%s' is not supported; timeout and firstdone are", token_text);
        advance();
        return;
    }
    if (token != WORD || *token_text != '$' || !token_text[1])
        fail_at(token_line, "'%s' where $NAME belongs", token_text);
    strcpy(name, token_text + 1);
    advance();
    expect("=");
    struct named *named = find_name(name);

    if (!named) {
        named = allocate(1, sizeof *named);
        named->name = copy_string(name);
        named->next = names;
        names = named;
    }
    struct value value = accept("cvar") ? random_variable() : scalar();

    if (value.kind == STRING && strcmp(value.string, "randvar") == 0)
        fail_at(line, "randvar is not supported; cvar(type=cvar-gamma,...) and cvar(type=cvar-uniform,...) are");
    if (!named->given)
        named->value = value;
    named->used = true;
}

static void read_script(const char *text)
{
    at = text;
    line_number = 1;
    advance();
    while (token != END) {
        if (has_run)
            fail_at(token_line, "'%s' behind run, which ends the script", token_text);
        if (accept("set")) {
            set_variable();
        } else if (accept("define")) {
            if (accept("fileset"))
                define_fileset(false);
            else if (accept("file"))
                define_fileset(true);
            else if (accept("process"))
                define_process();
            else
                fail_at(token_line, "define '%s' is not supported; fileset, file and process are", token_text);
        } else if (next_is("echo") || next_is("usage")) {
            advance();
            if (token != TEXT)
                fail_at(token_line, "'%s' where \"text\" belongs", token_text);
            advance();
        } else if (next_is("run")) {
            int line = token_line;

            has_run = true;
            advance();
            if (token != END) {
                struct value seconds = scalar();

                if (seconds.kind != NUMBER || !seconds.number || seconds.number > 1000000)
                    fail_at(line, "run needs seconds, 1 to 1000000");
                run_seconds = seconds.number;
            }
        } else {
            fail_at(token_line, "the command '%s' is not supported; set, define, echo and run are", token_text);
        }
    }
    if (!has_run)
        fail_at(token_line, "there is no run");
    if (!groups)
        fail_at(token_line, "no process is defined");
    if (!run_seconds && !stop_when_empty)
        run_seconds = 60; /* filebench's default in mode timeout */
    for (struct named *named = names; named; named = named->next)
        if (named->given && !named->used)
            fail("--set %s: %s sets no such variable", named->name, script_name);
}

/* ---- filesets in memory ---- */

static uint32_t add_directory(struct fileset *fileset, const char *parent, uint32_t serial)
{
    char path[PATH_MAX];

    if (fileset->directory_count == fileset->directory_room) {
        fileset->directory_room = fileset->directory_room * 2 + 16;
        fileset->directories =
            realloc(fileset->directories, fileset->directory_room * sizeof *fileset->directories);
        if (!fileset->directories)
            fail("no memory for the directories of %s; use a smaller --scale", fileset->name);
    }
    if (snprintf(path, sizeof path - 32, "%s/%08u", parent, serial) >= (int)sizeof path - 32)
        fail_at(fileset->line, "the tree of fileset '%s' is too deep", fileset->name);
    fileset->directories[fileset->directory_count] = (struct directory){.path = copy_string(path)};
    return fileset->directory_count++;
}

static void add_entry(struct entries *entries, uint32_t directory, uint32_t serial, uint64_t bytes)
{
    entries->list[entries->count++] =
        (struct entry){.directory = directory, .serial = serial, .full_bytes = bytes};
}

/*
 * filebench's tree: each directory draws its depth and width; one at least as
 * deep as its draw holds files, others hold directories.  The root goes on
 * until everything has a place.
 */
static void populate(struct fileset *fileset, struct random *random, uint32_t self, bool is_root, uint64_t depth)
{
    uint64_t depth_q16 = fileset->mean_depth_q16, width_q16 = fileset->width * Q16;

    if (fileset->shape_milli) {
        depth_q16 = gamma_q16(random, depth_q16, fileset->shape_milli);
        width_q16 = gamma_q16(random, width_q16, fileset->shape_milli);
    }
    bool is_leaf = !is_root && (depth >= depth_q16 >> 16 || depth >= 64);

    for (int kind = 0; kind < 2; kind++) {
        struct entries *entries = kind ? &fileset->leaves : &fileset->files;
        uint64_t wanted = kind ? fileset->leaf_count : fileset->file_count;

        for (uint32_t serial = 1; entries->count < wanted; serial++) {
            if (!is_root && serial > 1 && (uint64_t)(serial - 1) * Q16 >= width_q16)
                break;
            if (is_leaf) {
                add_entry(entries, self, serial, kind ? 0 : draw(&fileset->size, random));
            } else {
                uint32_t child = add_directory(fileset, fileset->directories[self].path, serial);

                populate(fileset, random, child, false, depth + 1);
            }
        }
    }
}

static void lay_out(struct fileset *fileset, struct random *random)
{
    char root[PATH_MAX];
    uint64_t floor = 10 * thread_count; /* with fewer, one thread takes what the next one needs */

    if (fileset->file_count > 1)
        fileset->file_count = scaled(fileset->file_count) > floor ? scaled(fileset->file_count)
                              : fileset->file_count > floor       ? floor
                                                                  : fileset->file_count;
    if (fileset->leaf_count > 1)
        fileset->leaf_count = scaled(fileset->leaf_count) > floor ? scaled(fileset->leaf_count)
                              : fileset->leaf_count > floor       ? floor
                                                                  : fileset->leaf_count;
    fileset->files.list = allocate(fileset->file_count, sizeof(struct entry));
    fileset->leaves.list = allocate(fileset->leaf_count, sizeof(struct entry));
    fileset->files.present = allocate(fileset->file_count / 64 + 1, 8);
    fileset->leaves.present = allocate(fileset->leaf_count / 64 + 1, 8);
    fileset->mean_depth_q16 = (log2_q16(fileset->file_count + fileset->leaf_count) << 16) / log2_q16(fileset->width);
    snprintf(root, sizeof root, "%s/%s", base, fileset->name);
    fileset->directories = allocate(16, sizeof *fileset->directories);
    fileset->directory_room = 16;
    fileset->directories[0].path = copy_string(root);
    fileset->directory_count = 1;
    populate(fileset, random, 0, true, 1);
}

static bool is_present(const struct entries *entries, uint32_t index)
{
    return entries->present[index / 64] >> (index % 64) & 1;
}

static void set_present(struct entries *entries, uint32_t index, bool present)
{
    entries->present[index / 64] ^= 1ULL << (index % 64);
    entries->present_count += present ? 1 : -1U;
}

/* The first that does, or does not, exist, from index on and round; there is one. */
static uint32_t find_entry(const struct entries *entries, uint32_t index, bool present)
{
    if (index >= entries->count)
        index = 0;
    for (;;) {
        uint64_t word = entries->present[index / 64];

        word = (present ? word : ~word) >> (index % 64);
        if (word) {
            index += (uint32_t)__builtin_ctzll(word);
            if (index < entries->count)
                return index;
            index = 0;
        } else {
            index = (index / 64 + 1) * 64;
            if (index >= entries->count)
                index = 0;
        }
    }
}

static void entry_path(const struct fileset *fileset, const struct entry *entry, char path[PATH_MAX])
{
    const char *directory = fileset->directories[entry->directory].path;
    size_t length = strlen(directory);
    uint32_t serial = entry->serial;

    memcpy(path, directory, length);
    path[length] = '/';
    for (int i = 8; i; i--, serial /= 10)
        path[length + (size_t)i] = (char)('0' + serial % 10);
    path[length + 9] = 0;
}

/* ---- data: a file holds at each offset what the offset says ---- */

static char *pattern, *read_buffer; /* shared by all threads: what is read is only looked at here and there */

static const char *data_at(uint64_t offset)
{
    return pattern + offset % PATTERN_BYTES;
}

static void make_pattern(void)
{
    struct random random = random_stream(0, 0);

    pattern = allocate(PATTERN_BYTES + io_bytes_max, 1);
    read_buffer = allocate(io_bytes_max, 1);
    for (uint64_t i = 0; i < PATTERN_BYTES; i += 8)
        memcpy(pattern + i, &(uint64_t){random_next(&random)}, 8);
    for (uint64_t i = 0; i < io_bytes_max; i++)
        pattern[PATTERN_BYTES + i] = pattern[i];
}

static void write_at(int fd, uint64_t offset, uint64_t bytes, const char *path)
{
    ssize_t written = pwrite(fd, data_at(offset), bytes, (off_t)offset);

    if (written < 0 || (uint64_t)written != bytes)
        fail("%s: %" PRIu64 " bytes at %" PRIu64 " were not written: %s", path, bytes, offset,
             written < 0 ? strerror(errno) : "no space for all of them");
}

/* ---- phase create ---- */

static void make_directory(struct directory *directory)
{
    if (directory->made)
        return;
    if (mkdir(directory->path, 0755) && errno != EEXIST)
        fail("directory %s: %s; --dir must be an empty directory with room", directory->path, strerror(errno));
    directory->made = true;
}

/* The directory of an entry and those above it; of use where nothing was preallocated. */
static void make_parents(struct fileset *fileset, uint32_t number)
{
    if (fileset->directories[number].made)
        return;
    for (uint32_t i = 0; i < number; i++) {
        size_t length = strlen(fileset->directories[i].path);

        if (strncmp(fileset->directories[i].path, fileset->directories[number].path, length) == 0 &&
            fileset->directories[number].path[length] == '/')
            make_directory(&fileset->directories[i]);
    }
    make_directory(&fileset->directories[number]);
}

static void create_file(struct fileset *fileset, struct entry *entry)
{
    char path[PATH_MAX];

    entry_path(fileset, entry, path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);

    if (fd < 0)
        fail("file %s: %s; --dir must be an empty directory with room", path, strerror(errno));
    while (entry->bytes < entry->full_bytes) {
        uint64_t bytes = entry->full_bytes - entry->bytes;

        bytes = bytes < CREATE_BYTES ? bytes : CREATE_BYTES;
        write_at(fd, entry->bytes, bytes, path);
        entry->bytes += bytes;
    }
    if (close(fd))
        fail("file %s: %s", path, strerror(errno));
}

/* All directories, then the preallocated part of the files, in random order. */
static void create(struct fileset *fileset, struct random *random)
{
    char path[PATH_MAX];

    if (!fileset->preallocates)
        return;
    for (uint32_t i = 0; i < fileset->directory_count; i++)
        make_directory(&fileset->directories[i]);
    for (int kind = 0; kind < 2; kind++) {
        struct entries *entries = kind ? &fileset->leaves : &fileset->files;
        struct entries waiting = {.count = entries->count, .present = allocate(entries->count / 64 + 1, 8)};

        for (uint32_t i = 0; i < entries->count; i++)
            set_present(&waiting, i, true);
        while (waiting.present_count) {
            uint32_t index = find_entry(&waiting, (uint32_t)random_below(random, entries->count), true);

            set_present(&waiting, index, false);
            if (random_below(random, 100) >= fileset->preallocated_percent)
                continue;
            entry_path(fileset, &entries->list[index], path);
            if (kind == 0)
                create_file(fileset, &entries->list[index]);
            else if (mkdir(path, 0755))
                fail("directory %s: %s", path, strerror(errno));
            set_present(entries, index, true);
        }
        free(waiting.present);
    }
}

/* ---- phase run ---- */

struct open_file {
    int fd; /* of the kernel; meaningless without entry */
    struct fileset *fileset;
    struct entry *entry;
    uint64_t position;
};

struct thread {
    pthread_t id;
    const struct group *group;
    uint64_t number;
    struct random random;
    struct open_file files[FD_MAX];
    uint64_t *done, *done_bytes; /* by number of the flowop */
};

enum outcome { OK, EMPTY, DONE };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* filesets: what is there, busy, open */
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static int waiting_threads;
static pthread_mutex_t write_locks[WRITE_LOCKS];
static pthread_barrier_t start;
static bool stopping;
static uint64_t end_ns = UINT64_MAX, total_operations, total_bytes;
static bool prints_operations;
static uint64_t empty_line;

static void report(struct thread *thread, struct flowop *flowop, const char *path, uint64_t bytes)
{
    thread->done[flowop->number]++;
    thread->done_bytes[flowop->number] += bytes;
    if (flowop->is_io) {
        __atomic_fetch_add(&total_operations, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&total_bytes, bytes, __ATOMIC_RELAXED);
    }
    if (prints_operations && flowop->is_io)
        printf("operation %" PRIu64 " %s %s %" PRIu64 "\n", thread->number, flowop->name,
               strlen(path) > strlen(base) ? path + strlen(base) + 1 : "-", bytes);
}

/* May this flowop have it?  What is open is not deleted. */
static bool is_free(const struct flowop *flowop, const struct entry *entry)
{
    return !entry->busy && !(flowop->type == DELETEFILE && entry->open_count);
}

/* Next in rotation, or by index; taken ones are passed over. NULL: there is none of this kind. */
static struct entry *pick(struct thread *thread, struct flowop *flowop, struct entries *entries, bool present)
{
    struct entry *entry = NULL;

    pthread_mutex_lock(&lock);
    uint32_t from = entries->rotor[present];
    bool by_index = flowop->index.kind != NOTHING;

    if (by_index) {
        /* filebench: the value times half the number of entries */
        uint64_t value_q16 = flowop->index.kind == RANDOM ? variable_q16(flowop->index.variable, &thread->random)
                                                          : flowop->index.number * Q16;

        from = (uint32_t)((value_q16 * (entries->count / 2) >> 16) % entries->count);
    }
    while (!entry && (present ? entries->present_count : entries->count - entries->present_count)) {
        uint32_t first = find_entry(entries, from, present), index = first;

        if (!by_index)
            entries->rotor[present] = first + 1;
        while (!is_free(flowop, &entries->list[index])) {
            index = find_entry(entries, index + 1, present);
            if (index == first)
                break;
        }
        if (is_free(flowop, &entries->list[index])) {
            entry = &entries->list[index];
            entry->busy = true;
        } else if (flowop->type == DELETEFILE) {
            break; /* those who have them open may wait to delete, too */
        } else {
            waiting_threads++;
            pthread_cond_wait(&released, &lock);
            waiting_threads--;
        }
    }
    pthread_mutex_unlock(&lock);
    return entry;
}

static void release(struct entries *entries, struct entry *entry, bool present)
{
    uint32_t index = (uint32_t)(entry - entries->list);

    pthread_mutex_lock(&lock);
    if (is_present(entries, index) != present)
        set_present(entries, index, present);
    entry->busy = false;
    if (waiting_threads)
        pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

static enum outcome open_file(struct thread *thread, struct flowop *flowop, bool creates)
{
    struct open_file *file = &thread->files[flowop->fd];
    struct fileset *fileset = flowop->fileset;
    char path[PATH_MAX];
    int flags = fileset->readonly ? O_RDONLY : fileset->writeonly ? O_WRONLY : O_RDWR;

    if (file->entry)
        fail_at(flowop->line, "fd %u of flowop '%s' is open; close it first", flowop->fd, flowop->name);
    struct entry *entry = pick(thread, flowop, &fileset->files, !creates);

    if (!entry)
        return EMPTY;
    entry_path(fileset, entry, path);
    if (creates) {
        flags |= O_CREAT | O_EXCL;
        if (!fileset->preallocates) {
            pthread_mutex_lock(&lock);
            make_parents(fileset, entry->directory);
            pthread_mutex_unlock(&lock);
        }
    }
    if (flowop->dsync)
        flags |= O_SYNC; /* what filebench sets for dsync */
    *file = (struct open_file){.fd = open(path, flags, 0666), .fileset = fileset, .entry = entry};
    if (file->fd < 0)
        fail("flowop %s: %s: %s", flowop->name, path, strerror(errno));
    pthread_mutex_lock(&lock);
    entry->open_count++;
    pthread_mutex_unlock(&lock);
    release(&fileset->files, entry, true);
    if (flowop->type == OPENFILE || flowop->type == CREATEFILE)
        report(thread, flowop, path, 0);
    return OK;
}

/* The file of the flowop's fd, opened now if it is not open. */
static struct open_file *file_of(struct thread *thread, struct flowop *flowop)
{
    struct open_file *file = &thread->files[flowop->fd];

    if (!file->entry) {
        if (!flowop->fileset)
            fail_at(flowop->line, "fd %u of flowop '%s' is not open, and it names no fileset", flowop->fd,
                    flowop->name);
        if (open_file(thread, flowop, false) == EMPTY)
            return NULL;
    }
    return file;
}

static void close_file(struct open_file *file)
{
    char path[PATH_MAX];

    if (close(file->fd)) {
        entry_path(file->fileset, file->entry, path);
        fail("file %s: %s", path, strerror(errno));
    }
    pthread_mutex_lock(&lock);
    file->entry->open_count--;
    pthread_mutex_unlock(&lock);
    file->entry = NULL;
}

static uint64_t read_some(struct open_file *file, uint64_t offset, uint64_t bytes, const char *path)
{
    ssize_t got = pread(file->fd, read_buffer, bytes, (off_t)offset);

    if (got < 0)
        fail("file %s: %s", path, strerror(errno));
    return (uint64_t)got;
}

/* Writes to a file one after the other, so that nothing is ever read where nothing was written. */
static pthread_mutex_t *writing(const struct entry *entry)
{
    return &write_locks[((uintptr_t)entry / sizeof *entry) % WRITE_LOCKS];
}

static void store(struct open_file *file, bool appends, uint64_t offset, uint64_t bytes, const char *path)
{
    pthread_mutex_t *mutex = writing(file->entry);

    pthread_mutex_lock(mutex);
    if (appends)
        offset = file->entry->bytes;
    write_at(file->fd, offset, bytes, path);
    if (file->entry->bytes < offset + bytes)
        file->entry->bytes = offset + bytes;
    pthread_mutex_unlock(mutex);
}

static uint64_t io_bytes_of(struct thread *thread, struct flowop *flowop)
{
    uint64_t bytes = flowop->io_bytes.kind == NOTHING ? 0 : draw(&flowop->io_bytes, &thread->random);

    return bytes < io_bytes_max ? bytes : io_bytes_max;
}

static enum outcome do_io(struct thread *thread, struct flowop *flowop)
{
    char path[PATH_MAX];
    uint64_t bytes = io_bytes_of(thread, flowop), done = 0, whole, got;

    if (flowop->type == APPENDFILERAND) /* filebench: 0 to iosize - 1, and nothing is done for 0 */
        bytes = bytes ? random_below(&thread->random, bytes) : 0;
    struct open_file *file = file_of(thread, flowop);

    if (!file)
        return EMPTY;
    entry_path(file->fileset, file->entry, path);
    switch (flowop->type) {
    case APPENDFILE:
    case APPENDFILERAND:
        if (bytes)
            store(file, true, 0, bytes, path);
        done = bytes;
        break;
    case READWHOLEFILE:
        if (!bytes)
            bytes = file->entry->full_bytes < io_bytes_max ? file->entry->full_bytes : io_bytes_max;
        while (bytes && (got = read_some(file, done, bytes, path)))
            done += got;
        break;
    case WRITEWHOLEFILE:
        whole = thread->files[flowop->source_fd].entry ? thread->files[flowop->source_fd].entry->full_bytes
                                                       : file->entry->full_bytes;
        if (!bytes || bytes > whole)
            bytes = whole < io_bytes_max ? whole : io_bytes_max;
        for (; done < whole; done += bytes) {
            bytes = whole - done < bytes ? whole - done : bytes;
            store(file, false, done, bytes, path);
        }
        break;
    default: /* READ, WRITE */
        if (!bytes)
            break;
        if (flowop->random) {
            if (file->entry->full_bytes < bytes)
                fail_at(flowop->line, "flowop '%s' moves %" PRIu64 " bytes of a file of %" PRIu64, flowop->name, bytes,
                        file->entry->full_bytes);
            file->position = random_below(&thread->random, file->entry->full_bytes / bytes) * bytes;
        }
        if (flowop->type == READ) {
            done = read_some(file, file->position, bytes, path);
            file->position = done ? file->position + done : 0; /* from the beginning again */
        } else {
            store(file, false, file->position, bytes, path);
            file->position += bytes;
            done = bytes;
        }
        break;
    }
    report(thread, flowop, path, done);
    return OK;
}

static enum outcome do_directory(struct thread *thread, struct flowop *flowop)
{
    struct fileset *fileset = flowop->fileset;
    char path[PATH_MAX];
    uint64_t bytes = 0;

    if (flowop->type == LISTDIR) {
        pthread_mutex_lock(&lock);
        const char *directory = fileset->directories[fileset->directory_rotor++ % fileset->directory_count].path;

        pthread_mutex_unlock(&lock);
        DIR *stream = opendir(directory);

        if (!stream)
            fail("flowop %s: %s: %s", flowop->name, directory, strerror(errno));
        for (struct dirent *found; (found = readdir(stream));)
            bytes += strlen(found->d_name);
        closedir(stream);
        report(thread, flowop, directory, bytes);
        return OK;
    }
    bool makes = flowop->type == MAKEDIR;
    struct entry *entry = pick(thread, flowop, &fileset->leaves, !makes);

    if (!entry)
        return EMPTY;
    entry_path(fileset, entry, path);
    if (makes ? mkdir(path, 0755) : rmdir(path))
        fail("flowop %s: %s: %s", flowop->name, path, strerror(errno));
    release(&fileset->leaves, entry, makes);
    report(thread, flowop, path, 0);
    return OK;
}

static enum outcome do_name(struct thread *thread, struct flowop *flowop)
{
    struct fileset *fileset = flowop->fileset;
    struct entry *entry = pick(thread, flowop, &fileset->files, true);
    char path[PATH_MAX];
    struct stat found;

    if (!entry)
        return EMPTY;
    entry_path(fileset, entry, path);
    if (flowop->type == STATFILE) {
        if (stat(path, &found))
            fail("flowop %s: %s: %s", flowop->name, path, strerror(errno));
        release(&fileset->files, entry, true);
    } else {
        if (unlink(path))
            fail("flowop %s: %s: %s", flowop->name, path, strerror(errno));
        entry->bytes = 0;
        release(&fileset->files, entry, false);
    }
    report(thread, flowop, path, 0);
    return OK;
}

static enum outcome carry_out(struct thread *thread, struct flowop *flowop)
{
    struct open_file *file = &thread->files[flowop->fd];
    char path[PATH_MAX] = "";

    switch (flowop->type) {
    case OPENFILE:
    case CREATEFILE:
        return open_file(thread, flowop, flowop->type == CREATEFILE);
    case CLOSEFILE:
    case FSYNC:
        if (!file->entry)
            fail_at(flowop->line, "fd %u of flowop '%s' is not open", flowop->fd, flowop->name);
        if (prints_operations)
            entry_path(file->fileset, file->entry, path);
        if (flowop->type == CLOSEFILE)
            close_file(file);
        else if (fsync(file->fd))
            fail("flowop %s: fsync: %s", flowop->name, strerror(errno));
        break;
    case DELETEFILE:
    case STATFILE:
        return do_name(thread, flowop);
    case LISTDIR:
    case MAKEDIR:
    case REMOVEDIR:
        return do_directory(thread, flowop);
    case DELAY:
        nanosleep(&(struct timespec){.tv_sec = (time_t)flowop->value}, NULL);
        break;
    case FINISHONCOUNT:
    case FINISHONBYTES: {
        uint64_t *sum = flowop->type == FINISHONCOUNT ? &total_operations : &total_bytes;
        uint64_t limit = flowop->type == FINISHONCOUNT ? flowop->value : flowop->value + 1;

        if (__atomic_load_n(sum, __ATOMIC_RELAXED) >= limit)
            return DONE;
        break;
    }
    case LIMIT: /* there is no event generator: no limit */
        return OK;
    default:
        return do_io(thread, flowop);
    }
    report(thread, flowop, path, 0);
    return OK;
}

static void *thread_main(void *argument)
{
    struct thread *thread = argument;
    struct flowop *flowop = thread->group->flowops;

    pthread_barrier_wait(&start);
    while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED) && virtual_ns() < end_ns) {
        for (uint64_t i = 0; i < flowop->iterations; i++) {
            enum outcome outcome = carry_out(thread, flowop);

            if (outcome == EMPTY && !stop_when_empty)
                fail_at(flowop->line,
                        "flowop '%s' finds no file any more; shorten the run, set more files, or set mode quit firstdone",
                        flowop->name);
            if (outcome == EMPTY)
                __atomic_store_n(&empty_line, (uint64_t)flowop->line, __ATOMIC_RELAXED);
            if (outcome != OK) {
                __atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
                break;
            }
        }
        flowop = flowop->next ? flowop->next : thread->group->flowops;
    }
    for (int fd = 0; fd < FD_MAX; fd++)
        if (thread->files[fd].entry)
            close_file(&thread->files[fd]);
    return NULL;
}

static void run(uint64_t seed)
{
    struct thread *threads = allocate(thread_count, sizeof *threads);
    pthread_attr_t attributes;
    uint64_t number = 0;

    for (int i = 0; i < WRITE_LOCKS; i++)
        pthread_mutex_init(&write_locks[i], NULL);
    pthread_barrier_init(&start, NULL, (unsigned)thread_count + 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
    for (struct group *group = groups; group; group = group->next)
        for (uint64_t i = 0; i < group->instances; i++, number++) {
            struct thread *thread = &threads[number];

            thread->group = group;
            thread->number = number;
            thread->random = random_stream(seed, 1000 + number);
            thread->done = allocate((size_t)flowop_count, 8);
            thread->done_bytes = allocate((size_t)flowop_count, 8);
            int error = pthread_create(&thread->id, &attributes, thread_main, thread);

            if (error)
                fail("thread %" PRIu64 " of %" PRIu64 ": %s", number + 1, thread_count, strerror(error));
        }

    uint64_t begin_ns = virtual_ns();

    if (run_seconds)
        end_ns = begin_ns + scaled(run_seconds * 1000000000);
    pthread_barrier_wait(&start);
    for (uint64_t i = 0; i < thread_count; i++)
        pthread_join(threads[i].id, NULL);

    uint64_t elapsed_ns = virtual_ns() - begin_ns;

    phase_print("run", begin_ns);
    for (uint64_t i = 0; i < thread_count; i++)
        for (struct flowop *flowop = threads[i].group->flowops; flowop; flowop = flowop->next) {
            flowop->done += threads[i].done[flowop->number];
            flowop->done_bytes += threads[i].done_bytes[flowop->number];
        }
    printf("metric elapsed_ns %" PRIu64 "\n", elapsed_ns);
}

/* ---- afterwards ---- */

/* Everything that should be there is there, in its size, and nothing else of the fileset is. */
static uint64_t verify(struct fileset *fileset)
{
    char path[PATH_MAX];
    struct stat found;

    for (int kind = 0; kind < 2; kind++) {
        struct entries *entries = kind ? &fileset->leaves : &fileset->files;

        for (uint32_t i = 0; i < entries->count; i++) {
            struct entry *entry = &entries->list[i];
            bool present = is_present(entries, i);

            entry_path(fileset, entry, path);
            if (lstat(path, &found)) {
                if (present || errno != ENOENT)
                    fail("after the run: %s: %s", path, strerror(errno));
            } else if (!present) {
                fail("after the run: %s is there and was deleted", path);
            } else if (kind ? !S_ISDIR(found.st_mode) : (uint64_t)found.st_size != entry->bytes) {
                fail("after the run: %s has %" PRIu64 " bytes, written were %" PRIu64, path, (uint64_t)found.st_size,
                     entry->bytes);
            }
        }
    }
    return fileset->files.present_count;
}

static void print_metrics(uint64_t files)
{
    uint64_t read_bytes = 0, written_bytes = 0, operations = 0;

    for (struct group *group = groups; group; group = group->next)
        for (struct flowop *flowop = group->flowops; flowop; flowop = flowop->next) {
            if (flowop->type == READ || flowop->type == READWHOLEFILE)
                read_bytes += flowop->done_bytes;
            else if (flowop->type != LISTDIR)
                written_bytes += flowop->done_bytes;
            if (flowop->is_io)
                operations += flowop->done;
        }
    printf("metric operations %" PRIu64 "\n", operations);
    printf("metric read_bytes %" PRIu64 "\n", read_bytes);
    printf("metric written_bytes %" PRIu64 "\n", written_bytes);
    printf("metric files %" PRIu64 "\n", files);
    for (struct group *group = groups; group; group = group->next)
        for (struct flowop *flowop = group->flowops; flowop; flowop = flowop->next)
            if (flowop->is_io)
                printf("metric ops_%s %" PRIu64 "\n", flowop->name, flowop->done);
}

/* ---- command line ---- */

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = allocate(1 << 16, 1);

    if (!file)
        fail("personality %s: %s; --personality takes a name of share/ or a path", path, strerror(errno));
    if (fread(text, 1, (1 << 16) - 1, file) == (1 << 16) - 1 || ferror(file))
        fail("personality %s cannot be read, or is larger than 64 KiB", path);
    fclose(file);
    return text;
}

/* A name is a file of share/ beside this program; with a slash it is a path. */
static const char *script_path(const char *personality)
{
    static char path[PATH_MAX];
    char program[PATH_MAX];

    if (strchr(personality, '/'))
        return personality;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    if (length < 0)
        fail("/proc/self/exe: %s; is /proc mounted?", strerror(errno));
    program[length] = 0;
    *strrchr(program, '/') = 0;
    if (snprintf(path, sizeof path, "%s/share/%s.f", program, personality) >= (int)sizeof path)
        fail("the path of personality '%s' is too long", personality);
    return path;
}

static uint64_t whole_number(const char *option, const char *text)
{
    char *end;

    errno = 0;
    uint64_t value = strtoull(text, &end, 10);

    if (!isdigit((unsigned char)*text) || *end || errno)
        fail("--%s %s is not a whole number", option, text);
    return value;
}

static uint64_t read_scale(const char *text)
{
    const char *digit = text;
    uint64_t value = 0, unit = 1000000;

    for (; isdigit((unsigned char)*digit); digit++)
        value = value > 1 ? 2 : value * 10 + (uint64_t)(*digit - '0');
    value *= unit;
    if (*digit == '.')
        for (digit++; isdigit((unsigned char)*digit) && unit > 1; digit++)
            value += (uint64_t)(*digit - '0') * (unit /= 10);
    if (*digit || !value || value > 1000000)
        fail("--scale %s is not a decimal above 0, at most 1, with at most 6 places", text);
    return value;
}

static void give_variable(const char *text)
{
    const char *equals = strchr(text, '=');
    struct named *named = allocate(1, sizeof *named);

    if (!equals || equals == text)
        fail("--set %s is not NAME=VALUE", text);
    named->name = copy_string(text);
    named->name[equals - text] = 0;
    named->value = plain_value(equals + 1);
    named->given = true;
    named->next = names;
    names = named;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"dir", required_argument, NULL, 'd'},     {"seed", required_argument, NULL, 's'},
        {"scale", required_argument, NULL, 'c'},   {"personality", required_argument, NULL, 'p'},
        {"set", required_argument, NULL, 'v'},     {"print-operations", no_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    const char *personality = NULL, *seed_text = NULL;
    struct stat found;

    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (option) {
        case 'd': base = optarg; break;
        case 's': seed_text = optarg; break;
        case 'c': scale_millionths = read_scale(optarg); break;
        case 'p': personality = optarg; break;
        case 'v': give_variable(optarg); break;
        case 'o': prints_operations = true; break;
        case 'h':
            puts("filebench --dir DIR --personality NAME --seed N [--scale S] [--set VARIABLE=VALUE] ... "
                 "[--print-operations]");
            return 0;
        default: return 2;
        }
    if (optind < argc || !base || !personality || !seed_text) {
        fprintf(stderr, "filebench: --dir DIR, --personality NAME and --seed N are needed; --help shows all\n");
        return 2;
    }
    uint64_t seed = whole_number("seed", seed_text);

    if (stat(base, &found) || !S_ISDIR(found.st_mode))
        fail("--dir %s is not a directory", base);
    struct named *dir = allocate(1, sizeof *dir);

    *dir = (struct named){.name = "dir", .value = {.kind = STRING, .string = (char *)base}, .given = true,
                          .used = true, .next = names};
    names = dir;
    script_name = script_path(personality);
    read_script(read_whole(script_name));
    make_pattern();

    uint64_t stream = 1, files = 0, bytes = 0;
    uint64_t begin_ns = virtual_ns();

    for (struct fileset *fileset = filesets; fileset; fileset = fileset->next, stream++) {
        struct random random = random_stream(seed, stream);

        lay_out(fileset, &random);
        make_directory(&fileset->directories[0]);
        create(fileset, &random);
        for (uint32_t i = 0; i < fileset->files.count; i++)
            bytes += fileset->files.list[i].bytes;
        files += fileset->files.present_count;
        printf("info fileset %s %u files of %u, %u directories\n", fileset->name, fileset->files.present_count,
               fileset->files.count, fileset->directory_count);
    }
    phase_print("create", begin_ns);
    printf("metric created_files %" PRIu64 "\nmetric created_bytes %" PRIu64 "\n", files, bytes);

    run(seed);
    if (empty_line)
        printf("info ended at line %" PRIu64 ": no file left\n", empty_line);
    files = 0;
    for (struct fileset *fileset = filesets; fileset; fileset = fileset->next)
        files += verify(fileset);
    print_metrics(files);
    return fflush(stdout) || ferror(stdout);
}
