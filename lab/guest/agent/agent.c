// SPDX-License-Identifier: MIT
/*
 * The guest's agent: process 1 on the read-only system disk.
 *
 * It reads the job from the job disk, carries it out line by line and reports
 * each event on the second serial port.  Both formats, and the control writes
 * that mark a cell's begin and end, are described in docs/interfaces.md.
 *
 * A command that fails inside a cell fails that cell: its remaining commands
 * are skipped up to "end", and the run goes on.  Outside a cell it ends the
 * run: the last line is then "fail", and "done" is missing.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define REPORT_PORT "/dev/ttyS1"
#define JOB_SERIAL "job"
#define JOB_OFFSET 4096         /* sectors 0-7 are the control area */
#define JOB_LEN_MAX (1 << 20)
#define CONTROL_LEN 512
#define LINE_LEN_MAX 4096       /* a longer line of a workload is cut, and says so */
#define ARGS_MAX 128
#define WAIT_DISK_MS 60000
#define WORKLOADS "/run/workload"
#define SEARCH_PATH "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static int report_fd = -1;
static int job_fd = -1;
static unsigned long report_sequence;
static char cell_id[256];       /* empty outside a cell */
static int cell_failed;

/* ---- report ---------------------------------------------------------- */

/* The CRC that cksum(1) prints: POSIX.1-2017, "cksum", polynomial 0x04c11db7, length appended. */
static uint32_t cksum(const char *data, size_t len)
{
    uint32_t crc = 0;
    size_t rest = len;

    for (size_t i = 0; i < len || rest > 0; i++) {
        uint8_t byte;

        if (i < len) {
            byte = (uint8_t)data[i];
        } else {
            byte = rest & 0xff;
            rest >>= 8;
        }
        crc ^= (uint32_t)byte << 24;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x80000000u ? crc << 1 ^ 0x04c11db7u : crc << 1;
    }
    return ~crc;
}

static void write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t put = write(fd, data, len);
        if (put < 0 && errno != EINTR)
            return;     /* nobody left to tell; the host finds the gap in the numbers */
        if (put > 0) {
            data += put;
            len -= (size_t)put;
        }
    }
}

static void report(const char *format, ...)
{
    char payload[LINE_LEN_MAX + 64], line[LINE_LEN_MAX + 128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(payload, sizeof payload, format, arguments);
    va_end(arguments);
    for (char *c = payload; *c; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    int len = snprintf(line, sizeof line, "@spindle %lu %u %s\n", ++report_sequence,
                       cksum(payload, strlen(payload)), payload);
    write_all(report_fd, line, (size_t)len);
}

static int open_report(void)
{
    struct termios settings;

    report_fd = open(REPORT_PORT, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (report_fd < 0 || tcgetattr(report_fd, &settings) < 0)
        return -1;
    cfmakeraw(&settings);
    cfsetspeed(&settings, B115200);
    return tcsetattr(report_fd, TCSANOW, &settings);
}

/* ---- end of the machine ---------------------------------------------- */

/*
 * The kernel runs without ACPI (see README.md, "Boot"), so it cannot cut the
 * power; QEMU runs with -no-reboot and ends when the machine resets.
 */
static _Noreturn void power_off(void)
{
    sync();
    if (report_fd >= 0)
        tcdrain(report_fd);
    reboot(RB_AUTOBOOT);
    /* Process 1 must not return; the panic that follows ends QEMU too. */
    _exit(1);
}

/* Nothing more can be done: the run ends here, without "done". */
#define fatal(...) (report("fail " __VA_ARGS__), power_off())

/* Outside a cell: the run ends here.  Inside: the cell is lost, the run goes on. */
#define fail(...) (report("fail " __VA_ARGS__), cell_id[0] ? (void)(cell_failed = 1) : power_off())

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

static void set_file(const char *path, const char *value)
{
    char text[512];
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0) {
        fail("set %s: cannot open: %s", path, strerror(errno));
        return;
    }
    ssize_t put = write(fd, value, strlen(value));
    int saved = errno;
    close(fd);
    if (put < 0) {
        fail("set %s: the kernel refuses \"%s\": %s", path, value, strerror(saved));
        return;
    }
    if (read_text(path, text, sizeof text) < 0)
        fail("set %s: cannot read back: %s", path, strerror(errno));
    else if (!shows_value(text, value))
        fail("set %s: wrote \"%s\", reads \"%s\"", path, value, text);
}

/* ---- disks ------------------------------------------------------------ */

static void sleep_ms(long ms)
{
    const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

/*
 * Waits until the disk has its size and can be opened.  The open matters: it
 * takes the lock under which the kernel looks for partitions, so afterwards no
 * request of the kernel's own is on its way to the disk.
 */
static void wait_disk(const char *name)
{
    char path[300], text[64];

    for (long waited_ms = 0; waited_ms < WAIT_DISK_MS; waited_ms++) {
        snprintf(path, sizeof path, "/sys/block/%s/size", name);
        if (read_text(path, text, sizeof text) == 0 && strtoull(text, NULL, 10) > 0) {
            snprintf(path, sizeof path, "/dev/%s", name);
            int fd = open(path, O_RDONLY | O_CLOEXEC);
            if (fd >= 0) {
                close(fd);
                return;
            }
        }
        sleep_ms(1);
    }
    fail("wait_disk %s: not there after %d s; is its driver in \"modules\"?", name, WAIT_DISK_MS / 1000);
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

static int open_job(void)
{
    char path[64];

    return find_disk(JOB_SERIAL, path, sizeof path) < 0 ? -1 : open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
}

/* Mounts the image of a workload, a disk with the workload's name as serial number, and puts it into PATH. */
static void mount_workload(const char *name)
{
    char device[64], target[256], path[1024];

    snprintf(target, sizeof target, WORKLOADS "/%s", name);
    if (find_disk(name, device, sizeof device) < 0) {
        fail("workload %s: no virtio disk with that serial", name);
        return;
    }
    if ((mkdir(WORKLOADS, 0755) < 0 && errno != EEXIST) || mkdir(target, 0755) < 0 ||
        mount(device, target, "erofs", MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0) {
        fail("workload %s: cannot mount %s on %s: %s", name, device, target, strerror(errno));
        return;
    }
    snprintf(path, sizeof path, "%s:%s", target, getenv("PATH"));
    setenv("PATH", path, 1);
}

/* The whole job text, NUL-terminated; a failure ends the run. */
static char *read_job(void)
{
    char *text = aligned_alloc(4096, JOB_LEN_MAX);
    size_t len = 0;

    if (!text)
        fatal("job disk: out of memory");
    while (len < JOB_LEN_MAX) {
        ssize_t got = pread(job_fd, text + len, 4096, (off_t)(JOB_OFFSET + len));
        if (got < 0)
            fatal("job disk: cannot read at byte %zu: %s", JOB_OFFSET + len, strerror(errno));
        if (memchr(text + len, '\0', (size_t)got))
            return text;
        if (got < 4096)
            break;
        len += (size_t)got;
    }
    fatal("job disk: no NUL after the job text within %d bytes", JOB_LEN_MAX);
}

static int control(const char *format, ...)
{
    char *sector = aligned_alloc(4096, 4096);
    va_list arguments;

    if (!sector)
        return -1;
    memset(sector, 0, CONTROL_LEN);
    va_start(arguments, format);
    vsnprintf(sector, CONTROL_LEN, format, arguments);
    va_end(arguments);
    ssize_t put = pwrite(job_fd, sector, CONTROL_LEN, 0);
    int saved = errno;
    free(sector);
    errno = put < 0 ? saved : EIO;
    return put == CONTROL_LEN ? 0 : -1;
}

/* ---- programs ---------------------------------------------------------- */

/* Text that a program has written and that is not yet a whole line. */
struct stream {
    int fd;
    const char *kind;           /* first word of its report lines */
    size_t len;
    int cut;                    /* the line is too long; its rest is dropped */
    char line[LINE_LEN_MAX];
};

static void flush_line(struct stream *stream)
{
    report("%s %.*s%s", stream->kind, (int)stream->len, stream->line, stream->cut ? " [cut]" : "");
    stream->len = 0;
    stream->cut = 0;
}

/* Takes what is there; 0 at the end of the stream. */
static int take(struct stream *stream)
{
    char buffer[4096];
    ssize_t got = read(stream->fd, buffer, sizeof buffer);

    if (got < 0)
        return errno == EINTR || errno == EAGAIN;
    for (ssize_t i = 0; i < got; i++) {
        if (buffer[i] == '\n')
            flush_line(stream);
        else if (stream->len < sizeof stream->line)
            stream->line[stream->len++] = buffer[i] ? buffer[i] : '?';
        else
            stream->cut = 1;
    }
    if (got == 0 && stream->len > 0)
        flush_line(stream);
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

/*
 * Runs a program to its end, reporting its output line by line, and returns
 * its exit status as a shell does (128 + n for signal n), or -1 if it failed
 * before it ran.  Processes that it leaves behind would disturb the cells that
 * follow, so they are killed, and LEFT is set.
 */
static int run(char **args, int *left)
{
    static struct stream streams[2];
    struct pollfd polled[2];
    int out[2], err[2], status = 0, ended = 0;
    sigset_t none;
    pid_t pid, got;

    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
        fail("%s: no pipe or process: %s", args[0], strerror(errno));
        return -1;
    }
    if (pid == 0)
        child(args, out[1], err[1]);
    close(out[1]);
    close(err[1]);
    streams[0] = (struct stream){ .fd = out[0], .kind = "out" };
    streams[1] = (struct stream){ .fd = err[0], .kind = "err" };
    for (int i = 0; i < 2; i++)
        polled[i] = (struct pollfd){ .fd = streams[i].fd, .events = POLLIN };

    /* SIGCHLD is blocked except inside ppoll, so that the end of a child cannot slip in between. */
    sigemptyset(&none);
    while (!ended) {
        int one;

        if (ppoll(polled, 2, NULL, &none) > 0)
            for (int i = 0; i < 2; i++)
                if (polled[i].revents && !take(&streams[i]))
                    polled[i].fd = -1;
        while ((got = waitpid(-1, &one, WNOHANG)) > 0)
            if (got == pid) {
                status = one;
                ended = 1;
            }
    }
    *left = got == 0;
    if (*left) {
        kill(-1, SIGKILL);
        while (waitpid(-1, NULL, 0) > 0)
            ;
    }
    for (int i = 0; i < 2; i++) {
        while (take(&streams[i]))
            ;
        close(streams[i].fd);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void exec_workload(char **args)
{
    int left;
    int status = run(args, &left);

    if (status < 0)
        return;
    report("exit %d", status);
    if (status > 128)
        fail("exec %s: killed by signal %d (%s)", args[0], status - 128, strsignal(status - 128));
    else if (status != 0)
        fail("exec %s: exit status %d", args[0], status);
    else if (left)
        fail("exec %s: left processes behind; they were killed", args[0]);
}

static void load_modules(char *words)
{
    for (char *save, *name = strtok_r(words, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        char *args[] = { "modprobe", name, NULL };
        int left, status = run(args, &left);

        if (status > 0)
            fail("modules: modprobe %s: exit status %d; is it in lab/guest/modules.txt?", name, status);
    }
}

/* ---- the job ------------------------------------------------------------ */

static void begin_cell(char *words)
{
    char *save, *id = strtok_r(words, " ", &save), *seed = strtok_r(NULL, " ", &save);

    if (!id || !seed || strtok_r(NULL, " ", &save) || strlen(id) >= sizeof cell_id) {
        fail("job: expected \"cell ID SEED\" with an id shorter than %zu", sizeof cell_id);
        return;
    }
    if (cell_id[0] != '\0') {
        fail("job: cell %s begins before cell %s ends", id, cell_id);
        return;
    }
    strcpy(cell_id, id);
    cell_failed = 0;
    report("cell %s", id);
    if (control("cell %s seed %s", id, seed) < 0)
        fail("cell: the lab refuses the control write: %s; see QEMU's messages", strerror(errno));
}

static void end_cell(void)
{
    if (cell_id[0] == '\0') {
        fail("job: \"end\" outside a cell");
        return;
    }
    if (control("end") < 0)
        fail("end: the lab refuses the control write: %s; see QEMU's messages", strerror(errno));
    report("end %s", cell_id);
    cell_id[0] = '\0';
}

/* Splits "word rest" in place: WORD ends at the first space, the rest without leading spaces is returned. */
static char *split(char *word)
{
    char *rest = word + strcspn(word, " ");

    if (*rest)
        *rest++ = '\0';
    return rest + strspn(rest, " ");
}

static void do_line(char *line)
{
    char *rest = split(line);

    if (strcmp(line, "end") == 0) {
        end_cell();
    } else if (cell_id[0] != '\0' && cell_failed) {
        return;         /* this cell is lost already */
    } else if (strcmp(line, "cell") == 0) {
        begin_cell(rest);
    } else if (strcmp(line, "modules") == 0) {
        load_modules(rest);
    } else if (strcmp(line, "wait_disk") == 0) {
        wait_disk(rest);
    } else if (strcmp(line, "workload") == 0) {
        mount_workload(rest);
    } else if (strcmp(line, "set") == 0) {
        char *value = split(rest);
        set_file(rest, value);
    } else if (strcmp(line, "exec") == 0) {
        char *args[ARGS_MAX + 1], *save;
        int count = 0;

        for (char *word = strtok_r(rest, " ", &save); word && count < ARGS_MAX; word = strtok_r(NULL, " ", &save))
            args[count++] = word;
        args[count] = NULL;
        if (count == 0 || count == ARGS_MAX)
            fail("job: \"exec\" takes 1 to %d words", ARGS_MAX - 1);
        else
            exec_workload(args);
    } else if (strcmp(line, "poweroff") == 0) {
        if (cell_id[0] != '\0')
            fatal("job: \"poweroff\" inside cell %s", cell_id);
        report("done");
        power_off();
    } else {
        fail("job: unknown command \"%s\"", line);
    }
}

static void on_child(int signal)
{
    (void)signal;       /* its only use is to interrupt ppoll */
}

static void mount_or_die(const char *type, const char *target)
{
    if (mount(type, target, type, MS_NOSUID | MS_NODEV, NULL) < 0)
        fatal("cannot mount %s on %s: %s", type, target, strerror(errno));
}

int main(void)
{
    struct sigaction action = { .sa_handler = on_child };
    struct utsname system;
    sigset_t block;

    sigaction(SIGCHLD, &action, NULL);
    sigemptyset(&block);
    sigaddset(&block, SIGCHLD);
    sigprocmask(SIG_BLOCK, &block, NULL);
    setenv("PATH", SEARCH_PATH, 1);
    setenv("HOME", "/tmp", 1);
    setenv("LC_ALL", "C", 1);

    if (open_report() < 0) {
        fprintf(stderr, "spindle-agent: no report port %s: %s\n", REPORT_PORT, strerror(errno));
        power_off();
    }
    uname(&system);
    report("hello 1 %s", system.release);
    mount_or_die("proc", "/proc");
    mount_or_die("tmpfs", "/tmp");
    mount_or_die("tmpfs", "/run");
    job_fd = open_job();
    if (job_fd < 0)
        fatal("no virtio disk with serial \"%s\": %s", JOB_SERIAL, strerror(errno));

    char *save, *line = strtok_r(read_job(), "\n", &save);
    if (!line || strcmp(line, "spindle-job 1") != 0)
        fatal("job: first line is \"%.100s\", expected \"spindle-job 1\"", line ? line : "");
    while ((line = strtok_r(NULL, "\n", &save)))
        do_line(line);
    fatal("job: ends without \"poweroff\"");
}
