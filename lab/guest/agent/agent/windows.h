// SPDX-License-Identifier: MIT
/*
 * The agent on Windows (platform.h), as an administrator's program (command_line.h): the job disk is called
 * \\.\PhysicalDrive1, the port \\.\COM2.  Settings are made by programs (reg, diskpart), which the job starts.
 */
#ifndef AGENT_WINDOWS_H
#define AGENT_WINDOWS_H

#define __USE_MINGW_ANSI_STDIO 1        /* %zu and PRIu64 as the standard has them */
#define _POSIX_C_SOURCE 200809L         /* strtok_r */
#define _WIN32_WINNT 0x0501             /* job objects */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <malloc.h>
#include <stdbool.h>

#include "common.h"
#include "command_line.h"

#define MODULE_LOADER NULL, NULL
#define MODULE_HINT ""

static HANDLE report_port = INVALID_HANDLE_VALUE;
static HANDLE job_disk = INVALID_HANDLE_VALUE;
static CRITICAL_SECTION output_lock;

static inline void platform_begin(char **argv)
{
    read_options(argv);
    InitializeCriticalSection(&output_lock);
}

/* ---- report ---------------------------------------------------------- */

/* Those of the system's errors that matter here; what else there is counts as EIO. */
static int take_error(void)
{
    DWORD error = GetLastError();

    errno = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND   ? ENOENT
            : error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION ? EACCES
                                                                               : EIO;
    return -1;
}

/* A file in the place of the port is good for tries. */
static int report_open(void)
{
    DCB settings = { .DCBlength = sizeof settings };

    report_port = CreateFileA(option_report, GENERIC_WRITE, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
    if (report_port == INVALID_HANDLE_VALUE)
        return take_error();
    if (GetFileType(report_port) != FILE_TYPE_CHAR)
        return 0;
    if (!GetCommState(report_port, &settings) || !BuildCommDCBA("baud=115200 parity=N data=8 stop=1", &settings) ||
        !SetCommState(report_port, &settings))
        return take_error();
    return 0;
}

static void report_write(const char *data, size_t len)
{
    while (len > 0) {
        DWORD put;
        if (!WriteFile(report_port, data, (DWORD)len, &put, NULL))
            return;     /* nobody left to tell; the host finds the gap in the numbers */
        data += put;
        len -= put;
    }
}

static inline const char *platform_prepare(void)
{
    return NULL;
}

static inline void system_name(char *name, size_t len)
{
    OSVERSIONINFOA version = { .dwOSVersionInfoSize = sizeof version };

    GetVersionExA(&version);
    snprintf(name, len, "windows-%lu.%lu.%lu", version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber);
}

static inline _Noreturn void end_machine(void)
{
    FlushFileBuffers(report_port);
    ExitProcess(option_end != NULL && system(option_end) != 0);
}

/* ---- disks ------------------------------------------------------------ */

static inline void *page_memory(size_t len)
{
    return _aligned_malloc(len, PAGE);
}

static inline void page_free(void *memory)
{
    _aligned_free(memory);
}

/* Nothing may be kept back: the lab acts on each write. */
static int job_open(void)
{
    job_disk = CreateFileA(option_job, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                           OPEN_EXISTING, FILE_FLAG_NO_BUFFERING | FILE_FLAG_WRITE_THROUGH, NULL);
    return job_disk == INVALID_HANDLE_VALUE ? take_error() : 0;
}

static inline ssize_t job_read(char *to, size_t offset)
{
    OVERLAPPED at = { .Offset = (DWORD)offset };
    DWORD got;

    if (!ReadFile(job_disk, to, PAGE, &got, &at))
        return GetLastError() == ERROR_HANDLE_EOF ? 0 : take_error();
    return (ssize_t)got;
}

static inline ssize_t job_write(const char *from)
{
    OVERLAPPED at = { .Offset = 0 };
    DWORD put;

    return WriteFile(job_disk, from, CONTROL_LEN, &put, &at) ? (ssize_t)put : take_error();
}

static const char *file_set(const char *path, const char *value)
{
    return problem("set %s %s: Windows has no such files; use exec with reg or diskpart", path, value);
}

static const char *disk_wait(const char *name)
{
    char path[300];

    snprintf(path, sizeof path, "\\\\.\\%s", name);
    for (long waited_ms = 0; waited_ms < WAIT_DISK_MS; waited_ms++) {
        HANDLE disk = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
        if (disk != INVALID_HANDLE_VALUE) {
            CloseHandle(disk);
            return NULL;
        }
        Sleep(1);
    }
    return problem("wait_disk %s: %s cannot be opened after %d s", name, path, WAIT_DISK_MS / 1000);
}

static const char *workload_take(const char *name)
{
    static char path[32768];
    char folder[512];
    DWORD kind;

    if (option_workloads == NULL)
        return problem("workload %s: the agent was started without --workloads", name);
    snprintf(folder, sizeof folder, "%s\\%s", option_workloads, name);
    kind = GetFileAttributesA(folder);
    if (kind == INVALID_FILE_ATTRIBUTES || !(kind & FILE_ATTRIBUTE_DIRECTORY))
        return problem("workload %s: there is no folder %s", name, folder);
    int len = snprintf(path, sizeof path, "%s;", folder);
    GetEnvironmentVariableA("PATH", path + len, (DWORD)(sizeof path - (size_t)len));
    SetEnvironmentVariableA("PATH", path);
    return NULL;
}

/* ---- programs ---------------------------------------------------------- */

/* One of the two outputs of a program, read by a thread of its own. */
struct output {
    HANDLE from;
    struct stream *stream;
};

static DWORD WINAPI output_read(void *argument)
{
    struct output *output = argument;
    char buffer[4096];
    DWORD got;

    while (ReadFile(output->from, buffer, sizeof buffer, &got, NULL)) {
        DWORD kept = 0;
        for (DWORD i = 0; i < got; i++)
            if (buffer[i] != '\r')
                buffer[kept++] = buffer[i];
        EnterCriticalSection(&output_lock);
        stream_take(output->stream, buffer, kept);
        LeaveCriticalSection(&output_lock);
    }
    EnterCriticalSection(&output_lock);
    stream_end(output->stream);
    LeaveCriticalSection(&output_lock);
    return 0;
}

/*
 * The words as one command line.  A word of the job has neither spaces nor quotes to protect: the job is split at
 * spaces, and a quote would be taken out by the program's own splitting, so it is refused.
 */
static bool join_words(char **args, char *line, size_t len)
{
    size_t at = 0;

    for (; *args; args++) {
        size_t word = strlen(*args);
        if (strchr(*args, '"') || at + word + 2 > len)
            return false;
        memcpy(line + at, *args, word);
        at += word;
        line[at++] = args[1] ? ' ' : '\0';
    }
    return true;
}

/* What still runs in a job object when its first process has ended. */
static bool processes_left(HANDLE group)
{
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION counted;

    return QueryInformationJobObject(group, JobObjectBasicAccountingInformation, &counted, sizeof counted, NULL) &&
           counted.ActiveProcesses > 0;
}

static int start_failed(const char *name, struct stream *stream)
{
    char text[512];
    int len = snprintf(text, sizeof text, "cannot start %s: error %lu\n", name, GetLastError());

    stream_take(stream, text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1);
    return 127;
}

static int program_run(char **args, struct stream streams[2], int *left)
{
    SECURITY_ATTRIBUTES inherited = { .nLength = sizeof inherited, .bInheritHandle = TRUE };
    STARTUPINFOA start = { .cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES };
    PROCESS_INFORMATION process;
    char line[LINE_LEN_MAX * 2];
    struct output outputs[2];
    HANDLE to[2], readers[2], group = CreateJobObjectA(NULL, NULL);
    DWORD status;

    *left = 0;
    if (!group || !join_words(args, line, sizeof line)) {
        errno = EINVAL;
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        if (!CreatePipe(&outputs[i].from, &to[i], &inherited, 0))
            return take_error();
        SetHandleInformation(outputs[i].from, HANDLE_FLAG_INHERIT, 0);
        outputs[i].stream = &streams[i];
    }
    start.hStdInput = CreateFileA("NUL", GENERIC_READ, FILE_SHARE_READ, &inherited, OPEN_EXISTING, 0, NULL);
    start.hStdOutput = to[0];
    start.hStdError = to[1];
    bool started = CreateProcessA(NULL, line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &start, &process);
    DWORD error = GetLastError();
    CloseHandle(to[0]);
    CloseHandle(to[1]);
    CloseHandle(start.hStdInput);
    if (!started) {
        for (int i = 0; i < 2; i++)
            CloseHandle(outputs[i].from);
        CloseHandle(group);
        SetLastError(error);
        return start_failed(args[0], &streams[1]);
    }
    AssignProcessToJobObject(group, process.hProcess);
    for (int i = 0; i < 2; i++)
        readers[i] = CreateThread(NULL, 0, output_read, &outputs[i], 0, NULL);
    ResumeThread(process.hThread);
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &status);
    *left = processes_left(group);
    /* Also closes the last ends of the pipes. */
    TerminateJobObject(group, 1);
    for (int i = 0; i < 2; i++) {
        if (readers[i]) {
            WaitForSingleObject(readers[i], INFINITE);
            CloseHandle(readers[i]);
        }
        CloseHandle(outputs[i].from);
    }
    CloseHandle(process.hThread);
    CloseHandle(process.hProcess);
    CloseHandle(group);
    /* A crash has a status such as 0xc0000005; -1 is taken. */
    return (int)(status & 0x7fffffff);
}

static inline const char *signal_text(int number)
{
    (void)number;
    return NULL;
}

#endif
