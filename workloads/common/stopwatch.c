// SPDX-License-Identifier: MIT
/*
 * stopwatch phase NAME COMMAND [ARGUMENT ...]
 *     runs a command, prints "phase NAME <begin_ns> <end_ns>" and ends with
 *     the command's exit status (128 + n if signal n ended it)
 * stopwatch now
 *     prints the time in virtual ns
 *
 * For workloads that are shell scripts; others include virtual_clock.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "virtual_clock.h"

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "now") == 0) {
        printf("%" PRIu64 "\n", virtual_ns());
        return 0;
    }
    if (argc < 4 || strcmp(argv[1], "phase") != 0) {
        fprintf(stderr, "usage: stopwatch phase NAME COMMAND [ARGUMENT ...] | stopwatch now\n");
        return 2;
    }

    uint64_t begin_ns = virtual_ns();
    pid_t pid = vfork();
    int status;

    if (pid < 0) {
        fprintf(stderr, "stopwatch: no process for %s: %s\n", argv[3], strerror(errno));
        return 126;
    }
    if (pid == 0) {
        execvp(argv[3], argv + 3);
        fprintf(stderr, "stopwatch: cannot start %s: %s\n", argv[3], strerror(errno));
        _exit(127);
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 126;
    phase_print(argv[2], begin_ns);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
