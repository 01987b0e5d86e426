// SPDX-License-Identifier: MIT
/* splitmix64_probe next|below|remainder SEED LIMIT: prints 1000 numbers. */
#define PROGRAM "splitmix64_probe"
#include "options.h"
#include "splitmix64.h"

int main(int argc, char **argv)
{
    if (argc != 4)
        die_usage("give next, below or remainder, a seed and a limit");

    uint64_t state = parse_number("SEED", argv[2], 0, UINT64_MAX);
    uint64_t limit = parse_number("LIMIT", argv[3], 1, UINT64_MAX);

    for (int i = 0; i < 1000; i++)
        printf("%" PRIu64 "\n", *argv[1] == 'n'   ? random_next(&state)
                                : *argv[1] == 'b' ? random_below(&state, limit)
                                                  : random_remainder(&state, limit));
    if (fflush(stdout) != 0)
        die("standard output: %s", strerror(errno));
    return 0;
}
