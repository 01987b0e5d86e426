// SPDX-License-Identifier: MIT
#include "personality.h"

#include <ctype.h>
#include <limits.h>
#include <sys/stat.h>

#include "language.h"

struct personality personality = {.scale = 1000000, .io_bytes_max = CREATE_BYTES};

static const struct {
    const char *name;
    enum type type;
    bool is_io; /* counts as an operation, as in filebench */
    bool opens; /* the file of its fd, if that is not open */
} flowop_types[] = {
    {"appendfile", APPENDFILE, true, true},
    {"appendfilerand", APPENDFILERAND, true, true},
    {"closefile", CLOSEFILE, true, false},
    {"createfile", CREATEFILE, true, false},
    {"delay", DELAY, false, false},
    {"deletefile", DELETEFILE, true, false},
    {"eventlimit", LIMIT, false, false},
    {"iopslimit", LIMIT, false, false},
    {"bwlimit", LIMIT, false, false},
    {"opslimit", LIMIT, false, false},
    {"finishonbytes", FINISHONBYTES, false, false},
    {"finishoncount", FINISHONCOUNT, false, false},
    {"fsync", FSYNC, true, false},
    {"listdir", LISTDIR, true, false},
    {"makedir", MAKEDIR, true, false},
    {"openfile", OPENFILE, true, false},
    {"read", READ, true, true},
    {"readwholefile", READWHOLEFILE, true, true},
    {"removedir", REMOVEDIR, true, false},
    {"statfile", STATFILE, true, false},
    {"write", WRITE, true, true},
    {"writewholefile", WRITEWHOLEFILE, true, true},
};

static struct fileset **filesets_end = &personality.filesets;
static struct group **groups_end = &personality.groups;
static bool has_run;

static struct fileset *find_fileset(const char *name)
{
    struct fileset *fileset = personality.filesets;

    while (fileset && strcmp(fileset->name, name))
        fileset = fileset->next;
    return fileset;
}

static void define_fileset(bool is_file)
{
    struct attributes attributes = read_attributes(is_file ? "a file" : "a fileset");
    struct fileset *fileset = allocate(1, sizeof *fileset);
    struct attribute *preallocates = find_attribute(&attributes, "prealloc");

    fileset->line = attributes.line;
    fileset->name = string_of(&attributes, "name");
    fileset->path = string_of(&attributes, "path");
    if (!fileset->name || !*fileset->name || strchr(fileset->name, '/') || *fileset->name == '.')
        fail_at(attributes.line, "%s needs name=, a plain file name", attributes.of);
    if (find_fileset(fileset->name))
        fail_at(attributes.line, "there are two filesets '%s'", fileset->name);
    if (!fileset->path || strcmp(fileset->path, personality.directory))
        fail_at(attributes.line, "path must be $dir, which is --dir here");
    fileset->size = amount_of(&attributes, "size");
    fileset->file_count = is_file ? 1 : bounded(&attributes, "entries", 0, 0, 10000000);
    fileset->leaf_count = is_file ? 0 : bounded(&attributes, "leafdirs", 0, 0, 1000000);
    fileset->width = is_file ? 10 : bounded(&attributes, "dirwidth", 0, 2, UINT32_MAX);
    fileset->shape_milli = is_file ? 0 : bounded(&attributes, "dirgamma", 1500, 0, 50000);
    if (fileset->shape_milli % 500)
        fail_at(attributes.line, "a dirgamma of 0, 500, 1000, 1500, ... 50000 is supported, no other");
    if (!fileset->file_count == !fileset->leaf_count) /* with both, filebench gives files and directories one name */
        fail_at(attributes.line, "%s needs entries= or leafdirs=, one of them", attributes.of);
    if (preallocates && preallocates->value.kind == NOTHING) {
        fileset->preallocates = true;
        fileset->preallocated_percent = 100;
    } else if (preallocates && preallocates->value.kind == TRUTH) {
        fileset->preallocates = preallocates->value.number;
        fileset->preallocated_percent = preallocates->value.number ? 100 : 0;
    } else if (preallocates) {
        fileset->preallocated_percent = bounded(&attributes, "prealloc", 0, 0, 100);
        fileset->preallocates = true;
    }
    fileset->readonly = truth_of(&attributes, "readonly");
    fileset->writeonly = truth_of(&attributes, "writeonly");
    find_attribute(&attributes, "cached"); /* nothing is dropped from the cache here */
    if (fileset->readonly && fileset->writeonly)
        fail_at(attributes.line, "a fileset cannot be readonly and writeonly");
    all_used(&attributes);
    *filesets_end = fileset;
    filesets_end = &fileset->next;
}

static struct flowop *find_flowop(const char *name)
{
    for (struct group *group = personality.groups; group; group = group->next)
        for (struct flowop *flowop = group->flowops; flowop; flowop = flowop->next)
            if (strcmp(flowop->name, name) == 0)
                return flowop;
    return NULL;
}

static struct flowop *read_flowop(void)
{
    struct flowop *flowop = allocate(1, sizeof *flowop);
    size_t i = 0, types = sizeof flowop_types / sizeof *flowop_types;

    while (i < types && !next_is(flowop_types[i].name))
        i++;
    if (i == types)
        fail_at(token_line, "the flowop '%s' is not supported; README.md lists those that are", token_text);
    flowop->type = flowop_types[i].type;
    flowop->is_io = flowop_types[i].is_io;
    flowop->line = token_line;
    flowop->number = personality.flowop_count++;
    advance();

    struct attributes attributes = read_attributes(flowop_types[i].name);
    char *set = string_of(&attributes, "filesetname"), *file = string_of(&attributes, "filename");

    if (!string_of(&attributes, "name"))
        fail_at(flowop->line, "a flowop needs name=");
    flowop->name = copy_string(string_of(&attributes, "name"));
    for (char *c = flowop->name; *c; c++) {
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
            fail_at(flowop->line, "the name '%s' has other characters than letters, digits, _ and -", flowop->name);
        if (*c == '-')
            *c = '_'; /* a part of a metric's name */
    }
    if (find_flowop(flowop->name))
        fail_at(flowop->line, "there are two flowops '%s'; give each a name of its own", flowop->name);
    if (set || file) {
        flowop->fileset = find_fileset(set ? set : file);
        if (!flowop->fileset)
            fail_at(flowop->line, "no fileset or file '%s' is defined above", set ? set : file);
    }
    flowop->fd = (uint32_t)bounded(&attributes, "fd", 0, 0, FD_MAX - 1);
    flowop->iterations = bounded(&attributes, "iters", 1, 1, UINT32_MAX);

    switch (flowop->type) {
    case APPENDFILE:
    case APPENDFILERAND:
    case READ:
    case READWHOLEFILE:
    case WRITE:
    case WRITEWHOLEFILE:
        flowop->io_bytes = amount_of(&attributes, "iosize");
        if (flowop->io_bytes.kind == NOTHING && flowop->type != READWHOLEFILE && flowop->type != WRITEWHOLEFILE)
            fail_at(flowop->line, "%s needs iosize=", flowop_types[i].name);
        if (flowop->io_bytes.kind == NUMBER && flowop->io_bytes.number > 64 << 20)
            fail_at(flowop->line, "iosize is %" PRIu64 "; up to 64m is supported", flowop->io_bytes.number);
        if (flowop->io_bytes.kind == NUMBER && flowop->io_bytes.number > personality.io_bytes_max)
            personality.io_bytes_max = flowop->io_bytes.number;
        if (flowop->type == READ || flowop->type == WRITE)
            flowop->random = truth_of(&attributes, "random");
        if (flowop->type == WRITEWHOLEFILE)
            flowop->source_fd = (uint32_t)bounded(&attributes, "srcfd", flowop->fd, 0, FD_MAX - 1);
        break;
    case DELETEFILE:
    case STATFILE:
        if (find_attribute(&attributes, "fd"))
            fail_at(flowop->line, "%s by fd is not supported; name a fileset", flowop_types[i].name);
        break;
    case DELAY:
    case FINISHONBYTES:
    case FINISHONCOUNT:
        flowop->value = number_of(&attributes, "value", 0);
        if (!flowop->value)
            fail_at(flowop->line, "%s needs value=, a number above 0", flowop_types[i].name);
        if (flowop->type != DELAY)
            flowop->value = scaled_up(flowop->value);
        break;
    default:
        break;
    }
    if (flowop_types[i].opens || flowop->type == OPENFILE || flowop->type == CREATEFILE)
        flowop->dsync = truth_of(&attributes, "dsync");
    if (flowop->type == OPENFILE || flowop->type == CREATEFILE || flowop->type == DELETEFILE ||
        flowop->type == STATFILE)
        flowop->index = amount_of(&attributes, "indexed");
    if (!flowop->fileset && (flowop->type == CREATEFILE || flowop->type == DELETEFILE || flowop->type == LISTDIR ||
                             flowop->type == MAKEDIR || flowop->type == OPENFILE || flowop->type == REMOVEDIR ||
                             flowop->type == STATFILE))
        fail_at(flowop->line, "%s needs filesetname=", flowop_types[i].name);
    if (flowop->fileset && (flowop->type == MAKEDIR || flowop->type == REMOVEDIR) && !flowop->fileset->leaf_count)
        fail_at(flowop->line, "the fileset '%s' has no leafdirs", flowop->fileset->name);
    all_used(&attributes);
    return flowop;
}

static void define_process(void)
{
    struct attributes process = read_attributes("a process");
    uint64_t instances = bounded(&process, "instances", 1, 1, 1000);

    if (!string_of(&process, "name"))
        fail_at(process.line, "a process needs name=");
    all_used(&process);
    expect_word("{");
    do {
        expect_word("thread");
        struct attributes thread = read_attributes("a thread");
        struct group *group = allocate(1, sizeof *group);
        struct flowop **end = &group->flowops;

        group->instances = instances * bounded(&thread, "instances", 1, 1, 1000);
        group->name = string_of(&thread, "name");
        number_of(&thread, "memsize", 0); /* all threads read into, and write from, one buffer */
        if (!group->name)
            fail_at(thread.line, "a thread needs name=");
        all_used(&thread);
        personality.thread_count += group->instances;
        *groups_end = group; /* before its flowops, so that they find each other's names */
        groups_end = &group->next;
        expect_word("{");
        do {
            expect_word("flowop");
            struct flowop *flowop = read_flowop();

            *end = flowop;
            end = &flowop->next;
        } while (!next_is("}"));
        expect_word("}");
    } while (!next_is("}"));
    expect_word("}");
}

static void set_variable(void)
{
    char name[sizeof token_text];
    int line = token_line;

    if (accept_word("mode")) {
        expect_word("quit");
        personality.stop_when_empty = next_is("firstdone");
        if (!personality.stop_when_empty && !next_is("timeout"))
            fail_at(token_line, "the mode '%s' is not supported; timeout and firstdone are", token_text);
        advance();
        return;
    }
    if (token != WORD || *token_text != '$' || !token_text[1])
        fail_at(token_line, "'%s' where $NAME belongs", token_text);
    strcpy(name, token_text + 1);
    advance();
    expect_word("=");
    struct named *named = find_name(name);

    if (!named) {
        named = allocate(1, sizeof *named);
        named->name = copy_string(name);
        named->next = names;
        names = named;
    }
    struct value value = accept_word("cvar") ? random_variable() : scalar();

    if (value.kind == STRING && strcmp(value.string, "randvar") == 0)
        fail_at(line, "randvar is not supported; cvar(type=cvar-gamma,...) and cvar(type=cvar-uniform,...) are");
    if (!named->given)
        named->value = value;
    named->used = true;
}

static void read_script(const char *text)
{
    begin_script(text);
    while (token != END) {
        if (has_run)
            fail_at(token_line, "'%s' behind run, which ends the script", token_text);
        if (accept_word("set")) {
            set_variable();
        } else if (accept_word("define")) {
            if (accept_word("fileset"))
                define_fileset(false);
            else if (accept_word("file"))
                define_fileset(true);
            else if (accept_word("process"))
                define_process();
            else
                fail_at(token_line, "define '%s' is not supported; fileset, file and process are", token_text);
        } else if (next_is("echo") || next_is("usage")) {
            advance();
            if (token != TEXT)
                fail_at(token_line, "'%s' where \"text\" belongs", token_text);
            advance();
        } else if (next_is("run")) {
            int line = token_line;

            has_run = true;
            advance();
            if (token != END) {
                struct value seconds = scalar();

                if (seconds.kind != NUMBER || !seconds.number || seconds.number > 1000000)
                    fail_at(line, "run needs seconds, 1 to 1000000");
                personality.run_seconds = seconds.number;
            }
        } else {
            fail_at(token_line, "the command '%s' is not supported; set, define, echo and run are", token_text);
        }
    }
    if (!has_run)
        fail_at(token_line, "there is no run");
    if (!personality.groups)
        fail_at(token_line, "no process is defined");
    if (!personality.run_seconds && !personality.stop_when_empty)
        personality.run_seconds = 60; /* filebench's default in mode timeout */
    for (struct named *named = names; named; named = named->next)
        if (named->given && !named->used)
            die_usage("--set %s: %s sets no such variable; give one that it sets", named->name, personality.path);
}

/* ---- the file ---- */

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = allocate(1 << 16, 1);

    if (!file)
        die("personality %s: %s; --personality takes a name of share/ or a path", path, strerror(errno));
    if (fread(text, 1, (1 << 16) - 1, file) == (1 << 16) - 1 || ferror(file))
        die("personality %s cannot be read, or is larger than 64 KiB", path);
    fclose(file);
    return text;
}

/* A name is a file of share/ beside this program; with a slash it is a path. */
static const char *script_path(const char *name)
{
    static char path[PATH_MAX];
    char program[PATH_MAX];

    if (strchr(name, '/'))
        return name;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    if (length < 0)
        die("/proc/self/exe: %s; is /proc mounted?", strerror(errno));
    program[length] = 0;
    *strrchr(program, '/') = 0;
    if (snprintf(path, sizeof path, "%s/share/%s.f", program, name) >= (int)sizeof path)
        die("the path of personality '%s' is too long", name);
    return path;
}

/* ---- what the command line gives ---- */

void give_variable(const char *option, const char *text)
{
    const char *equals = strchr(text, '=');
    struct named *named = allocate(1, sizeof *named);

    if (!equals || equals == text)
        die_usage("%s %s: give NAME=VALUE", option, text);
    named->name = copy_string(text);
    named->name[equals - text] = 0;
    named->value = plain_value(equals + 1);
    named->given = true;
    named->next = names;
    names = named;
}

static void give_directory(const char *directory)
{
    struct named *dir = allocate(1, sizeof *dir);

    *dir = (struct named){.name = "dir", .value = {.kind = STRING, .string = copy_string(directory)}, .given = true,
                          .used = true, .next = names};
    names = dir;
    personality.directory = directory;
}

void read_personality(const char *name, const char *directory)
{
    struct stat found;

    if (stat(directory, &found) || !S_ISDIR(found.st_mode))
        die("--dir %s is not a directory; give the file system under test", directory);
    give_directory(directory);
    personality.path = script_path(name);
    read_script(read_whole(personality.path));
}
