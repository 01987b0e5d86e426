// SPDX-License-Identifier: MIT
/*
 * sqlio: one process keeps DEPTH requests of one size outstanding on each of
 * its devices, and refills as they complete.  After the program of this name
 * that Chung, Gray, Worthington and Horst describe in "Windows 2000 Disk IO
 * Performance" (2000), section 4.1.
 *
 * Asynchronous requests are Linux's AIO by system calls, so that nothing but
 * the kernel stands between this program and the disk.  See README.md for
 * the options, the output and what counts as a failure.
 */
#define _GNU_SOURCE             /* O_DIRECT, sync_file_range */
#define PROGRAM "sqlio"
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>           /* BLKGETSIZE64 */
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "options.h"
#include "splitmix64.h"
#include "virtual_clock.h"

#define DEVICES_MAX 16
#define DEPTH_MAX 1024
#define REQUESTS_MAX (1u << 22)
#define BUFFER_ALIGNMENT 4096
#define CACHE_BLOCK_BYTES 4096
#define CACHE_UNIT_BYTES (64 * KIB)     /* of a sequential run through the page cache; see move_by_units */
#define KIB 1024u
#define MIB (KIB * KIB)         /* SQLIO's megabyte, too */
#define MS_NS 1000000u
#define FILE_NAME "sqlio.dat"

enum pattern { SEQUENTIAL, RANDOM, SAME };
/* Who may keep data: SQLIO's letters H, N, 0 (or Y) and S. */
enum caching { DRIVE, NOBODY, BOTH, HOST };
enum fill { WRITTEN, APPENDED, EXTENDED };

struct options {
    const char *devices[DEVICES_MAX];
    int device_count;
    const char *directory;
    int write;
    int pattern;                /* enum pattern */
    int caching;                /* enum caching */
    int fill;                   /* enum fill */
    uint64_t seed;
    uint32_t scale;             /* of the work and the file, in millionths */
    uint64_t kib;               /* of a request */
    uint64_t depth;             /* 0: synchronous calls */
    uint64_t bytes;             /* to move on each device or in the file; 0: until time_ms is over */
    uint64_t time_ms;
    uint64_t start_permille;
    uint64_t offset_bytes;
    uint64_t span_bytes;
    uint64_t file_bytes;
    bool print_pattern;
};

/* One device or file, and its stream of requests. */
struct target {
    const char *path;
    int fd;
    uint64_t begin;             /* first byte of the area */
    uint64_t blocks;            /* requests that the area has room for */
    uint64_t state;             /* of the generator */
    uint64_t issued;
    uint64_t last_unit;         /* of the page cache: written behind, or in use; UINT64_MAX: none yet */
};

/* One request of those outstanding. */
struct slot {
    struct iocb control;
    struct target *target;
    void *buffer;
    uint64_t issued_ns;
};

static struct options options = { .kib = 8, .depth = 1, .scale = SCALE_ONE, .file_bytes = 64 * MIB };
static struct target targets[DEVICES_MAX];
static uint64_t *latencies_ns;
static uint64_t completed;
static uint64_t begin_ns;

/* ---- options ------------------------------------------------------------- */

static void take_device(const char *name, const char *value)
{
    if (options.device_count == DEVICES_MAX)
        die_usage("%s %s: there may be at most %d", name, value, DEVICES_MAX);
    options.devices[options.device_count++] = value;
}

static void read_options(char **argv)
{
    static const char *const ops[] = { "read", "write", NULL };
    static const char *const patterns[] = { "sequential", "random", "same", NULL };
    static const char *const cachings[] = { "drive", "none", "both", "host", NULL };
    static const char *const fills[] = { "written", "appended", "extended", NULL };
    static struct option_rule rules[] = {
        { .name = "--device", .take = take_device, .value = "PATH" },
        { .name = "--dir", .text = &options.directory, .value = "DIR" },
        { .name = "--op", .choice = &options.write, .choices = ops, .required = true },
        { .name = "--pattern", .choice = &options.pattern, .choices = patterns, .required = true },
        { .name = "--seed", .number = &options.seed, .required = true },
        { .name = "--scale", .scale = &options.scale },
        { .name = "--kib", .number = &options.kib, .low = 1, .high = 16384 },
        { .name = "--depth", .number = &options.depth, .high = DEPTH_MAX },
        { .name = "--bytes", .number = &options.bytes, .low = 1 },
        { .name = "--time-ms", .number = &options.time_ms, .low = 1, .high = 86400000 },
        { .name = "--start-permille", .number = &options.start_permille, .high = 999 },
        { .name = "--offset-bytes", .number = &options.offset_bytes },
        { .name = "--span-bytes", .number = &options.span_bytes },
        { .name = "--caching", .choice = &options.caching, .choices = cachings },
        { .name = "--file-bytes", .number = &options.file_bytes, .low = 1 },
        { .name = "--fill", .choice = &options.fill, .choices = fills },
        { .name = "--print-pattern", .flag = &options.print_pattern },
        { .name = NULL },
    };
    const uint64_t request = (parse_options(argv, rules), options.kib * KIB);

    if ((options.device_count == 0) == (options.directory == NULL))
        die_usage("give --device PATH, once for each device, or --dir DIR, and not both");
    if (options.directory != NULL && options.bytes == 0 && options.time_ms == 0)
        options.bytes = options.file_bytes;
    if ((options.bytes == 0) == (options.time_ms == 0))
        die_usage("give --bytes N, what to move on each device, or --time-ms N, and not both");
    if (options.depth == 0 && options.device_count > 1)
        die_usage("--depth 0: synchronous requests go to one device; give one --device, or a depth from 1 on");
    if (options.print_pattern && options.bytes == 0)
        die_usage("--print-pattern: a run that ends by its time has no fixed pattern; give --bytes");
    if (options.directory == NULL && options.fill != WRITTEN)
        die_usage("--fill: a device has no end to write beyond; give --dir DIR");
    if (options.fill != WRITTEN && (!options.write || options.pattern != SEQUENTIAL))
        die_usage("--fill: only sequential writes make a file longer; give --op write --pattern sequential");
    if (options.fill != WRITTEN && options.bytes == 0)
        die_usage("--fill: a file that grows needs fixed work; give --bytes");
    if (options.start_permille != 0 && options.offset_bytes != 0)
        die_usage("give --start-permille or --offset-bytes, and not both");
    options.bytes = scaled(options.bytes / request, options.scale, options.bytes != 0) * request;
    options.file_bytes = scaled(options.file_bytes / request, options.scale, 1) * request;
    if (options.bytes / request > REQUESTS_MAX)
        die_usage("--bytes: these are more than %u requests; give less", REQUESTS_MAX);
}

/* ---- devices and files ------------------------------------------------------ */

static uint64_t size_of(int fd, const char *path)
{
    struct stat status;
    uint64_t bytes;

    if (fstat(fd, &status) < 0)
        die("%s: %s", path, strerror(errno));
    if (S_ISREG(status.st_mode))
        return (uint64_t)status.st_size;
    if (ioctl(fd, BLKGETSIZE64, &bytes) < 0)
        die("%s is neither a disk nor a file: %s", path, strerror(errno));
    return bytes;
}

static void write_all(int fd, const char *path, const void *data, size_t bytes, uint64_t offset)
{
    ssize_t moved = pwrite(fd, data, bytes, (off_t)offset);

    if (moved < 0)
        die("%s: write at byte %" PRIu64 ": %s", path, offset, strerror(errno));
    if ((size_t)moved != bytes)
        die("%s: write at byte %" PRIu64 ": moved %zd of %zu bytes", path, offset, moved, bytes);
}

/* The file in --dir, as --fill wants it before the run; nothing of this is measured. */
static const char *make_file(void)
{
    static char path[4096], block[256 * KIB];
    int fd;

    if (snprintf(path, sizeof path, "%s/" FILE_NAME, options.directory) >= (int)sizeof path)
        die_usage("--dir: the path is too long");
    require_empty(options.directory, "before the run");
    fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0644);
    if (fd < 0)
        die("cannot make %s: %s", path, strerror(errno));
    memset(block, 0x5a, sizeof block);
    if (options.fill == WRITTEN)
        for (uint64_t at = 0; at < options.file_bytes; at += sizeof block) {
            uint64_t left = options.file_bytes - at;

            write_all(fd, path, block, left < sizeof block ? left : sizeof block, at);
        }
    /* What is cached would be read without the disk. */
    if (fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0 || close(fd) < 0)
        die("%s: cannot be put on the disk: %s", path, strerror(errno));
    return path;
}

/*
 * A program that begins a file with its end: what the file system does about the gap before it, zeros
 * for example, is a part of the run.
 */
static void write_end(const char *path)
{
    const char end[512] = { 0x5a };
    int fd = open(path, O_WRONLY);

    if (fd < 0)
        die("cannot open %s: %s", path, strerror(errno));
    write_all(fd, path, end, sizeof end, options.file_bytes - sizeof end);
    if (fsync(fd) < 0 || close(fd) < 0)
        die("%s: its end cannot be put on the disk: %s", path, strerror(errno));
}

static void begin(void)
{
    begin_ns = virtual_ns();
    if (options.fill == EXTENDED)
        write_end(targets[0].path);
}

/*
 * The page cache of a disk works in blocks of 4 KiB, as it does on a file: by itself Linux takes the
 * largest power of two that divides the disk's size, so that a write of 2 KiB would depend on that.
 */
static void set_cache_block(int fd, const char *path)
{
    int bytes = CACHE_BLOCK_BYTES;
    struct stat status;

    if (fstat(fd, &status) < 0)
        die("%s: %s", path, strerror(errno));
    if (S_ISBLK(status.st_mode) && ioctl(fd, BLKBSZSET, &bytes) < 0)
        die("%s: blocks of %d bytes cannot be set: %s", path, bytes, strerror(errno));
}

/* Whether the page cache moves data as Windows' did: see move_by_units. */
static bool by_units(void)
{
    return (options.caching == BOTH || options.caching == HOST) && options.pattern == SEQUENTIAL &&
           options.device_count == 1;
}

static void open_target(struct target *target, const char *path, uint64_t *seeds)
{
    const uint64_t request = options.kib * KIB;
    int flags = options.write ? O_RDWR : O_RDONLY;
    uint64_t size, span;

    if (options.caching == DRIVE || options.caching == NOBODY)
        flags |= O_DIRECT;
    if (options.caching == NOBODY || options.caching == HOST)
        flags |= O_DSYNC;
    /* Only a run has to go past the page cache; the pattern needs just the size. */
    target->path = path;
    target->fd = open(path, options.print_pattern ? O_RDONLY : flags);
    if (target->fd < 0)
        die("cannot open %s: %s", path, strerror(errno));
    if (!options.print_pattern && !(flags & O_DIRECT))
        set_cache_block(target->fd, path);
    size = options.fill == WRITTEN ? size_of(target->fd, path) : options.file_bytes;
    /* Aligned to the page, so that an area's place does not depend on the size of requests. */
    target->begin = options.offset_bytes;
    if (options.start_permille != 0)
        target->begin = size / 1000 * options.start_permille / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
    if (target->begin % 512 != 0)
        die("--offset-bytes %" PRIu64 ": give a multiple of 512", target->begin);
    if (target->begin >= size)
        die("--offset-bytes %" PRIu64 ": %s has only %" PRIu64 " bytes", target->begin, path, size);
    span = options.span_bytes != 0 ? options.span_bytes : size - target->begin;
    if (span > size - target->begin || span < request)
        die("--span-bytes %" PRIu64 " does not fit: behind byte %" PRIu64 " %s has %" PRIu64
            " bytes, and a request has %" PRIu64, span, target->begin, path, size - target->begin, request);
    target->blocks = span / request;
    target->state = random_next(seeds);
    target->last_unit = UINT64_MAX;
    /* Linux's own read-ahead would have two requests outstanding. */
    if (by_units() && !options.print_pattern && posix_fadvise(target->fd, 0, 0, POSIX_FADV_RANDOM) != 0)
        die("%s: the kernel's read-ahead cannot be switched off", path);
}

static uint64_t next_offset(struct target *target)
{
    uint64_t number = target->issued++;

    switch ((enum pattern)options.pattern) {
    case SEQUENTIAL:
        number %= target->blocks;
        break;
    case RANDOM:
        number = random_below(&target->state, target->blocks);
        break;
    case SAME:
        number = 0;
        break;
    }
    return target->begin + number * options.kib * KIB;
}

/* ---- run -------------------------------------------------------------------- */

/* Whether the target has a further request. */
static bool goes_on(const struct target *target)
{
    if (options.bytes != 0)
        return target->issued < options.bytes / (options.kib * KIB);
    return virtual_ns() - begin_ns < options.time_ms * MS_NS;
}

/* A request of RESULT bytes, or of the error -RESULT, is done. */
static void complete(const struct slot *slot, int64_t result, uint64_t now_ns)
{
    const uint64_t offset = (uint64_t)slot->control.aio_offset;
    const char *what = options.write ? "write" : "read";

    if (result < 0)
        die("%s: %s at byte %" PRIu64 ": %s", slot->target->path, what, offset, strerror((int)-result));
    if ((uint64_t)result != options.kib * KIB)
        die("%s: %s at byte %" PRIu64 ": moved %" PRId64 " of %" PRIu64 " bytes", slot->target->path, what, offset,
            result, options.kib * KIB);
    if (completed == REQUESTS_MAX)
        die("--time-ms %" PRIu64 ": these are more than %u requests; give less", options.time_ms, REQUESTS_MAX);
    latencies_ns[completed++] = now_ns - slot->issued_ns;
}

static void prepare(struct slot *slot, struct target *target)
{
    slot->control.aio_offset = (int64_t)next_offset(target);
    slot->issued_ns = virtual_ns();
}

static ssize_t move(const struct slot *slot, size_t done, size_t bytes)
{
    char *data = (char *)slot->buffer + done;
    const off_t offset = slot->control.aio_offset + (off_t)done;

    return options.write ? pwrite(slot->target->fd, data, bytes, offset)
                         : pread(slot->target->fd, data, bytes, offset);
}

/* The unit NUMBER of the page cache is full: it goes to the disk as soon as the one before it is there. */
static int write_unit(struct target *target, uint64_t number)
{
    const off_t bytes = CACHE_UNIT_BYTES;
    const unsigned done = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

    if (target->last_unit != UINT64_MAX &&
        sync_file_range(target->fd, (off_t)target->last_unit * bytes, bytes, done) < 0)
        return -1;
    target->last_unit = number;
    return sync_file_range(target->fd, (off_t)number * bytes, bytes, SYNC_FILE_RANGE_WRITE);
}

/* The unit NUMBER of the page cache is there: the next one is read while this one is used. */
static int read_next_unit(struct target *target, uint64_t number)
{
    const uint64_t end = target->begin + target->blocks * options.kib * KIB;

    if (number == target->last_unit)
        return 0;
    target->last_unit = number;
    if ((number + 1) * CACHE_UNIT_BYTES >= end)
        return 0;
    errno = posix_fadvise(target->fd, (off_t)(number + 1) * CACHE_UNIT_BYTES, CACHE_UNIT_BYTES, POSIX_FADV_WILLNEED);
    return errno == 0 ? 0 : -1;
}

/*
 * A sequential request through the page cache, as Windows' cache carried it
 * out by the paper's text at Figures 11 and 31: in units of 64 KB, of which
 * one is read ahead, or written behind, at a time.
 */
static ssize_t move_by_units(const struct slot *slot)
{
    struct target *target = slot->target;
    const size_t request = options.kib * KIB;
    size_t done = 0;

    while (done < request) {
        const uint64_t at = (uint64_t)slot->control.aio_offset + done;
        const size_t left = CACHE_UNIT_BYTES - at % CACHE_UNIT_BYTES;
        const size_t bytes = request - done < left ? request - done : left;
        ssize_t moved = move(slot, done, bytes);

        if (moved < 0 || (size_t)moved != bytes)
            return moved < 0 ? -1 : (ssize_t)done + moved;
        done += bytes;
        if (options.write ? bytes == left && write_unit(target, at / CACHE_UNIT_BYTES) < 0
                          : read_next_unit(target, at / CACHE_UNIT_BYTES) < 0)
            return -1;
    }
    return (ssize_t)done;
}

static void run_synchronously(struct slot *slot)
{
    begin();
    while (goes_on(slot->target)) {
        ssize_t moved;

        prepare(slot, slot->target);
        moved = by_units() ? move_by_units(slot) : move(slot, 0, options.kib * KIB);
        complete(slot, moved < 0 ? -errno : moved, virtual_ns());
    }
}

/* Hands COUNT requests to the kernel, which may take fewer at once. */
static void submit(aio_context_t context, struct iocb **list, long count)
{
    while (count > 0) {
        long taken = syscall(SYS_io_submit, context, count, list);

        if (taken < 0 && errno == EINTR)
            continue;
        if (taken <= 0)
            die("io_submit: %s", taken < 0 ? strerror(errno) : "it took no request");
        list += taken;
        count -= taken;
    }
}

static void run_asynchronously(struct slot *slots, long count)
{
    struct io_event *events = calloc((size_t)count, sizeof *events);
    struct iocb **list = calloc((size_t)count, sizeof *list);
    aio_context_t context = 0;
    long outstanding = 0;

    if (events == NULL || list == NULL)
        die("out of memory for %ld requests", count);
    if (syscall(SYS_io_setup, count, &context) < 0)
        die("io_setup: %s", strerror(errno));
    begin();
    for (long i = 0; i < count; i++)
        if (goes_on(slots[i].target)) {
            prepare(&slots[i], slots[i].target);
            list[outstanding++] = &slots[i].control;
        }
    submit(context, list, outstanding);
    while (outstanding > 0) {
        long done = syscall(SYS_io_getevents, context, 1L, outstanding, events, NULL), again = 0;
        uint64_t now_ns = virtual_ns();

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            die("io_getevents: %s", strerror(errno));
        for (long i = 0; i < done; i++) {
            struct slot *slot = (struct slot *)(uintptr_t)events[i].data;

            complete(slot, events[i].res, now_ns);
            if (goes_on(slot->target)) {
                prepare(slot, slot->target);
                list[again++] = &slot->control;
            }
        }
        submit(context, list, again);
        outstanding += again - done;
    }
    free(events);
    free(list);
}

static struct slot *make_slots(long count)
{
    struct slot *slots = calloc((size_t)count, sizeof *slots);
    const size_t request = options.kib * KIB;

    if (slots == NULL)
        die("out of memory for %ld requests", count);
    for (long i = 0; i < count; i++) {
        struct slot *slot = &slots[i];

        /* Devices in turn: each has its share of the requests that are handed over first. */
        slot->target = &targets[i % options.device_count];
        if (posix_memalign(&slot->buffer, BUFFER_ALIGNMENT, request) != 0)
            die("out of memory for %ld requests of %zu bytes", count, request);
        memset(slot->buffer, (int)(i + 1), request);    /* also brings its pages in before the start */
        slot->control.aio_data = (uintptr_t)slot;
        slot->control.aio_lio_opcode = options.write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
        slot->control.aio_fildes = (uint32_t)slot->target->fd;
        slot->control.aio_buf = (uintptr_t)slot->buffer;
        slot->control.aio_nbytes = request;
    }
    return slots;
}

/* What is only in the page cache goes to the disk, as part of the run. Without a flush of the drive's cache. */
static void write_back(void)
{
    const unsigned flags =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

    for (int i = 0; i < options.device_count; i++)
        if (sync_file_range(targets[i].fd, 0, 0, flags) < 0)
            die("%s: cannot be written back: %s", targets[i].path, strerror(errno));
}

/*
 * How long the processor has been idle since the boot, in ns; UINT64_MAX
 * where the kernel does not say.  It counts at every way into and out of idling, also
 * for interrupts (kernel/time/tick-sched.c), so that the rest is what all of
 * the system used: what a process uses (getrusage) leaves out interrupts and
 * what the kernel does later.
 */
static uint64_t idle_ns(void)
{
    FILE *list = fopen("/proc/timer_list", "r");
    char line[256];
    uint64_t sum_ns = 0, one_ns;
    bool found = false;

    if (list == NULL)
        return UINT64_MAX;
    while (fgets(line, sizeof line, list) != NULL)
        if (sscanf(line, " .idle_sleeptime : %" SCNu64, &one_ns) == 1 ||
            /* ... while a process waited for its disk */
            sscanf(line, " .iowait_sleeptime: %" SCNu64, &one_ns) == 1 ||
            sscanf(line, " .iowait_sleeptime : %" SCNu64, &one_ns) == 1) {
            sum_ns += one_ns;
            found = true;
        }
    fclose(list);
    return found ? sum_ns : UINT64_MAX;
}

/* ---- results ------------------------------------------------------------------ */

static int ascending(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

    return (a > b) - (a < b);
}

/* The latency that PERCENT of the requests do not exceed, by nearest rank. The list is sorted. */
static uint64_t percentile(uint64_t percent)
{
    return latencies_ns[(completed * percent + 99) / 100 - 1];
}

/* A * B / C in hundredths, to the nearest. */
static uint64_t hundredths(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)(((unsigned __int128)a * b * 100 + c / 2) / c);
}

static uint64_t milliseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_usec / 1000;
}

/* The line that SQLIO wrote (Table 8), but for the date, as the lab has none; its megabyte is 2^20 bytes. */
static void print_line(uint64_t elapsed_ns, const struct rusage *before, const struct rusage *after)
{
    static const char *const letters[] = { "H", "N", "0", "S" };
    const uint64_t second_ns = 1000000000, moved = completed * options.kib;
    uint64_t mb = hundredths(moved, second_ns, elapsed_ns * KIB), io = hundredths(completed, second_ns, elapsed_ns);

    printf("info sqlio %" PRIu64 ".%02" PRIu64 ",%" PRIu64 ".%02" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",%s,1,%" PRIu64
           ",%" PRIu64 ",%" PRIu64 ".%03" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s\n",
           mb / 100, mb % 100, io / 100, io % 100, options.write ? "write" : "read", options.kib, options.depth,
           letters[options.caching], options.time_ms / 1000, targets[0].blocks * options.kib,
           elapsed_ns / second_ns, elapsed_ns % second_ns / MS_NS,
           milliseconds(after->ru_utime) - milliseconds(before->ru_utime),
           milliseconds(after->ru_stime) - milliseconds(before->ru_stime), targets[0].path);
}

static void run(void)
{
    const long count = (long)(options.depth == 0 ? 1 : options.depth) * options.device_count;
    const uint64_t most =
        options.bytes != 0 ? options.bytes / (options.kib * KIB) * (uint64_t)options.device_count : REQUESTS_MAX;
    struct slot *slots = make_slots(count);
    struct rusage before, after;
    uint64_t elapsed_ns, sum_ns = 0, idle_before_ns, idle_after_ns;

    if (most > REQUESTS_MAX)
        die_usage("--bytes: these are more than %u requests on all devices; give less", REQUESTS_MAX);
    latencies_ns = calloc(most, sizeof *latencies_ns);
    if (latencies_ns == NULL)
        die("out of memory for the times of %" PRIu64 " requests", most);
    if (options.bytes != 0)     /* its pages before the start; of a timed run the kernel brings them in as they come */
        memset(latencies_ns, 1, most * sizeof *latencies_ns);
    getrusage(RUSAGE_SELF, &before);
    idle_before_ns = idle_ns();
    if (options.depth == 0 || by_units())
        run_synchronously(&slots[0]);
    else
        run_asynchronously(slots, count);
    if (options.write && options.caching == BOTH)
        write_back();
    elapsed_ns = virtual_ns() - begin_ns;
    idle_after_ns = idle_ns();
    getrusage(RUSAGE_SELF, &after);

    if (completed == 0)
        die("no request was done in %" PRIu64 " ms; give more time", options.time_ms);
    qsort(latencies_ns, completed, sizeof *latencies_ns, ascending);
    for (uint64_t i = 0; i < completed; i++)
        sum_ns += latencies_ns[i];
    printf("metric elapsed_ns %" PRIu64 "\n", elapsed_ns);
    printf("metric bytes %" PRIu64 "\n", completed * options.kib * KIB);
    printf("metric requests %" PRIu64 "\n", completed);
    printf("metric latency_mean_ns %" PRIu64 "\n", sum_ns / completed);
    printf("metric latency_p50_ns %" PRIu64 "\n", percentile(50));
    printf("metric latency_p95_ns %" PRIu64 "\n", percentile(95));
    printf("metric latency_p99_ns %" PRIu64 "\n", percentile(99));
    printf("metric latency_max_ns %" PRIu64 "\n", latencies_ns[completed - 1]);
    if (idle_before_ns != UINT64_MAX && idle_after_ns - idle_before_ns <= elapsed_ns)
        printf("metric processor_ns %" PRIu64 "\n", elapsed_ns - (idle_after_ns - idle_before_ns));
    print_line(elapsed_ns, &before, &after);
}

/* The offsets in the order of issue, devices in turn; with several, the device's number stands before each. */
static void print_pattern(void)
{
    for (uint64_t i = 0; i < options.bytes / (options.kib * KIB); i++)
        for (int device = 0; device < options.device_count; device++) {
            if (options.device_count > 1)
                printf("%d ", device);
            printf("%" PRIu64 "\n", next_offset(&targets[device]));
        }
}

int main(int argc, char **argv)
{
    uint64_t seeds;

    (void)argc;
    read_options(argv);
    if (options.directory != NULL) {
        if (options.print_pattern)
            die_usage("--print-pattern: give --device with a device or a file");
        options.devices[options.device_count++] = make_file();
    }
    seeds = options.seed;
    for (int i = 0; i < options.device_count; i++)
        open_target(&targets[i], options.devices[i], &seeds);
    if (options.print_pattern)
        print_pattern();
    else
        run();
    if (fflush(stdout) != 0)
        die("cannot write the results: %s", strerror(errno));
    return 0;
}
