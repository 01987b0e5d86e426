// SPDX-License-Identifier: MIT
/* The wrapper around PostMark on Linux (platform.h). */
#ifndef POSTMARK_LINUX_H
#define POSTMARK_LINUX_H

#define _GNU_SOURCE             /* SCHED_RESET_ON_FORK */
#include <fcntl.h>
#include <sched.h>

#include "program.h"

static inline int open_pipe(int ends[2])
{
    return pipe2(ends, O_CLOEXEC);
}

static inline void run_before_others(void)
{
    struct sched_param priority = {.sched_priority = 1};

    (void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority);
}

static inline void run_as_others(void)
{
}

static bool written_bytes(pid_t pid, uint64_t *bytes)
{
    char path[64], line[128];
    FILE *file;

    *bytes = UINT64_MAX;
    snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "wchar: ", 7) == 0)
            *bytes = strtoull(line + 7, NULL, 10);
    if (*bytes == UINT64_MAX)
        die("%s does not say what PostMark wrote; the kernel needs CONFIG_TASK_IO_ACCOUNTING", path);
    fclose(file);
    return true;
}

#endif
