// SPDX-License-Identifier: MIT
/*
 * The command line of an agent that is an ordinary program of its system (platform.h):
 *
 *     spindle-agent --job DISK --report PORT [--workloads FOLDER] [--end COMMAND]
 *
 * DISK is the job disk and PORT the second serial port (a file does for tries).  FOLDER/NAME has a workload's programs.
 * COMMAND is given to the system's shell when all is done, and has to end the machine; without it the agent just ends.
 */
#ifndef AGENT_COMMAND_LINE_H
#define AGENT_COMMAND_LINE_H

#define PROGRAM "spindle-agent"
#include "options.h"

static const char *option_job, *option_report, *option_workloads, *option_end;

static inline void read_options(char **argv)
{
    static struct option_rule rules[] = {
        { .name = "--job", .text = &option_job, .value = "DISK", .required = true },
        { .name = "--report", .text = &option_report, .value = "PORT", .required = true },
        { .name = "--workloads", .text = &option_workloads, .value = "FOLDER" },
        { .name = "--end", .text = &option_end, .value = "COMMAND" },
        { .name = NULL },
    };

    parse_options(argv, rules);
}

#define REPORT_NAME option_report
#define JOB_NAME option_job

#endif
