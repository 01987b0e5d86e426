// SPDX-License-Identifier: MIT
#include "filesets.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "splitmix64.h"
#include "virtual_clock.h"

#define PATTERN_BYTES 65536ULL

/* ---- filesets in memory ---- */

static uint32_t add_directory(struct fileset *fileset, const char *parent, uint32_t serial)
{
    char path[PATH_MAX];

    if (fileset->directory_count == fileset->directory_room) {
        fileset->directory_room = fileset->directory_room * 2 + 16;
        fileset->directories =
            realloc(fileset->directories, fileset->directory_room * sizeof *fileset->directories);
        if (!fileset->directories)
            die("no memory for the directories of %s; use a smaller --scale", fileset->name);
    }
    if (snprintf(path, sizeof path - 32, "%s/%08u", parent, serial) >= (int)sizeof path - 32)
        fail_at(fileset->line, "the tree of fileset '%s' is too deep", fileset->name);
    fileset->directories[fileset->directory_count] = (struct directory){.path = copy_string(path)};
    return fileset->directory_count++;
}

static void add_entry(struct entries *entries, uint32_t directory, uint32_t serial, uint64_t bytes)
{
    entries->list[entries->count++] =
        (struct entry){.directory = directory, .serial = serial, .full_bytes = bytes};
}

/*
 * filebench's tree: each directory draws its depth and width; one at least as
 * deep as its draw holds files, others hold directories.  The root goes on
 * until everything has a place.
 */
static void populate(struct fileset *fileset, uint64_t *random, uint32_t self, bool is_root, uint64_t depth)
{
    uint64_t depth_q16 = fileset->mean_depth_q16, width_q16 = fileset->width * Q16;

    if (fileset->shape_milli) {
        depth_q16 = gamma_q16(random, depth_q16, fileset->shape_milli);
        width_q16 = gamma_q16(random, width_q16, fileset->shape_milli);
    }
    bool is_leaf = !is_root && (depth >= depth_q16 >> 16 || depth >= 64);

    for (int kind = 0; kind < 2; kind++) {
        struct entries *entries = kind ? &fileset->leaves : &fileset->files;
        uint64_t wanted = kind ? fileset->leaf_count : fileset->file_count;

        for (uint32_t serial = 1; entries->count < wanted; serial++) {
            if (!is_root && serial > 1 && (uint64_t)(serial - 1) * Q16 >= width_q16)
                break;
            if (is_leaf) {
                add_entry(entries, self, serial, kind ? 0 : draw(&fileset->size, random));
            } else {
                uint32_t child = add_directory(fileset, fileset->directories[self].path, serial);

                populate(fileset, random, child, false, depth + 1);
            }
        }
    }
}

static void lay_out(struct fileset *fileset, uint64_t *random)
{
    char root[PATH_MAX];
    uint64_t floor = 10 * personality.thread_count; /* with fewer, one thread takes what the next one needs */

    if (fileset->file_count > 1)
        fileset->file_count = scaled_up(fileset->file_count) > floor ? scaled_up(fileset->file_count)
                              : fileset->file_count > floor       ? floor
                                                                  : fileset->file_count;
    if (fileset->leaf_count > 1)
        fileset->leaf_count = scaled_up(fileset->leaf_count) > floor ? scaled_up(fileset->leaf_count)
                              : fileset->leaf_count > floor       ? floor
                                                                  : fileset->leaf_count;
    fileset->files.list = allocate(fileset->file_count, sizeof(struct entry));
    fileset->leaves.list = allocate(fileset->leaf_count, sizeof(struct entry));
    fileset->files.present = allocate(fileset->file_count / 64 + 1, 8);
    fileset->leaves.present = allocate(fileset->leaf_count / 64 + 1, 8);
    fileset->mean_depth_q16 = (log2_q16(fileset->file_count + fileset->leaf_count) << 16) / log2_q16(fileset->width);
    snprintf(root, sizeof root, "%s/%s", personality.directory, fileset->name);
    fileset->directories = allocate(16, sizeof *fileset->directories);
    fileset->directory_room = 16;
    fileset->directories[0].path = copy_string(root);
    fileset->directory_count = 1;
    populate(fileset, random, 0, true, 1);
}

bool is_present(const struct entries *entries, uint32_t index)
{
    return entries->present[index / 64] >> (index % 64) & 1;
}

void set_present(struct entries *entries, uint32_t index, bool present)
{
    entries->present[index / 64] ^= 1ULL << (index % 64);
    entries->present_count += present ? 1 : -1U;
}

uint32_t find_entry(const struct entries *entries, uint32_t index, bool present)
{
    if (index >= entries->count)
        index = 0;
    for (;;) {
        uint64_t word = entries->present[index / 64];

        word = (present ? word : ~word) >> (index % 64);
        if (word) {
            index += (uint32_t)__builtin_ctzll(word);
            if (index < entries->count)
                return index;
            index = 0;
        } else {
            index = (index / 64 + 1) * 64;
            if (index >= entries->count)
                index = 0;
        }
    }
}

void entry_path(const struct fileset *fileset, const struct entry *entry, char path[PATH_MAX])
{
    const char *directory = fileset->directories[entry->directory].path;
    size_t length = strlen(directory);
    uint32_t serial = entry->serial;

    memcpy(path, directory, length);
    path[length] = '/';
    for (int i = 8; i; i--, serial /= 10)
        path[length + (size_t)i] = (char)('0' + serial % 10);
    path[length + 9] = 0;
}

/* ---- data: a file holds at each offset what the offset says ---- */

static char *pattern;

static const char *data_at(uint64_t offset)
{
    return pattern + offset % PATTERN_BYTES;
}

static void make_pattern(void)
{
    uint64_t random = random_stream(0, 0);

    pattern = allocate(PATTERN_BYTES + personality.io_bytes_max, 1);
    for (uint64_t i = 0; i < PATTERN_BYTES; i += 8)
        memcpy(pattern + i, &(uint64_t){random_next(&random)}, 8);
    for (uint64_t i = 0; i < personality.io_bytes_max; i++)
        pattern[PATTERN_BYTES + i] = pattern[i];
}

void write_at(int fd, uint64_t offset, uint64_t bytes, const char *path)
{
    ssize_t written = pwrite(fd, data_at(offset), bytes, (off_t)offset);

    if (written < 0 || (uint64_t)written != bytes)
        die("%s: %" PRIu64 " bytes at %" PRIu64 " were not written: %s", path, bytes, offset,
            written < 0 ? strerror(errno) : "no space for all of them");
}

/* ---- phase create ---- */

static void make_directory(struct directory *directory)
{
    if (directory->made)
        return;
    if (mkdir(directory->path, 0755) && errno != EEXIST)
        die("directory %s: %s; --dir must be an empty directory with room", directory->path, strerror(errno));
    directory->made = true;
}

void make_parents(struct fileset *fileset, uint32_t number)
{
    if (fileset->directories[number].made)
        return;
    for (uint32_t i = 0; i < number; i++) {
        size_t length = strlen(fileset->directories[i].path);

        if (strncmp(fileset->directories[i].path, fileset->directories[number].path, length) == 0 &&
            fileset->directories[number].path[length] == '/')
            make_directory(&fileset->directories[i]);
    }
    make_directory(&fileset->directories[number]);
}

static void create_file(struct fileset *fileset, struct entry *entry)
{
    char path[PATH_MAX];

    entry_path(fileset, entry, path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);

    if (fd < 0)
        die("file %s: %s; --dir must be an empty directory with room", path, strerror(errno));
    while (entry->bytes < entry->full_bytes) {
        uint64_t bytes = entry->full_bytes - entry->bytes;

        bytes = bytes < CREATE_BYTES ? bytes : CREATE_BYTES;
        write_at(fd, entry->bytes, bytes, path);
        entry->bytes += bytes;
    }
    if (close(fd))
        die("file %s: %s", path, strerror(errno));
}

/* All directories, then the preallocated part of the files, in random order. */
static void create_fileset(struct fileset *fileset, uint64_t *random)
{
    char path[PATH_MAX];

    if (!fileset->preallocates)
        return;
    for (uint32_t i = 0; i < fileset->directory_count; i++)
        make_directory(&fileset->directories[i]);
    for (int kind = 0; kind < 2; kind++) {
        struct entries *entries = kind ? &fileset->leaves : &fileset->files;
        struct entries waiting = {.count = entries->count, .present = allocate(entries->count / 64 + 1, 8)};

        for (uint32_t i = 0; i < entries->count; i++)
            set_present(&waiting, i, true);
        while (waiting.present_count) {
            uint32_t index = find_entry(&waiting, (uint32_t)random_below(random, entries->count), true);

            set_present(&waiting, index, false);
            if (random_below(random, 100) >= fileset->preallocated_percent)
                continue;
            entry_path(fileset, &entries->list[index], path);
            if (kind == 0)
                create_file(fileset, &entries->list[index]);
            else if (mkdir(path, 0755))
                die("directory %s: %s", path, strerror(errno));
            set_present(entries, index, true);
        }
        free(waiting.present);
    }
}

void create_filesets(uint64_t seed)
{
    uint64_t stream = 1, files = 0, bytes = 0;

    make_pattern();

    uint64_t begin_ns = virtual_ns();

    for (struct fileset *fileset = personality.filesets; fileset; fileset = fileset->next, stream++) {
        uint64_t random = random_stream(seed, stream);

        lay_out(fileset, &random);
        make_directory(&fileset->directories[0]);
        create_fileset(fileset, &random);
        for (uint32_t i = 0; i < fileset->files.count; i++)
            bytes += fileset->files.list[i].bytes;
        files += fileset->files.present_count;
        printf("info fileset %s %u files of %u, %u directories\n", fileset->name, fileset->files.present_count,
               fileset->files.count, fileset->directory_count);
    }
    phase_print("create", begin_ns);
    printf("metric created_files %" PRIu64 "\nmetric created_bytes %" PRIu64 "\n", files, bytes);
}

/* ---- afterwards ---- */

/* Everything that should be there is there, in its size, and nothing else of the fileset is. */
static uint64_t verify(struct fileset *fileset)
{
    char path[PATH_MAX];
    struct stat found;

    for (int kind = 0; kind < 2; kind++) {
        struct entries *entries = kind ? &fileset->leaves : &fileset->files;

        for (uint32_t i = 0; i < entries->count; i++) {
            struct entry *entry = &entries->list[i];
            bool present = is_present(entries, i);

            entry_path(fileset, entry, path);
            if (lstat(path, &found)) {
                if (present || errno != ENOENT)
                    die("after the run: %s: %s", path, strerror(errno));
            } else if (!present) {
                die("after the run: %s is there and was deleted", path);
            } else if (kind ? !S_ISDIR(found.st_mode) : (uint64_t)found.st_size != entry->bytes) {
                die("after the run: %s has %" PRIu64 " bytes, written were %" PRIu64, path, (uint64_t)found.st_size,
                    entry->bytes);
            }
        }
    }
    return fileset->files.present_count;
}

uint64_t verify_filesets(void)
{
    uint64_t files = 0;

    for (struct fileset *fileset = personality.filesets; fileset; fileset = fileset->next)
        files += verify(fileset);
    return files;
}
