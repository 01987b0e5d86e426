// SPDX-License-Identifier: MIT
/*
 * What Linux and the other Unix systems have in common (platform.h).  The including file has before it
 *
 *     pipe_open(ends)             a pipe that programs started later do not get; -1 and errno
 *     output_await(fds, ready)    sleeps until one of the two can be read (READY says which) or a child ends;
 *                                 SIGCHLD is blocked but here, so that the end of a child cannot slip in between
 *     child_ended(pid, status)    takes the ends of processes: true once PID is among them
 *     processes_end(pid)          ends what the program PID left behind; true if there was anything
 */
#ifndef AGENT_UNIX_H
#define AGENT_UNIX_H

static int report_fd = -1;
static int job_fd = -1;

/* ---- report ---------------------------------------------------------- */

static void report_write(const char *data, size_t len)
{
    while (len > 0) {
        ssize_t put = write(report_fd, data, len);
        if (put < 0 && errno != EINTR)
            return;     /* nobody left to tell; the host finds the gap in the numbers */
        if (put > 0) {
            data += put;
            len -= (size_t)put;
        }
    }
}

static inline void report_drain(void)
{
    if (report_fd >= 0)
        tcdrain(report_fd);
}

static inline void system_name(char *name, size_t len)
{
    struct utsname system;

    uname(&system);
    snprintf(name, len, "%s", system.release);
}

/* ---- files ------------------------------------------------------------ */

/* Reads a short file into TEXT without trailing white space; -1 and errno if it cannot. */
static int read_text(const char *path, char *text, size_t text_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -1;
    ssize_t got = read(fd, text, text_len - 1);
    int saved = errno;
    close(fd);
    errno = saved;
    if (got < 0)
        return -1;
    while (got > 0 && isspace((unsigned char)text[got - 1]))
        got--;
    text[got] = '\0';
    return 0;
}

/* True if TEXT is VALUE, or a list of choices in which [VALUE] is the one taken. */
static int shows_value(const char *text, const char *value)
{
    char taken[256];

    if (strcmp(text, value) == 0)
        return 1;
    snprintf(taken, sizeof taken, "[%s]", value);
    return strstr(text, taken) != NULL;
}

static const char *file_set(const char *path, const char *value)
{
    char text[512];
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return problem("set %s: cannot open: %s", path, strerror(errno));
    ssize_t put = write(fd, value, strlen(value));
    int saved = errno;
    close(fd);
    if (put < 0)
        return problem("set %s: the kernel refuses \"%s\": %s", path, value, strerror(saved));
    if (read_text(path, text, sizeof text) < 0)
        return problem("set %s: cannot read back: %s", path, strerror(errno));
    if (!shows_value(text, value))
        return problem("set %s: wrote \"%s\", reads \"%s\"", path, value, text);
    return NULL;
}

/* ---- disks ------------------------------------------------------------ */

static void sleep_ms(long ms)
{
    const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

static inline ssize_t job_read(char *to, size_t offset)
{
    return pread(job_fd, to, PAGE, (off_t)offset);
}

static inline ssize_t job_write(const char *from)
{
    return pwrite(job_fd, from, CONTROL_LEN, 0);
}

static inline void *page_memory(size_t len)
{
    void *memory;

    return posix_memalign(&memory, PAGE, len) == 0 ? memory : NULL;
}

static inline void page_free(void *memory)
{
    free(memory);
}

static void path_prepend(const char *folder)
{
    char path[1024];

    snprintf(path, sizeof path, "%s:%s", folder, getenv("PATH"));
    setenv("PATH", path, 1);
}

/* ---- programs ---------------------------------------------------------- */

static void on_child(int signal)
{
    (void)signal;       /* its only use is to interrupt output_await() */
}

static inline void watch_children(void)
{
    struct sigaction action = { .sa_handler = on_child };
    sigset_t block;

    sigaction(SIGCHLD, &action, NULL);
    sigemptyset(&block);
    sigaddset(&block, SIGCHLD);
    sigprocmask(SIG_BLOCK, &block, NULL);
}

/* Takes what is there; 0 at the end of the stream. */
static int output_take(int fd, struct stream *stream)
{
    char buffer[4096];
    ssize_t got = read(fd, buffer, sizeof buffer);

    if (got < 0)
        return errno == EINTR || errno == EAGAIN;
    stream_take(stream, buffer, (size_t)got);
    if (got == 0)
        stream_end(stream);
    return got > 0;
}

static void child(char **args, int out, int err)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(out, 1);
    dup2(err, 2);
    setsid();
    execvp(args[0], args);
    dprintf(2, "cannot start %s: %s\n", args[0], strerror(errno));
    _exit(127);
}

static int program_run(char **args, struct stream streams[2], int *left)
{
    int out[2], err[2], status = 0, ended = 0;
    pid_t pid;

    if (pipe_open(out) < 0 || pipe_open(err) < 0 || (pid = fork()) < 0)
        return -1;
    if (pid == 0)
        child(args, out[1], err[1]);
    close(out[1]);
    close(err[1]);

    int fds[2] = { out[0], err[0] }, open_fds[2] = { out[0], err[0] };
    while (!ended) {
        bool ready[2] = { false, false };

        output_await(open_fds, ready);
        for (int i = 0; i < 2; i++)
            if (ready[i] && !output_take(fds[i], &streams[i]))
                open_fds[i] = -1;
        ended = child_ended(pid, &status);
    }
    *left = processes_end(pid);
    for (int i = 0; i < 2; i++) {
        while (output_take(fds[i], &streams[i]))
            ;
        close(fds[i]);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static inline const char *signal_text(int number)
{
    return strsignal(number);
}

#endif
