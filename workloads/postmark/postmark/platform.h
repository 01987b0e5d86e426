// SPDX-License-Identifier: MIT
/*
 * What the wrapper around PostMark needs from a system.  Each platform has a file with
 *
 *     open_pipe(ends)             a pipe that programs started later do not get; -1 and errno
 *     run_before_others()         from now on this process runs as soon as it can, where that is allowed
 *     run_as_others()             the process after fork(): PostMark gets no such favour
 *     written_bytes(pid, bytes)   what an ended process has written to files and pipes; false: nobody counts it here
 *
 * -DPLATFORM_POSIX takes POSIX.1-2008 and no more, on Linux, too.  This file comes first, because a platform decides
 * what the C library declares.
 */
#ifndef POSTMARK_PLATFORM_H
#define POSTMARK_PLATFORM_H

#if defined __linux__ && !defined PLATFORM_POSIX
#include "linux.h"
#else
#include "posix.h"
#endif

#endif
