// SPDX-License-Identifier: MIT
/*
 * ufs-newfs [--bytes N] [--zero] FILE: make an empty UFS1 on a device or in a
 * sparse file, as newfs of FreeBSD 5.0 of November 2000 did without options.
 *
 * Blocks of 8192 bytes, fragments of 1024, an inode for every 4 fragments,
 * 8 % free, optimised for time; a made-up geometry of 1 track of 4096 sectors
 * a cylinder and 16 cylinders a group, so groups of 32 MiB with 7936 inodes;
 * no rotational delay, no table of rotational positions. The same size gives
 * the same bytes: times are fixed, and newfs's random generation numbers of
 * inodes are 0.
 *
 * Unwritten parts of the device must read as zeros (a fresh image does): only
 * superblocks, groups, summary and root directory are written. --zero clears
 * the inodes, too, for a device that was in use.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ufs1.h"

#define BLKGETSIZE64 _IOR(0x12, 114, size_t)

enum {
	BSIZE = 8192,
	FSIZE = 1024,
	FRAG = BSIZE / FSIZE,
	NSPF = FSIZE / SECTOR,
	BYTES_PER_INODE = 4 * FSIZE,
	MINFREE = 8,
	NSECT = 4096, /* sectors a track, and a cylinder */
	CPG = 16,     /* cylinders a group */
	NRPOS = 1,
	MAXCONTIG = 15, /* MAXPHYS / block size - 1; summed up in the groups, of no other use without rotational delay */
	MAXBPG = BSIZE / 4,
	INOPF = FSIZE / sizeof(struct inode),
	INOPB = BSIZE / sizeof(struct inode),
	WHEN = 974851200, /* 2000-11-22T00:00:00Z, the day of the paper's prices; any would do */
	POSTBL_DYNAMIC = 1,
	INODEFMT_44 = 2,
	MAXSYMLINKLEN = (NDADDR + NIADDR) * 4,
	NCLUSTERS = CPG * NSECT / NSPF / FRAG,
};

static const char *name;
static int device;

static _Noreturn void die(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "ufs-newfs: %s: ", name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

static int round_up(int value, int unit)
{
	return (value + unit - 1) / unit * unit;
}

static void put(int32_t fragment, const void *data, size_t bytes)
{
	off_t at = (off_t)fragment * FSIZE;

	for (size_t done = 0; done < bytes;) {
		ssize_t n = pwrite(device, (const char *)data + done, bytes - done, at + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("cannot write: %s", n ? strerror(errno) : "no room");
		done += n;
	}
}

/* What follows from the size, in the order and by the rules of newfs's mkfs.c. */
static void plan(struct super *fs, int64_t bytes)
{
	int32_t inode_bytes, last;
	int i, ipg = 0, space = 0;

	if (bytes / FSIZE > INT32_MAX - BSIZE)
		die("%lld bytes are more than UFS1 can hold; give a smaller --bytes", (long long)bytes);
	fs->fs_size = bytes / FSIZE;
	fs->fs_bsize = BSIZE;
	fs->fs_fsize = FSIZE;
	fs->fs_frag = FRAG;
	fs->fs_bmask = ~(BSIZE - 1);
	fs->fs_fmask = ~(FSIZE - 1);
	fs->fs_qbmask[0] = BSIZE - 1;
	fs->fs_qfmask[0] = FSIZE - 1;
	fs->fs_bshift = 13;
	fs->fs_fshift = 10;
	fs->fs_fragshift = 3;
	fs->fs_fsbtodb = 1;
	fs->fs_nspf = NSPF;
	fs->fs_minfree = MINFREE;
	fs->fs_optim = 0; /* time */
	fs->fs_rotdelay = 0;
	fs->fs_rps = 60;
	fs->fs_maxcontig = MAXCONTIG;
	fs->fs_contigsumsize = MAXCONTIG;
	fs->fs_maxbpg = MAXBPG;
	fs->fs_ntrak = 1;
	fs->fs_nsect = fs->fs_npsect = fs->fs_spc = NSECT;
	fs->fs_interleave = 1;
	fs->fs_cpg = CPG;
	fs->fs_nindir = BSIZE / 4;
	fs->fs_inopb = INOPB;
	fs->fs_sbsize = round_up(sizeof(struct super), FSIZE);
	fs->fs_sblkno = round_up((SUPER_OFFSET + SUPER_BYTES) / FSIZE, FRAG);
	fs->fs_cblkno = fs->fs_sblkno + SUPER_BYTES / FSIZE;
	fs->fs_iblkno = fs->fs_cblkno + FRAG;
	fs->fs_cgoffset = round_up(NSECT / NSPF, FRAG);
	fs->fs_cgmask = ~0u; /* of one track: no group is shifted */
	fs->fs_fpg = CPG * NSECT / NSPF;
	fs->fs_ncg = (fs->fs_size + fs->fs_fpg - 1) / fs->fs_fpg;
	fs->fs_ncyl = ((int64_t)fs->fs_size * NSPF + NSECT - 1) / NSECT;
	/* inodes take room that then needs no inodes: settle on a number */
	for (i = 0; i < 10; i++) {
		inode_bytes = (fs->fs_iblkno + ipg / (int)INOPF) * FSIZE;
		last = round_up((fs->fs_fpg * FSIZE - inode_bytes) / BYTES_PER_INODE, INOPB);
		if (last == ipg)
			break;
		ipg = last;
	}
	fs->fs_ipg = ipg;
	fs->fs_dblkno = fs->fs_iblkno + ipg / (int)INOPF;
	last = fs->fs_size - (fs->fs_ncg - 1) * fs->fs_fpg;
	if (last < fs->fs_dblkno + FRAG) {
		/* no room for data behind the last group's inodes: leave it out */
		fs->fs_ncg--;
		fs->fs_size = fs->fs_ncg * fs->fs_fpg;
		fs->fs_ncyl = fs->fs_ncg * CPG;
	}
	if (fs->fs_ncg < 1)
		die("%lld bytes are too few; UFS1 needs about 2 MB", (long long)bytes);
	space = sizeof(struct group) + CPG * 4 + CPG * NRPOS * 2 + (ipg + 7) / 8 + fs->fs_fpg / 8;
	space += (MAXCONTIG + 1) * 4 + NCLUSTERS / 8 + 4;
	fs->fs_cgsize = round_up(space, FSIZE);
	fs->fs_csaddr = fs->fs_dblkno;
	fs->fs_cssize = round_up(fs->fs_ncg * sizeof(struct csum), FSIZE);
	fs->fs_csmask = ~(uint32_t)(BSIZE / sizeof(struct csum) - 1);
	fs->fs_csshift = 9;
	fs->fs_maxsymlinklen = MAXSYMLINKLEN;
	fs->fs_inodefmt = INODEFMT_44;
	{
		/* (direct + single + double + triple) blocks, less one byte */
		uint64_t n = BSIZE / 4, size = (NDADDR + n + n * n + n * n * n) * BSIZE - 1;

		fs->fs_maxfilesize[0] = size;
		fs->fs_maxfilesize[1] = size >> 32;
	}
	fs->fs_postblformat = POSTBL_DYNAMIC;
	fs->fs_nrpos = NRPOS;
	fs->fs_postbloff = fs->fs_rotbloff = sizeof(struct super);
	fs->fs_cpc = 0; /* one track a cylinder: no table */
	fs->fs_magic = FS_MAGIC;
	fs->fs_clean = 1;
	fs->fs_time = WHEN;
	fs->fs_id[0] = WHEN;
}

/* Count the free runs of blocks, each up to contigsumsize. */
static void sum_clusters(const struct super *fs, struct group *cg, uint8_t *raw)
{
	int32_t *sums = (int32_t *)(raw + cg->cg_clustersumoff);
	int run = 0;

	/* there is no run of 0, and its place is the end of the map of free fragments */
	memset(sums + 1, 0, fs->fs_contigsumsize * 4);
	for (int i = 0; i <= cg->cg_nclusterblks; i++) {
		if (i < cg->cg_nclusterblks && is_set(raw + cg->cg_clusteroff, i)) {
			run++;
		} else if (run) {
			sums[run < fs->fs_contigsumsize ? run : fs->fs_contigsumsize]++;
			run = 0;
		}
	}
}

static void free_block(struct group *cg, uint8_t *raw, int32_t at)
{
	int cylinder = at * NSPF / NSECT;

	raw[cg->cg_freeoff + at / FRAG] = 0xff;
	set_bit(raw + cg->cg_clusteroff, at / FRAG);
	((int32_t *)(raw + cg->cg_btotoff))[cylinder]++;
	((int16_t *)(raw + cg->cg_boff))[cylinder]++;
	cg->cg_cs.cs_nbfree++;
}

/* Fill in group C; the root directory takes a fragment of the first. */
static void make_group(struct super *fs, int c, uint8_t *raw)
{
	struct group *cg = (struct group *)raw;
	int32_t base = c * fs->fs_fpg, size = fs->fs_size - base, at;

	memset(raw, 0, BSIZE);
	if (size > fs->fs_fpg)
		size = fs->fs_fpg;
	cg->cg_magic = CG_MAGIC;
	cg->cg_time = WHEN;
	cg->cg_cgx = c;
	cg->cg_ncyl = c < fs->fs_ncg - 1 ? CPG : fs->fs_ncyl - c * CPG;
	cg->cg_niblk = fs->fs_ipg;
	cg->cg_ndblk = size;
	cg->cg_nclusterblks = size / FRAG;
	cg->cg_btotoff = sizeof(struct group);
	cg->cg_boff = cg->cg_btotoff + CPG * 4;
	cg->cg_iusedoff = cg->cg_boff + CPG * NRPOS * 2;
	cg->cg_freeoff = cg->cg_iusedoff + (fs->fs_ipg + 7) / 8;
	cg->cg_clustersumoff = round_up(cg->cg_freeoff + fs->fs_fpg / 8 - 4, 4);
	cg->cg_clusteroff = cg->cg_clustersumoff + (fs->fs_contigsumsize + 1) * 4;
	cg->cg_nextfreeoff = cg->cg_clusteroff + NCLUSTERS / 8;
	cg->cg_cs.cs_nifree = fs->fs_ipg;

	/* in the first group the start is the boot block's */
	for (at = 0; c && at < fs->fs_sblkno; at += FRAG)
		free_block(cg, raw, at);
	at = fs->fs_dblkno + (c ? 0 : fs->fs_cssize / FSIZE);
	for (; at % FRAG; at++) {
		set_bit(raw + cg->cg_freeoff, at);
		cg->cg_cs.cs_nffree++;
		if (at % FRAG == FRAG - 1)
			cg->cg_frsum[cg->cg_cs.cs_nffree]++;
	}
	for (; at + FRAG <= size; at += FRAG)
		free_block(cg, raw, at);
	if (at < size) {
		cg->cg_frsum[size - at]++;
		for (; at < size; at++) {
			set_bit(raw + cg->cg_freeoff, at);
			cg->cg_cs.cs_nffree++;
		}
	}
	fs->fs_dsize += size - (fs->fs_dblkno - fs->fs_sblkno) - (c ? 0 : fs->fs_sblkno + fs->fs_cssize / FSIZE);
	if (!c) {
		for (int i = 0; i < ROOT_INODE; i++)
			set_bit(raw + cg->cg_iusedoff, i);
		cg->cg_cs.cs_nifree -= ROOT_INODE;
	}
}

/* Give the root directory its inode and one fragment of the first free block. */
static void make_root(const struct super *fs, struct group *cg, uint8_t *raw)
{
	static uint8_t inodes[BSIZE], directory[FSIZE];
	struct inode *root = (struct inode *)inodes + ROOT_INODE;
	struct entry *entry = (struct entry *)directory;
	int32_t at = 0, cylinder;

	while (raw[cg->cg_freeoff + at / FRAG] != 0xff)
		at += FRAG;
	cylinder = at * NSPF / NSECT;
	clear_bit(raw + cg->cg_freeoff, at);
	clear_bit(raw + cg->cg_clusteroff, at / FRAG);
	((int32_t *)(raw + cg->cg_btotoff))[cylinder]--;
	((int16_t *)(raw + cg->cg_boff))[cylinder]--;
	cg->cg_cs.cs_nbfree--;
	cg->cg_cs.cs_nffree += FRAG - 1;
	cg->cg_frsum[FRAG - 1]++;
	cg->cg_cs.cs_nifree--;
	cg->cg_cs.cs_ndir++;
	set_bit(raw + cg->cg_iusedoff, ROOT_INODE);

	root->di_mode = S_IFDIR | 0755;
	root->di_nlink = 2;
	root->di_size = DIRECTORY_BLOCK;
	root->di_atime = root->di_mtime = root->di_ctime = WHEN;
	root->di_db[0] = at;
	root->di_blocks = NSPF;
	for (int i = 1; i <= 2; i++) {
		entry->d_ino = ROOT_INODE;
		entry->d_type = S_IFDIR >> 12;
		entry->d_namlen = i;
		memset(entry->d_name, '.', i);
		entry->d_reclen = i == 1 ? ENTRY_BYTES(1) : DIRECTORY_BLOCK - ENTRY_BYTES(1);
		entry = (struct entry *)((char *)entry + entry->d_reclen);
	}
	put(fs->fs_iblkno, inodes, sizeof(inodes));
	put(at, directory, sizeof(directory));
}

static int64_t size_of_device(void)
{
	struct stat status;
	uint64_t bytes;

	if (fstat(device, &status))
		die("%s", strerror(errno));
	if (!S_ISBLK(status.st_mode))
		return status.st_size;
	if (ioctl(device, BLKGETSIZE64, &bytes))
		die("size of the device: %s", strerror(errno));
	return bytes;
}

int main(int count, char **words)
{
	static const uint8_t zeros[BSIZE];
	static union {
		struct super fs;
		uint8_t raw[SUPER_BYTES];
	} super;
	uint8_t raw[BSIZE];
	struct super *fs = &super.fs;
	struct csum *summary;
	int64_t bytes = 0;
	int zero = 0;

	name = "usage: ufs-newfs [--bytes N] [--zero] FILE";
	for (int i = 1; i < count; i++) {
		char *end;

		if (!strcmp(words[i], "--zero")) {
			zero = 1;
		} else if (!strcmp(words[i], "--bytes") && i + 1 < count) {
			errno = 0;
			bytes = strtoll(words[++i], &end, 10);
			if (errno || *end || bytes <= 0)
				die("--bytes %s is not a positive number", words[i]);
		} else if (words[i][0] == '-' || i != count - 1) {
			die("%s is not understood", words[i]);
		}
	}
	if (count < 2 || words[count - 1][0] == '-')
		die("no file given");
	name = words[count - 1];
	device = open(name, O_RDWR | (bytes ? O_CREAT : 0) | O_CLOEXEC, 0644);
	if (device < 0)
		die("%s", strerror(errno));
	if (!bytes)
		bytes = size_of_device();
	else if (size_of_device() < bytes && ftruncate(device, bytes))
		die("cannot make it %lld bytes long: %s", (long long)bytes, strerror(errno));

	plan(fs, bytes);
	summary = calloc(1, fs->fs_cssize);
	if (!summary)
		die("no memory");
	for (int c = 0; c < fs->fs_ncg; c++) {
		struct group *cg = (struct group *)raw;
		int32_t base = c * fs->fs_fpg;

		make_group(fs, c, raw);
		if (!c)
			make_root(fs, cg, raw);
		sum_clusters(fs, cg, raw);
		put(base + fs->fs_cblkno, raw, BSIZE);
		if (zero)
			for (int32_t at = fs->fs_iblkno + (c ? 0 : FRAG); at < fs->fs_dblkno; at += FRAG)
				put(base + at, zeros, BSIZE);
		summary[c] = cg->cg_cs;
		fs->fs_cstotal.cs_ndir += cg->cg_cs.cs_ndir;
		fs->fs_cstotal.cs_nbfree += cg->cg_cs.cs_nbfree;
		fs->fs_cstotal.cs_nifree += cg->cg_cs.cs_nifree;
		fs->fs_cstotal.cs_nffree += cg->cg_cs.cs_nffree;
	}
	put(fs->fs_csaddr, summary, fs->fs_cssize);
	/* the copies are as the original was when newfs ended */
	for (int c = 0; c < fs->fs_ncg; c++)
		put(c * fs->fs_fpg + fs->fs_sblkno, super.raw, SUPER_BYTES);
	put(SUPER_OFFSET / FSIZE, super.raw, SUPER_BYTES);
	if (fsync(device) || close(device))
		die("cannot write: %s", strerror(errno));
	printf("%s: %.1f MiB, %d groups of %d inodes and %d KiB\n", name, fs->fs_size / 1024.0, fs->fs_ncg, fs->fs_ipg,
	       fs->fs_fpg * FSIZE / 1024);
	return 0;
}
