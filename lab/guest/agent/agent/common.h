// SPDX-License-Identifier: MIT
/* What the platforms get from the agent (platform.h). */
#ifndef AGENT_COMMON_H
#define AGENT_COMMON_H

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __MINGW32__
#define PRINTF_STYLE __MINGW_PRINTF_FORMAT
#else
#define PRINTF_STYLE printf
#endif

/* Text that a program has written and that is not yet a whole line. */
struct stream {
    const char *kind;           /* first word of its report lines */
    size_t len;
    int cut;                    /* the line is too long; its rest is dropped */
    char line[LINE_LEN_MAX];
};

static void stream_take(struct stream *stream, const char *data, size_t len);
static void stream_end(struct stream *stream);

/* A message for the report; it stays whole until the next one is made. */
static const char *__attribute__((format(PRINTF_STYLE, 1, 2))) problem(const char *format, ...)
{
    static char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

#endif
