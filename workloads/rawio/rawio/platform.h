// SPDX-License-Identifier: MIT
/*
 * What rawio needs from a system.  Each platform has a file with
 *
 *     semaphore                   semaphore_open(), semaphore_post(), semaphore_wait(): shared by all children
 *     shared_memory(size)         zeroed memory that all children see
 *     aligned_memory(alignment, size)         NULL: there is none
 *     disk                        an open disk, or a file in its place
 *     disk_open(path, write, uncached)        UNCACHED: past the system's cache
 *     disk_is_open(disk)          if not, errno says why
 *     disk_of_child(disk, path, write)        the same disk, as a child has to use it
 *     disk_bytes(disk, path)      its size
 *     disk_read(), disk_write()   (disk, buffer, bytes, offset): bytes moved; -1 and errno
 *     children_start(count, body, run)        COUNT children, each calls BODY(its number, RUN) and may not return
 *     child_end()                 the last that a child calls
 *     children_may_end()          from now on the end of a child is no failure
 *     children_end(count)         waits for all; one that did not end well ends the program
 *     now_ns()                    time since any moment
 *
 * The compiler says which platform it is for.  -DPLATFORM_POSIX takes POSIX.1-2008 and no more, on Linux, too.
 * This file comes first, because a platform decides what the C library declares.
 */
#ifndef RAWIO_PLATFORM_H
#define RAWIO_PLATFORM_H

#define CHILDREN_MAX 4096

#if defined _WIN32
#include "windows.h"
#elif defined __linux__ && !defined PLATFORM_POSIX
#include "linux.h"
#else
#include "posix.h"
#endif

#endif
