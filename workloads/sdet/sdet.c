// SPDX-License-Identifier: MIT
/*
 * sdet: concurrent scripts of a software developer's commands, after the
 * descriptions of SPEC SDET (057.sdet).  README.md has the operation mix and
 * what it rests on.
 *
 * Every script gets a home directory with sources, texts and tools, and a
 * shell script of tasks: the same tasks in each, in an order drawn from the
 * seed.  All scripts are released at once, each run by a shell of its own.
 * Afterwards every home must hold exactly the files that its script should
 * have left, and edited files exactly the text that the edits make.
 */
#define PROGRAM "sdet"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "options.h"
#include "splitmix64.h"
#include "virtual_clock.h"

enum {
    MODULES = 8,
    HEADERS = 4,
    TEXTS = 8,
    VOCABULARY = 400,
    SCRIPTS_MAX = 100,
    MESSAGE_BYTES = 600,
};

/* What one task does to the file system, as far as names are concerned. */
struct effect {
    unsigned commands; /* started processes or what a shell has built in */
    unsigned creates;
    unsigned removes;
    unsigned renames;
    unsigned mkdirs;
    unsigned rmdirs;
};

enum task {
    EDIT_SOURCE,
    EDIT_TEXT,
    COMPILE,
    MAKE,
    FORMAT,
    SPELL,
    MAIL,
    FILES,
    DIRECTORIES,
    COPY_TREE,
    ARCHIVE,
    COMPARE,
    SEARCH,
    LOOK,
    TASKS
};

static const struct {
    const char *name;
    unsigned count; /* in one script at scale 1 */
    struct effect effect;
} tasks[TASKS] = {
    /*               count  commands creates removes renames mkdirs rmdirs */
    [EDIT_SOURCE] = {"edit_source", 28, {3, 1, 1, 0, 0, 0}},
    [EDIT_TEXT] = {"edit_text", 16, {3, 1, 1, 0, 0, 0}},
    [COMPILE] = {"compile", 24, {5, 2, 2, 0, 0, 0}},
    [MAKE] = {"make", 2, {6 + 4 * MODULES, 2 + 2 * MODULES, 2 + 2 * MODULES, 0, 0, 0}},
    [FORMAT] = {"format", 12, {2, 1, 0, 1, 0, 0}},
    [SPELL] = {"spell", 8, {7, 2, 2, 0, 0, 0}},
    [MAIL] = {"mail", 14, {3, 1, 1, 0, 0, 0}},
    [FILES] = {"files", 20, {4, 2, 2, 1, 0, 0}},
    [DIRECTORIES] = {"directories", 8, {6, 2, 2, 1, 2, 2}},
    [COPY_TREE] = {"copy_tree", 4, {4, MODULES + HEADERS + 1, MODULES + HEADERS + 1, 0, 1, 1}},
    [ARCHIVE] = {"archive", 3, {8, MODULES + HEADERS + 2, MODULES + HEADERS + 2, 0, 2, 2}},
    [COMPARE] = {"compare", 6, {3, 1, 1, 0, 0, 0}},
    [SEARCH] = {"search", 16, {2, 0, 0, 0, 0, 0}},
    [LOOK] = {"look", 32, {2, 0, 0, 0, 0, 0}},
};

/* A file that edits change: what it must hold in the end is what went in. */
struct edited {
    char name[16];
    char *text; /* what follows the first line, which has the revision */
    size_t bytes;
    size_t bytes_before; /* before any edit: edits append */
    unsigned revision;
};

struct home {
    unsigned number;
    uint64_t random;
    struct edited sources[MODULES];
    struct edited texts[TEXTS];
    bool formatted[TEXTS];
    unsigned mails;
    char *script;
    size_t script_bytes;
    pid_t pid;
};

static const char *directory;
static const char *compiler = "tcc";
static const char *shell = "/bin/sh";
static uint64_t scripts = 20;
static uint64_t seed;
static uint32_t scale = SCALE_ONE;
static unsigned task_counts[TASKS];

static unsigned draw_below(struct home *home, unsigned limit)
{
    return (unsigned)random_remainder(&home->random, limit);
}

/* ---- files of a home ---------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void home_path(char path[MESSAGE_BYTES / 2], const char *format, ...)
{
    va_list arguments;
    int used = snprintf(path, MESSAGE_BYTES / 2, "%s/", directory);

    va_start(arguments, format);
    used += vsnprintf(path + used, MESSAGE_BYTES / 2 - (size_t)used, format, arguments);
    va_end(arguments);
    if (used >= MESSAGE_BYTES / 2)
        die("%s: the name is too long; choose a shorter --dir", directory);
}

static void write_file(const char *path, const char *text, size_t bytes, mode_t mode)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, mode);

    if (file < 0)
        die("%s: cannot create: %s", path, strerror(errno));
    while (bytes > 0) {
        ssize_t written = write(file, text, bytes);

        if (written <= 0)
            die("%s: cannot write: %s", path, strerror(errno));
        text += written;
        bytes -= (size_t)written;
    }
    if (close(file) != 0)
        die("%s: cannot write: %s", path, strerror(errno));
}

static void make_directory(const char *path)
{
    if (mkdir(path, 0755) != 0)
        die("%s: cannot make the directory: %s", path, strerror(errno));
}

/* Word N of the vocabulary: four to eleven letters, all different. */
static void word(char out[16], unsigned n)
{
    static const char *const syllables[] = {"ba", "den", "fi", "gor", "hu", "ker", "lo", "min", "na", "pel",
                                            "qui", "ros", "sta", "ter", "um", "vey", "wa", "xil", "yo", "zan"};
    uint64_t tail = n;

    snprintf(out, 16, "%s%s%s", syllables[n % 20], syllables[n / 20 % 20], random_next(&tail) % 2 ? "ing" : "");
}

static FILE *memory(char **text, size_t *bytes)
{
    FILE *stream = open_memstream(text, bytes);

    if (!stream)
        die("out of memory");
    return stream;
}

static void compose_source(struct home *home, unsigned module)
{
    struct edited *file = &home->sources[module];
    FILE *out;
    unsigned functions = 6 + draw_below(home, 19);

    snprintf(file->name, sizeof file->name, "src/m%u.c", module);
    out = memory(&file->text, &file->bytes);
    if (module % 2 == 0)
        fprintf(out, "#include <stdio.h>\n");
    fprintf(out, "#include \"h%u.h\"\n#include \"h0.h\"\n\n", 1 + module % (HEADERS - 1));
    for (unsigned i = 0; i < functions; i++) {
        unsigned a = draw_below(home, 1000), b = 1 + draw_below(home, 99);

        fprintf(out,
                "/* Step %u: mixes the value with %u. */\n"
                "int m%u_step%u(int value)\n{\n    int i, sum = %u;\n\n"
                "    for (i = 0; i < value %% %u; i++)\n        sum = sum * 3 + (value ^ i);\n"
                "    if (sum < 0)\n        sum = LIMIT - 1;\n    return sum %% LIMIT;\n}\n\n",
                i, a, module, i, a, b);
    }
    fprintf(out, "int m%u(int value)\n{\n    return m%u_step0(value) + m%u_step%u(value);\n}\n", module, module, module,
            functions - 1);
    if (module == 0) {
        fprintf(out, "\nint main(void)\n{\n    int sum = 0;\n\n");
        for (unsigned i = 0; i < MODULES; i++)
            fprintf(out, "    sum += m%u(%u);\n", i, i + 7);
        fprintf(out, "    printf(\"%%d\\n\", sum);\n    return 0;\n}\n");
    }
    fclose(out);
}

static void compose_text(struct home *home, unsigned number)
{
    struct edited *file = &home->texts[number];
    FILE *out;
    unsigned words = 300 + draw_below(home, 1200);

    snprintf(file->name, sizeof file->name, "doc/t%u", number);
    out = memory(&file->text, &file->bytes);
    for (unsigned i = 1; i <= words; i++) {
        char text[16];

        /* One word in some fifty is none of the dictionary's. */
        word(text, draw_below(home, VOCABULARY));
        fprintf(out, "%s%s%s", text, draw_below(home, 50) ? "" : "x",
                i % 90 == 0 ? ".\n.pp\n" : i % 9 == 0 ? "\n" : " ");
    }
    fprintf(out, "\n");
    fclose(out);
}

/* The whole of a file, before or after its edits. */
static char *edited_text(const struct edited *file, bool after, size_t *bytes)
{
    char *text;
    FILE *out = memory(&text, bytes);
    unsigned revision = after ? file->revision : 0;

    fprintf(out, strncmp(file->name, "src", 3) == 0 ? "/* revision %u */\n" : ".\\\" revision %u\n", revision);
    fwrite(file->text, 1, after ? file->bytes : file->bytes_before, out);
    fclose(out);
    return text;
}

static void append(struct edited *file, const char *line)
{
    size_t more = strlen(line);

    file->text = realloc(file->text, file->bytes + more + 1);
    if (!file->text)
        die("out of memory");
    memcpy(file->text + file->bytes, line, more + 1);
    file->bytes += more;
}

static const char *const folders[] = {"src", "doc", "lib", "mail", "bin", "tmp", "work"};

static const char format_program[] = /* fills lines, as a formatter does */
    "/^\\./ { if (n) print line; line = \"\"; n = 0; print \"\"; next }\n"
    "{ for (i = 1; i <= NF; i++) {\n"
    "    if (n && length(line) + length($i) > 64) { print line; line = \"\"; n = 0 }\n"
    "    line = n ? line \" \" $i : $i; n++ } }\n"
    "END { if (n) print line }\n";

static const char spell_program[] = /* prints the words that the first file does not have */
    "NR == FNR { known[$1]; next }\n!($1 in known)\n";

static void populate(struct home *home)
{
    char path[MESSAGE_BYTES / 2];
    char *text;
    size_t bytes;
    FILE *out;

    home_path(path, "home%02u", home->number);
    make_directory(path);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        home_path(path, "home%02u/%s", home->number, folders[i]);
        make_directory(path);
    }
    for (unsigned i = 0; i < MODULES + TEXTS; i++) {
        const struct edited *file = i < MODULES ? &home->sources[i] : &home->texts[i - MODULES];

        text = edited_text(file, false, &bytes);
        home_path(path, "home%02u/%s", home->number, file->name);
        write_file(path, text, bytes, 0644);
        free(text);
    }
    for (unsigned i = 0; i < HEADERS; i++) {
        out = memory(&text, &bytes);
        fprintf(out, "#ifndef H%u_H\n#define H%u_H\n\n", i, i);
        if (i == 0)
            fprintf(out, "#define LIMIT 65521\n\n");
        for (unsigned j = 0; j < MODULES; j++)
            if (i == 0 || j % HEADERS == i)
                fprintf(out, "int m%u(int value);\n", j);
        fprintf(out, "\n#endif\n");
        fclose(out);
        home_path(path, "home%02u/src/h%u.h", home->number, i);
        write_file(path, text, bytes, 0644);
        free(text);
    }

    out = memory(&text, &bytes);
    fprintf(out, "# Run from the home directory.\nobjects =");
    for (unsigned i = 0; i < MODULES; i++)
        fprintf(out, " src/m%u.o", i);
    fprintf(out, "\n\nbin/prog: $(objects)\n\t%s -o bin/prog $(objects)\n\n", compiler);
    fprintf(out, ".c.o:\n\tbin/cc $< $@\n\nclean:\n\trm bin/prog $(objects)\n");
    fclose(out);
    home_path(path, "home%02u/src/Makefile", home->number);
    write_file(path, text, bytes, 0644);
    free(text);

    /* The compiler driver of the time: each step leaves a file to the next. */
    out = memory(&text, &bytes);
    fprintf(out,
            "#!/bin/sh\nset -e\nname=${1##*/}\n%s -E \"$1\" -o \"tmp/cc.${name%%.c}.i\"\n"
            "%s -c \"tmp/cc.${name%%.c}.i\" -o \"$2\"\nrm \"tmp/cc.${name%%.c}.i\"\n",
            compiler, compiler);
    fclose(out);
    home_path(path, "home%02u/bin/cc", home->number);
    write_file(path, text, bytes, 0755);
    free(text);

    out = memory(&text, &bytes);
    for (unsigned i = 0; i < VOCABULARY; i++) {
        char entry[16];

        word(entry, i);
        fprintf(out, "%s\n", entry);
    }
    fclose(out);
    home_path(path, "home%02u/lib/words", home->number);
    write_file(path, text, bytes, 0644);
    free(text);
    home_path(path, "home%02u/lib/format.awk", home->number);
    write_file(path, format_program, sizeof format_program - 1, 0644);
    home_path(path, "home%02u/lib/spell.awk", home->number);
    write_file(path, spell_program, sizeof spell_program - 1, 0644);
    home_path(path, "home%02u/mail/mbox", home->number);
    write_file(path, "", 0, 0644);
    home_path(path, "home%02u/script", home->number);
    write_file(path, home->script, home->script_bytes, 0644);
}

/* ---- the script of a home ----------------------------------------------- */

/* An editor session; the editor of the time kept its text in a temporary file. */
static void write_edit(FILE *out, struct edited *file, unsigned n, const char *line)
{
    /* No pattern to match: busybox's ed knows plain strings only. */
    fprintf(out, "cp %s tmp/e%u\ned %s <<'END'\n1s/revision %u/revision %u/\n$a\n%s\n.\nw\nq\nEND\nrm tmp/e%u\n",
            file->name, n, file->name, file->revision, n, line, n);
    file->revision = n;
    append(file, line);
    append(file, "\n");
}

static void write_task(FILE *out, struct home *home, enum task task, unsigned n)
{
    unsigned module = draw_below(home, MODULES);
    unsigned text = draw_below(home, TEXTS);
    char line[80];

    fprintf(out, "\ntask='%u %s'\n", n, tasks[task].name);
    switch (task) {
    case EDIT_SOURCE:
        snprintf(line, sizeof line, "int m%u_edit%u(int value) { return value * %u; }", module, n, n);
        write_edit(out, &home->sources[module], n, line);
        break;
    case EDIT_TEXT:
        snprintf(line, sizeof line, "Badenning gorlo %u.", n);
        write_edit(out, &home->texts[text], n, line);
        break;
    case COMPILE:
        fprintf(out, "bin/cc src/m%u.c tmp/o%u.o\nrm tmp/o%u.o\n", module, n, n);
        break;
    case MAKE:
        fprintf(out, "make -s -f src/Makefile\nbin/prog >tmp/out%u\n", n);
        fprintf(out, "make -s -f src/Makefile clean\nrm tmp/out%u\n", n);
        break;
    case FORMAT:
        home->formatted[text] = true;
        fprintf(out, "awk -f lib/format.awk doc/t%u >tmp/f%u\nmv tmp/f%u doc/t%u.out\n", text, n, n, text);
        break;
    case SPELL:
        fprintf(out, "tr -cs A-Za-z '\\n' <doc/t%u | tr A-Z a-z | sort -u >tmp/s%u\n", text, n);
        fprintf(out, "awk -f lib/spell.awk lib/words tmp/s%u >tmp/b%u\ntest -s tmp/b%u\nwc -l tmp/b%u\n", n, n, n, n);
        fprintf(out, "rm tmp/s%u tmp/b%u\n", n, n);
        break;
    case MAIL:
        home->mails++;
        fprintf(out, "echo 'Subject: %u' >tmp/m%u\ncat tmp/m%u >>mail/mbox\nrm tmp/m%u\n", n, n, n, n);
        break;
    case FILES:
        fprintf(out, "cp doc/t%u work/c%u\ntouch work/d%u\n", text, n, n);
        fprintf(out, "mv work/c%u work/e%u\nrm work/d%u work/e%u\n", n, n, n, n);
        break;
    case DIRECTORIES:
        fprintf(out, "mkdir work/p%u\nmkdir work/p%u/a\ncp lib/words work/p%u/a/words\n", n, n, n);
        fprintf(out, "cp src/m%u.c work/p%u/m.c\n", module, n);
        fprintf(out, "mv work/p%u/m.c work/p%u/a/m.c\nrm -r work/p%u\n", n, n, n);
        break;
    case COPY_TREE:
        fprintf(out, "mkdir tmp/w%u\ncp src/* tmp/w%u/\nls -l tmp/w%u\nrm -r tmp/w%u\n", n, n, n, n);
        break;
    case ARCHIVE:
        fprintf(out, "find src -type f -print | cpio -o -H newc >tmp/a%u 2>/dev/null\nmkdir tmp/x%u\n", n, n);
        fprintf(out, "cd tmp/x%u\ncpio -id <../a%u 2>/dev/null\ncd ../..\n", n, n);
        fprintf(out, "cmp src/m%u.c tmp/x%u/src/m%u.c\nrm -r tmp/a%u tmp/x%u\n", module, n, module, n, n);
        break;
    case COMPARE:
        fprintf(out, "diff src/m%u.c src/m%u.c >tmp/d%u || test $? = 1\ntest -s tmp/d%u\nrm tmp/d%u\n", module,
                (module + 1) % MODULES, n, n, n);
        break;
    case SEARCH:
        if (n % 2)
            fprintf(out, "grep -n 'm%u_step0' src/*.c\nfind . -name 'm%u.*' -print\n", module, module);
        else
            fprintf(out, "find . -type d -print\ngrep -c ing doc/t%u\n", text);
        break;
    case LOOK:
        if (n % 3 == 0)
            fprintf(out, "ls -l\ncat doc/t%u\n", text);
        else if (n % 3 == 1)
            fprintf(out, "ls -l src\nwc src/m%u.c\n", module);
        else
            fprintf(out, "date\nls doc\n");
        break;
    default:
        abort();
    }
}

static void compose_script(struct home *home)
{
    unsigned total = 0;
    unsigned char *order;
    FILE *out;

    for (int i = 0; i < TASKS; i++)
        total += task_counts[i];
    order = malloc(total);
    if (!order)
        die("out of memory");
    total = 0;
    for (int i = 0; i < TASKS; i++)
        for (unsigned j = 0; j < task_counts[i]; j++)
            order[total++] = (unsigned char)i;
    for (unsigned i = total; i > 1; i--) {
        unsigned j = draw_below(home, i);
        unsigned char kept = order[i - 1];

        order[i - 1] = order[j];
        order[j] = kept;
    }

    out = memory(&home->script, &home->script_bytes);
    fprintf(out, "set -e\ntask='before the first' finished=\n");
    fprintf(out, "trap 'test \"$finished\" || echo \"sdet: script %u failed in task $task\" >&2' 0\n", home->number);
    for (unsigned i = 0; i < total; i++)
        write_task(out, home, order[i], i + 1);
    fprintf(out, "\nfinished=yes\n");
    fclose(out);
    free(order);
}

/* ---- running and checking ------------------------------------------------ */

static void start(struct home *home, const int gate[2])
{
    char path[MESSAGE_BYTES / 2];
    char byte;
    int null;

    home->pid = fork();
    if (home->pid < 0)
        die("no process for script %u: %s", home->number, strerror(errno));
    if (home->pid > 0)
        return;
    home_path(path, "home%02u", home->number);
    null = open("/dev/null", O_RDWR);
    if (chdir(path) != 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
        die("%s: cannot prepare script %u: %s", path, home->number, strerror(errno));
    close(null);
    close(gate[1]);
    if (read(gate[0], &byte, 1) != 0) /* the end of file is the release */
        die("script %u was not released: %s", home->number, strerror(errno));
    close(gate[0]);
    execl(shell, "sh", "script", (char *)NULL);
    die("%s: cannot start: %s", shell, strerror(errno));
}

static void check_edited(const struct home *home, const struct edited *file)
{
    char path[MESSAGE_BYTES / 2];
    size_t bytes, got;
    char *text = edited_text(file, true, &bytes), *found = malloc(bytes + 1);
    FILE *in;

    home_path(path, "home%02u/%s", home->number, file->name);
    in = fopen(path, "r");
    if (!in || !found)
        die("%s: cannot read: %s", path, strerror(errno));
    got = fread(found, 1, bytes + 1, in);
    if (got != bytes || memcmp(text, found, bytes) != 0)
        die("%s: does not hold what the edits make; a tool or the file system failed", path);
    fclose(in);
    free(text);
    free(found);
}

static unsigned count_files(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    unsigned found = 0;

    if (!folder)
        die("%s: cannot list: %s", path, strerror(errno));
    while ((entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            found++;
    closedir(folder);
    return found;
}

static void check_count(const struct home *home, const char *folder, unsigned expected)
{
    char path[MESSAGE_BYTES / 2];
    unsigned found;

    home_path(path, "home%02u/%s", home->number, folder);
    found = count_files(path);
    if (found != expected)
        die("%s: %u entries in the end instead of %u", path, found, expected);
}

static void check(const struct home *home)
{
    char path[MESSAGE_BYTES / 2];
    struct stat info;
    unsigned formatted = 0;
    FILE *in;
    unsigned mails = 0;
    int letter;

    for (unsigned i = 0; i < MODULES; i++)
        check_edited(home, &home->sources[i]);
    for (unsigned i = 0; i < TEXTS; i++) {
        check_edited(home, &home->texts[i]);
        if (!home->formatted[i])
            continue;
        formatted++;
        home_path(path, "home%02u/doc/t%u.out", home->number, i);
        if (stat(path, &info) != 0 || info.st_size == 0)
            die("%s: missing or empty in the end", path);
    }
    home_path(path, "home%02u/mail/mbox", home->number);
    in = fopen(path, "r");
    if (!in)
        die("%s: cannot read: %s", path, strerror(errno));
    while ((letter = getc(in)) != EOF)
        mails += letter == '\n';
    fclose(in);
    if (mails != home->mails)
        die("%s: %u mails in the end instead of %u", path, mails, home->mails);
    check_count(home, "", sizeof folders / sizeof *folders + 1);
    check_count(home, "src", MODULES + HEADERS + 1);
    check_count(home, "doc", TEXTS + formatted);
    check_count(home, "lib", 3);
    check_count(home, "mail", 1);
    check_count(home, "bin", 1);
    check_count(home, "tmp", 0);
    check_count(home, "work", 0);
}

/* ---- options -------------------------------------------------------------- */

static void read_options(char **argv, bool *print_script)
{
    struct option_rule rules[] = {
        {.name = "--dir", .text = &directory, .value = "DIR", .required = true},
        {.name = "--seed", .number = &seed, .required = true},
        {.name = "--scale", .scale = &scale},
        {.name = "--scripts", .number = &scripts, .low = 1, .high = SCRIPTS_MAX},
        {.name = "--compiler", .text = &compiler, .value = "PROGRAM"},
        {.name = "--shell", .text = &shell, .value = "PROGRAM"},
        {.name = "--print-script", .flag = print_script},
        {.name = NULL},
    };

    parse_options(argv, rules);
}

static void print_mix(void)
{
    struct effect sum = {0};

    for (int i = 0; i < TASKS; i++) {
        unsigned count = task_counts[i] * (unsigned)scripts;

        sum.commands += count * tasks[i].effect.commands;
        sum.creates += count * tasks[i].effect.creates;
        sum.removes += count * tasks[i].effect.removes;
        sum.renames += count * tasks[i].effect.renames;
        sum.mkdirs += count * tasks[i].effect.mkdirs;
        sum.rmdirs += count * tasks[i].effect.rmdirs;
        printf("metric task_%s %u\n", tasks[i].name, count);
    }
    printf("metric scripts %" PRIu64 "\n", scripts);
    printf("metric commands %u\n", sum.commands);
    printf("metric creates %u\nmetric removes %u\nmetric renames %u\n", sum.creates, sum.removes, sum.renames);
    printf("metric mkdirs %u\nmetric rmdirs %u\n", sum.mkdirs, sum.rmdirs);
}

int main(int argc, char **argv)
{
    bool print_script = false;

    (void)argc;
    read_options(argv, &print_script);
    for (int i = 0; i < TASKS; i++)
        task_counts[i] = (unsigned)scaled(tasks[i].count, scale, 1);

    struct home *homes = calloc(scripts, sizeof *homes);
    uint64_t begin_ns = virtual_ns(), elapsed_ns;
    int gate[2];
    unsigned failed = 0;

    if (!homes)
        die("out of memory");
    for (unsigned i = 0; i < scripts; i++) {
        struct home *home = &homes[i];
        uint64_t state = seed;

        home->number = i;
        home->random = random_next(&state) ^ (i * 0x9e3779b97f4a7c15u);
        for (unsigned j = 0; j < MODULES; j++)
            compose_source(home, j);
        for (unsigned j = 0; j < TEXTS; j++)
            compose_text(home, j);
        for (unsigned j = 0; j < MODULES + TEXTS; j++) {
            struct edited *file = j < MODULES ? &home->sources[j] : &home->texts[j - MODULES];

            file->bytes_before = file->bytes;
        }
        compose_script(home);
        if (print_script)
            fwrite(home->script, 1, home->script_bytes, stdout);
        else
            populate(home);
    }
    if (print_script)
        return 0;
    sync();
    phase_print("setup", begin_ns);

    if (pipe(gate) != 0)
        die("no pipe: %s", strerror(errno));
    for (unsigned i = 0; i < scripts; i++)
        start(&homes[i], gate);
    close(gate[0]);
    begin_ns = virtual_ns();
    close(gate[1]);
    for (unsigned i = 0; i < scripts; i++) {
        int status;

        while (wait(&status) < 0)
            if (errno != EINTR)
                die("cannot wait for the scripts: %s", strerror(errno));
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    elapsed_ns = virtual_ns() - begin_ns;
    phase_print("run", begin_ns);
    if (failed)
        die("%u of %" PRIu64 " scripts failed; each named its task above", failed, scripts);
    for (unsigned i = 0; i < scripts; i++)
        check(&homes[i]);
    printf("metric elapsed_ns %" PRIu64 "\n", elapsed_ns);
    print_mix();
    return 0;
}
