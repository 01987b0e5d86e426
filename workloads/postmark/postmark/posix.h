// SPDX-License-Identifier: MIT
/* The wrapper around PostMark on any POSIX system, such as FreeBSD (platform.h). */
#ifndef POSTMARK_POSIX_H
#define POSTMARK_POSIX_H

#ifndef __FreeBSD__
#define _POSIX_C_SOURCE 200809L
#endif
#include <fcntl.h>
#include <sched.h>

#include "program.h"

static inline int open_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return -1;
    return fcntl(ends[0], F_SETFD, FD_CLOEXEC) < 0 || fcntl(ends[1], F_SETFD, FD_CLOEXEC) < 0 ? -1 : 0;
}

static inline void set_scheduler(int policy, int number)
{
    struct sched_param priority = {.sched_priority = number};

    (void)sched_setscheduler(0, policy, &priority);
}

static inline void run_before_others(void)
{
    set_scheduler(SCHED_FIFO, sched_get_priority_min(SCHED_FIFO));
}

static inline void run_as_others(void)
{
    set_scheduler(SCHED_OTHER, sched_get_priority_min(SCHED_OTHER));
}

/* POSIX counts a process's blocks at most, and not its bytes. */
static bool written_bytes(pid_t pid, uint64_t *bytes)
{
    (void)pid;
    (void)bytes;
    return false;
}

#endif
