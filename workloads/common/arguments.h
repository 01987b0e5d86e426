// SPDX-License-Identifier: MIT
/*
 * Command line of a workload: "--key value" pairs, numbers, the scale, and one
 * way to give up.  The including program defines PROGRAM, its name in messages.
 */
#ifndef SPINDLE_ARGUMENTS_H
#define SPINDLE_ARGUMENTS_H

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCALE_ONE 1000000u      /* the scale is kept in millionths: no floating point */

static inline void __attribute__((format(printf, 1, 2), noreturn)) die(const char *format, ...)
{
    va_list arguments;

    fflush(stdout);
    fputs(PROGRAM ": ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

/* The whole number TEXT, from LOW to HIGH. */
static inline uint64_t parse_number(const char *key, const char *text, uint64_t low, uint64_t high)
{
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < low || value > high)
        die("%s %s: give a whole number from %" PRIu64 " to %" PRIu64, key, text, low, high);
    return value;
}

/* The decimal TEXT in (0, 1], in millionths. */
static inline uint32_t parse_scale(const char *key, const char *text)
{
    const char *at = text;
    uint32_t whole = 0, part = 0, unit = SCALE_ONE;

    while (*at >= '0' && *at <= '9' && whole <= 1)
        whole = whole * 10 + (uint32_t)(*at++ - '0');
    if (at > text && *at == '.')
        for (at++; *at >= '0' && *at <= '9' && unit > 1; at++)
            part += (uint32_t)(*at - '0') * (unit /= 10);
    if (at == text || *at != '\0' || whole > 1 || whole * SCALE_ONE + part > SCALE_ONE || whole + part == 0)
        die("%s %s: give a decimal above 0 and up to 1, with at most 6 digits behind the point", key, text);
    return whole * SCALE_ONE + part;
}

/* COUNT times the scale, to the nearest whole number, but at least LEAST. */
static inline uint64_t scaled(uint64_t count, uint32_t scale, uint64_t least)
{
    uint64_t value = (count * scale + SCALE_ONE / 2) / SCALE_ONE;

    return value > least ? value : least;
}

/* Ends the program unless PATH is a directory with nothing in it but lost+found. WHEN is for the message. */
static inline void require_empty(const char *path, const char *when)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;

    if (directory == NULL)
        die("--dir %s: %s; give an empty directory", path, strerror(errno));
    while ((errno = 0, entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, "lost+found") != 0)
            die("--dir %s: it has '%s' in it %s", path, entry->d_name, when);
    if (errno != 0)
        die("--dir %s: %s", path, strerror(errno));
    closedir(directory);
}

#endif
