// SPDX-License-Identifier: MIT
/*
 * What a personality defines: values, filesets, and threads with their
 * flowops.  The parser (language.c, personality.c) fills it in, filesets.c
 * gives it files, and runner.c works on them.
 */
#ifndef FILEBENCH_MODEL_H
#define FILEBENCH_MODEL_H

#define PROGRAM "filebench"
#include <stdbool.h>
#include <stdint.h>

#include "distribution.h"
#include "program.h"

#define FD_MAX 64
#define CREATE_BYTES (1ULL << 20) /* filebench preallocates in writes of 1 MiB */

enum kind { NOTHING, NUMBER, TRUTH, STRING, RANDOM };

struct value {
    enum kind kind;
    uint64_t number; /* of a truth 0 or 1 */
    char *string;
    struct variable *variable;
};

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

struct personality {
    const char *path;      /* of the script */
    const char *directory; /* --dir */
    uint64_t scale;        /* in millionths */
    struct fileset *filesets;
    struct group *groups;
    int flowop_count;
    uint64_t thread_count;
    bool stop_when_empty; /* set mode quit firstdone */
    uint64_t run_seconds; /* 0: until something else ends the run */
    uint64_t io_bytes_max;
};

extern struct personality personality;

/* Gives up, with the place in the script. */
#define fail_at(line, format, ...) die("%s:%d: " format, personality.path, line, ##__VA_ARGS__)

/* VALUE times the scale, rounded up. */
static inline uint64_t scaled_up(uint64_t value)
{
    return value ? (uint64_t)(((unsigned __int128)value * personality.scale + 999999) / 1000000) : 0;
}

/* A number as it is, or a random variable's next value. */
static inline uint64_t draw(const struct value *value, uint64_t *random)
{
    return value->kind == RANDOM ? variable_q16(value->variable, random) >> 16 : value->number;
}

static inline void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);

    if (!memory)
        die("no memory for %zu times %zu bytes; use a smaller --scale", count, size);
    return memory;
}

static inline char *copy_string(const char *text)
{
    return strcpy(allocate(strlen(text) + 1, 1), text);
}

#endif
