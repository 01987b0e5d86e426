// SPDX-License-Identifier: MIT
#include "distribution.h"

#include "splitmix64.h"

uint64_t random_stream(uint64_t seed, uint64_t stream)
{
    uint64_t state = seed;

    state = random_next(&state) ^ (stream * 0xd1342543de82ef95ULL);
    random_next(&state);
    return state;
}

/* By repeated squaring. */
uint64_t log2_q16(uint64_t value)
{
    int whole = 63 - __builtin_clzll(value);
    uint64_t mantissa = value << (63 - whole), result = (uint64_t)whole;

    for (int bit = 0; bit < 16; bit++) {
        unsigned __int128 square = (unsigned __int128)mantissa * mantissa;

        result <<= 1;
        if (square >> 127) {
            result |= 1;
            mantissa = (uint64_t)(square >> 64);
        } else {
            mantissa = (uint64_t)(square >> 63);
        }
    }
    return result;
}

/*
 * Gamma distributed with a shape in steps of a half: the sum of as many
 * exponentials as the shape has wholes, -ln(U), and for the half Z*Z/2, where
 * the normal Z is the sum of 12 uniforms less 6.
 */
uint64_t gamma_q16(uint64_t *random, uint64_t mean_q16, uint64_t shape_milli)
{
    const uint64_t ln2_q16 = 45426;
    uint64_t sum = 0;

    for (uint64_t whole = shape_milli / 1000; whole; whole--) {
        uint64_t uniform = random_next(random) >> 32;

        sum += ((32 * Q16 - log2_q16(uniform + 1)) * ln2_q16) >> 16;
    }
    if (shape_milli % 1000) {
        int64_t z = -12 * 65535 / 2;

        for (int i = 0; i < 3; i++)
            for (uint64_t word = random_next(random), part = 0; part < 4; part++)
                z += (int64_t)((word >> (16 * part)) & 0xffff);
        sum += (uint64_t)(z * z) >> 17;
    }
    return (uint64_t)((unsigned __int128)mean_q16 * sum * 1000 / shape_milli >> 16);
}

uint64_t variable_q16(const struct variable *variable, uint64_t *random)
{
    uint64_t value = variable->is_gamma
                         ? gamma_q16(random, variable->mean_q16, variable->shape_milli)
                         : variable->lower_q16 + random_below(random, variable->upper_q16 - variable->lower_q16 + 1);

    return value < variable->min_q16 ? variable->min_q16 : value > variable->max_q16 ? variable->max_q16 : value;
}
