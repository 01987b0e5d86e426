// SPDX-License-Identifier: MIT
/*
 * postmark: runs the real PostMark, unchanged, and reports its phases in
 * virtual time.
 *
 * PostMark counts whole seconds.  It flushes its standard output where each
 * phase begins ("Creating files...", "Performing transactions", ...), also
 * when that is a pipe; so the time at which such a text arrives here is the
 * phase's begin.  See README.md for the parameters and what is checked.
 */
#define PROGRAM "postmark"
#include "postmark/platform.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "options.h"
#include "virtual_clock.h"

#define FILES 25000             /* the paper, section 3.2 */
#define TRANSACTIONS 20000
#define SUBDIRECTORIES 100
#define OUTPUT_MAX (1 << 16)
#define HUNDREDTHS_MAX (UINT64_C(1) << 40)

struct options {
    const char *dir;
    const char *program;
    uint64_t seed;
    uint64_t size_low;
    uint64_t size_high;
    uint64_t files;
    uint64_t transactions;
    uint64_t subdirectories;
};

/* PostMark's texts, in order; each ends one phase and begins the next. */
enum moment { SUBDIRECTORIES_BEGIN, CREATE_BEGIN, RUN_BEGIN, DELETE_BEGIN, CLEANUP_BEGIN, REPORT, MOMENTS };

static const char *const texts[MOMENTS] = {
    "Creating subdirectories...", "Creating files...", "Performing transactions",
    "Deleting files...", "Deleting subdirectories...", "pm>",
};

static const char *const phases[MOMENTS - 1] = {"setup", "create", "run", "delete", "cleanup"};

static char output[OUTPUT_MAX + 1];     /* what PostMark has printed, both streams */
static size_t output_len;
static uint64_t moments_ns[MOMENTS];

/* ---- options ------------------------------------------------------------- */

static void set_sizes(struct options *options, const char *text)
{
    const char *dash = strchr(text, '-');
    char low[24];

    if (strcmp(text, "paper") == 0) {
        options->size_low = 500;
        options->size_high = 31500;
    } else if (strcmp(text, "default") == 0) {
        options->size_low = 500;
        options->size_high = 10000;
    } else if (dash != NULL && (size_t)(dash - text) < sizeof low) {
        memcpy(low, text, (size_t)(dash - text));
        low[dash - text] = '\0';
        options->size_low = parse_number("--sizes", low, 1, 1 << 24);
        options->size_high = parse_number("--sizes", dash + 1, options->size_low, 1 << 24);
    } else {
        die_usage("--sizes %s: give paper, default, or LOW-HIGH in bytes", text);
    }
}

static struct options read_options(char **argv)
{
    static struct options options = {.program = "/usr/bin/postmark"};
    static const char *sizes = "paper";
    static uint32_t scale = SCALE_ONE;
    static struct option_rule rules[] = {
        {.name = "--dir", .text = &options.dir, .value = "DIR", .required = true},
        {.name = "--seed", .number = &options.seed, .low = 1, .high = INT32_MAX, .required = true},
        {.name = "--scale", .scale = &scale},
        {.name = "--sizes", .text = &sizes, .value = "paper|default|LOW-HIGH"},
        {.name = "--program", .text = &options.program, .value = "PATH"},
        {.name = NULL},
    };

    parse_options(argv, rules);
    set_sizes(&options, sizes);
    /* PostMark divides by a tenth of its transactions, and takes one subdirectory for none. */
    options.files = scaled(FILES, scale, 10);
    options.transactions = scaled(TRANSACTIONS, scale, 10);
    options.subdirectories = scaled(SUBDIRECTORIES, scale, 2);
    return options;
}

/* PostMark itself does not look at what its writes return: there must be room for the worst case. */
static void check_room(const struct options *options)
{
    uint64_t files = options->files + options->transactions;
    uint64_t bytes = files * (options->size_high + 8192);
    struct statvfs fs;

    if (statvfs(options->dir, &fs) != 0)
        die("--dir %s: %s", options->dir, strerror(errno));
    if ((uint64_t)fs.f_bavail * fs.f_frsize < bytes)
        die("--dir %s: %" PRIu64 " bytes are free and %" PRIu64 " may be needed; give a larger file system or a "
            "smaller --scale", options->dir, (uint64_t)fs.f_bavail * fs.f_frsize, bytes);
    if (fs.f_files != 0 && fs.f_favail < files)
        die("--dir %s: %" PRIu64 " inodes are free and %" PRIu64 " may be needed; make the file system with more",
            options->dir, (uint64_t)fs.f_favail, files);
}

/* ---- running PostMark ----------------------------------------------------- */

/* Starts PostMark in the directory; returns its process and, in *OUT, the pipe with its two output streams. */
static pid_t start(const struct options *options, int *out)
{
    char commands[512];
    int from[2], to[2];
    int len = snprintf(commands, sizeof commands,
                       "set seed %" PRIu64 "\nset size %" PRIu64 " %" PRIu64 "\nset number %" PRIu64
                       "\nset transactions %" PRIu64 "\nset subdirectories %" PRIu64 "\nrun\nquit\n",
                       options->seed, options->size_low, options->size_high, options->files,
                       options->transactions, options->subdirectories);
    pid_t pid;

    if (open_pipe(to) != 0 || open_pipe(from) != 0 || write(to[1], commands, (size_t)len) != len)
        die("no pipe to PostMark: %s", strerror(errno));
    /* A text must be seen before PostMark goes on; not allowed on a developer's machine, and not needed there. */
    run_before_others();
    pid = fork();
    if (pid < 0)
        die("no process for PostMark: %s", strerror(errno));
    if (pid == 0) {
        run_as_others();
        if (chdir(options->dir) == 0 && dup2(to[0], 0) == 0 && dup2(from[1], 1) == 1 && dup2(from[1], 2) == 2)
            execl(options->program, "postmark", (char *)NULL);
        dprintf(2, "Error: %s cannot be started: %s\n", options->program, strerror(errno));
        _exit(127);
    }
    close(to[0]);
    close(to[1]);
    close(from[1]);
    *out = from[0];
    return pid;
}

/* Prints PostMark's own message, which begins at AT, and ends. */
static void __attribute__((noreturn)) give_up(pid_t pid, const char *at)
{
    kill(pid, SIGKILL);
    die("PostMark says: %.*s", (int)strcspn(at, "\n"), at);
}

/* Reads PostMark's output to its end and notes when each text came. */
static void listen(pid_t pid, int in)
{
    const char *seen = output;
    const char *at;
    enum moment next = 0;
    ssize_t got;

    while ((got = read(in, output + output_len, OUTPUT_MAX - output_len)) != 0) {
        uint64_t now_ns = virtual_ns();

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            die("PostMark's output cannot be read: %s", strerror(errno));
        output_len += (size_t)got;
        output[output_len] = '\0';
        /* Prompts before the run's first text mean nothing. */
        while (next < MOMENTS && (at = strstr(seen, texts[next])) != NULL) {
            seen = at + strlen(texts[next]);
            moments_ns[next++] = now_ns;
        }
        if (((at = strstr(output, "Error:")) != NULL || (at = strstr(output, "Eh?")) != NULL ||
             (at = strstr(output, "out of files!")) != NULL) && strchr(at, '\n') != NULL)
            give_up(pid, at);
        if (output_len == OUTPUT_MAX)
            give_up(pid, "(more output than expected)");
    }
    if (next < MOMENTS && (at = strstr(output, "Error:")) != NULL)
        give_up(pid, at);
}

/* ---- PostMark's report ---------------------------------------------------- */

/* The line of the report that has TEXT in it; *AT moves behind it. */
static const char *find(const char **at, const char *text)
{
    const char *line = strstr(*at, text);

    if (line == NULL)
        die("PostMark's report has no '%s'", text);
    *at = line + strlen(text);
    while (line > output && line[-1] != '\n')
        line--;
    return line + strspn(line, "\t");
}

/* The number in front of, or behind, TEXT. */
static uint64_t count(const char **at, const char *text)
{
    const char *line = find(at, text);
    const char *digit = strpbrk(line, "0123456789");

    if (digit == NULL)
        die("PostMark's report has no number at '%s'", text);
    return strtoull(digit, NULL, 10);
}

/* Bytes from "600.93 megabytes", exact to the two digits that PostMark prints. */
static uint64_t size(const char **at, const char *text)
{
    const char *line = find(at, text);
    char *end;
    uint64_t hundredths = strtoull(line, &end, 10) * 100;

    if (*end != '.' || hundredths > HUNDREDTHS_MAX)
        die("PostMark's report has no size at '%s'", text);
    hundredths += strtoull(end + 1, &end, 10);
    if (strncmp(end, " megabytes", 10) == 0)
        return (hundredths << 20) / 100;
    if (strncmp(end, " kilobytes", 10) == 0)
        return (hundredths << 10) / 100;
    die("PostMark's report has an unknown unit at '%s'", text);
}

static void check(int holds, const char *what)
{
    if (!holds)
        die("PostMark's report does not add up: %s", what);
}

/* PostMark's own figures, checked; KERNEL_WRITTEN is NULL where the kernel does not count what a process writes. */
static void report(const struct options *options, const uint64_t *kernel_written)
{
    const char *at = strstr(output, "\nTime:\n");
    const char *line;
    uint64_t created, creation_alone, create_mixed, read_, appended, deleted, delete_alone, delete_mixed;
    uint64_t read_size, written_size, slack;

    if (at == NULL || strstr(at, "pm>") == NULL)
        die("PostMark printed no report");
    line = at + 1;
    created = count(&at, " created (");
    creation_alone = count(&at, "Creation alone: ");
    create_mixed = count(&at, "Mixed with transactions: ");
    read_ = count(&at, " read (");
    appended = count(&at, " appended (");
    deleted = count(&at, " deleted (");
    delete_alone = count(&at, "Deletion alone: ");
    delete_mixed = count(&at, "Mixed with transactions: ");
    read_size = size(&at, " read (");
    written_size = size(&at, " written (");

    check(creation_alone == options->files, "it created another number of files than it was told");
    check(created == deleted, "it did not delete every file that it created");
    check(created == creation_alone + create_mixed && deleted == delete_alone + delete_mixed, "parts and sums differ");
    check(create_mixed + delete_mixed == options->transactions, "creations and deletions are not its transactions");
    /* A file that already has the largest size is not appended to, and not counted. */
    check(read_ + appended <= options->transactions, "more reads and appends than its transactions");
    /* It adds up in single precision and prints two digits: a thousandth, and 20 KB. */
    slack = written_size / 1000 + 20480;
    if (kernel_written == NULL)
        printf("info unchecked this system does not count what PostMark wrote\n");
    else if (*kernel_written + slack < written_size || *kernel_written > written_size + slack)
        die("PostMark says that it wrote %" PRIu64 " bytes, the kernel took %" PRIu64, written_size, *kernel_written);

    for (; strncmp(line, "pm>", 3) != 0; line += strcspn(line, "\n"), line += strspn(line, "\n\t"))
        printf("info postmark %.*s\n", (int)strcspn(line, "\n"), line);
    for (enum moment m = 0; m + 1 < MOMENTS; m++)
        printf("phase %s %" PRIu64 " %" PRIu64 "\n", phases[m], moments_ns[m], moments_ns[m + 1]);
    printf("metric elapsed_ns %" PRIu64 "\n", moments_ns[CLEANUP_BEGIN] - moments_ns[CREATE_BEGIN]);
    printf("metric create_ns %" PRIu64 "\n", moments_ns[RUN_BEGIN] - moments_ns[CREATE_BEGIN]);
    printf("metric run_ns %" PRIu64 "\n", moments_ns[DELETE_BEGIN] - moments_ns[RUN_BEGIN]);
    printf("metric delete_ns %" PRIu64 "\n", moments_ns[CLEANUP_BEGIN] - moments_ns[DELETE_BEGIN]);
    printf("metric files_initial %" PRIu64 "\nmetric subdirectories %" PRIu64 "\nmetric transactions %" PRIu64 "\n",
           options->files, options->subdirectories, options->transactions);
    printf("metric files_created %" PRIu64 "\nmetric files_deleted %" PRIu64 "\nmetric files_read %" PRIu64
           "\nmetric files_appended %" PRIu64 "\n", created, deleted, read_, appended);
    printf("metric read_bytes %" PRIu64 "\nmetric written_bytes %" PRIu64 "\n", read_size, written_size);
}

int main(int argc, char **argv)
{
    struct options options = read_options(argv);
    siginfo_t ended;
    uint64_t kernel_written;
    bool counted;
    pid_t pid;
    int in;

    (void)argc;
    require_empty(options.dir, "before the run; give an empty directory");
    check_room(&options);
    printf("info parameters seed=%" PRIu64 " sizes=%" PRIu64 "-%" PRIu64 " number=%" PRIu64 " transactions=%" PRIu64
           " subdirectories=%" PRIu64 "\n", options.seed, options.size_low, options.size_high, options.files,
           options.transactions, options.subdirectories);
    pid = start(&options, &in);
    listen(pid, in);
    if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) != 0)
        die("PostMark is lost: %s", strerror(errno));
    /* Its exit status says nothing: main() of 1.53 returns no value. */
    if (ended.si_code != CLD_EXITED)
        die("PostMark was ended by signal %d", ended.si_status);
    if (moments_ns[REPORT] == 0)
        die("PostMark ended early; its last words: %s",
            output_len > 200 ? output + output_len - 200 : output);
    counted = written_bytes(pid, &kernel_written);
    kernel_written -= counted ? output_len : 0;
    waitpid(pid, NULL, 0);
    report(&options, counted ? &kernel_written : NULL);
    require_empty(options.dir, "after the run; PostMark left it behind");
    if (fflush(stdout) != 0)
        die("standard output: %s", strerror(errno));
    return 0;
}
