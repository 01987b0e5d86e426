// SPDX-License-Identifier: MIT
/*
 * lookups: who waits for whom in directories.
 *
 * --mode wait: a writer creates files in a/b, a bystander looks up a/c/f all
 * the time, and with --walker another process looks up a/b/f. What is printed
 * is the longest time that one look-up took. Where a walk locks each directory
 * and holds the parent while it waits for the child, the walker that waits for
 * a/b holds a, and the bystander waits for both; without a walker it does not.
 *
 * --mode storm: processes create, remove, rename, list and look up in the same
 * few directories, and move these. It ends if nobody waits for ever.
 */
#define _GNU_SOURCE
#define PROGRAM "lookups"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "options.h"
#include "splitmix64.h"
#include "virtual_clock.h"

#define PROCESSES_MAX 32
#define DIRECTORIES 6
#define NAMES 5
#define PATH_BYTES 96

enum { WAIT, STORM };
static const char *const modes[] = { "wait", "storm", NULL };

static struct {
    const char *dir;
    int mode;
    bool walker;
    uint64_t count;
    uint64_t processes;
    uint64_t seed;
} options = { .count = 100, .processes = 8, .seed = 1 };

/* What a process tells at its end, through a pipe. */
struct found {
    uint64_t calls;
    uint64_t longest_ns;
};

static void make_directory(const char *path)
{
    if (mkdir(path, 0755) != 0)
        die("mkdir %s: %s", path, strerror(errno));
}

static void make_file(const char *path)
{
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);

    if (file < 0 || close(file) != 0)
        die("create %s: %s", path, strerror(errno));
}

/* Looks PATH up until the writer has closed its end of DONE; a call every 200 us. */
static struct found look_up(const char *path, int done)
{
    struct found found = { 0, 0 };
    struct stat about;
    char byte;

    do {
        uint64_t begin_ns = virtual_ns(), took_ns;

        if (stat(path, &about) != 0)
            die("stat %s: %s", path, strerror(errno));
        took_ns = virtual_ns() - begin_ns;
        found.calls++;
        if (took_ns > found.longest_ns)
            found.longest_ns = took_ns;
        usleep(200);
    } while (read(done, &byte, 1) < 0);
    return found;
}

static pid_t start(void (*body)(int number), int number)
{
    pid_t pid = fork();

    if (pid < 0)
        die("fork: %s", strerror(errno));
    if (pid == 0) {
        body(number);
        exit(fflush(stdout) == 0 ? 0 : STATUS_FAILED);
    }
    return pid;
}

static void join(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) != pid || status != 0)
        die("a process ended with status %d", status);
}

static int done[2];

static void bystander(int number)
{
    struct found found;

    (void)number;
    close(done[1]);
    found = look_up("a/c/f", done[0]);
    printf("metric bystander_calls %" PRIu64 "\nmetric bystander_longest_ns %" PRIu64 "\n", found.calls,
           found.longest_ns);
}

static void walker(int number)
{
    struct found found;

    (void)number;
    close(done[1]);
    found = look_up("a/b/f", done[0]);
    printf("metric walker_calls %" PRIu64 "\nmetric walker_longest_ns %" PRIu64 "\n", found.calls, found.longest_ns);
}

static void wait_mode(void)
{
    pid_t others[2] = { 0, 0 };
    uint64_t begin_ns;

    make_directory("a");
    make_directory("a/b");
    make_directory("a/c");
    make_file("a/b/f");
    make_file("a/c/f");
    if (pipe2(done, O_NONBLOCK) != 0)
        die("pipe: %s", strerror(errno));
    others[0] = start(bystander, 0);
    if (options.walker)
        others[1] = start(walker, 1);
    begin_ns = virtual_ns();
    for (uint64_t i = 0; i < options.count; i++) {
        char path[PATH_BYTES];

        snprintf(path, sizeof(path), "a/b/w%" PRIu64, i);
        make_file(path);
    }
    printf("metric writer_ns %" PRIu64 "\n", virtual_ns() - begin_ns);
    close(done[1]);
    for (int i = 0; i < 2; i++)
        if (others[i] != 0)
            join(others[i]);
}

/* A directory of the storm, where it is or was: they are moved into each other. */
static void draw_directory(uint64_t *random, char *path)
{
    unsigned one = (unsigned)random_below(random, DIRECTORIES), other;

    other = (unsigned)random_below(random, DIRECTORIES);
    if (random_below(random, 2) == 0)
        snprintf(path, PATH_BYTES, "s%u", one);
    else
        snprintf(path, PATH_BYTES, "s%u/s%u", one, other);
}

static void draw_name(uint64_t *random, char *path)
{
    draw_directory(random, path);
    snprintf(path + strlen(path), PATH_BYTES - strlen(path), "/f%u", (unsigned)random_below(random, NAMES));
}

/* One process of the storm. Whatever is refused is refused: only that all of it ends counts. */
static void storm(int number)
{
    uint64_t random = options.seed * 1000 + (uint64_t)number;

    for (uint64_t i = 0; i < options.count; i++) {
        char one[PATH_BYTES], other[PATH_BYTES];
        struct stat about;
        int file, refused = 0;
        DIR *list;

        draw_name(&random, one);
        draw_name(&random, other);
        switch (random_below(&random, 10)) {
        case 0: case 1: case 2:
            file = open(one, O_CREAT | O_WRONLY, 0644);
            refused = file < 0 || close(file) != 0;
            break;
        case 3:
            refused = unlink(one);
            break;
        case 4:
            refused = rename(one, other);
            break;
        case 5:
            refused = link(one, other);
            break;
        case 6:
            draw_directory(&random, one);
            draw_directory(&random, other);
            refused = rename(one, other);
            break;
        case 7:
            draw_directory(&random, one);
            list = opendir(one);
            if (list != NULL) {
                while (readdir(list) != NULL)
                    ;
                closedir(list);
            }
            break;
        case 8:
            draw_directory(&random, one);
            refused = random_below(&random, 2) == 0 ? mkdir(one, 0755) : rmdir(one);
            break;
        default:
            refused = stat(one, &about);
        }
        (void)refused;
    }
}

static void storm_mode(void)
{
    pid_t others[PROCESSES_MAX];

    for (int i = 0; i < DIRECTORIES; i++) {
        char path[PATH_BYTES];

        snprintf(path, sizeof(path), "s%d", i);
        make_directory(path);
    }
    for (uint64_t i = 0; i < options.processes; i++)
        others[i] = start(storm, (int)i);
    for (uint64_t i = 0; i < options.processes; i++)
        join(others[i]);
    printf("metric processes_ended %" PRIu64 "\n", options.processes);
}

int main(int argc, char **argv)
{
    struct option_rule rules[] = {
        { .name = "--dir", .text = &options.dir, .value = "DIR", .required = true },
        { .name = "--mode", .choice = &options.mode, .choices = modes, .required = true },
        { .name = "--walker", .flag = &options.walker },
        { .name = "--count", .number = &options.count, .low = 1, .high = 100000 },
        { .name = "--processes", .number = &options.processes, .low = 1, .high = PROCESSES_MAX },
        { .name = "--seed", .number = &options.seed, .low = 1 },
        { .name = NULL },
    };

    (void)argc;
    parse_options(argv, rules);
    if (chdir(options.dir) != 0)
        die("--dir %s: %s", options.dir, strerror(errno));
    /* What is printed before a fork would be printed twice. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (options.mode == WAIT)
        wait_mode();
    else
        storm_mode();
    return fflush(stdout) == 0 ? 0 : STATUS_FAILED;
}
