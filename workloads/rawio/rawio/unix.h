// SPDX-License-Identifier: MIT
/* What Linux and the other Unix systems have in common (platform.h): processes, and semaphores that they share. */
#ifndef RAWIO_UNIX_H
#define RAWIO_UNIX_H

#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "program.h"

typedef sem_t semaphore;
typedef int disk;

static pid_t pids[CHILDREN_MAX];
static volatile sig_atomic_t pid_count;

static inline int semaphore_open(semaphore *semaphore)
{
    return sem_init(semaphore, 1, 0);
}

static inline void semaphore_post(semaphore *semaphore)
{
    sem_post(semaphore);
}

static void semaphore_wait(semaphore *semaphore)
{
    while (sem_wait(semaphore) < 0)
        if (errno != EINTR)
            die("semaphore: %s", strerror(errno));
}

static inline void *aligned_memory(size_t alignment, size_t size)
{
    void *memory;

    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

static inline bool disk_is_open(disk disk)
{
    return disk >= 0;
}

/* Processes may share a descriptor: where to read stands in each call. */
static inline disk disk_of_child(disk parents, const char *path, int write)
{
    (void)path;
    (void)write;
    return parents;
}

static inline ssize_t disk_read(disk disk, void *buffer, size_t bytes, uint64_t offset)
{
    return pread(disk, buffer, bytes, (off_t)offset);
}

static inline ssize_t disk_write(disk disk, const void *buffer, size_t bytes, uint64_t offset)
{
    return pwrite(disk, buffer, bytes, (off_t)offset);
}

static void kill_children(void)
{
    for (int i = 0; i < pid_count; i++)
        kill(pids[i], SIGKILL);
}

/* A child ends early only when it failed; without it the others would wait for ever. */
static void on_child_end(int signal)
{
    static const char text[] = "rawio: a child ended before the end of the run; see the message above, if any\n";

    (void)signal;
    kill_children();
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(2);
    _exit(1);
}

static inline void children_start(int count, void (*body)(int number, void *run), void *run)
{
    struct sigaction action = { .sa_handler = on_child_end, .sa_flags = SA_NOCLDSTOP };
    sigset_t child_end, before;

    /* The handler must see every child in the list, so it waits until all are in. */
    sigemptyset(&child_end);
    sigaddset(&child_end, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_end, &before);
    sigaction(SIGCHLD, &action, NULL);
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid < 0) {
            int reason = errno;
            kill_children();
            die("cannot fork child %d: %s", i, strerror(reason));
        }
        if (pid == 0)
            body(i, run);
        pids[i] = pid;
        pid_count = i + 1;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static inline void __attribute__((noreturn)) child_end(void)
{
    _exit(0);
}

static inline void children_may_end(void)
{
    signal(SIGCHLD, SIG_DFL);
}

static inline void children_end(int count)
{
    for (int i = 0; i < count; i++) {
        int status;
        if (waitpid(pids[i], &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
            die("child %d did not end well", i);
    }
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
