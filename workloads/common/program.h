// SPDX-License-Identifier: MIT
/*
 * What every program of ours needs: one way to give up, and a check that it
 * starts in an empty directory.  The including program defines PROGRAM, its
 * name in messages.
 */
#ifndef SPINDLE_PROGRAM_H
#define SPINDLE_PROGRAM_H

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __MINGW32__
#define PRINTF_STYLE __MINGW_PRINTF_FORMAT
#define flockfile _lock_file
#else
#define PRINTF_STYLE printf
#endif

enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };

/*
 * Ends the program with STATUS and one line on standard error.  What has been
 * printed is written out before.  Standard error is locked and never unlocked,
 * so that there is one message, however many threads fail; for the same reason
 * nothing but the message is done on the way out.  Not inlined: the message
 * would make the stack frames of all callers large.
 */
static void __attribute__((cold, noinline, noreturn, unused))
end_with(int status, const char *format, va_list arguments)
{
    char message[8192];

    vsnprintf(message, sizeof message, format, arguments);
    fflush(stdout);
    flockfile(stderr);
    fprintf(stderr, PROGRAM ": %s\n", message);
    _exit(status);
}

/* Gives up: something went wrong in the work. */
static inline void __attribute__((format(PRINTF_STYLE, 1, 2), noreturn)) die(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    end_with(STATUS_FAILED, format, arguments);
}

/* Gives up: the command line is wrong, and nothing was done. */
static inline void __attribute__((format(PRINTF_STYLE, 1, 2), noreturn)) die_usage(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    end_with(STATUS_USAGE, format, arguments);
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
