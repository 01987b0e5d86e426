// SPDX-License-Identifier: MIT
/*
 * backdate SECONDS <in.tar >out.tar
 *
 * Makes the files of a tar archive SECONDS older, all by the same amount, so
 * that an archive from after the guest's year 2000 does not hold files of the
 * future, and their order in time, which make goes by, stays.  Headers of the
 * oldest form (no magic) become ustar, which busybox's tar reads.
 */
#define PROGRAM "backdate"
#include "options.h"

enum { BLOCK = 512 };

/* POSIX, "ustar Interchange Format". */
struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
    char magic[8]; /* with the version */
    char user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

__attribute__((noreturn)) static void fail(const char *what, uint64_t block)
{
    die("block %" PRIu64 ": %s", block, what);
}

static unsigned sum(const struct header *header)
{
    struct header copy = *header;
    const unsigned char *bytes = (const unsigned char *)&copy;
    unsigned result = 0;

    memset(copy.sum, ' ', sizeof copy.sum);
    for (unsigned i = 0; i < BLOCK; i++)
        result += bytes[i];
    return result;
}

static uint64_t octal(const char *field, size_t bytes)
{
    char text[16] = "";

    memcpy(text, field, bytes);
    return strtoull(text, NULL, 8);
}

int main(int argc, char **argv)
{
    uint64_t block = 0, body = 0;
    struct header header;

    if (argc != 2)
        die_usage("give one word, the seconds: backdate SECONDS <in.tar >out.tar");

    uint64_t seconds = parse_number("SECONDS", argv[1], 1, INT64_MAX);

    for (; fread(&header, 1, BLOCK, stdin) == BLOCK; block++) {
        if (body > 0) {
            body--;
        } else if (header.name[0]) {
            uint64_t mtime = octal(header.mtime, sizeof header.mtime);

            if (octal(header.sum, sizeof header.sum) != sum(&header))
                fail("not a header of a tar archive", block);
            if (mtime < seconds)
                fail("the file is older than what should be taken off", block);
            if (memcmp(header.magic, "\0\0\0\0\0\0\0", 8) == 0)
                memcpy(header.magic, "ustar\00000", 8);
            else if (memcmp(header.magic, "ustar", 5) != 0)
                fail("a header of no known form", block);
            snprintf(header.mtime, sizeof header.mtime, "%011" PRIo64, mtime - seconds);
            snprintf(header.sum, sizeof header.sum, "%06o", sum(&header));
            header.sum[7] = ' ';
            body = (octal(header.size, sizeof header.size) + BLOCK - 1) / BLOCK;
        }
        if (fwrite(&header, 1, BLOCK, stdout) != BLOCK)
            fail("cannot write", block);
    }
    if (ferror(stdin) || body > 0 || block == 0)
        fail("the archive ends in the middle of a file, or cannot be read", block);
    if (fflush(stdout) != 0)
        fail("cannot write", block);
    return 0;
}
