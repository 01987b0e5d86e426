// SPDX-License-Identifier: MIT
/*
 * The random numbers of our programs: SplitMix64 (G. Steele, D. Lea,
 * C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
 * Not the C library's, so that a seed gives the same numbers on every system.
 *
 * The state is one 64-bit number, and any value is a good seed.  Who needs
 * several sequences keeps several states.
 *
 * There are two ways to a number below a limit, because results have been
 * published with both, and the other way would draw other numbers.  A new
 * program takes random_below().
 */
#ifndef SPINDLE_SPLITMIX64_H
#define SPINDLE_SPLITMIX64_H

#include <stdint.h>

/* The next 64 bits of the sequence. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/*
 * 0 to LIMIT - 1, from the high bits of one draw.  Some numbers are more
 * likely than others, by a factor of at most 1 + LIMIT / 2^64.
 */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    uint64_t drawn = random_next(state);
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 product;

    return (uint64_t)((product)drawn * limit >> 64);
#else
    /* 32-bit compilers: the four products of the halves. */
    uint64_t low = (drawn & UINT32_MAX) * (limit & UINT32_MAX);
    uint64_t one = (drawn >> 32) * (limit & UINT32_MAX) + (low >> 32);
    uint64_t two = (drawn & UINT32_MAX) * (limit >> 32) + (one & UINT32_MAX);

    return (drawn >> 32) * (limit >> 32) + (one >> 32) + (two >> 32);
#endif
}

/*
 * 0 to LIMIT - 1, from the remainder of a draw.  All numbers are equally
 * likely: a draw from the incomplete first stretch of the range is thrown away.
 */
static inline uint64_t random_remainder(uint64_t *state, uint64_t limit)
{
    uint64_t first_fair = -limit % limit;
    uint64_t drawn;

    do
        drawn = random_next(state);
    while (drawn < first_fair);
    return drawn % limit;
}

#endif
