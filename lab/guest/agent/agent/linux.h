// SPDX-License-Identifier: MIT
/*
 * The agent on Linux (platform.h): process 1 on the read-only system disk, or of a process namespace.  Disks are found
 * by serial number, and a workload is an image on a disk of its own.
 */
#ifndef AGENT_LINUX_H
#define AGENT_LINUX_H

#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define REPORT_NAME "/dev/ttyS1"
#define JOB_NAME "virtio disk with serial \"job\""
#define JOB_SERIAL "job"
#define WORKLOADS "/run/workload"
#define SEARCH_PATH "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define MODULE_LOADER "modprobe", NULL
#define MODULE_HINT "; is it in lab/guest/modules.txt?"

static inline int pipe_open(int ends[2])
{
    return pipe2(ends, O_CLOEXEC);
}

static inline void output_await(const int fds[2], bool ready[2])
{
    struct pollfd polled[2] = { { .fd = fds[0], .events = POLLIN }, { .fd = fds[1], .events = POLLIN } };
    sigset_t none;

    sigemptyset(&none);
    if (ppoll(polled, 2, NULL, &none) > 0)
        for (int i = 0; i < 2; i++)
            ready[i] = polled[i].revents != 0;
}

/* Process 1 gets all whose parents are gone. */
static bool more_children;

static inline bool child_ended(pid_t pid, int *status)
{
    bool ended = false;
    pid_t got;
    int one;

    while ((got = waitpid(-1, &one, WNOHANG)) > 0)
        if (got == pid) {
            *status = one;
            ended = true;
        }
    more_children = got == 0;
    return ended;
}

static inline bool processes_end(pid_t pid)
{
    (void)pid;
    if (!more_children)
        return false;
    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    return true;
}

#include "unix.h"

static inline void platform_begin(char **argv)
{
    (void)argv;
    watch_children();
    setenv("PATH", SEARCH_PATH, 1);
    setenv("HOME", "/tmp", 1);
    setenv("LC_ALL", "C", 1);
}

static int report_open(void)
{
    struct termios settings;

    report_fd = open(REPORT_NAME, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (report_fd < 0 || tcgetattr(report_fd, &settings) < 0)
        return -1;
    cfmakeraw(&settings);
    cfsetspeed(&settings, B115200);
    return tcsetattr(report_fd, TCSANOW, &settings);
}

static const char *platform_prepare(void)
{
    static const char *const mounts[][2] = { { "proc", "/proc" }, { "tmpfs", "/tmp" }, { "tmpfs", "/run" } };

    for (int i = 0; i < 3; i++)
        if (mount(mounts[i][0], mounts[i][1], mounts[i][0], MS_NOSUID | MS_NODEV, NULL) < 0)
            return problem("cannot mount %s on %s: %s", mounts[i][0], mounts[i][1], strerror(errno));
    return NULL;
}

/*
 * The kernel runs without ACPI (see README.md, "Boot"), so it cannot cut the
 * power; QEMU runs with -no-reboot and ends when the machine resets.
 */
static inline _Noreturn void end_machine(void)
{
    sync();
    report_drain();
    reboot(RB_AUTOBOOT);
    /* Process 1 must not return; the panic that follows ends QEMU too. */
    _exit(1);
}

/*
 * Waits until the disk has its size and can be opened.  The open matters: it
 * takes the lock under which the kernel looks for partitions, so afterwards no
 * request of the kernel's own is on its way to the disk.
 */
static const char *disk_wait(const char *name)
{
    char path[300], text[64];

    for (long waited_ms = 0; waited_ms < WAIT_DISK_MS; waited_ms++) {
        snprintf(path, sizeof path, "/sys/block/%s/size", name);
        if (read_text(path, text, sizeof text) == 0 && strtoull(text, NULL, 10) > 0) {
            snprintf(path, sizeof path, "/dev/%s", name);
            int fd = open(path, O_RDONLY | O_CLOEXEC);
            if (fd >= 0) {
                close(fd);
                return NULL;
            }
        }
        sleep_ms(1);
    }
    return problem("wait_disk %s: not there after %d s; is its driver in \"modules\"?", name, WAIT_DISK_MS / 1000);
}

/* Writes the name of the virtio disk with this serial number to PATH; -1 and errno if there is none. */
static int find_disk(const char *serial, char *path, size_t path_len)
{
    char file[64], text[64];

    for (char letter = 'a'; letter <= 'z'; letter++) {
        snprintf(file, sizeof file, "/sys/block/vd%c/serial", letter);
        if (read_text(file, text, sizeof text) == 0 && strcmp(text, serial) == 0) {
            snprintf(path, path_len, "/dev/vd%c", letter);
            return 0;
        }
    }
    errno = ENODEV;
    return -1;
}

static int job_open(void)
{
    char path[64];

    job_fd = find_disk(JOB_SERIAL, path, sizeof path) < 0 ? -1 : open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
    return job_fd;
}

/* Mounts the image of a workload, a disk with the workload's name as serial number, and puts it into PATH. */
static const char *workload_take(const char *name)
{
    char device[64], target[256];

    snprintf(target, sizeof target, WORKLOADS "/%s", name);
    if (find_disk(name, device, sizeof device) < 0)
        return problem("workload %s: no virtio disk with that serial", name);
    if ((mkdir(WORKLOADS, 0755) < 0 && errno != EEXIST) || mkdir(target, 0755) < 0 ||
        mount(device, target, "erofs", MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
        return problem("workload %s: cannot mount %s on %s: %s", name, device, target, strerror(errno));
    path_prepend(target);
    return NULL;
}

#endif
