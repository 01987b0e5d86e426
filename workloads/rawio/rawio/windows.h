// SPDX-License-Identifier: MIT
/*
 * rawio on Windows (platform.h).  Its children are threads, and each has a handle of its own: requests through one
 * handle would wait for each other.  A disk is called \\.\PhysicalDrive1; writing to it needs an administrator, and a
 * disk without mounted volumes.
 */
#ifndef RAWIO_WINDOWS_H
#define RAWIO_WINDOWS_H

#define __USE_MINGW_ANSI_STDIO 1        /* %zu and PRIu64 as the standard has them */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <winioctl.h>

#include "program.h"

#define CHILD_STACK_BYTES 65536

typedef HANDLE semaphore;
typedef HANDLE disk;

static HANDLE threads[CHILDREN_MAX];

struct child {
    void (*body)(int number, void *run);
    int number;
    void *run;
};

/* Those of the system's errors that rawio can meet; what else there is counts as EIO. */
static int take_error(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
        errno = ENOENT;
        break;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
        errno = EACCES;
        break;
    case ERROR_WRITE_PROTECT:
        errno = EROFS;
        break;
    case ERROR_DISK_FULL:
        errno = ENOSPC;
        break;
    case ERROR_INVALID_PARAMETER:
        errno = EINVAL;
        break;
    default:
        errno = EIO;
    }
    return -1;
}

static inline int semaphore_open(semaphore *semaphore)
{
    *semaphore = CreateSemaphoreA(NULL, 0, CHILDREN_MAX, NULL);
    return *semaphore ? 0 : take_error();
}

static inline void semaphore_post(semaphore *semaphore)
{
    ReleaseSemaphore(*semaphore, 1, NULL);
}

static inline void semaphore_wait(semaphore *semaphore)
{
    if (WaitForSingleObject(*semaphore, INFINITE) != WAIT_OBJECT_0)
        die("semaphore: error %lu", GetLastError());
}

static inline void *shared_memory(size_t size)
{
    void *memory = calloc(1, size);

    if (!memory)
        die("no memory of %zu bytes", size);
    return memory;
}

static inline void *aligned_memory(size_t alignment, size_t size)
{
    return _aligned_malloc(size, alignment);
}

/* Not FILE_FLAG_WRITE_THROUGH: it makes each write of a disk a FUA. */
static inline disk disk_open(const char *path, int write, bool uncached)
{
    HANDLE disk = CreateFileA(path, GENERIC_READ | (write ? GENERIC_WRITE : 0), FILE_SHARE_READ | FILE_SHARE_WRITE,
                              NULL, OPEN_EXISTING, uncached ? FILE_FLAG_NO_BUFFERING : 0, NULL);

    /* The results are the same bytes as elsewhere. */
    _setmode(_fileno(stdout), _O_BINARY);
    _setmode(_fileno(stderr), _O_BINARY);
    if (disk == INVALID_HANDLE_VALUE)
        take_error();
    return disk;
}

static inline bool disk_is_open(disk disk)
{
    return disk != INVALID_HANDLE_VALUE;
}

static inline disk disk_of_child(disk parents, const char *path, int write)
{
    disk own = disk_open(path, write, true);

    (void)parents;
    if (!disk_is_open(own))
        die("cannot open %s for a child: %s", path, strerror(errno));
    return own;
}

static uint64_t disk_bytes(disk disk, const char *path)
{
    GET_LENGTH_INFORMATION length;
    LARGE_INTEGER size;
    DWORD got;

    if (GetFileSizeEx(disk, &size))
        return (uint64_t)size.QuadPart;
    if (!DeviceIoControl(disk, IOCTL_DISK_GET_LENGTH_INFO, NULL, 0, &length, sizeof length, &got, NULL))
        die("%s is neither a disk nor a file: error %lu", path, GetLastError());
    return (uint64_t)length.Length.QuadPart;
}

static inline ssize_t disk_read(disk disk, void *buffer, size_t bytes, uint64_t offset)
{
    OVERLAPPED at = { .Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32) };
    DWORD moved;

    if (!ReadFile(disk, buffer, (DWORD)bytes, &moved, &at))
        return GetLastError() == ERROR_HANDLE_EOF ? 0 : take_error();
    return (ssize_t)moved;
}

static inline ssize_t disk_write(disk disk, const void *buffer, size_t bytes, uint64_t offset)
{
    OVERLAPPED at = { .Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32) };
    DWORD moved;

    return WriteFile(disk, buffer, (DWORD)bytes, &moved, &at) ? (ssize_t)moved : take_error();
}

static DWORD WINAPI begin_child(void *argument)
{
    struct child *child = argument;

    child->body(child->number, child->run);
    return 0;
}

/* A child that fails ends the whole program, so that nobody has to watch. */
static inline void children_start(int count, void (*body)(int number, void *run), void *run)
{
    struct child *children = calloc((size_t)count, sizeof *children);

    if (!children)
        die("out of memory for %d children", count);
    for (int i = 0; i < count; i++) {
        children[i] = (struct child){ .body = body, .number = i, .run = run };
        threads[i] = CreateThread(NULL, CHILD_STACK_BYTES, begin_child, &children[i],
                                  STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
        if (!threads[i])
            die("cannot start child %d: error %lu", i, GetLastError());
    }
}

static inline void child_end(void)
{
}

static inline void children_may_end(void)
{
}

static inline void children_end(int count)
{
    for (int i = 0; i < count; i++)
        if (WaitForSingleObject(threads[i], INFINITE) != WAIT_OBJECT_0)
            die("child %d did not end well", i);
}

static uint64_t now_ns(void)
{
    LARGE_INTEGER ticks, second;

    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&second);
    return (uint64_t)(ticks.QuadPart / second.QuadPart) * 1000000000 +
           (uint64_t)(ticks.QuadPart % second.QuadPart) * 1000000000 / (uint64_t)second.QuadPart;
}

#endif
