// SPDX-License-Identifier: MIT
/*
 * filebench: runs a personality in the subset of filebench's workload model
 * language that README.md lists.
 *
 *     filebench --dir DIR --personality NAME --seed N [--scale S] [--set VARIABLE=VALUE] ...
 *
 * In order: parse the personality (filebench/language.c, personality.c), lay
 * its filesets out in memory and create them (filesets.c: phase create), run
 * the threads (runner.c: phase run), compare what the file system holds with
 * what was done.  All arithmetic is in integers, and every thread draws from a
 * generator of its own (distribution.c), so that the same seed draws the same
 * numbers everywhere.
 */
#include "filebench/filesets.h"
#include "filebench/model.h"
#include "filebench/personality.h"
#include "filebench/runner.h"

#include "options.h"

int main(int argc, char **argv)
{
    const char *directory = NULL, *name = NULL;
    uint64_t seed = 0;
    uint32_t scale = SCALE_ONE;
    bool print_operations = false;
    struct option_rule rules[] = {
        {.name = "--dir", .text = &directory, .value = "DIR", .required = true},
        {.name = "--personality", .text = &name, .value = "NAME", .required = true},
        {.name = "--seed", .number = &seed, .required = true},
        {.name = "--scale", .scale = &scale},
        {.name = "--set", .take = give_variable, .value = "VARIABLE=VALUE"},
        {.name = "--print-operations", .flag = &print_operations},
        {.name = NULL},
    };

    (void)argc;
    parse_options(argv, rules);
    personality.scale = scale;
    read_personality(name, directory);
    create_filesets(seed);
    run_threads(seed, print_operations);
    print_metrics(verify_filesets());
    return fflush(stdout) || ferror(stdout);
}
