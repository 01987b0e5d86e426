// SPDX-License-Identifier: MIT
/*
 * The agent on any POSIX system (platform.h), as an ordinary program of root's (command_line.h).  It knows of the processes
 * that a workload left behind by their process group; one that made a group of its own is not noticed.
 */
#ifndef AGENT_POSIX_H
#define AGENT_POSIX_H

#ifndef __FreeBSD__
#define _POSIX_C_SOURCE 200809L
#endif
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "command_line.h"

#ifdef __FreeBSD__
#define MODULE_LOADER "kldload", "-n"
#else
#define MODULE_LOADER NULL, NULL
#endif
#define MODULE_HINT ""
#ifndef O_DIRECT
#define O_DIRECT 0              /* POSIX has none; a raw device needs none */
#endif

static inline int pipe_open(int ends[2])
{
    if (pipe(ends) != 0)
        return -1;
    return fcntl(ends[0], F_SETFD, FD_CLOEXEC) < 0 || fcntl(ends[1], F_SETFD, FD_CLOEXEC) < 0 ? -1 : 0;
}

static inline void output_await(const int fds[2], bool ready[2])
{
    fd_set set;
    sigset_t none;
    int highest = fds[0] > fds[1] ? fds[0] : fds[1];

    FD_ZERO(&set);
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            FD_SET(fds[i], &set);
    sigemptyset(&none);
    if (pselect(highest + 1, &set, NULL, NULL, NULL, &none) > 0)
        for (int i = 0; i < 2; i++)
            ready[i] = fds[i] >= 0 && FD_ISSET(fds[i], &set);
}

static inline bool child_ended(pid_t pid, int *status)
{
    return waitpid(pid, status, WNOHANG) == pid;
}

/* A program is the leader of a session and a process group of its own. */
static inline bool processes_end(pid_t pid)
{
    return kill(-pid, SIGKILL) == 0;
}

#include "unix.h"

static inline void platform_begin(char **argv)
{
    read_options(argv);
    watch_children();
    setenv("LC_ALL", "C", 1);
}

/* A file in the place of the port is good for tries. */
static int report_open(void)
{
    struct termios settings;

    report_fd = open(option_report, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (report_fd < 0 || !isatty(report_fd))
        return report_fd;
    if (tcgetattr(report_fd, &settings) < 0)
        return -1;
    settings.c_iflag = 0;
    settings.c_oflag = 0;
    settings.c_lflag = 0;
    settings.c_cflag = CS8 | CREAD | CLOCAL;
    /* POSIX names no rate above 38400. */
#ifdef B115200
    cfsetispeed(&settings, B115200);
    cfsetospeed(&settings, B115200);
#endif
    return tcsetattr(report_fd, TCSANOW, &settings);
}

static inline const char *platform_prepare(void)
{
    return NULL;
}

static inline _Noreturn void end_machine(void)
{
    report_drain();
    _exit(option_end != NULL && system(option_end) != 0);
}

static int job_open(void)
{
    job_fd = open(option_job, O_RDWR | O_DIRECT | O_DSYNC | O_CLOEXEC);
    return job_fd;
}

static const char *disk_wait(const char *name)
{
    char path[300], sector[CONTROL_LEN];

    snprintf(path, sizeof path, "/dev/%s", name);
    for (long waited_ms = 0; waited_ms < WAIT_DISK_MS; waited_ms++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            ssize_t got = read(fd, sector, sizeof sector);
            close(fd);
            if (got == sizeof sector)
                return NULL;
        }
        sleep_ms(1);
    }
    return problem("wait_disk %s: %s cannot be read after %d s", name, path, WAIT_DISK_MS / 1000);
}

static const char *workload_take(const char *name)
{
    char folder[512];
    struct stat status;

    if (option_workloads == NULL)
        return problem("workload %s: the agent was started without --workloads", name);
    snprintf(folder, sizeof folder, "%s/%s", option_workloads, name);
    if (stat(folder, &status) < 0 || !S_ISDIR(status.st_mode))
        return problem("workload %s: there is no folder %s", name, folder);
    path_prepend(folder);
    return NULL;
}

#endif
