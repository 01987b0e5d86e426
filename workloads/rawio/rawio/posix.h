// SPDX-License-Identifier: MIT
/* rawio on any POSIX system with processes, such as FreeBSD (platform.h). */
#ifndef RAWIO_POSIX_H
#define RAWIO_POSIX_H

#ifndef __FreeBSD__
#define _POSIX_C_SOURCE 200809L
#endif

#include "unix.h"
#ifdef __FreeBSD__
#include <sys/disk.h>           /* DIOCGMEDIASIZE */
#include <sys/ioctl.h>
#endif

/* POSIX has no memory without a name, so it has one until both have it. */
static inline void *shared_memory(size_t size)
{
    char name[64];
    void *memory;
    int fd;

    snprintf(name, sizeof name, "/rawio.%ld", (long)getpid());
    fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        die("no shared memory %s: %s", name, strerror(errno));
    shm_unlink(name);
    if (ftruncate(fd, (off_t)size) < 0)
        die("no shared memory of %zu bytes: %s", size, strerror(errno));
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        die("no shared memory: %s", strerror(errno));
    close(fd);
    return memory;
}

/*
 * POSIX knows no way past a cache.  FreeBSD's disks are raw devices, which have none, and O_DIRECT is for files there;
 * a system with neither measures its cache, too.
 */
static inline disk disk_open(const char *path, int write, bool uncached)
{
    int flags = write ? O_RDWR : O_RDONLY;

#ifdef O_DIRECT
    if (uncached)
        flags |= O_DIRECT;
#else
    (void)uncached;
#endif
    return open(path, flags);
}

static uint64_t disk_bytes(disk disk, const char *path)
{
    struct stat status;
    off_t bytes;

    if (fstat(disk, &status) < 0)
        die("%s: %s", path, strerror(errno));
    if (S_ISREG(status.st_mode))
        return (uint64_t)status.st_size;
#ifdef __FreeBSD__
    if (ioctl(disk, DIOCGMEDIASIZE, &bytes) < 0)
#else
    bytes = lseek(disk, 0, SEEK_END);
    if (bytes <= 0)
#endif
        die("%s is neither a disk nor a file: %s", path, strerror(errno));
    return (uint64_t)bytes;
}

#endif
