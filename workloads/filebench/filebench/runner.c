// SPDX-License-Identifier: MIT
#include "runner.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include "filesets.h"
#include "splitmix64.h"
#include "virtual_clock.h"

#define WRITE_LOCKS 1024
#define THREAD_STACK_BYTES (128 << 10)

struct open_file {
    int fd; /* of the kernel; meaningless without entry */
    struct fileset *fileset;
    struct entry *entry;
    uint64_t position;
};

struct thread {
    pthread_t id;
    const struct group *group;
    uint64_t number;
    uint64_t random;
    struct open_file files[FD_MAX];
    uint64_t *done, *done_bytes; /* by number of the flowop */
};

enum outcome { OK, EMPTY, DONE };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* filesets: what is there, busy, open */
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static int waiting_threads;
static pthread_mutex_t write_locks[WRITE_LOCKS];
static pthread_barrier_t start;
static bool stopping;
static uint64_t end_ns = UINT64_MAX, total_operations, total_bytes;
static bool prints_operations;
static uint64_t empty_line;
static char *read_buffer; /* shared by all threads: what is read is not looked at */

static void report(struct thread *thread, struct flowop *flowop, const char *path, uint64_t bytes)
{
    thread->done[flowop->number]++;
    thread->done_bytes[flowop->number] += bytes;
    if (flowop->is_io) {
        __atomic_fetch_add(&total_operations, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&total_bytes, bytes, __ATOMIC_RELAXED);
    }
    if (prints_operations && flowop->is_io)
        printf("operation %" PRIu64 " %s %s %" PRIu64 "\n", thread->number, flowop->name,
               strlen(path) > strlen(personality.directory) ? path + strlen(personality.directory) + 1 : "-", bytes);
}

/* May this flowop have it?  What is open is not deleted. */
static bool is_free(const struct flowop *flowop, const struct entry *entry)
{
    return !entry->busy && !(flowop->type == DELETEFILE && entry->open_count);
}

/* Next in rotation, or by index; taken ones are passed over. NULL: there is none of this kind. */
static struct entry *pick(struct thread *thread, struct flowop *flowop, struct entries *entries, bool present)
{
    struct entry *entry = NULL;

    pthread_mutex_lock(&lock);
    uint32_t from = entries->rotor[present];
    bool by_index = flowop->index.kind != NOTHING;

    if (by_index) {
        /* filebench: the value times half the number of entries */
        uint64_t value_q16 = flowop->index.kind == RANDOM ? variable_q16(flowop->index.variable, &thread->random)
                                                          : flowop->index.number * Q16;

        from = (uint32_t)((value_q16 * (entries->count / 2) >> 16) % entries->count);
    }
    while (!entry && (present ? entries->present_count : entries->count - entries->present_count)) {
        uint32_t first = find_entry(entries, from, present), index = first;

        if (!by_index)
            entries->rotor[present] = first + 1;
        while (!is_free(flowop, &entries->list[index])) {
            index = find_entry(entries, index + 1, present);
            if (index == first)
                break;
        }
        if (is_free(flowop, &entries->list[index])) {
            entry = &entries->list[index];
            entry->busy = true;
        } else if (flowop->type == DELETEFILE) {
            break; /* those who have them open may wait to delete, too */
        } else {
            waiting_threads++;
            pthread_cond_wait(&released, &lock);
            waiting_threads--;
        }
    }
    pthread_mutex_unlock(&lock);
    return entry;
}

static void release(struct entries *entries, struct entry *entry, bool present)
{
    uint32_t index = (uint32_t)(entry - entries->list);

    pthread_mutex_lock(&lock);
    if (is_present(entries, index) != present)
        set_present(entries, index, present);
    entry->busy = false;
    if (waiting_threads)
        pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

static enum outcome open_file(struct thread *thread, struct flowop *flowop, bool creates)
{
    struct open_file *file = &thread->files[flowop->fd];
    struct fileset *fileset = flowop->fileset;
    char path[PATH_MAX];
    int flags = fileset->readonly ? O_RDONLY : fileset->writeonly ? O_WRONLY : O_RDWR;

    if (file->entry)
        fail_at(flowop->line, "fd %u of flowop '%s' is open; close it first", flowop->fd, flowop->name);
    struct entry *entry = pick(thread, flowop, &fileset->files, !creates);

    if (!entry)
        return EMPTY;
    entry_path(fileset, entry, path);
    if (creates) {
        flags |= O_CREAT | O_EXCL;
        if (!fileset->preallocates) {
            pthread_mutex_lock(&lock);
            make_parents(fileset, entry->directory);
            pthread_mutex_unlock(&lock);
        }
    }
    if (flowop->dsync)
        flags |= O_SYNC; /* what filebench sets for dsync */
    *file = (struct open_file){.fd = open(path, flags, 0666), .fileset = fileset, .entry = entry};
    if (file->fd < 0)
        die("flowop %s: %s: %s", flowop->name, path, strerror(errno));
    pthread_mutex_lock(&lock);
    entry->open_count++;
    pthread_mutex_unlock(&lock);
    release(&fileset->files, entry, true);
    if (flowop->type == OPENFILE || flowop->type == CREATEFILE)
        report(thread, flowop, path, 0);
    return OK;
}

/* The file of the flowop's fd, opened now if it is not open. */
static struct open_file *file_of(struct thread *thread, struct flowop *flowop)
{
    struct open_file *file = &thread->files[flowop->fd];

    if (!file->entry) {
        if (!flowop->fileset)
            fail_at(flowop->line, "fd %u of flowop '%s' is not open, and it names no fileset", flowop->fd,
                    flowop->name);
        if (open_file(thread, flowop, false) == EMPTY)
            return NULL;
    }
    return file;
}

static void close_file(struct open_file *file)
{
    char path[PATH_MAX];

    if (close(file->fd)) {
        entry_path(file->fileset, file->entry, path);
        die("file %s: %s", path, strerror(errno));
    }
    pthread_mutex_lock(&lock);
    file->entry->open_count--;
    pthread_mutex_unlock(&lock);
    file->entry = NULL;
}

static uint64_t read_some(struct open_file *file, uint64_t offset, uint64_t bytes, const char *path)
{
    ssize_t got = pread(file->fd, read_buffer, bytes, (off_t)offset);

    if (got < 0)
        die("file %s: %s", path, strerror(errno));
    return (uint64_t)got;
}

/* Writes to a file one after the other, so that nothing is ever read where nothing was written. */
static pthread_mutex_t *writing(const struct entry *entry)
{
    return &write_locks[((uintptr_t)entry / sizeof *entry) % WRITE_LOCKS];
}

static void store(struct open_file *file, bool appends, uint64_t offset, uint64_t bytes, const char *path)
{
    pthread_mutex_t *mutex = writing(file->entry);

    pthread_mutex_lock(mutex);
    if (appends)
        offset = file->entry->bytes;
    write_at(file->fd, offset, bytes, path);
    if (file->entry->bytes < offset + bytes)
        file->entry->bytes = offset + bytes;
    pthread_mutex_unlock(mutex);
}

static uint64_t at_most(uint64_t number, uint64_t limit)
{
    return number < limit ? number : limit;
}

static uint64_t io_bytes_of(struct thread *thread, struct flowop *flowop)
{
    uint64_t bytes = flowop->io_bytes.kind == NOTHING ? 0 : draw(&flowop->io_bytes, &thread->random);

    return at_most(bytes, personality.io_bytes_max);
}

static enum outcome do_io(struct thread *thread, struct flowop *flowop)
{
    char path[PATH_MAX];
    uint64_t bytes = io_bytes_of(thread, flowop), done = 0, whole, got;

    if (flowop->type == APPENDFILERAND) /* filebench: 0 to iosize - 1, and nothing is done for 0 */
        bytes = bytes ? random_below(&thread->random, bytes) : 0;
    struct open_file *file = file_of(thread, flowop);

    if (!file)
        return EMPTY;
    entry_path(file->fileset, file->entry, path);
    switch (flowop->type) {
    case APPENDFILE:
    case APPENDFILERAND:
        if (bytes)
            store(file, true, 0, bytes, path);
        done = bytes;
        break;
    case READWHOLEFILE:
        if (!bytes)
            bytes = at_most(file->entry->full_bytes, personality.io_bytes_max);
        while (bytes && (got = read_some(file, done, bytes, path)))
            done += got;
        break;
    case WRITEWHOLEFILE:
        whole = thread->files[flowop->source_fd].entry ? thread->files[flowop->source_fd].entry->full_bytes
                                                       : file->entry->full_bytes;
        if (!bytes || bytes > whole)
            bytes = at_most(whole, personality.io_bytes_max);
        for (; done < whole; done += bytes) {
            bytes = whole - done < bytes ? whole - done : bytes;
            store(file, false, done, bytes, path);
        }
        break;
    default: /* READ, WRITE */
        if (!bytes)
            break;
        if (flowop->random) {
            if (file->entry->full_bytes < bytes)
                fail_at(flowop->line, "flowop '%s' moves %" PRIu64 " bytes of a file of %" PRIu64, flowop->name, bytes,
                        file->entry->full_bytes);
            file->position = random_below(&thread->random, file->entry->full_bytes / bytes) * bytes;
        }
        if (flowop->type == READ) {
            done = read_some(file, file->position, bytes, path);
            file->position = done ? file->position + done : 0; /* from the beginning again */
        } else {
            store(file, false, file->position, bytes, path);
            file->position += bytes;
            done = bytes;
        }
        break;
    }
    report(thread, flowop, path, done);
    return OK;
}

static enum outcome do_directory(struct thread *thread, struct flowop *flowop)
{
    struct fileset *fileset = flowop->fileset;
    char path[PATH_MAX];
    uint64_t bytes = 0;

    if (flowop->type == LISTDIR) {
        pthread_mutex_lock(&lock);
        const char *directory = fileset->directories[fileset->directory_rotor++ % fileset->directory_count].path;

        pthread_mutex_unlock(&lock);
        DIR *stream = opendir(directory);

        if (!stream)
            die("flowop %s: %s: %s", flowop->name, directory, strerror(errno));
        for (struct dirent *found; (found = readdir(stream));)
            bytes += strlen(found->d_name);
        closedir(stream);
        report(thread, flowop, directory, bytes);
        return OK;
    }
    bool makes = flowop->type == MAKEDIR;
    struct entry *entry = pick(thread, flowop, &fileset->leaves, !makes);

    if (!entry)
        return EMPTY;
    entry_path(fileset, entry, path);
    if (makes ? mkdir(path, 0755) : rmdir(path))
        die("flowop %s: %s: %s", flowop->name, path, strerror(errno));
    release(&fileset->leaves, entry, makes);
    report(thread, flowop, path, 0);
    return OK;
}

static enum outcome do_name(struct thread *thread, struct flowop *flowop)
{
    struct fileset *fileset = flowop->fileset;
    struct entry *entry = pick(thread, flowop, &fileset->files, true);
    char path[PATH_MAX];
    struct stat found;

    if (!entry)
        return EMPTY;
    entry_path(fileset, entry, path);
    if (flowop->type == STATFILE) {
        if (stat(path, &found))
            die("flowop %s: %s: %s", flowop->name, path, strerror(errno));
        release(&fileset->files, entry, true);
    } else {
        if (unlink(path))
            die("flowop %s: %s: %s", flowop->name, path, strerror(errno));
        entry->bytes = 0;
        release(&fileset->files, entry, false);
    }
    report(thread, flowop, path, 0);
    return OK;
}

static enum outcome carry_out(struct thread *thread, struct flowop *flowop)
{
    struct open_file *file = &thread->files[flowop->fd];
    char path[PATH_MAX] = "";

    switch (flowop->type) {
    case OPENFILE:
    case CREATEFILE:
        return open_file(thread, flowop, flowop->type == CREATEFILE);
    case CLOSEFILE:
    case FSYNC:
        if (!file->entry)
            fail_at(flowop->line, "fd %u of flowop '%s' is not open", flowop->fd, flowop->name);
        if (prints_operations)
            entry_path(file->fileset, file->entry, path);
        if (flowop->type == CLOSEFILE)
            close_file(file);
        else if (fsync(file->fd))
            die("flowop %s: fsync: %s", flowop->name, strerror(errno));
        break;
    case DELETEFILE:
    case STATFILE:
        return do_name(thread, flowop);
    case LISTDIR:
    case MAKEDIR:
    case REMOVEDIR:
        return do_directory(thread, flowop);
    case DELAY:
        nanosleep(&(struct timespec){.tv_sec = (time_t)flowop->value}, NULL);
        break;
    case FINISHONCOUNT:
    case FINISHONBYTES: {
        uint64_t *sum = flowop->type == FINISHONCOUNT ? &total_operations : &total_bytes;
        uint64_t limit = flowop->type == FINISHONCOUNT ? flowop->value : flowop->value + 1;

        if (__atomic_load_n(sum, __ATOMIC_RELAXED) >= limit)
            return DONE;
        break;
    }
    case LIMIT: /* there is no event generator: no limit */
        return OK;
    default:
        return do_io(thread, flowop);
    }
    report(thread, flowop, path, 0);
    return OK;
}

static void *thread_main(void *argument)
{
    struct thread *thread = argument;
    struct flowop *flowop = thread->group->flowops;

    pthread_barrier_wait(&start);
    while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED) && virtual_ns() < end_ns) {
        for (uint64_t i = 0; i < flowop->iterations; i++) {
            enum outcome outcome = carry_out(thread, flowop);

            if (outcome == EMPTY && !personality.stop_when_empty)
                fail_at(flowop->line,
                        "flowop '%s' finds no file any more; shorten the run, set more files, "
                        "or set mode quit firstdone",
                        flowop->name);
            if (outcome == EMPTY)
                __atomic_store_n(&empty_line, (uint64_t)flowop->line, __ATOMIC_RELAXED);
            if (outcome != OK) {
                __atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
                break;
            }
        }
        flowop = flowop->next ? flowop->next : thread->group->flowops;
    }
    for (int fd = 0; fd < FD_MAX; fd++)
        if (thread->files[fd].entry)
            close_file(&thread->files[fd]);
    return NULL;
}

void run_threads(uint64_t seed, bool print_operations)
{
    struct thread *threads = allocate(personality.thread_count, sizeof *threads);
    pthread_attr_t attributes;
    uint64_t number = 0;

    prints_operations = print_operations;
    read_buffer = allocate(personality.io_bytes_max, 1);
    for (int i = 0; i < WRITE_LOCKS; i++)
        pthread_mutex_init(&write_locks[i], NULL);
    pthread_barrier_init(&start, NULL, (unsigned)personality.thread_count + 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
    for (struct group *group = personality.groups; group; group = group->next)
        for (uint64_t i = 0; i < group->instances; i++, number++) {
            struct thread *thread = &threads[number];

            thread->group = group;
            thread->number = number;
            thread->random = random_stream(seed, 1000 + number);
            thread->done = allocate((size_t)personality.flowop_count, 8);
            thread->done_bytes = allocate((size_t)personality.flowop_count, 8);
            int error = pthread_create(&thread->id, &attributes, thread_main, thread);

            if (error)
                die("thread %" PRIu64 " of %" PRIu64 ": %s", number + 1, personality.thread_count, strerror(error));
        }

    uint64_t begin_ns = virtual_ns();

    if (personality.run_seconds)
        end_ns = begin_ns + scaled_up(personality.run_seconds * 1000000000);
    pthread_barrier_wait(&start);
    for (uint64_t i = 0; i < personality.thread_count; i++)
        pthread_join(threads[i].id, NULL);

    uint64_t elapsed_ns = virtual_ns() - begin_ns;

    phase_print("run", begin_ns);
    for (uint64_t i = 0; i < personality.thread_count; i++)
        for (struct flowop *flowop = threads[i].group->flowops; flowop; flowop = flowop->next) {
            flowop->done += threads[i].done[flowop->number];
            flowop->done_bytes += threads[i].done_bytes[flowop->number];
        }
    printf("metric elapsed_ns %" PRIu64 "\n", elapsed_ns);
    if (empty_line)
        printf("info ended at line %" PRIu64 ": no file left\n", empty_line);
}

void print_metrics(uint64_t files)
{
    uint64_t read_bytes = 0, written_bytes = 0, operations = 0;

    for (struct group *group = personality.groups; group; group = group->next)
        for (struct flowop *flowop = group->flowops; flowop; flowop = flowop->next) {
            if (flowop->type == READ || flowop->type == READWHOLEFILE)
                read_bytes += flowop->done_bytes;
            else if (flowop->type != LISTDIR)
                written_bytes += flowop->done_bytes;
            if (flowop->is_io)
                operations += flowop->done;
        }
    printf("metric operations %" PRIu64 "\n", operations);
    printf("metric read_bytes %" PRIu64 "\n", read_bytes);
    printf("metric written_bytes %" PRIu64 "\n", written_bytes);
    printf("metric files %" PRIu64 "\n", files);
    for (struct group *group = personality.groups; group; group = group->next)
        for (struct flowop *flowop = group->flowops; flowop; flowop = flowop->next)
            if (flowop->is_io)
                printf("metric ops_%s %" PRIu64 "\n", flowop->name, flowop->done);
}
