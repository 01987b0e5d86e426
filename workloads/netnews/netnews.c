// SPDX-License-Identifier: MIT
/*
 * netnews: a news server's work on its article spool, after Karl Swartz's
 * benchmark: a spool of 2 GB exists; a batch of new articles is stored
 * (unbatch); the oldest articles are removed (expire).
 *
 * One directory a group, one file an article, named by its number in the
 * group; a cross-posted article is a hard link.  The trace is drawn from a
 * seed with integer arithmetic only, article by article, so nothing of it is
 * kept but the names of the articles.  README.md has the distributions and
 * where they come from.
 */
#define PROGRAM "netnews"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>

#include "options.h"
#include "splitmix64.h"
#include "virtual_clock.h"

#define SPOOL_BYTES UINT64_C(2000000000)
#define NEW_ARTICLES 21000
#define EXPIRED_ARTICLES 26000
#define GROUPS 4000
#define GROUPS_LEAST 64
#define BINARY_GROUPS_SHARE 32  /* one group in so many is for binaries */
#define BINARY_PER_MILLE 35     /* of the articles */
#define POSTINGS_MAX 5          /* groups an article is posted to */
#define RANK_SHIFT 200          /* see README.md, "group popularity" */
#define SAMPLE 500              /* one article in so many is read back */
#define BODY_BYTES (256 * 1024)
#define BODY_STARTS 64          /* bodies begin at so many places of the buffer */
#define BODY_STEP 61
#define HEADER_MAX 480          /* below the smallest article */
#define PATH_LEN_MAX 64
#define STATE_FILE "netnews.spool"
#define DIRECTORY_MODE 0755
#define ARTICLE_MODE 0644

enum spool { SPOOL_MAKE, SPOOL_ONLY, SPOOL_READY };

struct options {
    const char *dir;
    uint64_t seed;
    uint64_t spool_seed;
    uint32_t scale;
    int spool;                  /* enum spool */
    bool print;
};

/* One article as drawn, before it has numbers. */
struct article {
    uint32_t bytes;
    uint32_t postings;
    uint16_t groups[POSTINGS_MAX];
    uint32_t numbers[POSTINGS_MAX];
};

/* A name of a stored article: its group and its number there. */
struct posting {
    uint32_t number;
    uint16_t group;
    uint16_t last;              /* the article's last name */
};

struct tally {
    uint64_t articles;
    uint64_t postings;
    uint64_t bytes;
    uint64_t crossposted;
    uint64_t binaries;
    uint64_t smallest, largest;
};

static struct options options = {.spool_seed = 1, .scale = SCALE_ONE};
static uint64_t spool_target, new_articles, expired_articles;
static uint32_t group_count, binary_count;      /* binaries are the last ones */
static uint64_t *text_sums, *binary_sums;       /* cumulated popularity */
static uint32_t *next_number, *held;            /* of each group: next article's number, articles in it */
static struct posting *postings;                /* of all articles, in the order of arrival */
static uint64_t posting_count, posting_room, expired_postings, expired_bytes;
static char body[BODY_BYTES + BODY_STARTS * BODY_STEP];

/* ---- the trace: groups, sizes, articles ----------------------------------- */

/* Sizes: per mille of the articles that are smaller, and bytes; straight lines between. */
struct quantile { uint32_t per_mille, bytes; };

static const struct quantile text_sizes[] = {
    {0, 500}, {50, 800}, {250, 1200}, {500, 1700}, {750, 2500}, {900, 3900}, {970, 7000}, {995, 16000}, {1000, 64000},
};
static const struct quantile binary_sizes[] = {
    {0, 2000}, {100, 8000}, {350, 24000}, {700, 48000}, {950, 64000}, {1000, 200000},
};

static uint32_t draw_size(uint64_t *state, const struct quantile *at)
{
    uint64_t millionth = random_below(state, 1000000);

    while (millionth >= (uint64_t)at[1].per_mille * 1000)
        at++;
    return at[0].bytes + (uint32_t)((millionth - (uint64_t)at[0].per_mille * 1000) * (at[1].bytes - at[0].bytes) /
                                    ((uint64_t)(at[1].per_mille - at[0].per_mille) * 1000));
}

/* Cumulated weights of COUNT ranks, 1/(rank + COUNT/200) each: Zipf's law with a flattened head. */
static uint64_t *popularity(uint32_t count)
{
    uint64_t *sums = calloc(count, sizeof *sums), sum = 0;

    if (sums == NULL)
        die("no memory for %" PRIu32 " groups", count);
    for (uint32_t rank = 0; rank < count; rank++)
        sums[rank] = sum += UINT64_C(1000000000000) / ((uint64_t)(rank + 1) * RANK_SHIFT + count);
    return sums;
}

static uint32_t draw_rank(uint64_t *state, const uint64_t *sums, uint32_t count)
{
    uint64_t value = random_below(state, sums[count - 1]);
    uint32_t low = 0, high = count - 1;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (sums[middle] > value)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Neighbours in popularity are not neighbours on the disk: 7919 is prime and larger than any share of the groups. */
static uint16_t draw_group(uint64_t *state, int binary)
{
    uint32_t text_count = group_count - binary_count;

    if (binary)
        return (uint16_t)(text_count + (uint64_t)draw_rank(state, binary_sums, binary_count) * 7919 % binary_count);
    return (uint16_t)((uint64_t)draw_rank(state, text_sums, text_count) * 7919 % text_count);
}

/* Draws article number INDEX of the trace and gives it its numbers. */
static struct article next_article(uint64_t index, uint64_t seed, struct tally *tally)
{
    uint64_t state = seed * UINT64_C(0xD1342543DE82EF95) ^ index * UINT64_C(0xA24BAED4963EE407);
    int binary = random_below(&state, 1000) < BINARY_PER_MILLE;
    uint32_t crosspost = (uint32_t)random_below(&state, 100);
    uint32_t wanted = crosspost < 86 ? 1 : crosspost < 96 ? 2 : crosspost < 99 ? 3 : 5;
    struct article article = {.bytes = draw_size(&state, binary ? binary_sizes : text_sizes)};

    while (article.postings < wanted) {
        uint16_t group = draw_group(&state, binary);
        uint32_t at = 0;

        while (at < article.postings && article.groups[at] != group)
            at++;
        if (at < article.postings) {
            wanted--;           /* posted twice to one group: once will do */
            continue;
        }
        article.groups[at] = group;
        article.numbers[at] = next_number[group]++;
        article.postings++;
    }
    tally->articles++;
    tally->postings += article.postings;
    tally->bytes += article.bytes;
    tally->crossposted += article.postings > 1;
    tally->binaries += (uint64_t)binary;
    if (tally->smallest == 0 || article.bytes < tally->smallest)
        tally->smallest = article.bytes;
    if (article.bytes > tally->largest)
        tally->largest = article.bytes;
    return article;
}

/* Remembers an article's names. */
static void remember(const struct article *article)
{
    if (posting_count + POSTINGS_MAX > posting_room) {
        posting_room = posting_room * 2 + 65536;
        postings = realloc(postings, posting_room * sizeof *postings);
        if (postings == NULL)
            die("no memory for the names of %" PRIu64 " articles", posting_room);
    }
    for (uint32_t at = 0; at < article->postings; at++) {
        postings[posting_count++] = (struct posting){
            .number = article->numbers[at], .group = article->groups[at], .last = at + 1 == article->postings};
        held[article->groups[at]]++;
    }
}

/* ---- names and contents --------------------------------------------------- */

/* snprintf() would be the program's largest cost in the guest. */
static char *put(char *at, const char *text)
{
    while (*text != '\0')
        *at++ = *text++;
    return at;
}

static char *put_number(char *at, uint64_t number)
{
    char digits[20];
    int count = 0;

    do {
        digits[count++] = (char)('0' + number % 10);
    } while ((number /= 10) != 0);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

static const char *const hierarchies[] = {"alt", "comp", "misc", "news", "rec", "sci", "soc", "talk"};
#define HIERARCHIES (sizeof hierarchies / sizeof hierarchies[0])
#define SECTIONS 16             /* second-level names in a hierarchy */

/* "rec/s3/g1234", with SEPARATOR for the slashes; returns its end. */
static char *put_group(char *at, uint32_t group, char separator)
{
    if (group >= group_count - binary_count) {
        at = put(at, "alt");
        *at++ = separator;
        at = put(at, "binaries");
    } else {
        at = put(at, hierarchies[group % HIERARCHIES]);
        *at++ = separator;
        *at++ = 's';
        at = put_number(at, group / HIERARCHIES % SECTIONS);
    }
    *at++ = separator;
    *at++ = 'g';
    at = put_number(at, group);
    *at = '\0';
    return at;
}

static void article_path(char *path, uint32_t group, uint32_t number)
{
    char *at = put_group(path, group, '/');

    *at++ = '/';
    *put_number(at, number) = '\0';
}

/* The article's header; says all that identifies it. */
static size_t make_header(char *header, const struct article *article, uint64_t index)
{
    char *at = put(header, "Path: feed.example!not-for-mail\nFrom: poster@example.invalid\nNewsgroups: ");
    uint32_t shown = article->postings;

    for (uint32_t i = 0; i < shown; i++) {
        if (i > 0)
            *at++ = ',';
        at = put_group(at, article->groups[i], '.');
    }
    at = put(at, "\nMessage-ID: <");
    at = put_number(at, index);
    at = put(at, "@example.invalid>\nSubject: article ");
    at = put_number(at, index);
    at = put(at, "\nXref: spool.example");
    for (uint32_t i = 0; i < shown; i++) {
        *at++ = ' ';
        at = put_group(at, article->groups[i], '.');
        *at++ = ':';
        at = put_number(at, article->numbers[i]);
    }
    at = put(at, "\n\n");
    return (size_t)(at - header);
}

static const char *body_of(uint64_t index)
{
    return body + index % BODY_STARTS * BODY_STEP;
}

static void fill_body(void)
{
    uint64_t state = 0;

    for (size_t at = 0; at < sizeof body; at++)
        body[at] = at % 72 == 71 ? '\n' : (char)(' ' + 1 + random_next(&state) % 94);
}

/* ---- what the server does -------------------------------------------------- */

static void store(const struct article *article, uint64_t index)
{
    char path[PATH_LEN_MAX], other[PATH_LEN_MAX], header[HEADER_MAX];
    size_t header_len = make_header(header, article, index);
    struct iovec parts[2] = {
        {.iov_base = header, .iov_len = header_len},
        {.iov_base = (void *)(uintptr_t)body_of(index), .iov_len = article->bytes - header_len},
    };
    ssize_t written;
    int fd;

    article_path(path, article->groups[0], article->numbers[0]);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, ARTICLE_MODE);
    if (fd < 0)
        die("%s cannot be created: %s", path, strerror(errno));
    written = writev(fd, parts, 2);
    if (written != (ssize_t)article->bytes)
        die("%s: %zd of %" PRIu32 " bytes written: %s", path, written, article->bytes,
            written < 0 ? strerror(errno) : "short");
    if (close(fd) != 0)
        die("%s: %s", path, strerror(errno));
    for (uint32_t at = 1; at < article->postings; at++) {
        article_path(other, article->groups[at], article->numbers[at]);
        if (link(path, other) != 0)
            die("%s cannot be linked to %s: %s", other, path, strerror(errno));
    }
}

static void print_article(const char *what, const struct article *article)
{
    char path[PATH_LEN_MAX];

    for (uint32_t at = 0; at < article->postings; at++) {
        article_path(path, article->groups[at], article->numbers[at]);
        if (at == 0)
            printf("%s create %s %" PRIu32 "\n", what, path, article->bytes);
        else
            printf("%s link %s\n", what, path);
    }
}

/* Removes every name of the ARTICLES oldest articles, in the order of arrival. */
static void expire(uint64_t articles)
{
    char path[PATH_LEN_MAX];

    for (uint64_t gone = 0; gone < articles; expired_postings++) {
        const struct posting *posting = &postings[expired_postings];

        article_path(path, posting->group, posting->number);
        if (options.print)
            printf("expire remove %s\n", path);
        else if (unlink(path) != 0)
            die("%s cannot be removed: %s", path, strerror(errno));
        held[posting->group]--;
        gone += posting->last;
    }
}

static void make_directory(const char *path)
{
    if (mkdir(path, DIRECTORY_MODE) != 0)
        die("%s cannot be made: %s", path, strerror(errno));
}

/* Hierarchies first, then sections, then groups. */
static void make_groups(void)
{
    char path[PATH_LEN_MAX];

    for (size_t top = 0; top < HIERARCHIES; top++)
        make_directory(hierarchies[top]);
    for (size_t top = 0; top < HIERARCHIES; top++)
        for (uint64_t section = 0; section < SECTIONS; section++) {
            char *at = put(put(path, hierarchies[top]), "/s");

            *put_number(at, section) = '\0';
            make_directory(path);
        }
    make_directory("alt/binaries");
    for (uint32_t group = 0; group < group_count; group++) {
        put_group(path, group, '/');
        make_directory(path);
    }
}

/* What a prepared spool says about itself. */
static void spool_state(char *text, size_t len, const struct tally *spool)
{
    snprintf(text, len, "netnews spool 1: scale %" PRIu32 "/%u, seed %" PRIu64 ", %" PRIu32 " groups, %" PRIu64
             " articles, %" PRIu64 " names, %" PRIu64 " bytes\n", options.scale, SCALE_ONE, options.spool_seed,
             group_count, spool->articles, spool->postings, spool->bytes);
}

static void write_state(const struct tally *spool)
{
    char text[256];
    FILE *file = fopen(STATE_FILE, "wx");

    spool_state(text, sizeof text, spool);
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        die(STATE_FILE " cannot be written: %s", strerror(errno));
}

static void check_state(const struct tally *spool)
{
    char text[256], found[256] = "";
    FILE *file = fopen(STATE_FILE, "r");

    spool_state(text, sizeof text, spool);
    if (file == NULL)
        die("--spool ready: %s has no " STATE_FILE "; make the spool with --spool only", options.dir);
    if (fgets(found, sizeof found, file) == NULL || strcmp(found, text) != 0)
        die("--spool ready: %s has another spool: %.*s; make one with the same options", options.dir,
            (int)strcspn(found, "\n"), found);
    fclose(file);
}

static void check_room(void)
{
    /* Articles of 3.7 KB in blocks of at most 4 KB, and their directories. */
    uint64_t bytes = spool_target * 2 + new_articles * 8192, files = spool_target / 3000 + new_articles;
    struct statvfs fs;

    if (statvfs(".", &fs) != 0)
        die("--dir %s: %s", options.dir, strerror(errno));
    if ((uint64_t)fs.f_bavail * fs.f_frsize < bytes)
        die("--dir %s: %" PRIu64 " bytes are free and %" PRIu64 " may be needed; give a larger file system or a "
            "smaller --scale", options.dir, (uint64_t)fs.f_bavail * fs.f_frsize, bytes);
    if (fs.f_files != 0 && fs.f_favail < files)
        die("--dir %s: %" PRIu64 " inodes are free and %" PRIu64 " may be needed; make the file system with more",
            options.dir, (uint64_t)fs.f_favail, files);
}

/* ---- verification ---------------------------------------------------------- */

/* Every group has as many articles as it should. */
static void verify_counts(void)
{
    char path[PATH_LEN_MAX];

    for (uint32_t group = 0; group < group_count; group++) {
        const struct dirent *entry;
        uint64_t found = 0;
        DIR *directory;

        put_group(path, group, '/');
        directory = opendir(path);
        if (directory == NULL)
            die("%s: %s", path, strerror(errno));
        while ((errno = 0, entry = readdir(directory)) != NULL)
            found += entry->d_name[0] != '.';
        if (errno != 0 || found != held[group])
            die("%s has %" PRIu64 " articles and should have %" PRIu32, path, found, held[group]);
        closedir(directory);
    }
}

/* The article is there under each of its names, with its size and contents. */
static void verify_article(const struct article *article, uint64_t index)
{
    static char found[BODY_BYTES];
    char path[PATH_LEN_MAX], header[HEADER_MAX];
    size_t header_len = make_header(header, article, index);
    struct stat status;

    for (uint32_t at = 0; at < article->postings; at++) {
        ssize_t got;
        int fd;

        article_path(path, article->groups[at], article->numbers[at]);
        fd = open(path, O_RDONLY);
        if (fd < 0 || fstat(fd, &status) != 0)
            die("%s: %s", path, strerror(errno));
        got = read(fd, found, sizeof found);
        if (status.st_nlink != article->postings || got != (ssize_t)article->bytes ||
            memcmp(found, header, header_len) != 0 ||
            memcmp(found + header_len, body_of(index), article->bytes - header_len) != 0)
            die("%s is not what was written: %zd of %" PRIu32 " bytes, %" PRIu64 " of %" PRIu32 " links", path, got,
                article->bytes, (uint64_t)status.st_nlink, article->postings);
        close(fd);
    }
}

/* ---- the whole ---------------------------------------------------------------- */

static void print_tally(const char *what, const struct tally *tally)
{
    printf("info %s articles=%" PRIu64 " names=%" PRIu64 " crossposted=%" PRIu64 " binaries=%" PRIu64 " bytes=%" PRIu64
           " mean=%" PRIu64 " smallest=%" PRIu64 " largest=%" PRIu64 "\n", what, tally->articles, tally->postings,
           tally->crossposted, tally->binaries, tally->bytes, tally->articles ? tally->bytes / tally->articles : 0,
           tally->smallest, tally->largest);
}

static void reset_numbers(void)
{
    for (uint32_t group = 0; group < group_count; group++) {
        uint64_t state = group;

        next_number[group] = (uint32_t)(1000 + random_below(&state, 90000));
    }
}

static void set_up(void)
{
    spool_target = scaled(SPOOL_BYTES, options.scale, 1);
    new_articles = scaled(NEW_ARTICLES, options.scale, 1);
    expired_articles = scaled(EXPIRED_ARTICLES, options.scale, 1);
    group_count = (uint32_t)scaled(GROUPS, options.scale, GROUPS_LEAST);
    binary_count = group_count / BINARY_GROUPS_SHARE;
    text_sums = popularity(group_count - binary_count);
    binary_sums = popularity(binary_count);
    next_number = calloc(group_count, sizeof *next_number);
    held = calloc(group_count, sizeof *held);
    if (next_number == NULL || held == NULL)
        die("no memory for %" PRIu32 " groups", group_count);
    reset_numbers();
    fill_body();
}

/* The spool's articles: drawn, remembered, and stored or printed where that is asked. */
static struct tally spool_articles(int storing)
{
    struct tally spool = {0};

    while (spool.bytes < spool_target) {
        uint64_t index = spool.articles;
        struct article article = next_article(index, options.spool_seed, &spool);

        remember(&article);
        if (index < expired_articles)
            expired_bytes += article.bytes;
        if (storing)
            store(&article, index);
        if (options.print)
            print_article("spool", &article);
    }
    return spool;
}

/* Reads back one article in SAMPLE of those that are left; the trace is drawn a second time. */
static uint64_t verify_sample(uint64_t spool, uint64_t all, uint64_t expired)
{
    struct tally ignored = {0};
    uint64_t verified = 0;

    reset_numbers();
    for (uint64_t index = 0; index < all; index++) {
        uint64_t seed = index < spool ? options.spool_seed : options.seed;
        struct article article = next_article(index, seed, &ignored);

        if (index >= expired && (index % SAMPLE == 0 || index + 1 == all)) {
            verify_article(&article, index);
            verified++;
        }
    }
    return verified;
}

static void read_options(char **argv)
{
    static const char *const spools[] = {
        [SPOOL_MAKE] = "make", [SPOOL_ONLY] = "only", [SPOOL_READY] = "ready", NULL};
    static struct option_rule rules[] = {
        {.name = "--dir", .text = &options.dir, .value = "DIR"},
        {.name = "--seed", .number = &options.seed, .low = 1, .high = INT32_MAX, .required = true},
        {.name = "--scale", .scale = &options.scale},
        {.name = "--spool", .choice = &options.spool, .choices = spools},
        {.name = "--spool-seed", .number = &options.spool_seed, .low = 1, .high = INT32_MAX},
        {.name = "--print", .flag = &options.print},
        {.name = NULL},
    };

    parse_options(argv, rules);
    if (options.dir == NULL && !options.print)
        die_usage("the command line lacks --dir DIR or --print; add one of them");
}

int main(int argc, char **argv)
{
    struct tally spool, batch = {0};
    uint64_t begin_ns, end_ns, expired_names, verified;

    (void)argc;
    read_options(argv);
    set_up();
    begin_ns = virtual_ns();
    if (!options.print) {
        if (options.spool != SPOOL_READY)
            require_empty(options.dir, "before the run; give an empty directory");
        if (chdir(options.dir) != 0)
            die("--dir %s: %s", options.dir, strerror(errno));
    }
    if (!options.print && options.spool != SPOOL_READY) {
        check_room();
        make_groups();
    }
    spool = spool_articles(!options.print && options.spool != SPOOL_READY);
    if (spool.articles <= expired_articles)
        die("the spool has only %" PRIu64 " articles; give a larger --scale", spool.articles);
    if (!options.print) {
        if (options.spool == SPOOL_READY) {
            check_state(&spool);
        } else {
            write_state(&spool);
            sync();             /* else its last blocks would be written in the measured time */
        }
        phase_print("setup", begin_ns);
    }
    print_tally("spool", &spool);
    if (options.spool == SPOOL_ONLY) {
        verified = verify_sample(spool.articles, spool.articles, 0);
        verify_counts();
        printf("metric setup_ns %" PRIu64 "\nmetric spool_articles %" PRIu64 "\nmetric spool_bytes %" PRIu64
               "\nmetric verified_articles %" PRIu64 "\n", virtual_ns() - begin_ns, spool.articles, spool.bytes,
               verified);
        return fflush(stdout) == 0 ? 0 : 1;
    }

    begin_ns = virtual_ns();
    while (batch.articles < new_articles) {
        uint64_t index = spool.articles + batch.articles;
        struct article article = next_article(index, options.seed, &batch);

        remember(&article);
        if (options.print)
            print_article("unbatch", &article);
        else
            store(&article, index);
    }
    end_ns = virtual_ns();
    expire(expired_articles);
    expired_names = expired_postings;
    if (!options.print) {
        uint64_t expired_ns = virtual_ns();

        printf("phase unbatch %" PRIu64 " %" PRIu64 "\nphase expire %" PRIu64 " %" PRIu64 "\n", begin_ns, end_ns, end_ns,
               expired_ns);
        printf("metric elapsed_ns %" PRIu64 "\nmetric unbatch_ns %" PRIu64 "\nmetric expire_ns %" PRIu64 "\n",
               expired_ns - begin_ns, end_ns - begin_ns, expired_ns - end_ns);
        begin_ns = virtual_ns();
        verify_counts();
        verified = verify_sample(spool.articles, spool.articles + batch.articles, expired_articles);
        phase_print("verify", begin_ns);
        printf("metric verified_articles %" PRIu64 "\n", verified);
    }
    print_tally("unbatch", &batch);
    printf("info expire articles=%" PRIu64 " names=%" PRIu64 " bytes=%" PRIu64 "\n", expired_articles, expired_names,
           expired_bytes);
    printf("metric groups %" PRIu32 "\nmetric spool_articles %" PRIu64 "\nmetric spool_names %" PRIu64
           "\nmetric spool_bytes %" PRIu64 "\n", group_count, spool.articles, spool.postings, spool.bytes);
    printf("metric created_articles %" PRIu64 "\nmetric created_names %" PRIu64 "\nmetric created_bytes %" PRIu64
           "\nmetric removed_articles %" PRIu64 "\nmetric removed_names %" PRIu64 "\nmetric removed_bytes %" PRIu64 "\n",
           batch.articles, batch.postings, batch.bytes, expired_articles, expired_names, expired_bytes);
    if (fflush(stdout) != 0)
        die("standard output: %s", strerror(errno));
    return 0;
}
