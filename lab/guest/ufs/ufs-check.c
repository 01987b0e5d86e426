// SPDX-License-Identifier: MIT
/*
 * ufs-check FILE: is the UFS1 on this unmounted device or image consistent?
 * Read-only. Exit 0: yes; 1: no, with one line for each error on standard
 * output; 2: it cannot be told (no file, no UFS1, an unreadable sector).
 *
 * What fsck_ffs does in its phases 1 to 5, in that order:
 *   1 every allocated inode: type, size, the number of its blocks, each in
 *     range and nobody else's
 *   2 every directory, from the root down: entries well-formed and to
 *     allocated inodes of the type they say, "." and ".." first and right
 *   3 every directory is reached, and by one name only
 *   4 every inode is named as often as it counts
 *   5 bitmaps, counts of groups, summaries and totals follow from what was found
 *
 * A block of inodes that are all free by their group's map is not read, so that
 * a large file system that is mostly empty takes a moment; an entry that names
 * one of them is an error all the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ufs1.h"

enum { ERRORS_SHOWN = 100, TYPE = S_IFMT };

struct found {
	uint16_t mode; /* 0: free */
	int16_t nlink;
	int32_t names; /* entries seen that name it */
};

/* A directory, with what pass 2 needs of it. */
struct directory {
	uint32_t number, dotdot, named_in; /* named_in: 0 if nowhere yet */
	uint64_t size;
	int32_t *blocks; /* first fragments of its blocks, in order */
	int32_t count;
};

static const char *name;
static int device;
static long errors;
static struct super fs;
static uint8_t *owned; /* a bit for each fragment: metadata, or a file's */
static struct found *inodes;
static struct directory *directories;
static uint32_t directory_count, directory_room;

static _Noreturn void die(const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fprintf(stderr, "ufs-check: %s: ", name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(2);
}

__attribute__((format(printf, 1, 2))) static void wrong(const char *format, ...)
{
	va_list arguments;

	if (errors++ >= ERRORS_SHOWN)
		return;
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

static void *room(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size);

	if (!p)
		die("no memory for %zu times %zu bytes", count, size);
	return p;
}

static void get(int64_t at, void *data, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pread(device, (char *)data + done, bytes - done, at + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("cannot read byte %lld: %s", (long long)(at + done), n ? strerror(errno) : "end of file");
		done += n;
	}
}

static void get_fragments(int32_t fragment, void *data, size_t bytes)
{
	get((int64_t)fragment * fs.fs_fsize, data, bytes);
}

static int64_t group_base(int c)
{
	return (int64_t)c * fs.fs_fpg;
}

/* Fragments that group C has. */
static int32_t group_size(int c)
{
	int64_t left = fs.fs_size - group_base(c);

	return left < fs.fs_fpg ? left : fs.fs_fpg;
}

/* 1 if FRAGMENT may hold data: inside the file system, and not a group's metadata. */
static int is_data(int64_t fragment)
{
	int64_t c = fragment / fs.fs_fpg, inside = fragment % fs.fs_fpg;

	if (fragment <= 0 || fragment >= fs.fs_size)
		return 0;
	if (inside >= fs.fs_dblkno)
		return c > 0 || inside >= fs.fs_dblkno + fs.fs_cssize / fs.fs_fsize;
	return c > 0 && inside < fs.fs_sblkno;
}

/* Give COUNT fragments to an inode; 0 if they cannot be its. */
static int claim(uint32_t number, int64_t fragment, int count, const char *what)
{
	int good = 1;

	if (count == fs.fs_frag && fragment % fs.fs_frag) {
		wrong("inode %u: %s block at fragment %lld is not at the start of a block", number, what, (long long)fragment);
		return 0;
	}
	if (fragment / fs.fs_frag != (fragment + count - 1) / fs.fs_frag) {
		wrong("inode %u: %s piece of %d at fragment %lld runs over the end of its block", number, what, count,
		      (long long)fragment);
		return 0;
	}
	for (int i = 0; i < count; i++) {
		if (!is_data(fragment + i)) {
			wrong("inode %u: %s fragment %lld is out of range", number, what, (long long)fragment + i);
			return 0;
		}
	}
	for (int i = 0; i < count; i++) {
		if (is_set(owned, fragment + i)) {
			wrong("inode %u: %s fragment %lld is claimed twice", number, what, (long long)fragment + i);
			good = 0;
		}
		set_bit(owned, fragment + i);
	}
	return good;
}

static void read_super(void)
{
	static const struct {
		const char *field;
		size_t offset;
		int32_t low, high;
	} rules[] = {
#define RULE(field, low, high) { #field, offsetof(struct super, field), low, high }
		RULE(fs_fsize, 512, 8192), RULE(fs_frag, 1, 8), RULE(fs_ncg, 1, 1 << 24), RULE(fs_fpg, 8, 1 << 24),
		RULE(fs_ipg, 8, 1 << 24), RULE(fs_sblkno, 1, 1 << 16), RULE(fs_cgsize, 512, 1 << 16),
		RULE(fs_cpg, 1, 1 << 16), RULE(fs_spc, 1, 1 << 30), RULE(fs_nspf, 1, 16), RULE(fs_nrpos, 1, 256),
		RULE(fs_contigsumsize, 0, 16), RULE(fs_cssize, 1, 1 << 28), RULE(fs_csaddr, 1, INT32_MAX),
#undef RULE
	};

	get(SUPER_OFFSET, &fs, sizeof(fs));
	if (fs.fs_magic != FS_MAGIC)
		die("no UFS1: the magic number is 0x%x, expected 0x%x", fs.fs_magic, FS_MAGIC);
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		int32_t value;

		memcpy(&value, (char *)&fs + rules[i].offset, sizeof(value));
		if (value < rules[i].low || value > rules[i].high)
			die("superblock: %s is %d, expected %d to %d", rules[i].field, value, rules[i].low, rules[i].high);
	}
	if (fs.fs_bsize != fs.fs_fsize * fs.fs_frag || fs.fs_bsize < 4096 || fs.fs_bsize > 65536)
		die("superblock: a block of %d bytes is not %d fragments of %d", fs.fs_bsize, fs.fs_frag, fs.fs_fsize);
	if (fs.fs_size <= group_base(fs.fs_ncg - 1) || fs.fs_size > group_base(fs.fs_ncg))
		die("superblock: %d fragments are not %d groups of %d", fs.fs_size, fs.fs_ncg, fs.fs_fpg);
	if (fs.fs_cblkno < fs.fs_sblkno || fs.fs_iblkno < fs.fs_cblkno || fs.fs_dblkno > fs.fs_fpg ||
	    fs.fs_dblkno - fs.fs_iblkno != fs.fs_ipg / (fs.fs_fsize / (int)sizeof(struct inode)))
		die("superblock: the parts of a group are not in order");
	if (fs.fs_cgsize > fs.fs_bsize || (fs.fs_cgoffset && ~fs.fs_cgmask))
		die("superblock: this layout of groups is not known");
	if (fs.fs_clean != 1)
		wrong("superblock: not marked clean (%d)", fs.fs_clean);
}

/* Inode C's group, checked as far as the others rely on it. */
static struct group *read_group(int c)
{
	static union {
		struct group group;
		uint8_t raw[65536];
	} buffer;
	struct group *cg = &buffer.group;

	get_fragments(group_base(c) + fs.fs_cblkno, buffer.raw, fs.fs_cgsize);
	if (cg->cg_magic != CG_MAGIC || cg->cg_cgx != c)
		die("group %d: magic number 0x%x and number %d, expected 0x%x and %d", c, cg->cg_magic, cg->cg_cgx, CG_MAGIC, c);
	if (cg->cg_ndblk != group_size(c))
		die("group %d: %d fragments, expected %d", c, cg->cg_ndblk, group_size(c));
	if (cg->cg_iusedoff < (int)sizeof(*cg) || cg->cg_iusedoff + (fs.fs_ipg + 7) / 8 > fs.fs_cgsize ||
	    cg->cg_freeoff < (int)sizeof(*cg) || cg->cg_freeoff + (fs.fs_fpg + 7) / 8 > fs.fs_cgsize ||
	    cg->cg_btotoff < (int)sizeof(*cg) || cg->cg_btotoff + fs.fs_cpg * 4 > fs.fs_cgsize ||
	    cg->cg_boff < (int)sizeof(*cg) || cg->cg_boff + fs.fs_cpg * fs.fs_nrpos * 2 > fs.fs_cgsize)
		die("group %d: its maps do not lie inside it", c);
	if (fs.fs_contigsumsize &&
	    (cg->cg_clustersumoff < (int)sizeof(*cg) ||
	     cg->cg_clustersumoff + (fs.fs_contigsumsize + 1) * 4 > fs.fs_cgsize || cg->cg_nclusterblks < 0 ||
	     cg->cg_nclusterblks != cg->cg_ndblk / fs.fs_frag || cg->cg_clusteroff < (int)sizeof(*cg) ||
	     cg->cg_clusteroff + (cg->cg_nclusterblks + 7) / 8 > fs.fs_cgsize))
		die("group %d: its map of clusters does not lie inside it", c);
	return cg;
}

/* ---- 1: inodes and their blocks ---------------------------------------------- */

static void keep_block(struct directory *directory, int64_t block, int32_t fragment)
{
	if (block >= directory->count)
		return;
	directory->blocks[block] = fragment;
}

/* Walk an indirect block; returns the sectors it and all behind it take. */
static int64_t walk(uint32_t number, int32_t fragment, int depth, int64_t *block, int64_t last, struct directory *into)
{
	int count = fs.fs_bsize / 4;
	int32_t *pointers;
	int64_t sectors, span = 1;

	for (int i = 1; i < depth; i++)
		span *= count;
	if (!fragment) {
		*block += span * count;
		return 0;
	}
	if (!claim(number, fragment, fs.fs_frag, "indirect")) {
		*block += span * count;
		return 0;
	}
	sectors = fs.fs_bsize / SECTOR;
	pointers = room(count, 4);
	get_fragments(fragment, pointers, fs.fs_bsize);
	for (int i = 0; i < count; i++) {
		if (pointers[i] && *block > last) {
			wrong("inode %u: block %lld lies behind the end of the file", number, (long long)*block);
			*block += span;
		} else if (depth > 1) {
			sectors += walk(number, pointers[i], depth - 1, block, last, into);
		} else {
			if (pointers[i] && claim(number, pointers[i], fs.fs_frag, "data")) {
				sectors += fs.fs_bsize / SECTOR;
				if (into)
					keep_block(into, *block, pointers[i]);
			}
			++*block;
		}
	}
	free(pointers);
	return sectors;
}

static struct directory *new_directory(uint32_t number, uint64_t size)
{
	struct directory *directory;

	if (directory_count == directory_room) {
		directory_room = directory_room ? 2 * directory_room : 1024;
		directories = realloc(directories, directory_room * sizeof(*directories));
		if (!directories)
			die("no memory for %u directories", directory_room);
	}
	directory = &directories[directory_count++];
	*directory = (struct directory){ .number = number, .size = size };
	directory->count = (size + fs.fs_bsize - 1) / fs.fs_bsize;
	directory->blocks = room(directory->count, sizeof(*directory->blocks));
	return directory;
}

static void check_inode(uint32_t number, const struct inode *inode)
{
	unsigned type = inode->di_mode & TYPE;
	struct directory *directory = NULL;
	int64_t last = (int64_t)((inode->di_size + fs.fs_bsize - 1) / fs.fs_bsize) - 1, sectors = 0, block;
	uint64_t largest = fs.fs_maxfilesize[0] | (uint64_t)fs.fs_maxfilesize[1] << 32;

	if (inode->di_nlink <= 0)
		wrong("inode %u: in use with %d links", number, inode->di_nlink);
	if (type != S_IFREG && type != S_IFDIR && type != S_IFLNK && type != S_IFCHR && type != S_IFBLK &&
	    type != S_IFIFO && type != S_IFSOCK) {
		wrong("inode %u: its type is unknown (mode 0%o)", number, inode->di_mode);
		return;
	}
	if (inode->di_size > largest) {
		wrong("inode %u: %llu bytes are longer than a file can be", number, (unsigned long long)inode->di_size);
		return;
	}
	if (type != S_IFREG && type != S_IFDIR && type != S_IFLNK)
		last = -1;
	if (type == S_IFLNK && (int64_t)inode->di_size < fs.fs_maxsymlinklen && !inode->di_blocks)
		return; /* the target stands where the blocks would */
	if (type == S_IFCHR || type == S_IFBLK)
		return;
	if (type == S_IFDIR) {
		if (!inode->di_size || inode->di_size % DIRECTORY_BLOCK || inode->di_size > 1 << 30) {
			wrong("inode %u: a directory of %llu bytes", number, (unsigned long long)inode->di_size);
			return;
		}
		directory = new_directory(number, inode->di_size);
	}
	for (block = 0; block < NDADDR; block++) {
		int count = fs.fs_frag;

		if (!inode->di_db[block])
			continue;
		if (block > last) {
			wrong("inode %u: block %lld lies behind the end of the file", number, (long long)block);
			continue;
		}
		if (block == last && inode->di_size % fs.fs_bsize)
			count = (inode->di_size % fs.fs_bsize + fs.fs_fsize - 1) / fs.fs_fsize;
		if (!claim(number, inode->di_db[block], count, "data"))
			continue;
		sectors += (int64_t)count * fs.fs_fsize / SECTOR;
		if (directory)
			keep_block(directory, block, inode->di_db[block]);
	}
	for (int depth = 1; depth <= NIADDR; depth++) {
		if (inode->di_ib[depth - 1] && block > last) {
			wrong("inode %u: block %lld lies behind the end of the file", number, (long long)block);
			break;
		}
		sectors += walk(number, inode->di_ib[depth - 1], depth, &block, last, directory);
	}
	if (sectors != inode->di_blocks)
		wrong("inode %u: says it has %d sectors, has %lld", number, inode->di_blocks, (long long)sectors);
}

static void check_inodes(void)
{
	int per_block = fs.fs_bsize / (int)sizeof(struct inode);
	struct inode *block = room(per_block, sizeof(*block));

	for (int c = 0; c < fs.fs_ncg; c++) {
		const struct group *cg = read_group(c);
		uint8_t *used = room((fs.fs_ipg + 7) / 8 + 8, 1);

		memcpy(used, (const uint8_t *)cg + cg->cg_iusedoff, (fs.fs_ipg + 7) / 8);
		for (int first = 0; first < fs.fs_ipg; first += per_block) {
			uint64_t any = 0;

			for (int i = first / 8; i < (first + per_block + 7) / 8; i++)
				any |= used[i];
			if (!any)
				continue;
			get_fragments(group_base(c) + fs.fs_iblkno + first / per_block * fs.fs_frag, block, fs.fs_bsize);
			for (int i = 0; i < per_block && first + i < fs.fs_ipg; i++) {
				uint32_t number = (uint32_t)c * fs.fs_ipg + first + i;
				struct found *found = &inodes[number];

				if (number < ROOT_INODE)
					continue;
				found->mode = block[i].di_mode;
				found->nlink = block[i].di_nlink;
				if (found->mode)
					check_inode(number, &block[i]);
			}
		}
		free(used);
	}
	free(block);
}

/* ---- 2 to 4: names --------------------------------------------------------------- */

static struct directory *find_directory(uint32_t number)
{
	uint32_t low = 0, high = directory_count;

	while (low < high) { /* they were met in the order of their numbers */
		uint32_t middle = low + (high - low) / 2;

		if (directories[middle].number == number)
			return &directories[middle];
		if (directories[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static int is_name(const struct entry *entry, const char *word)
{
	return entry->d_namlen == strlen(word) && !memcmp(entry->d_name, word, entry->d_namlen);
}

static void check_entry(struct directory *directory, const struct entry *entry, int64_t at)
{
	struct found *found;
	struct directory *below;

	if (at == 0) {
		if (!is_name(entry, ".") || entry->d_ino != directory->number)
			wrong("directory %u: the first entry is not \".\"", directory->number);
	} else if (at == ENTRY_BYTES(1)) {
		if (!is_name(entry, ".."))
			wrong("directory %u: the second entry is not \"..\"", directory->number);
		else
			directory->dotdot = entry->d_ino;
	}
	if (entry->d_ino < ROOT_INODE || entry->d_ino >= (uint32_t)fs.fs_ncg * fs.fs_ipg) {
		wrong("directory %u: \"%.*s\" names inode %u, which does not exist", directory->number, entry->d_namlen,
		      entry->d_name, entry->d_ino);
		return;
	}
	found = &inodes[entry->d_ino];
	if (!found->mode) {
		wrong("directory %u: \"%.*s\" names inode %u, which is free", directory->number, entry->d_namlen, entry->d_name,
		      entry->d_ino);
		return;
	}
	if (entry->d_type != (found->mode & TYPE) >> 12)
		wrong("directory %u: \"%.*s\" is of type %u, its inode %u of type %u", directory->number, entry->d_namlen,
		      entry->d_name, entry->d_type, entry->d_ino, (found->mode & TYPE) >> 12);
	found->names++;
	if (at <= ENTRY_BYTES(1) || (found->mode & TYPE) != S_IFDIR)
		return;
	below = find_directory(entry->d_ino);
	if (!below)
		return; /* said already: it is no good as a directory */
	if (below->named_in)
		wrong("directory %u: has a second name, \"%.*s\" in %u", entry->d_ino, entry->d_namlen, entry->d_name,
		      directory->number);
	below->named_in = directory->number;
}

static void check_directory(struct directory *directory)
{
	uint8_t *data = room(directory->count, fs.fs_bsize);
	char *base = (char *)data;

	for (int32_t i = 0; i < directory->count; i++) {
		int64_t bytes = directory->size - (int64_t)i * fs.fs_bsize;

		if (!directory->blocks[i]) {
			wrong("directory %u: has a hole at block %d", directory->number, i);
			continue;
		}
		bytes = bytes > fs.fs_bsize ? fs.fs_bsize : (bytes + fs.fs_fsize - 1) / fs.fs_fsize * fs.fs_fsize;
		get_fragments(directory->blocks[i], base + (int64_t)i * fs.fs_bsize, bytes);
	}
	for (int64_t at = 0; at < (int64_t)directory->size;) {
		const struct entry *entry = (const struct entry *)(base + at);
		int64_t left = DIRECTORY_BLOCK - at % DIRECTORY_BLOCK;

		if (entry->d_reclen < ENTRY_BYTES(1) || entry->d_reclen % 4 || entry->d_reclen > left ||
		    (entry->d_ino && entry->d_reclen < ENTRY_BYTES(entry->d_namlen))) {
			wrong("directory %u: entry at byte %lld has length %u and a name of %u", directory->number, (long long)at,
			      entry->d_reclen, entry->d_namlen);
			at += left;
			continue;
		}
		if (entry->d_ino && (!entry->d_namlen || entry->d_name[entry->d_namlen] ||
				     memchr(entry->d_name, '/', entry->d_namlen) || memchr(entry->d_name, 0, entry->d_namlen)))
			wrong("directory %u: entry at byte %lld has no valid name", directory->number, (long long)at);
		else if (entry->d_ino)
			check_entry(directory, entry, at);
		at += entry->d_reclen;
	}
	free(data);
}

static void check_names(void)
{
	uint32_t total = (uint32_t)fs.fs_ncg * fs.fs_ipg;

	for (uint32_t i = 0; i < directory_count; i++)
		check_directory(&directories[i]);
	if (!directory_count || directories[0].number != ROOT_INODE)
		wrong("there is no root directory");
	for (uint32_t i = 0; i < directory_count; i++) {
		struct directory *directory = &directories[i], *up = directory;
		uint32_t steps = 0;

		if (directory->number == ROOT_INODE) {
			if (directory->dotdot != ROOT_INODE)
				wrong("directory %u: its \"..\" is %u, expected itself", directory->number, directory->dotdot);
			continue;
		}
		if (!directory->named_in) {
			wrong("directory %u: nothing names it", directory->number);
			continue;
		}
		if (directory->dotdot != directory->named_in)
			wrong("directory %u: its \"..\" is %u, but it is in %u", directory->number, directory->dotdot,
			      directory->named_in);
		while (up && up->number != ROOT_INODE && steps++ <= directory_count)
			up = find_directory(up->named_in);
		if (!up || up->number != ROOT_INODE)
			wrong("directory %u: no way leads to it from the root", directory->number);
	}
	for (uint32_t number = ROOT_INODE; number < total; number++) {
		const struct found *found = &inodes[number];

		if (found->mode && !found->names)
			wrong("inode %u: in use, but nothing names it", number);
		else if (found->mode && found->names != found->nlink)
			wrong("inode %u: counts %d links, has %d", number, found->nlink, found->names);
	}
}

/* ---- 5: maps, counts and sums ------------------------------------------------------ */

#define SAME(what, has, should)                                                                                   \
	do {                                                                                                       \
		long has_ = (has), should_ = (should);                                                             \
		if (has_ != should_)                                                                               \
			wrong("group %d: %s is %ld, expected %ld", c, what, has_, should_);                        \
	} while (0)

static void check_group(int c, const struct group *cg, const struct csum *summary, struct csum *total)
{
	const uint8_t *raw = (const uint8_t *)cg, *map = raw + cg->cg_freeoff;
	const int32_t *clusters = (const int32_t *)(raw + cg->cg_clustersumoff);
	const int32_t *per_cylinder = (const int32_t *)(raw + cg->cg_btotoff);
	const int16_t *per_position = (const int16_t *)(raw + cg->cg_boff);
	int32_t *runs = room(fs.fs_contigsumsize + 1, 4), *cylinders = room(fs.fs_cpg, 4);
	int32_t pieces[FREE_PIECES] = { 0 };
	struct csum count = { 0 };
	int run = 0;

	for (int32_t at = 0; at < cg->cg_ndblk; at += fs.fs_frag) {
		int piece = 0, whole = 1, size = cg->cg_ndblk - at < fs.fs_frag ? cg->cg_ndblk - at : fs.fs_frag;

		for (int i = 0; i < size; i++) {
			/* eight at once, where map and truth agree */
			if (fs.fs_frag == 8 && size == 8 && (map[at / 8] ^ owned[(group_base(c) + at) / 8]) == 0xff) {
				whole = map[at / 8] == 0xff;
				break;
			}

			int is_free = is_set(map, at + i), should = !is_set(owned, group_base(c) + at + i);

			if (is_free && !should)
				wrong("fragment %lld: in use, but free in its group's map", (long long)group_base(c) + at + i);
			else if (!is_free && should)
				wrong("fragment %lld: nobody's, but in use in its group's map", (long long)group_base(c) + at + i);
			whole &= is_free;
		}
		whole &= size == fs.fs_frag;
		if (whole) {
			count.cs_nbfree++;
			cylinders[(int64_t)at * fs.fs_nspf / fs.fs_spc]++;
		}
		for (int i = 0; !whole && map[at / 8] && i <= size; i++) {
			if (i < size && is_set(map, at + i)) {
				piece++;
				count.cs_nffree++;
			} else if (piece) {
				pieces[piece]++;
				piece = 0;
			}
		}
		if (!fs.fs_contigsumsize || size < fs.fs_frag)
			continue;
		if (is_set(raw + cg->cg_clusteroff, at / fs.fs_frag) != whole)
			wrong("group %d: block %d is %s in the map of clusters", c, at / fs.fs_frag, whole ? "in use" : "free");
		if (whole) {
			run++;
		} else if (run) {
			runs[run < fs.fs_contigsumsize ? run : fs.fs_contigsumsize]++;
			run = 0;
		}
	}
	if (run)
		runs[run < fs.fs_contigsumsize ? run : fs.fs_contigsumsize]++;
	for (int i = 0; i < fs.fs_ipg; i++) {
		uint32_t number = (uint32_t)c * fs.fs_ipg + i;
		int used = is_set(raw + cg->cg_iusedoff, i);

		if (i % 64 == 0 && i + 64 <= fs.fs_ipg && fs.fs_bsize / sizeof(struct inode) == 64 &&
		    !memcmp(raw + cg->cg_iusedoff + i / 8, "\0\0\0\0\0\0\0", 8)) {
			/* a block that was not read */
			count.cs_nifree += 64;
			i += 63;
			continue;
		}

		if (used != (inodes[number].mode || number < ROOT_INODE))
			wrong("inode %u: %s", number, used ? "free, but in use in its group's map" : "in use, but free in its group's map");
		count.cs_nifree += !used;
		count.cs_ndir += (inodes[number].mode & TYPE) == S_IFDIR;
	}
	SAME("number of directories", cg->cg_cs.cs_ndir, count.cs_ndir);
	SAME("number of free blocks", cg->cg_cs.cs_nbfree, count.cs_nbfree);
	SAME("number of free inodes", cg->cg_cs.cs_nifree, count.cs_nifree);
	SAME("number of free fragments", cg->cg_cs.cs_nffree, count.cs_nffree);
	for (int i = 1; i < fs.fs_frag; i++)
		SAME("number of free pieces", cg->cg_frsum[i], pieces[i]);
	for (int i = 1; i <= fs.fs_contigsumsize; i++)
		SAME("number of free clusters", clusters[i], runs[i]);
	for (int i = 0; i < fs.fs_cpg; i++) {
		SAME("number of free blocks of a cylinder", per_cylinder[i], cylinders[i]);
		if (fs.fs_nrpos == 1)
			SAME("number of free blocks at a position", per_position[i], cylinders[i]);
	}
	if (memcmp(summary, &count, sizeof(count)))
		wrong("group %d: the summary has %d directories, %d blocks, %d inodes, %d fragments; expected %d, %d, %d, %d", c,
		      summary->cs_ndir, summary->cs_nbfree, summary->cs_nifree, summary->cs_nffree, count.cs_ndir,
		      count.cs_nbfree, count.cs_nifree, count.cs_nffree);
	total->cs_ndir += count.cs_ndir;
	total->cs_nbfree += count.cs_nbfree;
	total->cs_nifree += count.cs_nifree;
	total->cs_nffree += count.cs_nffree;
	free(runs);
	free(cylinders);
}

static void check_groups(void)
{
	struct csum *summary = room(1, fs.fs_cssize), total = { 0 };

	if ((int64_t)fs.fs_ncg * (int)sizeof(*summary) > fs.fs_cssize)
		die("superblock: a summary of %d bytes is too short for %d groups", fs.fs_cssize, fs.fs_ncg);
	get_fragments(fs.fs_csaddr, summary, fs.fs_cssize);
	for (int c = 0; c < fs.fs_ncg; c++)
		check_group(c, read_group(c), &summary[c], &total);
	if (memcmp(&fs.fs_cstotal, &total, sizeof(total)))
		wrong("superblock: totals are %d directories, %d blocks, %d inodes, %d fragments; expected %d, %d, %d, %d",
		      fs.fs_cstotal.cs_ndir, fs.fs_cstotal.cs_nbfree, fs.fs_cstotal.cs_nifree, fs.fs_cstotal.cs_nffree,
		      total.cs_ndir, total.cs_nbfree, total.cs_nifree, total.cs_nffree);
	free(summary);
}

int main(int count, char **words)
{
	int64_t files = 0;

	name = "usage: ufs-check FILE";
	if (count != 2 || words[1][0] == '-')
		die("one device or image is wanted");
	name = words[1];
	device = open(name, O_RDONLY | O_CLOEXEC);
	if (device < 0)
		die("%s", strerror(errno));
	read_super();
	owned = room(fs.fs_size / 8 + 2, 1);
	inodes = room((size_t)fs.fs_ncg * fs.fs_ipg, sizeof(*inodes));
	for (int c = 0; c < fs.fs_ncg; c++)
		for (int32_t at = 0; at < group_size(c) && at < fs.fs_dblkno + (c ? 0 : fs.fs_cssize / fs.fs_fsize); at++)
			if (!is_data(group_base(c) + at))
				set_bit(owned, group_base(c) + at);
	check_inodes();
	check_names();
	check_groups();
	for (uint32_t i = ROOT_INODE; i < (uint32_t)fs.fs_ncg * fs.fs_ipg; i++)
		files += inodes[i].mode != 0;
	if (errors > ERRORS_SHOWN)
		printf("%ld more\n", errors - ERRORS_SHOWN);
	if (errors)
		return 1;
	printf("%s: clean, %lld files, %d directories, %d free blocks\n", name, (long long)files, fs.fs_cstotal.cs_ndir,
	       fs.fs_cstotal.cs_nbfree);
	return 0;
}
