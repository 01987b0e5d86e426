// SPDX-License-Identifier: MIT
/* Random variables of a personality.  All arithmetic is in integers, so that a seed draws the same everywhere. */
#ifndef FILEBENCH_DISTRIBUTION_H
#define FILEBENCH_DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#define Q16 65536ULL /* values of random variables have 16 binary places */

struct variable {
    bool is_gamma; /* else uniform from lower to upper */
    uint64_t mean_q16, shape_milli, lower_q16, upper_q16, min_q16, max_q16;
};

/* The state of a generator of its own for each use: STREAM says which one it is. */
uint64_t random_stream(uint64_t seed, uint64_t stream);

/* Logarithm to base 2, 16 binary places. */
uint64_t log2_q16(uint64_t value);

/* A gamma distributed value; the shape is in thousandths, in steps of a half. */
uint64_t gamma_q16(uint64_t *random, uint64_t mean_q16, uint64_t shape_milli);

/* A value of the variable, within its bounds. */
uint64_t variable_q16(const struct variable *variable, uint64_t *random);

#endif
