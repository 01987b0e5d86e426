// SPDX-License-Identifier: MIT
/* rawio on Linux (platform.h). */
#ifndef RAWIO_LINUX_H
#define RAWIO_LINUX_H

#define _GNU_SOURCE             /* O_DIRECT */
#include <linux/fs.h>           /* BLKGETSIZE64 */
#include <sys/ioctl.h>

#include "unix.h"

static inline void *shared_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        die("no shared memory: %s", strerror(errno));
    return memory;
}

static inline disk disk_open(const char *path, int write, bool uncached)
{
    return open(path, (write ? O_RDWR : O_RDONLY) | (uncached ? O_DIRECT : 0));
}

static uint64_t disk_bytes(disk disk, const char *path)
{
    struct stat status;
    uint64_t bytes;

    if (fstat(disk, &status) < 0)
        die("%s: %s", path, strerror(errno));
    if (S_ISREG(status.st_mode))
        return (uint64_t)status.st_size;
    if (ioctl(disk, BLKGETSIZE64, &bytes) < 0)
        die("%s is neither a disk nor a file: %s", path, strerror(errno));
    return bytes;
}

#endif
