// SPDX-License-Identifier: MIT
/*
 * What the agent needs from a system.  Each platform has a file with
 *
 *     platform_begin(argv)        first of all; the command line of those that have one
 *     report_open()               the report's port; -1 and errno, REPORT_NAME is its name
 *     report_write(data, len), report_drain()
 *     platform_prepare()          what the job needs of the system; PROBLEM
 *     system_name(name, len)      of the greeting
 *     end_machine()               the last call
 *     job_open(), job_read(to, offset), job_write(from)     the job disk: a page from OFFSET, the control sector
 *     file_set(path, value)       the job's "set"; PROBLEM
 *     disk_wait(name)             the job's "wait_disk"; PROBLEM
 *     workload_take(name)         the job's "workload": its programs are found from now on; PROBLEM
 *     MODULE_LOADER               the words of the command that loads a module; NULL: there is none
 *     program_run(args, streams, left)    runs a program to its end; its exit status as a shell has it (128 + n for
 *                                 signal n), -1 if it did not start; LEFT: it left processes behind, which are ended
 *     signal_text(number)         what a signal is called; NULL where there are none
 *
 * PROBLEM is NULL, or a message for the report, which stays whole until the next call.  A platform gets from the agent
 * problem(), which makes such a message, and stream_take() and stream_end() for what programs write.
 *
 * The compiler says which platform it is for.  -DPLATFORM_POSIX takes POSIX.1-2008 and no more, on Linux, too.
 * This file comes first, because a platform decides what the C library declares.
 */
#ifndef AGENT_PLATFORM_H
#define AGENT_PLATFORM_H

#define JOB_OFFSET 4096         /* sectors 0-7 are the control area */
#define PAGE 4096               /* the job is read in such pieces */
#define CONTROL_LEN 512
#define LINE_LEN_MAX 4096       /* a longer line of a workload is cut, and says so */
#define WAIT_DISK_MS 60000

#if defined _WIN32
#include "windows.h"
#elif defined __linux__ && !defined PLATFORM_POSIX
#include "linux.h"
#else
#include "posix.h"
#endif

#endif
