// SPDX-License-Identifier: MIT
/*
 * fs-stress: a seeded sequence of file-system operations whose outcome is
 * known without the file system.
 *
 * What every file and directory must be after the sequence is kept in memory,
 * computed from the seed alone.  So `--write` carries the sequence out, and
 * `--verify`, after an unmount and a fresh mount, computes it again without a
 * system call and compares the tree with it: names, kinds, link counts, sizes,
 * every byte.  `--remove` then takes the tree away and must leave the folder
 * empty.  See README.md.
 */
#define _GNU_SOURCE
#define PROGRAM "fs-stress"
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "options.h"
#include "splitmix64.h"

#define NONE UINT32_MAX
#define NAME_BYTES 64
#define TARGET_BYTES 256
#define DEPTH_MAX 8
#define ENTRIES_MAX 100000u
#define PATH_BYTES (DEPTH_MAX * NAME_BYTES + 8)
#define IO_BYTES (64u * 1024)

enum kind { FREE, FILE_ENTRY, SYMLINK_ENTRY, DIRECTORY_ENTRY };
enum operation {
    CREATE, APPEND, OVERWRITE, BEYOND, TRUNCATE, GROW, RENAME, REPLACE, MOVE_DIRECTORY, LINK, SYMLINK, MKDIR, RMDIR,
    UNLINK, UNLINK_OPEN, OPERATIONS
};

static const char *const operation_names[OPERATIONS] = {
    "create", "append", "overwrite", "beyond", "truncate", "grow", "rename", "replace", "move_directory", "link",
    "symlink", "mkdir", "rmdir", "unlink", "unlink_open",
};

/* How often each operation is drawn; creates lead, so that the tree fills up. */
static const unsigned weights[OPERATIONS] = { 26, 12, 8, 4, 6, 3, 7, 3, 2, 4, 2, 5, 2, 12, 2 };

/* Content of a file, shared by its hard links. */
struct content {
    unsigned char *bytes;
    size_t size;
    size_t room;
    unsigned links;
};

/* A name in a directory. */
struct entry {
    enum kind kind;
    uint32_t parent;            /* index of the directory, 0 is --dir itself */
    char name[NAME_BYTES];
    struct content *content;    /* of a file */
    char *target;               /* of a symbolic link */
    unsigned children;          /* of a directory: names in it */
    unsigned subdirectories;    /* of a directory */
    int seen;
};

struct options {
    bool write, verify, remove; /* one of them */
    const char *dir;
    uint64_t seed;
    uint64_t operations;
    uint64_t files;
    uint64_t directories;
    uint64_t max_bytes;
    unsigned without;           /* bit for each operation left out */
};

static struct options options = { .operations = 2000, .files = 300, .directories = 20, .max_bytes = 262144 };
static struct entry *entries;
static uint32_t entry_count;
static unsigned counts[FREE + DIRECTORY_ENTRY + 1];
static uint64_t names_given, random_state, done[OPERATIONS], bytes_written;
static int apply;               /* carry out what the model does */

static uint64_t below(uint64_t limit)
{
    return random_remainder(&random_state, limit);
}

static void *allocate(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes);

    if (!memory)
        die("out of memory (%zu bytes); give fewer --files or --max-bytes", bytes);
    return memory;
}

/* Most files are small; one in eight goes up to --max-bytes, past direct blocks. */
static size_t draw_bytes(void)
{
    uint64_t limit = below(8) ? options.max_bytes / 16 : options.max_bytes;

    return limit ? below(limit + 1) : 0;
}

/* Path below --dir, which is the working directory.  The buffers take turns. */
static const char *path_of(uint32_t index)
{
    static char buffers[2][PATH_BYTES];
    static unsigned turn;
    char *buffer = buffers[turn++ % 2];
    char *start = buffer + PATH_BYTES - 1;

    *start = '\0';
    if (!index)
        return ".";
    for (uint32_t at = index; at; at = entries[at].parent) {
        size_t length = strlen(entries[at].name);

        if (at != index)
            *--start = '/';
        start -= length;
        memcpy(start, entries[at].name, length);
    }
    return start;
}

static unsigned depth_of(uint32_t index)
{
    unsigned depth = 0;

    for (; index; index = entries[index].parent)
        depth++;
    return depth;
}

/* Levels of directories below this one. */
static unsigned height_of(uint32_t index)
{
    unsigned height = 0;

    for (uint32_t at = 1; at < entry_count; at++) {
        if (entries[at].kind == FREE)
            continue;
        unsigned levels = 0;
        uint32_t up = at;

        while (up && up != index) {
            up = entries[up].parent;
            levels++;
        }
        if (up == index && levels > height)
            height = levels;
    }
    return height;
}

static void put_in(uint32_t index, uint32_t parent)
{
    entries[index].parent = parent;
    entries[parent].children++;
    entries[parent].subdirectories += entries[index].kind == DIRECTORY_ENTRY;
}

static void take_out(uint32_t index)
{
    uint32_t parent = entries[index].parent;

    entries[parent].children--;
    entries[parent].subdirectories -= entries[index].kind == DIRECTORY_ENTRY;
}

/* A name nobody had: a letter, a number, and a tail of changing length. */
static void new_name(char *name)
{
    static const char tail[] = "abcdefghijklmnopqrstuvwxyz-0123456789_abcdefghij";
    uint64_t number = names_given++;

    snprintf(name, NAME_BYTES, "n%" PRIu64 "%.*s", number, below(4) ? (int)below(6) : (int)below(sizeof tail), tail);
}

static uint32_t new_entry(enum kind kind, uint32_t parent)
{
    uint32_t index = 1;

    while (index < entry_count && entries[index].kind != FREE)
        index++;
    if (index == entry_count) {
        entries = allocate(entries, (entry_count + 1) * sizeof *entries);
        entry_count++;
    }
    entries[index] = (struct entry){ .kind = kind };
    new_name(entries[index].name);
    put_in(index, parent);
    counts[kind]++;
    return index;
}

static void drop_content(struct content *content)
{
    if (--content->links == 0) {
        free(content->bytes);
        free(content);
    }
}

static void drop_entry(uint32_t index)
{
    struct entry *entry = &entries[index];

    take_out(index);
    if (entry->kind == FILE_ENTRY)
        drop_content(entry->content);
    free(entry->target);
    counts[entry->kind]--;
    *entry = (struct entry){ .kind = FREE };
}

/* An entry of this kind other than `except`, or NONE.  The root counts as a directory. */
static uint32_t choose(enum kind kind, uint32_t except)
{
    uint32_t first = (uint32_t)below(entry_count);

    for (uint32_t step = 0; step < entry_count; step++) {
        uint32_t index = (first + step) % entry_count;

        if (entries[index].kind == kind && index != except)
            return index;
    }
    return NONE;
}

/* A directory with room for one more level, at worst the root. */
static uint32_t choose_directory(unsigned levels)
{
    uint32_t index = choose(DIRECTORY_ENTRY, NONE);

    return depth_of(index) + levels < DEPTH_MAX ? index : 0;
}

static void resize(struct content *content, size_t size)
{
    if (size > content->room) {
        content->room = size + size / 2;
        content->bytes = allocate(content->bytes, content->room);
    }
    if (size > content->size)
        memset(content->bytes + content->size, 0, size - content->size);
    content->size = size;
}

static void fill(struct content *content, size_t offset, size_t length)
{
    uint64_t word = random_next(&random_state) | 1;

    if (offset + length > content->size)
        resize(content, offset + length);
    for (size_t at = 0; at < length; at++) {
        if (at % 8 == 0)
            word = word * 6364136223846793005u + 1442695040888963407u;
        content->bytes[offset + at] = (unsigned char)(word >> 8 * (at % 8));
    }
}

static void write_out(int fd, const char *path, const struct content *content, size_t offset, size_t length)
{
    while (length) {
        size_t part = length < IO_BYTES ? length : IO_BYTES;
        ssize_t moved = pwrite(fd, content->bytes + offset, part, (off_t)offset);

        if (moved < 0)
            die("write of %zu bytes at %zu to %s: %s", part, offset, path, strerror(errno));
        if (moved == 0)
            die("write of %zu bytes at %zu to %s moved nothing", part, offset, path);
        bytes_written += (uint64_t)moved;
        offset += (size_t)moved;
        length -= (size_t)moved;
    }
}

static void close_file(int fd, const char *path)
{
    if (close(fd) != 0)
        die("close %s: %s", path, strerror(errno));
}

static int open_file(const char *path, int flags)
{
    int fd = open(path, flags, 0644);

    if (fd < 0)
        die("open %s: %s", path, strerror(errno));
    return fd;
}

static void check_call(int status, const char *call, const char *path)
{
    if (apply && status != 0)
        die("%s %s: %s", call, path, strerror(errno));
}

/* Change part of a file and write just that part. */
static void change(uint32_t index, size_t offset, size_t length)
{
    struct content *content = entries[index].content;

    fill(content, offset, length);
    if (!apply)
        return;
    const char *path = path_of(index);
    int fd = open_file(path, O_WRONLY);

    write_out(fd, path, content, offset, length);
    close_file(fd, path);
}

static int do_create(void)
{
    if (counts[FILE_ENTRY] + counts[SYMLINK_ENTRY] >= options.files)
        return 0;
    uint32_t index = new_entry(FILE_ENTRY, choose_directory(0));
    struct content *content = allocate(NULL, sizeof *content);

    *content = (struct content){ .links = 1 };
    entries[index].content = content;
    fill(content, 0, draw_bytes());
    if (apply) {
        const char *path = path_of(index);
        int fd = open_file(path, O_WRONLY | O_CREAT | O_EXCL);

        write_out(fd, path, content, 0, content->size);
        close_file(fd, path);
    }
    return 1;
}

static int do_change(enum operation operation)
{
    uint32_t index = choose(FILE_ENTRY, NONE);

    if (index == NONE)
        return 0;
    size_t size = entries[index].content->size, offset = size, length = draw_bytes();

    if (operation == OVERWRITE) {
        offset = size ? below(size) : 0;
        length = size ? below(size - offset) + 1 : length;
    } else if (operation == BEYOND) {
        offset = size + draw_bytes();
        length = length % 5000 + 1;
    }
    if (offset + length > options.max_bytes)
        return 0;
    change(index, offset, length);
    return 1;
}

static int do_truncate(enum operation operation)
{
    uint32_t index = choose(FILE_ENTRY, NONE);

    if (index == NONE)
        return 0;
    struct content *content = entries[index].content;
    size_t size = operation == GROW ? content->size + draw_bytes() : content->size ? below(content->size) : 0;

    if (size > options.max_bytes)
        return 0;
    resize(content, size);
    if (apply) {
        const char *path = path_of(index);

        check_call(truncate(path, (off_t)size), "truncate", path);
    }
    return 1;
}

static int do_rename(void)
{
    uint32_t index = choose(below(8) ? FILE_ENTRY : SYMLINK_ENTRY, NONE);

    if (index == NONE)
        return 0;
    char old[PATH_BYTES];
    uint32_t parent = below(3) ? choose_directory(0) : entries[index].parent;

    snprintf(old, sizeof old, "%s", path_of(index));
    take_out(index);
    new_name(entries[index].name);
    put_in(index, parent);
    if (apply)
        check_call(rename(old, path_of(index)), "rename", old);
    return 1;
}

static int do_replace(void)
{
    uint32_t index = choose(FILE_ENTRY, NONE);
    uint32_t victim = index == NONE ? NONE : choose(FILE_ENTRY, index);

    /* Between two names of one file rename() does nothing. */
    if (victim == NONE || entries[index].content == entries[victim].content)
        return 0;
    char old[PATH_BYTES], new[PATH_BYTES], name[NAME_BYTES];
    uint32_t parent = entries[victim].parent;

    snprintf(old, sizeof old, "%s", path_of(index));
    snprintf(new, sizeof new, "%s", path_of(victim));
    memcpy(name, entries[victim].name, sizeof name);
    drop_entry(victim);
    take_out(index);
    memcpy(entries[index].name, name, sizeof name);
    put_in(index, parent);
    if (apply)
        check_call(rename(old, new), "rename over another file", old);
    return 1;
}

static int do_move_directory(void)
{
    uint32_t index = choose(DIRECTORY_ENTRY, 0);

    if (index == NONE)
        return 0;
    uint32_t parent = choose(DIRECTORY_ENTRY, index);

    for (uint32_t up = parent; up; up = entries[up].parent)
        if (up == index)
            return 0;
    if (depth_of(parent) + 1 + height_of(index) > DEPTH_MAX)
        return 0;
    char old[PATH_BYTES];

    snprintf(old, sizeof old, "%s", path_of(index));
    take_out(index);
    new_name(entries[index].name);
    put_in(index, parent);
    if (apply)
        check_call(rename(old, path_of(index)), "rename of directory", old);
    return 1;
}

static int do_link(void)
{
    uint32_t from = choose(FILE_ENTRY, NONE);

    if (from == NONE || counts[FILE_ENTRY] + counts[SYMLINK_ENTRY] >= options.files)
        return 0;
    uint32_t index = new_entry(FILE_ENTRY, choose_directory(0));

    entries[index].content = entries[from].content;
    entries[index].content->links++;
    if (apply) {
        const char *old = path_of(from);

        check_call(link(old, path_of(index)), "link", old);
    }
    return 1;
}

/* Short targets fit into an inode, long ones do not. */
static int do_symlink(void)
{
    if (counts[FILE_ENTRY] + counts[SYMLINK_ENTRY] >= options.files)
        return 0;
    uint32_t index = new_entry(SYMLINK_ENTRY, choose_directory(0));
    size_t length = 1 + below(below(2) ? 50 : TARGET_BYTES - 1);
    char *target = allocate(NULL, length + 1);

    for (size_t at = 0; at < length; at++)
        target[at] = (char)('a' + at % 26);
    target[length] = '\0';
    entries[index].target = target;
    if (apply) {
        const char *path = path_of(index);

        check_call(symlink(target, path), "symlink", path);
    }
    return 1;
}

static int do_mkdir(void)
{
    if (counts[DIRECTORY_ENTRY] > options.directories)
        return 0;
    uint32_t index = new_entry(DIRECTORY_ENTRY, choose_directory(1));

    if (apply) {
        const char *path = path_of(index);

        check_call(mkdir(path, 0755), "mkdir", path);
    }
    return 1;
}

static int do_rmdir(void)
{
    uint32_t index = choose(DIRECTORY_ENTRY, 0);

    if (index == NONE)
        return 0;
    if (apply) {
        const char *path = path_of(index);
        int status = rmdir(path);

        if (entries[index].children && status == 0)
            die("rmdir %s succeeded on a directory with %u names", path, entries[index].children);
        if (!entries[index].children)
            check_call(status, "rmdir", path);
    }
    if (!entries[index].children)
        drop_entry(index);
    return 1;
}

static int do_unlink(enum operation operation)
{
    uint32_t index = choose(below(8) ? FILE_ENTRY : SYMLINK_ENTRY, NONE);

    if (index == NONE)
        return 0;
    size_t length = operation == UNLINK_OPEN ? draw_bytes() : 0;

    if (apply) {
        const char *path = path_of(index);
        int open_too = operation == UNLINK_OPEN && entries[index].kind == FILE_ENTRY;
        int open_fd = open_too && entries[index].content->links == 1 ? open_file(path, O_WRONLY) : -1;

        check_call(unlink(path), "unlink", path);
        if (open_fd >= 0) {
            /* A file without a name is still a file. */
            struct content *content = entries[index].content;

            if (length > content->size)
                resize(content, length);
            write_out(open_fd, path, content, 0, length);
            close_file(open_fd, path);
        }
    }
    drop_entry(index);
    return 1;
}

static int carry_out(enum operation operation)
{
    switch (operation) {
    case CREATE: return do_create();
    case APPEND: case OVERWRITE: case BEYOND: return do_change(operation);
    case TRUNCATE: case GROW: return do_truncate(operation);
    case RENAME: return do_rename();
    case REPLACE: return do_replace();
    case MOVE_DIRECTORY: return do_move_directory();
    case LINK: return do_link();
    case SYMLINK: return do_symlink();
    case MKDIR: return do_mkdir();
    case RMDIR: return do_rmdir();
    case UNLINK: case UNLINK_OPEN: return do_unlink(operation);
    case OPERATIONS: break;
    }
    return 0;
}

static enum operation draw_operation(void)
{
    unsigned total = 0, at;

    for (at = 0; at < OPERATIONS; at++)
        total += weights[at];
    uint64_t value = below(total);

    for (at = 0; value >= weights[at]; at++)
        value -= weights[at];
    return (enum operation)at;
}

/* Compute the tree; with `apply`, carry it out on the file system as well. */
static void run_sequence(void)
{
    entries = allocate(NULL, sizeof *entries);
    entries[0] = (struct entry){ .kind = DIRECTORY_ENTRY };
    entry_count = 1;
    counts[DIRECTORY_ENTRY] = 1;
    random_state = options.seed;
    for (uint64_t step = 0; step < options.operations; step++) {
        enum operation operation = draw_operation();

        if (!(options.without >> operation & 1) && carry_out(operation))
            done[operation]++;
    }
}

static void verify_file(uint32_t index, const struct stat *status)
{
    static unsigned char buffer[IO_BYTES];
    const struct content *content = entries[index].content;
    const char *path = path_of(index);

    if (!S_ISREG(status->st_mode))
        die("%s: must be a file, its mode is %o", path, status->st_mode);
    if (status->st_nlink != content->links)
        die("%s: %ju links, must be %u", path, (uintmax_t)status->st_nlink, content->links);
    if ((uint64_t)status->st_size != content->size)
        die("%s: %jd bytes, must be %zu", path, (intmax_t)status->st_size, content->size);
    int fd = open_file(path, O_RDONLY);

    for (size_t at = 0; at < content->size;) {
        ssize_t moved = read(fd, buffer, sizeof buffer);

        if (moved <= 0)
            die("%s: read at %zu: %s", path, at, moved ? strerror(errno) : "ends too early");
        for (ssize_t byte = 0; byte < moved; byte++)
            if (buffer[byte] != content->bytes[at + (size_t)byte])
                die("%s: byte %zu of %zu is %02x, must be %02x", path, at + (size_t)byte, content->size,
                    buffer[byte], content->bytes[at + (size_t)byte]);
        at += (size_t)moved;
    }
    close_file(fd, path);
}

static void verify_symlink(uint32_t index, const struct stat *status)
{
    char target[TARGET_BYTES + 1];
    const char *path = path_of(index);

    if (!S_ISLNK(status->st_mode))
        die("%s: must be a symbolic link, its mode is %o", path, status->st_mode);
    ssize_t length = readlink(path, target, sizeof target - 1);

    if (length < 0)
        die("readlink %s: %s", path, strerror(errno));
    target[length] = '\0';
    if (strcmp(target, entries[index].target) != 0)
        die("%s: points to %s, must point to %s", path, target, entries[index].target);
}

static void verify_directory(uint32_t index, const struct stat *status)
{
    char name[PATH_BYTES + 8];
    const char *path = path_of(index);
    unsigned links = 2 + entries[index].subdirectories;
    struct stat up, parent;
    unsigned found = 0;

    if (!S_ISDIR(status->st_mode))
        die("%s: must be a directory, its mode is %o", path, status->st_mode);
    /* One link: a file system that does not count those of directories. */
    if (index && status->st_nlink != links && status->st_nlink != 1)
        die("%s: %ju links, must be %u", path, (uintmax_t)status->st_nlink, links);
    if (index) {
        snprintf(name, sizeof name, "%s/..", path);
        if (stat(name, &up) != 0 || stat(path_of(entries[index].parent), &parent) != 0)
            die("stat %s: %s", name, strerror(errno));
        if (up.st_ino != parent.st_ino)
            die("%s: is not its parent directory", name);
    }
    path = path_of(index);
    DIR *directory = opendir(path);

    if (!directory)
        die("opendir %s: %s", path, strerror(errno));
    for (struct dirent *item; errno = 0, (item = readdir(directory));) {
        uint32_t at = 1;

        if (!strcmp(item->d_name, ".") || !strcmp(item->d_name, ".."))
            continue;
        /* mkfs of ext2, ext3 puts this one into the root. */
        if (!index && !strcmp(item->d_name, "lost+found"))
            continue;
        while (at < entry_count && (entries[at].kind == FREE || entries[at].parent != index ||
                                    strcmp(entries[at].name, item->d_name) != 0))
            at++;
        if (at == entry_count)
            die("%s/%s: is there, must not be", path_of(index), item->d_name);
        if (entries[at].seen++)
            die("%s: is listed twice", path_of(at));
        found++;
    }
    if (errno)
        die("readdir %s: %s", path_of(index), strerror(errno));
    closedir(directory);
    if (found != entries[index].children)
        die("%s: lists %u names, must list %u", path_of(index), found, entries[index].children);
}

static void verify(void)
{
    struct stat status;

    for (uint32_t index = 0; index < entry_count; index++) {
        if (entries[index].kind == FREE)
            continue;
        if (lstat(path_of(index), &status) != 0)
            die("lstat %s: %s", path_of(index), strerror(errno));
        if (entries[index].kind == FILE_ENTRY)
            verify_file(index, &status);
        else if (entries[index].kind == SYMLINK_ENTRY)
            verify_symlink(index, &status);
        else
            verify_directory(index, &status);
    }
}

static void remove_all(void)
{
    int left = 1;

    for (uint32_t index = 1; index < entry_count; index++)
        if (entries[index].kind == FILE_ENTRY || entries[index].kind == SYMLINK_ENTRY) {
            if (unlink(path_of(index)) != 0)
                die("unlink %s: %s", path_of(index), strerror(errno));
            drop_entry(index);
        }
    while (left) {
        left = 0;
        for (uint32_t index = 1; index < entry_count; index++) {
            if (entries[index].kind != DIRECTORY_ENTRY)
                continue;
            if (entries[index].children) {
                left = 1;
                continue;
            }
            if (rmdir(path_of(index)) != 0)
                die("rmdir %s: %s", path_of(index), strerror(errno));
            drop_entry(index);
        }
    }
    verify();
}

static void leave_out(const char *option, const char *name)
{
    unsigned operation = 0;

    while (operation < OPERATIONS && strcmp(name, operation_names[operation]))
        operation++;
    if (operation == OPERATIONS)
        die_usage("%s %s: there is no such operation; README.md lists them", option, name);
    options.without |= 1u << operation;
}

static void read_options(char **argv)
{
    static struct option_rule rules[] = {
        { .name = "--write", .flag = &options.write },
        { .name = "--verify", .flag = &options.verify },
        { .name = "--remove", .flag = &options.remove },
        { .name = "--dir", .text = &options.dir, .value = "DIR", .required = true },
        { .name = "--seed", .number = &options.seed },
        { .name = "--operations", .number = &options.operations, .low = 1, .high = 100000000 },
        { .name = "--files", .number = &options.files, .low = 1, .high = ENTRIES_MAX },
        { .name = "--directories", .number = &options.directories, .high = ENTRIES_MAX },
        { .name = "--max-bytes", .number = &options.max_bytes, .high = 1u << 30 },
        { .name = "--without", .take = leave_out, .value = "OPERATION" },
        { .name = NULL },
    };

    parse_options(argv, rules);
    if (options.write + options.verify + options.remove != 1)
        die_usage("give one of --write, --verify and --remove");
}

int main(int argc, char **argv)
{
    (void)argc;
    read_options(argv);
    if (chdir(options.dir) != 0)
        die("--dir %s: %s", options.dir, strerror(errno));
    apply = options.write;
    run_sequence();
    uint64_t total = 0;

    for (unsigned at = 0; at < OPERATIONS; at++) {
        total += done[at];
        if (apply)
            printf("metric %s_operations %" PRIu64 "\n", operation_names[at], done[at]);
    }
    printf("metric operations %" PRIu64 "\n", total);
    printf("metric files %u\nmetric symlinks %u\nmetric directories %u\n", counts[FILE_ENTRY], counts[SYMLINK_ENTRY],
           counts[DIRECTORY_ENTRY] - 1);
    if (apply)
        printf("metric bytes %" PRIu64 "\n", bytes_written);
    else
        verify();
    if (options.remove)
        remove_all();
    return fflush(stdout) == 0 ? 0 : 1;
}
