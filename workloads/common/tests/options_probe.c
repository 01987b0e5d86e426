// SPDX-License-Identifier: MIT
/* Prints what options.h made of its command line. */
#define PROGRAM "probe"
#include "options.h"

static const char *dir = "none";
static const char *const orders[] = {"up", "down", "random", NULL};
static uint64_t seed, count = 5;
static uint32_t scale = SCALE_ONE;
static int order;
static bool print;

static void take_pair(const char *name, const char *value)
{
    if (strchr(value, '=') == NULL)
        die_usage("%s %s: give NAME=VALUE", name, value);
    printf("set %s\n", value);
}

int main(int argc, char **argv)
{
    static struct option_rule rules[] = {
        {.name = "--dir", .text = &dir, .value = "DIR", .required = true},
        {.name = "--seed", .number = &seed, .required = true},
        {.name = "--count", .number = &count, .low = 2, .high = 40},
        {.name = "--scale", .scale = &scale},
        {.name = "--order", .choice = &order, .choices = orders},
        {.name = "--set", .take = take_pair, .value = "NAME=VALUE"},
        {.name = "--print", .flag = &print},
        {.name = NULL},
    };

    (void)argc;
    parse_options(argv, rules);
    printf("%s %" PRIu64 " %" PRIu64 " %" PRIu32 " %s %d\n", dir, seed, count, scale, orders[order], print);
    if (fflush(stdout) != 0)
        die("standard output: %s", strerror(errno));
    return 0;
}
