// SPDX-License-Identifier: MIT
/* Phase run: the threads of a personality and their flowops. */
#ifndef FILEBENCH_RUNNER_H
#define FILEBENCH_RUNNER_H

#include "model.h"

/* Runs the threads until one of them ends the run, and prints what it took; with PRINT_OPERATIONS also each of them. */
void run_threads(uint64_t seed, bool print_operations);

/* Prints what was done. FILES are there in the end. */
void print_metrics(uint64_t files);

#endif
