// SPDX-License-Identifier: MIT
/*
 * rawio: the micro benchmark of White, Ng and Hillyer, "Performance Comparison
 * of IDE and SCSI Disks", section 3.2.
 *
 * Many child processes, released together, each keep one request outstanding
 * on a raw disk until all requests of a pattern are done.  See README.md for
 * the patterns, the output and what counts as a failure.  Linux and FreeBSD.
 */
#define _GNU_SOURCE             /* Linux: O_DIRECT */
#define PROGRAM "rawio"
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#ifdef __linux__
#include <linux/fs.h>           /* BLKGETSIZE64 */
#else
#include <sys/disk.h>           /* DIOCGMEDIASIZE */
#endif

#include "options.h"
#include "splitmix64.h"

#define CHILDREN_MAX 4096
#define REQUESTS_MAX (1u << 24)
#define BUFFER_ALIGNMENT 4096

enum pattern { SEQUENTIAL, INTERLEAVE, RANDOM };

struct options {
    const char *device;
    int write;
    int pattern;                /* enum pattern */
    uint64_t seed;
    uint64_t bytes;
    uint64_t request_bytes;
    uint64_t children;
    uint64_t span_bytes;
    bool print_pattern;
};

/* What parent and children share. */
struct shared {
    sem_t ready;                /* a child waits for the start */
    sem_t go;                   /* the start, one post for each child */
    sem_t finished;             /* a child found no request left */
    sem_t leave;                /* children end only now, so an earlier end is a failure */
    _Atomic uint64_t cursor;    /* next request of the pattern */
    _Atomic uint64_t bytes;     /* moved so far */
    _Atomic uint32_t active;    /* children with a request outstanding */
    _Atomic uint32_t active_max;
};

static pid_t pids[CHILDREN_MAX];
static volatile sig_atomic_t pid_count;

/* ---- options ------------------------------------------------------------- */

static struct options read_options(char **argv)
{
    static const char *const ops[] = { "read", "write", NULL };
    static const char *const patterns[] = { "sequential", "interleave", "random", NULL };
    static struct options options = { .bytes = 10485760, .request_bytes = 8192, .children = 128 };
    static struct option_rule rules[] = {
        { .name = "--device", .text = &options.device, .value = "PATH", .required = true },
        { .name = "--op", .choice = &options.write, .choices = ops, .required = true },
        { .name = "--pattern", .choice = &options.pattern, .choices = patterns, .required = true },
        { .name = "--seed", .number = &options.seed, .required = true },
        { .name = "--bytes", .number = &options.bytes, .low = 1 },
        { .name = "--request-bytes", .number = &options.request_bytes, .low = 512 },
        { .name = "--children", .number = &options.children, .low = 1, .high = CHILDREN_MAX },
        { .name = "--span-bytes", .number = &options.span_bytes },
        { .name = "--print-pattern", .flag = &options.print_pattern },
        { .name = NULL },
    };

    parse_options(argv, rules);
    if (options.request_bytes % 512 != 0)
        die_usage("--request-bytes %" PRIu64 ": give a multiple of 512", options.request_bytes);
    if (options.bytes % options.request_bytes != 0)
        die_usage("--bytes %" PRIu64 ": give a multiple of --request-bytes, which is %" PRIu64, options.bytes,
                  options.request_bytes);
    if (options.bytes / options.request_bytes > REQUESTS_MAX)
        die_usage("--bytes %" PRIu64 ": these are more than %u requests; give less", options.bytes, REQUESTS_MAX);
    if (options.bytes / options.request_bytes < options.children)
        die_usage("--bytes %" PRIu64 ": %" PRIu64 " requests cannot keep %" PRIu64 " children busy at once; give more",
                  options.bytes, options.bytes / options.request_bytes, options.children);
    return options;
}

/* ---- pattern --------------------------------------------------------------- */

/* The byte offset of each request, in the order in which they are to be issued. */
static uint64_t *make_pattern(const struct options *options, uint64_t device_bytes)
{
    const uint64_t request = options->request_bytes, count = options->bytes / request;
    const uint64_t middle = device_bytes / 2 / request * request;
    const uint64_t span = options->span_bytes ? options->span_bytes : device_bytes;
    uint64_t state = options->seed;
    uint64_t *offsets = calloc(count, sizeof *offsets);

    if (!offsets)
        die("out of memory for %" PRIu64 " requests", count);
    if (span > device_bytes || span < request)
        die("--span-bytes %" PRIu64 " does not fit %s with %" PRIu64 " bytes", span, options->device, device_bytes);
    if (options->pattern == SEQUENTIAL && options->bytes > device_bytes)
        die("%s has %" PRIu64 " bytes, fewer than the %" PRIu64 " to move", options->device, device_bytes,
            options->bytes);
    /* The first stream is the longer one when the count is odd. */
    if (options->pattern == INTERLEAVE && (count + 1) / 2 * request > middle)
        die("%s has %" PRIu64 " bytes, too few for two streams of half of %" PRIu64, options->device, device_bytes,
            options->bytes);
    for (uint64_t i = 0; i < count; i++) {
        switch ((enum pattern)options->pattern) {
        case SEQUENTIAL:
            offsets[i] = i * request;
            break;
        case INTERLEAVE:
            offsets[i] = i / 2 * request + (i % 2 ? middle : 0);
            break;
        case RANDOM:
            offsets[i] = random_remainder(&state, span / request) * request;
            break;
        }
    }
    return offsets;
}

static uint64_t size_of_device(int fd, const char *path)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        die("%s: %s", path, strerror(errno));
    if (S_ISREG(status.st_mode))
        return (uint64_t)status.st_size;
#ifdef __linux__
    uint64_t bytes;
    if (ioctl(fd, BLKGETSIZE64, &bytes) < 0)
#else
    off_t bytes;
    if (ioctl(fd, DIOCGMEDIASIZE, &bytes) < 0)
#endif
        die("%s is neither a disk nor a file: %s", path, strerror(errno));
    return (uint64_t)bytes;
}

/* ---- run -------------------------------------------------------------------- */

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) < 0)
        if (errno != EINTR)
            die("semaphore: %s", strerror(errno));
}

static void child(int fd, const struct options *options, const uint64_t *offsets, struct shared *shared, int number)
{
    const size_t request = options->request_bytes;
    const uint64_t count = options->bytes / request;
    void *buffer;

    if (posix_memalign(&buffer, BUFFER_ALIGNMENT, request) != 0)
        die("child %d: out of memory", number);
    memset(buffer, number + 1, request);    /* also brings its pages in before the start */
    sem_post(&shared->ready);
    wait_for(&shared->go);
    for (;;) {
        uint64_t next = atomic_fetch_add(&shared->cursor, 1);
        if (next >= count)
            break;
        uint32_t active = atomic_fetch_add(&shared->active, 1) + 1;
        uint32_t most = atomic_load(&shared->active_max);
        while (active > most && !atomic_compare_exchange_weak(&shared->active_max, &most, active))
            ;
        ssize_t moved = options->write ? pwrite(fd, buffer, request, (off_t)offsets[next])
                                       : pread(fd, buffer, request, (off_t)offsets[next]);
        if (moved < 0)
            die("child %d: %s at byte %" PRIu64 ": %s", number, options->write ? "write" : "read", offsets[next],
                strerror(errno));
        if ((size_t)moved != request)
            die("child %d: %s at byte %" PRIu64 ": moved %zd of %zu bytes", number,
                options->write ? "write" : "read", offsets[next], moved, request);
        atomic_fetch_sub(&shared->active, 1);
        atomic_fetch_add(&shared->bytes, request);
    }
    sem_post(&shared->finished);
    wait_for(&shared->leave);
    _exit(0);
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

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void run(int fd, const struct options *options, const uint64_t *offsets)
{
    struct sigaction action = { .sa_handler = on_child_end, .sa_flags = SA_NOCLDSTOP };
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const int count = (int)options->children;
    sigset_t child_end, before;

    if (shared == MAP_FAILED)
        die("no shared memory: %s", strerror(errno));
    if (sem_init(&shared->ready, 1, 0) < 0 || sem_init(&shared->go, 1, 0) < 0 ||
        sem_init(&shared->finished, 1, 0) < 0 || sem_init(&shared->leave, 1, 0) < 0)
        die("no process-shared semaphore: %s", strerror(errno));

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
            child(fd, options, offsets, shared, i);
        pids[i] = pid;
        pid_count = i + 1;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);

    for (int i = 0; i < count; i++)
        wait_for(&shared->ready);
    uint64_t begin_ns = now_ns();
    for (int i = 0; i < count; i++)
        sem_post(&shared->go);
    for (int i = 0; i < count; i++)
        wait_for(&shared->finished);
    uint64_t end_ns = now_ns();

    signal(SIGCHLD, SIG_DFL);
    for (int i = 0; i < count; i++)
        sem_post(&shared->leave);
    for (int i = 0; i < count; i++) {
        int status;
        if (waitpid(pids[i], &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
            die("child %d did not end well", i);
    }

    printf("metric elapsed_ns %" PRIu64 "\n", end_ns - begin_ns);
    printf("metric bytes %" PRIu64 "\n", atomic_load(&shared->bytes));
    printf("metric requests %" PRIu64 "\n", options->bytes / options->request_bytes);
    printf("metric children %d\n", count);
    printf("metric concurrent_max %" PRIu32 "\n", atomic_load(&shared->active_max));
    if (atomic_load(&shared->bytes) != options->bytes)
        die("moved %" PRIu64 " of %" PRIu64 " bytes", atomic_load(&shared->bytes), options->bytes);
    if (atomic_load(&shared->active_max) != options->children)
        die("only %" PRIu32 " of %d children were ever active at once", atomic_load(&shared->active_max), count);
}

int main(int argc, char **argv)
{
    struct options options = read_options(argv);
    /* Only a run has to go past the page cache; the pattern needs just the size. */
    int flags = options.print_pattern ? O_RDONLY : (options.write ? O_RDWR : O_RDONLY) | O_DIRECT;
    int fd = open(options.device, flags);

    (void)argc;
    if (fd < 0)
        die("cannot open %s: %s", options.device, strerror(errno));
    uint64_t *offsets = make_pattern(&options, size_of_device(fd, options.device));
    if (options.print_pattern)
        for (uint64_t i = 0; i < options.bytes / options.request_bytes; i++)
            printf("%" PRIu64 "\n", offsets[i]);
    else
        run(fd, &options, offsets);
    if (fflush(stdout) != 0)
        die("cannot write the results: %s", strerror(errno));
    return 0;
}
