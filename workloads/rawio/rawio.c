// SPDX-License-Identifier: MIT
/*
 * rawio: the micro benchmark of White, Ng and Hillyer, "Performance Comparison
 * of IDE and SCSI Disks", section 3.2.
 *
 * Many child processes, released together, each keep one request outstanding
 * on a raw disk until all requests of a pattern are done.  See README.md for
 * the patterns, the output and what counts as a failure, and rawio/platform.h
 * for the systems that it runs on.
 */
#define PROGRAM "rawio"
#include "rawio/platform.h"

#include <stdatomic.h>

#include "options.h"
#include "splitmix64.h"

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
    semaphore ready;            /* a child waits for the start */
    semaphore go;               /* the start, one post for each child */
    semaphore finished;         /* a child found no request left */
    semaphore leave;            /* children end only now, so an earlier end is a failure */
    _Atomic uint64_t cursor;    /* next request of the pattern */
    _Atomic uint64_t bytes;     /* moved so far */
    _Atomic uint32_t active;    /* children with a request outstanding */
    _Atomic uint32_t active_max;
};

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

/* ---- run -------------------------------------------------------------------- */

/* What a child gets. */
struct run {
    disk disk;
    const struct options *options;
    const uint64_t *offsets;
    struct shared *shared;
};

static void child(int number, void *context)
{
    const struct run *run = context;
    const struct options *options = run->options;
    const uint64_t *offsets = run->offsets;
    struct shared *shared = run->shared;
    const size_t request = options->request_bytes;
    const uint64_t count = options->bytes / request;
    const disk disk = disk_of_child(run->disk, options->device, options->write);
    void *buffer = aligned_memory(BUFFER_ALIGNMENT, request);

    if (!buffer)
        die("child %d: out of memory", number);
    memset(buffer, number + 1, request);    /* also brings its pages in before the start */
    semaphore_post(&shared->ready);
    semaphore_wait(&shared->go);
    for (;;) {
        uint64_t next = atomic_fetch_add(&shared->cursor, 1);
        if (next >= count)
            break;
        uint32_t active = atomic_fetch_add(&shared->active, 1) + 1;
        uint32_t most = atomic_load(&shared->active_max);
        while (active > most && !atomic_compare_exchange_weak(&shared->active_max, &most, active))
            ;
        ssize_t moved = options->write ? disk_write(disk, buffer, request, offsets[next])
                                       : disk_read(disk, buffer, request, offsets[next]);
        if (moved < 0)
            die("child %d: %s at byte %" PRIu64 ": %s", number, options->write ? "write" : "read", offsets[next],
                strerror(errno));
        if ((size_t)moved != request)
            die("child %d: %s at byte %" PRIu64 ": moved %zd of %zu bytes", number,
                options->write ? "write" : "read", offsets[next], moved, request);
        atomic_fetch_sub(&shared->active, 1);
        atomic_fetch_add(&shared->bytes, request);
    }
    semaphore_post(&shared->finished);
    semaphore_wait(&shared->leave);
    child_end();
}

static void run_pattern(disk disk, const struct options *options, const uint64_t *offsets)
{
    struct shared *shared = shared_memory(sizeof *shared);
    struct run run = { .disk = disk, .options = options, .offsets = offsets, .shared = shared };
    const int count = (int)options->children;

    if (semaphore_open(&shared->ready) < 0 || semaphore_open(&shared->go) < 0 ||
        semaphore_open(&shared->finished) < 0 || semaphore_open(&shared->leave) < 0)
        die("no process-shared semaphore: %s", strerror(errno));
    children_start(count, child, &run);

    for (int i = 0; i < count; i++)
        semaphore_wait(&shared->ready);
    uint64_t begin_ns = now_ns();
    for (int i = 0; i < count; i++)
        semaphore_post(&shared->go);
    for (int i = 0; i < count; i++)
        semaphore_wait(&shared->finished);
    uint64_t end_ns = now_ns();

    children_may_end();
    for (int i = 0; i < count; i++)
        semaphore_post(&shared->leave);
    children_end(count);

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
    disk disk = disk_open(options.device, !options.print_pattern && options.write, !options.print_pattern);

    (void)argc;
    if (!disk_is_open(disk))
        die("cannot open %s: %s", options.device, strerror(errno));
    uint64_t *offsets = make_pattern(&options, disk_bytes(disk, options.device));
    if (options.print_pattern)
        for (uint64_t i = 0; i < options.bytes / options.request_bytes; i++)
            printf("%" PRIu64 "\n", offsets[i]);
    else
        run_pattern(disk, &options, offsets);
    if (fflush(stdout) != 0)
        die("cannot write the results: %s", strerror(errno));
    return 0;
}
