// SPDX-License-Identifier: MIT
/*
 * Time as the lab counts it.  In the guest the time-stamp counter runs at
 * 1 GHz of virtual time (lab/guest/README.md, "Boot"), and reads the very
 * clock that the I/O trace is written in.  On other machines it is the host's
 * counter, which is good enough for tests.
 */
#ifndef SPINDLE_VIRTUAL_CLOCK_H
#define SPINDLE_VIRTUAL_CLOCK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include <x86intrin.h>

/* Virtual nanoseconds since the machine was switched on. */
static inline uint64_t virtual_ns(void)
{
    return __rdtsc();
}

/* Reports a phase that began at BEGIN_NS and ends now. */
static inline void phase_print(const char *name, uint64_t begin_ns)
{
    printf("phase %s %" PRIu64 " %" PRIu64 "\n", name, begin_ns, virtual_ns());
    fflush(stdout);
}

#endif
