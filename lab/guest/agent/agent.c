// SPDX-License-Identifier: MIT
/*
 * The guest's agent.  In the lean Linux guest it is process 1 on the
 * read-only system disk; what it is on other systems, and all that it needs
 * of one, stands in agent/platform.h.
 *
 * It reads the job from the job disk, carries it out line by line and reports
 * each event on the second serial port.  Both formats, and the control writes
 * that mark a cell's begin and end, are described in docs/interfaces.md.
 *
 * A command that fails inside a cell fails that cell: its remaining commands
 * are skipped up to "end", and the run goes on.  Outside a cell it ends the
 * run: the last line is then "fail", and "done" is missing.
 */
#include "agent/platform.h"

#define JOB_LEN_MAX (1 << 20)
#define ARGS_MAX 128

static unsigned long report_sequence;
static char cell_id[256];       /* empty outside a cell */
static int cell_failed;

/* ---- report ---------------------------------------------------------- */

/* The CRC that cksum(1) prints: POSIX.1-2017, "cksum", polynomial 0x04c11db7, length appended. */
static uint32_t cksum(const char *data, size_t len)
{
    uint32_t crc = 0;
    size_t rest = len;

    for (size_t i = 0; i < len || rest > 0; i++) {
        uint8_t byte;

        if (i < len) {
            byte = (uint8_t)data[i];
        } else {
            byte = rest & 0xff;
            rest >>= 8;
        }
        crc ^= (uint32_t)byte << 24;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x80000000u ? crc << 1 ^ 0x04c11db7u : crc << 1;
    }
    return ~crc;
}

static void report(const char *format, ...)
{
    char payload[LINE_LEN_MAX + 64], line[LINE_LEN_MAX + 128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(payload, sizeof payload, format, arguments);
    va_end(arguments);
    for (char *c = payload; *c; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    int len = snprintf(line, sizeof line, "@spindle %lu %u %s\n", ++report_sequence,
                       cksum(payload, strlen(payload)), payload);
    report_write(line, (size_t)len);
}

/* ---- failures --------------------------------------------------------- */

/* Nothing more can be done: the run ends here, without "done". */
#define fatal(...) (report("fail " __VA_ARGS__), end_machine())

/* Outside a cell: the run ends here.  Inside: the cell is lost, the run goes on. */
#define fail(...) (report("fail " __VA_ARGS__), cell_id[0] ? (void)(cell_failed = 1) : end_machine())

/* The same for a message that a platform may have made. */
static void check(const char *message)
{
    if (message != NULL)
        fail("%s", message);
}

/* ---- job disk ----------------------------------------------------------- */

/* The whole job text, NUL-terminated; a failure ends the run. */
static char *read_job(void)
{
    char *text = page_memory(JOB_LEN_MAX);
    size_t len = 0;

    if (!text)
        fatal("job disk: out of memory");
    while (len < JOB_LEN_MAX) {
        ssize_t got = job_read(text + len, JOB_OFFSET + len);
        if (got < 0)
            fatal("job disk: cannot read at byte %zu: %s", (size_t)JOB_OFFSET + len, strerror(errno));
        if (memchr(text + len, '\0', (size_t)got))
            return text;
        if (got < PAGE)
            break;
        len += (size_t)got;
    }
    fatal("job disk: no NUL after the job text within %d bytes", JOB_LEN_MAX);
}

static int control(const char *format, ...)
{
    char *sector = page_memory(PAGE);
    va_list arguments;

    if (!sector)
        return -1;
    memset(sector, 0, CONTROL_LEN);
    va_start(arguments, format);
    vsnprintf(sector, CONTROL_LEN, format, arguments);
    va_end(arguments);
    ssize_t put = job_write(sector);
    int saved = errno;
    page_free(sector);
    errno = put < 0 ? saved : EIO;
    return put == CONTROL_LEN ? 0 : -1;
}

/* ---- programs ---------------------------------------------------------- */

static void flush_line(struct stream *stream)
{
    report("%s %.*s%s", stream->kind, (int)stream->len, stream->line, stream->cut ? " [cut]" : "");
    stream->len = 0;
    stream->cut = 0;
}

static void stream_take(struct stream *stream, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '\n')
            flush_line(stream);
        else if (stream->len < sizeof stream->line)
            stream->line[stream->len++] = data[i] ? data[i] : '?';
        else
            stream->cut = 1;
    }
}

static void stream_end(struct stream *stream)
{
    if (stream->len > 0)
        flush_line(stream);
}

/*
 * Runs a program to its end, reporting its output line by line, and returns
 * its exit status as a shell does (128 + n for signal n), or -1 if it failed
 * before it ran.  Processes that it leaves behind would disturb the cells that
 * follow, so they are killed, and LEFT is set.
 */
static int run(char **args, int *left)
{
    static struct stream streams[2];

    for (int i = 0; i < 2; i++) {
        streams[i].kind = i == 0 ? "out" : "err";
        streams[i].len = 0;
        streams[i].cut = 0;
    }
    int status = program_run(args, streams, left);
    if (status < 0)
        fail("%s: no pipe or process: %s", args[0], strerror(errno));
    return status;
}

static void exec_workload(char **args)
{
    int left;
    int status = run(args, &left);

    if (status < 0)
        return;
    report("exit %d", status);
    if (status > 128 && signal_text(status - 128))
        fail("exec %s: killed by signal %d (%s)", args[0], status - 128, signal_text(status - 128));
    else if (status != 0)
        fail("exec %s: exit status %d", args[0], status);
    else if (left)
        fail("exec %s: left processes behind; they were killed", args[0]);
}

static void load_modules(char *words)
{
    for (char *save, *name = strtok_r(words, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        static const char *const loader[] = { MODULE_LOADER };
        char *args[] = { (char *)loader[0], (char *)(loader[1] ? loader[1] : name), loader[1] ? name : NULL, NULL };
        int left, status = loader[0] ? run(args, &left) : -1;

        if (!loader[0])
            fail("modules: this system loads none by name (%s)", name);
        else if (status > 0)
            fail("modules: %s %s: exit status %d" MODULE_HINT, args[0], name, status);
    }
}

/* ---- the job ------------------------------------------------------------ */

static void begin_cell(char *words)
{
    char *save, *id = strtok_r(words, " ", &save), *seed = strtok_r(NULL, " ", &save);

    if (!id || !seed || strtok_r(NULL, " ", &save) || strlen(id) >= sizeof cell_id) {
        fail("job: expected \"cell ID SEED\" with an id shorter than %zu", sizeof cell_id);
        return;
    }
    if (cell_id[0] != '\0') {
        fail("job: cell %s begins before cell %s ends", id, cell_id);
        return;
    }
    strcpy(cell_id, id);
    cell_failed = 0;
    report("cell %s", id);
    if (control("cell %s seed %s", id, seed) < 0)
        fail("cell: the lab refuses the control write: %s; see QEMU's messages", strerror(errno));
}

static void end_cell(void)
{
    if (cell_id[0] == '\0') {
        fail("job: \"end\" outside a cell");
        return;
    }
    if (control("end") < 0)
        fail("end: the lab refuses the control write: %s; see QEMU's messages", strerror(errno));
    report("end %s", cell_id);
    cell_id[0] = '\0';
}

/* Splits "word rest" in place: WORD ends at the first space, the rest without leading spaces is returned. */
static char *split(char *word)
{
    char *rest = word + strcspn(word, " ");

    if (*rest)
        *rest++ = '\0';
    return rest + strspn(rest, " ");
}

static void do_line(char *line)
{
    char *rest = split(line);

    if (strcmp(line, "end") == 0) {
        end_cell();
    } else if (cell_id[0] != '\0' && cell_failed) {
        return;         /* this cell is lost already */
    } else if (strcmp(line, "cell") == 0) {
        begin_cell(rest);
    } else if (strcmp(line, "modules") == 0) {
        load_modules(rest);
    } else if (strcmp(line, "wait_disk") == 0) {
        check(disk_wait(rest));
    } else if (strcmp(line, "workload") == 0) {
        check(workload_take(rest));
    } else if (strcmp(line, "set") == 0) {
        char *value = split(rest);
        check(file_set(rest, value));
    } else if (strcmp(line, "exec") == 0) {
        char *args[ARGS_MAX + 1], *save;
        int count = 0;

        for (char *word = strtok_r(rest, " ", &save); word && count < ARGS_MAX; word = strtok_r(NULL, " ", &save))
            args[count++] = word;
        args[count] = NULL;
        if (count == 0 || count == ARGS_MAX)
            fail("job: \"exec\" takes 1 to %d words", ARGS_MAX - 1);
        else
            exec_workload(args);
    } else if (strcmp(line, "poweroff") == 0) {
        if (cell_id[0] != '\0')
            fatal("job: \"poweroff\" inside cell %s", cell_id);
        report("done");
        end_machine();
    } else {
        fail("job: unknown command \"%s\"", line);
    }
}

int main(int argc, char **argv)
{
    char system[256];

    (void)argc;
    platform_begin(argv);
    if (report_open() < 0) {
        fprintf(stderr, "spindle-agent: no report port %s: %s\n", REPORT_NAME, strerror(errno));
        end_machine();
    }
    system_name(system, sizeof system);
    report("hello 1 %s", system);
    const char *lacking = platform_prepare();
    if (lacking)
        fatal("%s", lacking);
    if (job_open() < 0)
        fatal("no %s: %s", JOB_NAME, strerror(errno));

    char *save, *line = strtok_r(read_job(), "\n", &save);
    if (!line || strcmp(line, "spindle-job 1") != 0)
        fatal("job: first line is \"%.100s\", expected \"spindle-job 1\"", line ? line : "");
    while ((line = strtok_r(NULL, "\n", &save)))
        do_line(line);
    fatal("job: ends without \"poweroff\"");
}
