// SPDX-License-Identifier: MIT
/*
 * First process of the guest, in the initramfs: load the modules that the
 * system disk needs, mount it read-only and hand over to the agent on it.
 *
 * The modules lie in /modules, named so that alphabetical order is load order
 * (build.py numbers them).  Whatever fails here is printed on the console and
 * ends in a kernel panic, because process 1 exits; QEMU runs with -no-reboot
 * and the kernel with panic=-1, so the machine stops and the cell runner sees
 * a run without a report.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MODULE_DIR "/modules"
#define NEW_ROOT "/root"
#define AGENT "/sbin/spindle-agent"
#define ROOT_SERIAL "root"
#define ROOT_WAIT_MS 10000

static void die(const char *format, ...)
{
    va_list arguments;

    fputs("spindle-init: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, ": %s\n", strerror(errno));
    exit(1);
}

static void mount_or_die(const char *source, const char *target, const char *type, unsigned long flags)
{
    if (mount(source, target, type, flags, NULL) < 0)
        die("cannot mount %s on %s", type, target);
}

static int is_module(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void load_modules(void)
{
    struct dirent **entries;
    int count = scandir(MODULE_DIR, &entries, is_module, alphasort);

    if (count < 0)
        die("cannot list %s", MODULE_DIR);
    for (int i = 0; i < count; i++) {
        char path[512];

        snprintf(path, sizeof path, MODULE_DIR "/%s", entries[i]->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            die("cannot open %s", path);
        if (syscall(SYS_finit_module, fd, "", 0) < 0)
            die("cannot load %s", path);
        close(fd);
        free(entries[i]);
    }
    free(entries);
}

/* The name under /sys/block of the virtio disk with this serial, or 0 if there is none yet. */
static int find_disk(const char *serial, char *name, size_t name_len)
{
    DIR *dir = opendir("/sys/block");
    struct dirent *entry;
    int found = 0;

    if (!dir)
        return 0;
    while (!found && (entry = readdir(dir))) {
        char path[512], text[64];

        if (strncmp(entry->d_name, "vd", 2) != 0)
            continue;
        snprintf(path, sizeof path, "/sys/block/%s/serial", entry->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        ssize_t got = read(fd, text, sizeof text - 1);
        close(fd);
        if (got < 0)
            continue;
        text[got] = '\0';
        text[strcspn(text, "\n")] = '\0';
        if (strcmp(text, serial) == 0) {
            snprintf(name, name_len, "/dev/%s", entry->d_name);
            found = 1;
        }
    }
    closedir(dir);
    return found;
}

int main(void)
{
    const struct timespec tick = { .tv_nsec = 1000000 };
    char root[300];
    int waited_ms = 0;

    mount_or_die("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC);
    mount_or_die("devtmpfs", "/dev", "devtmpfs", MS_NOSUID);
    /* The kernel opens /dev/console before this program, when /dev is still empty. */
    int console = open("/dev/console", O_RDWR);
    for (int fd = 0; console >= 0 && fd < 3; fd++)
        dup2(console, fd);
    if (console > 2)
        close(console);

    load_modules();
    while (!find_disk(ROOT_SERIAL, root, sizeof root)) {
        if (waited_ms++ == ROOT_WAIT_MS) {
            errno = ENODEV;
            die("no virtio disk with serial \"%s\" after %d ms", ROOT_SERIAL, ROOT_WAIT_MS);
        }
        nanosleep(&tick, NULL);
    }
    mount_or_die(root, NEW_ROOT, "erofs", MS_RDONLY);
    if (mount("/dev", NEW_ROOT "/dev", NULL, MS_MOVE, NULL) < 0 ||
        mount("/sys", NEW_ROOT "/sys", NULL, MS_MOVE, NULL) < 0)
        die("cannot move /dev and /sys to %s", NEW_ROOT);
    if (chdir(NEW_ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 || chdir("/") < 0)
        die("cannot make %s the root", root);
    execl(AGENT, AGENT, (char *)NULL);
    die("cannot start %s", AGENT);
}
